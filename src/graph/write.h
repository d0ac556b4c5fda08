/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes ONNX files of any size: the graph is kept in memory, weights are produced piece by piece
 * while the file is written.
 *
 * A failed call (out of memory, a text too long) is remembered: everything after it does nothing,
 * and vt_model_writer_save says what was wrong. So a builder need not check each call.
 *
 * Nodes have to be added in an order in which they can run. The contents of a weight begin at a
 * multiple of 64 bytes in the file, so that a reader can use them in place. Files are the same to
 * the byte for the same calls.
 *
 * Threading: a writer is used by one thread at a time.
 */
#ifndef VT_GRAPH_WRITE_H
#define VT_GRAPH_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vatio/status.h"
#include "vatio/tensor.h"

struct vt_model_writer;

/* Produces elements [first, first + n) of a weight into `ret`, in the file's little-endian order;
 * called in the order of the elements, more than once for a whole where it is saved again. */
typedef void (*vt_weight_fill)(const void *ctx, uint64_t first, size_t n, void *ret);

/* `producer` and `graph_name` are copied. The IR version is the one that came with the opset. */
enum vt_status vt_model_writer_new(const char *producer, const char *graph_name, int64_t opset,
                                   struct vt_error *err,
                                   struct vt_model_writer **ret_writer) VT_NODISCARD;
void vt_model_writer_free(struct vt_model_writer *writer); /* accepts NULL */

/* An input or output of the graph; names, extents and symbols as in vt_port; with the rank
 * VT_RANK_UNKNOWN its shape stays unsaid. */
void vt_write_input(struct vt_model_writer *writer, const struct vt_port *port);
void vt_write_output(struct vt_model_writer *writer, const struct vt_port *port);
/* A text for people, kept with the model. */
void vt_write_metadata(struct vt_model_writer *writer, const char *key, const char *value);

/* A weight: copied, or produced when it is saved (`ctx` is borrowed until vt_model_writer_free). */
void vt_write_constant(struct vt_model_writer *writer, const char *name,
                       const struct vt_tensor *contents);
void vt_write_weight(struct vt_model_writer *writer, const char *name, enum vt_dtype dtype,
                     uint32_t rank, const int64_t *dim, vt_weight_fill fill, const void *ctx);

/* One node at a time: begin, inputs and outputs in their order, attributes, end. */
void vt_write_node_begin(struct vt_model_writer *writer, const char *op, const char *name);
void vt_write_node_input(struct vt_model_writer *writer, const char *value); /* "": omitted */
void vt_write_node_output(struct vt_model_writer *writer, const char *value);
void vt_write_attr_int(struct vt_model_writer *writer, const char *name, int64_t value);
void vt_write_attr_float(struct vt_model_writer *writer, const char *name, float value);
void vt_write_attr_text(struct vt_model_writer *writer, const char *name, const char *value);
void vt_write_attr_ints(struct vt_model_writer *writer, const char *name, const int64_t *values,
                        size_t n);
void vt_write_attr_floats(struct vt_model_writer *writer, const char *name, const float *values,
                          size_t n);
void vt_write_attr_texts(struct vt_model_writer *writer, const char *name,
                         const char *const *values, size_t n);
void vt_write_attr_tensor(struct vt_model_writer *writer, const char *name,
                          const struct vt_tensor *value);
void vt_write_node_end(struct vt_model_writer *writer);

/* Of all weights so far. */
uint64_t vt_model_writer_weight_bytes(const struct vt_model_writer *writer);

/* protobuf ends at 2 GiB; the room below is for the graph. */
#define VT_WRITE_INLINE_MAX ((uint64_t)2000 << 20)

/*
 * Writes the file, whole or not at all. When the weights take more than `inline_max` bytes
 * (at most VT_WRITE_INLINE_MAX), those of 1 KiB and more go into a file beside it, named after it
 * with ".data" behind. VT_ERR_WRITE, VT_ERR_MEMORY, VT_ERR_LIMIT (a graph beyond 2 GiB).
 */
enum vt_status vt_model_writer_save(struct vt_model_writer *writer, const char *path,
                                    uint64_t inline_max, struct vt_error *err) VT_NODISCARD;

/* The file's bytes, all weights in it; vt_free them. VT_ERR_LIMIT, VT_ERR_MEMORY. */
enum vt_status vt_model_writer_to_memory(struct vt_model_writer *writer, struct vt_error *err,
                                         void **ret_bytes, size_t *ret_size) VT_NODISCARD;

#endif

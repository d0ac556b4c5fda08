/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room know of each other: the workloads, and what they share. */
#ifndef VT_WORKLOAD_ROOM_H
#define VT_WORKLOAD_ROOM_H

#include "core/workload.h"

extern const struct vt_workload_ops vt_workload_digits;
extern const struct vt_workload_ops vt_workload_image_classification;
extern const struct vt_workload_ops vt_workload_tensor;

/* A file that is part of the program. */
struct vt_embedded {
    const unsigned char *bytes;
    size_t size;
};
/* The images of digits (src/workload/digits/README.md). */
extern const struct vt_embedded vt_digits_test;

/* The memory that loaded samples may take when the user does not say how many to keep: 1 GiB, or
 * a quarter of the machine's memory where that is less. */
size_t vt_workload_memory_bytes(void);
/*
 * How many of `total` samples to keep: `wanted`, or when that is 0 what fits into
 * vt_workload_memory_bytes(); between 1 and total.
 */
uint64_t vt_workload_performance_count(uint64_t total, uint64_t wanted, size_t sample_bytes);

/*
 * Whether the model takes several samples at once: every input has an open dimension 0, all of the
 * same symbol where they have one, and that symbol stands nowhere else in the inputs. Only then can
 * samples be put together along dimension 0.
 */
bool vt_signature_has_batch(const struct vt_signature *signature);

/* Bindings that shapes() collects; the array is the caller's. */
struct vt_bindings {
    struct vt_shape_binding *items;
    uint32_t n, capacity;
};
/*
 * Binds what `port` leaves open to `dim`, its full extents: an extent with a symbol through that,
 * an extent without through the port as a whole. The batch stays open where it can: `batch` says
 * that dimension 0 is one. VT_ERR_USAGE when a symbol would get two values.
 */
enum vt_status vt_bindings_add(struct vt_bindings *bindings, const struct vt_port *port,
                               const int64_t *dim, bool batch, struct vt_error *err) VT_NODISCARD;

#endif

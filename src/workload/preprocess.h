/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a decoded image to a model's input.
 *
 *   1. --resize          S: the shorter side becomes S; WxH: stretched to that
 *   2. --crop            a fraction up to 1: the largest centred region with the model's aspect
 *                        ratio, times the fraction; pixels (N or WxH): a centred region of so many.
 *                        By default the fraction 1, or after --resize S the model's own size.
 *   3. scaled to the model's width and height, where it has not that size yet
 *   4. each value: (value * scale - mean) / std, in the model's order of channels and layout
 *
 * Scaling is bilinear (resize.h), on 8-bit values. mean and std are given in the order red, green,
 * blue whatever --channels says. A model of one channel gets the luma of ITU-R BT.601.
 *
 *   preset     crop    scale    mean                 std
 *   raw        1       1        0                    1                    values 0..255
 *   imagenet   0.875   1/255    .485,.456,.406       .229,.224,.225
 *   tf         0.875   1/127.5  1                    1                    values -1..1
 */
#ifndef VT_WORKLOAD_PREPROCESS_H
#define VT_WORKLOAD_PREPROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "vatio/tensor.h"
#include "workload/image.h"
#include "workload/recipe.h"

/* A model's image input: [N,C,H,W], [N,H,W,C], or the same without N; C is 1 or 3. */
struct vt_image_port {
    enum vt_dtype dtype;
    uint32_t rank; /* 3 or 4 */
    bool channels_last;
    uint32_t channels, height, width;
    bool open; /* the model leaves height, width or channels open: those here are a choice */
};

/*
 * Looks at the signature's only input. Open extents are taken from the recipe (--crop or --resize
 * in pixels), else 224. VT_ERR_UNSUPPORTED says what is needed.
 */
enum vt_status vt_image_port_find(const struct vt_signature *signature,
                                  const struct vt_recipe *recipe, struct vt_error *err,
                                  struct vt_image_port *ret) VT_NODISCARD;
/* The extents of a sample; returns the rank. */
uint32_t vt_image_port_shape(const struct vt_image_port *port, int64_t *ret_dim);

struct vt_preprocess {
    struct vt_image_port port;
    const char *preset; /* what its values are, for people */
    bool bgr;
    uint32_t resize_short;                /* 0: no such step */
    uint32_t resize_width, resize_height; /* 0: no such step */
    double crop_fraction;                 /* 0: in pixels */
    uint32_t crop_width, crop_height;
    int64_t label_offset;
    bool custom; /* mean, std or scale differ from the preset's */
    size_t element_bytes;
    uint8_t element[3][256][8]; /* by red, green, blue and value: the model's element */
};

/* VT_ERR_USAGE names the option or the line of the file, the value and what may be. */
enum vt_status vt_preprocess_init(const struct vt_recipe *recipe, const struct vt_image_port *port,
                                  struct vt_error *err, struct vt_preprocess *ret) VT_NODISCARD;
/* "fitted to 32x32, raw 0..255 RGB": for people, cut at size - 1. */
void vt_preprocess_text(const struct vt_preprocess *preprocess, char *text, size_t size);

/* Images in between, kept from one picture to the next. Zeroed before use. */
struct vt_preprocess_scratch {
    struct vt_image resized, fitted;
};
void vt_preprocess_scratch_release(struct vt_preprocess_scratch *scratch);

/* Bytes of one sample. */
size_t vt_preprocess_bytes(const struct vt_preprocess *preprocess);
/* Writes one sample to ret_data. Any thread, each with its own scratch. VT_ERR_USAGE when the image
 * is smaller than a crop in pixels. */
enum vt_status vt_preprocess_apply(const struct vt_preprocess *preprocess,
                                   const struct vt_image *image,
                                   struct vt_preprocess_scratch *scratch, struct vt_error *err,
                                   void *ret_data) VT_NODISCARD;

#endif

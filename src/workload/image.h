/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images: JPEG and PNG files to 8-bit RGB, row by row, red first.
 *
 * JPEG    libjpeg-turbo with the accurate inverse DCT and smooth chroma upsampling; grey is
 *         replicated; CMYK and YCCK are taken as Adobe writes them (inverted). A note in the file
 *         about its orientation is not followed.
 * PNG     all kinds; 16 bits are scaled to 8, alpha and gamma are ignored.
 *
 * A file that is cut off or damaged is an error, not a grey area at the bottom of the picture.
 * Images may have at most VT_IMAGE_SIDE_MAX pixels a side and VT_IMAGE_PIXELS_MAX in all.
 */
#ifndef VT_WORKLOAD_IMAGE_H
#define VT_WORKLOAD_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vatio/status.h"

#define VT_IMAGE_SIDE_MAX   65500
#define VT_IMAGE_PIXELS_MAX ((uint64_t)100 << 20)

struct vt_image {
    uint32_t width, height;
    uint8_t *rgb;    /* width * height * 3 bytes */
    size_t capacity; /* bytes at rgb; grows as needed, for images that are decoded in turn */
};

void vt_image_release(struct vt_image *image); /* accepts a zeroed one */
/* Sets width and height and makes room for the pixels. VT_ERR_LIMIT, VT_ERR_MEMORY. */
enum vt_status vt_image_resize_buffer(struct vt_image *image, uint64_t width, uint64_t height,
                                      struct vt_error *err) VT_NODISCARD;

/* A decoder is used by one thread at a time. */
struct vt_image_decoder;
enum vt_status vt_image_decoder_new(struct vt_error *err,
                                    struct vt_image_decoder **ret_decoder) VT_NODISCARD;
void vt_image_decoder_free(struct vt_image_decoder *decoder); /* accepts NULL */

/*
 * Reads the header alone, or the whole into `image`, which is zeroed or was filled before. The
 * kind is told by the content. `name` stands in messages. VT_ERR_FORMAT, VT_ERR_UNSUPPORTED,
 * VT_ERR_LIMIT, VT_ERR_MEMORY.
 */
enum vt_status vt_image_header(struct vt_image_decoder *decoder, const char *name,
                               const uint8_t *bytes, size_t size, struct vt_error *err,
                               uint32_t *ret_width, uint32_t *ret_height) VT_NODISCARD;
enum vt_status vt_image_decode(struct vt_image_decoder *decoder, const char *name,
                               const uint8_t *bytes, size_t size, struct vt_error *err,
                               struct vt_image *image) VT_NODISCARD;

/* The PNG part; `image` NULL reads the header alone. */
enum vt_status vt_image_png(const char *name, const uint8_t *bytes, size_t size,
                            struct vt_error *err, struct vt_image *image, uint32_t *ret_width,
                            uint32_t *ret_height) VT_NODISCARD;

#endif

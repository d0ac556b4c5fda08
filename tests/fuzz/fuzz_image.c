/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG and PNG files, with a decoder that is used again after a failure. */
#include "workload/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Larger pictures say nothing new and take long. */
#define PIXELS_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct vt_image_decoder *decoder;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_image image = {0};
    uint32_t width, height;

    if (decoder == NULL && vt_image_decoder_new(&err, &decoder) != VT_OK) {
        return 0;
    }
    if (vt_image_header(decoder, "image", data, size, &err, &width, &height) == VT_OK &&
        (uint64_t)width * height <= PIXELS_MAX) {
        if (vt_image_decode(decoder, "image", data, size, &err, &image) != VT_OK) {
            err.status = VT_OK;
        }
    }
    vt_image_release(&image);
    return 0;
}

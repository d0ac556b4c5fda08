/* SPDX-License-Identifier: Apache-2.0 */
#include "workload/resize.h"

#include <math.h>

#include "base/alloc.h"

/*
 * Where an output pixel comes from: two neighbours along an axis, and the weight of the second in
 * 1 / (2 * out). All arithmetic is in whole numbers, so the result is exact and the same on every
 * machine: with round ratios of sizes, values of exactly x.5 are frequent, and floating-point
 * errors would throw them either way.
 */
struct tap {
    uint32_t first, second;
    uint32_t weight;
};

static void make_taps(struct tap *taps, uint32_t in, uint32_t out)
{
    int64_t one = 2 * (int64_t)out;
    int64_t last = (int64_t)in - 1;

    for (uint32_t i = 0; i < out; i++) {
        /* (i + 0.5) * in / out - 0.5, times 2 * out. At least -out: shifted by `one` for the
         * division, which then rounds down. */
        int64_t at = (2 * (int64_t)i + 1) * in - out;
        int64_t low = (at + one) / one - 1;
        int64_t high = low + 1;
        taps[i].weight = (uint32_t)(at - low * one);
        taps[i].first = (uint32_t)(low < 0 ? 0 : low);
        taps[i].second = (uint32_t)(high > last ? last : high);
    }
}

/* `below` is the weight of the lower row in 1 / (2 * height). */
static void scale_row(const uint8_t *upper, const uint8_t *lower, uint32_t below, uint32_t height,
                      const struct tap *across, uint32_t width, uint8_t *to)
{
    uint64_t above = 2 * (uint64_t)height - below;
    uint64_t whole = 4 * (uint64_t)height * width;

    for (uint32_t x = 0; x < width; x++) {
        size_t a = (size_t)across[x].first * 3;
        size_t b = (size_t)across[x].second * 3;
        uint64_t right = across[x].weight;
        uint64_t left = 2 * (uint64_t)width - right;
        for (size_t c = 0; c < 3; c++) {
            uint64_t top = upper[a + c] * left + upper[b + c] * right;
            uint64_t bottom = lower[a + c] * left + lower[b + c] * right;
            to[(size_t)x * 3 + c] =
                (uint8_t)((2 * (top * above + bottom * below) + whole) / (2 * whole));
        }
    }
}

enum vt_status vt_image_bilinear(const struct vt_image *from, const struct vt_region *region,
                                 uint32_t width, uint32_t height, struct vt_error *err,
                                 struct vt_image *to)
{
    enum vt_status status = vt_image_resize_buffer(to, width, height, err);

    if (status != VT_OK) {
        return status;
    }
    struct tap *across = vt_calloc((size_t)width + height, sizeof *across);
    if (across == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for scaling an image");
    }
    struct tap *down = across + width;
    make_taps(across, region->width, width);
    make_taps(down, region->height, height);
    size_t stride = (size_t)from->width * 3;
    const uint8_t *corner = from->rgb + region->y * stride + (size_t)region->x * 3;
    for (uint32_t y = 0; y < height; y++) {
        scale_row(corner + down[y].first * stride, corner + down[y].second * stride, down[y].weight,
                  height, across, width, to->rgb + (size_t)y * width * 3);
    }
    vt_free(across);
    return VT_OK;
}

static uint32_t side(double wanted, uint32_t most)
{
    double rounded = floor(wanted + 0.5);

    return rounded < 1 ? 1 : rounded > most ? most : (uint32_t)rounded;
}

struct vt_region vt_region_centred(const struct vt_image *image, uint32_t width, uint32_t height,
                                   double fraction)
{
    /* The other side times the ratio, so that a square comes out as min(width, height) exactly. */
    double widest = fmin(image->width, (double)image->height * width / height);
    double highest = fmin(image->height, (double)image->width * height / width);
    struct vt_region region = {.width = side(widest * fraction, image->width),
                               .height = side(highest * fraction, image->height)};

    region.x = (image->width - region.width) / 2;
    region.y = (image->height - region.height) / 2;
    return region;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG and PNG files made here, through the libraries' writers. */
#ifndef VT_TEST_WORKLOAD_PICTURES_H
#define VT_TEST_WORKLOAD_PICTURES_H

#include <png.h>
#include <turbojpeg.h>

#include "fixture.h"

struct bytes {
    uint8_t *data;
    size_t size;
};

/* A JPEG of pixels in the given turbojpeg form, quality 95; free the data. */
static inline struct bytes jpeg_make(const uint8_t *pixels, int width, int height, int form,
                                     int sampling)
{
    struct bytes made = {0};
    unsigned char *to = NULL;
    unsigned long size = 0;
    tjhandle handle = tjInitCompress();
    assert_non_null(handle);
    assert_int_equal(tjCompress2(handle, pixels, width, 0, height, form, &to, &size, sampling, 95,
                                 TJFLAG_ACCURATEDCT),
                     0);
    made.data = malloc(size);
    assert_non_null(made.data);
    memcpy(made.data, to, size);
    made.size = size;
    tjFree(to);
    (void)tjDestroy(handle);
    return made;
}

/* A JPEG of one colour. */
static inline struct bytes jpeg_flat(int width, int height, uint8_t r, uint8_t g, uint8_t b)
{
    uint8_t *pixels = malloc((size_t)width * (size_t)height * 3);
    assert_non_null(pixels);
    for (int i = 0; i < width * height; i++) {
        pixels[3 * i] = r;
        pixels[3 * i + 1] = g;
        pixels[3 * i + 2] = b;
    }
    struct bytes made = jpeg_make(pixels, width, height, TJPF_RGB, TJSAMP_444);
    free(pixels);
    return made;
}

static inline void png_append(png_structp png, png_bytep data, size_t n)
{
    struct bytes *made = png_get_io_ptr(png);
    made->data = realloc(made->data, made->size + n);
    assert_non_null(made->data);
    memcpy(made->data + made->size, data, n);
    made->size += n;
}

static inline void png_no_flush(png_structp png)
{
    (void)png;
}

/* A PNG of rows of `row_bytes` packed bytes; a palette where the kind needs one. */
static inline struct bytes png_make(const uint8_t *rows, uint32_t width, uint32_t height, int depth,
                                    int kind, size_t row_bytes, int interlace)
{
    struct bytes made = {0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    assert_non_null(info);
    png_set_write_fn(png, &made, png_append, png_no_flush);
    png_set_IHDR(png, info, width, height, depth, kind, interlace, 0, 0);
    if (kind == PNG_COLOR_TYPE_PALETTE) {
        static const png_color palette[] = {{10, 20, 30}, {200, 100, 50}, {0, 255, 1}, {7, 8, 9}};
        static const png_byte alpha[] = {0, 128};
        png_set_PLTE(png, info, palette, 4);
        png_set_tRNS(png, info, alpha, 2, NULL);
    }
    png_write_info(png, info);
    png_bytep at[64];
    assert_true(height <= 64);
    for (uint32_t y = 0; y < height; y++) {
        at[y] = (png_bytep)rows + y * row_bytes;
    }
    png_write_image(png, at);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return made;
}

#endif

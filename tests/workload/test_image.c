/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG and PNG decoding on files made here: kinds, limits, damage. */
#include "workload/image.h"

#include "pictures.h"
#include "vt_torture.h"

static struct vt_image_decoder *decoder;

static int set_up(void **state)
{
    (void)state;
    return vt_image_decoder_new(NULL, &decoder) == VT_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    vt_image_decoder_free(decoder);
    vt_image_decoder_free(NULL);
    return 0;
}

static enum vt_status decode(const struct bytes *file, struct vt_error *err, struct vt_image *image)
{
    return vt_image_decode(decoder, "f", file->data, file->size, err, image);
}

static void assert_pixel(const struct vt_image *image, uint32_t x, uint32_t y, int r, int g, int b,
                         int within)
{
    const uint8_t *p = image->rgb + ((size_t)y * image->width + x) * 3;
    if (abs(p[0] - r) > within || abs(p[1] - g) > within || abs(p[2] - b) > within) {
        fail_msg("pixel %u,%u is %d,%d,%d, not %d,%d,%d", x, y, p[0], p[1], p[2], r, g, b);
    }
}

static void test_jpeg(void **state)
{
    (void)state;
    struct vt_image image = {0};
    struct bytes file = jpeg_flat(17, 9, 200, 100, 50);
    uint32_t width = 0, height = 0;
    assert_int_equal(vt_image_header(decoder, "f", file.data, file.size, NULL, &width, &height),
                     VT_OK);
    assert_int_equal(width, 17);
    assert_int_equal(height, 9);
    assert_int_equal(decode(&file, NULL, &image), VT_OK);
    assert_int_equal(image.width, 17);
    assert_int_equal(image.height, 9);
    assert_pixel(&image, 0, 0, 200, 100, 50, 2);
    assert_pixel(&image, 16, 8, 200, 100, 50, 2);
    free(file.data);
    /* Grey is replicated; the buffer is kept for a smaller picture. */
    uint8_t grey[64];
    memset(grey, 77, sizeof grey);
    file = jpeg_make(grey, 8, 8, TJPF_GRAY, TJSAMP_GRAY);
    const uint8_t *before = image.rgb;
    assert_int_equal(decode(&file, NULL, &image), VT_OK);
    assert_ptr_equal(image.rgb, before);
    assert_pixel(&image, 3, 5, 77, 77, 77, 1);
    free(file.data);
    vt_image_release(&image);
}

static void test_cmyk(void **state)
{
    (void)state;
    /* As Adobe stores it: 255 is no ink. Cyan 255-51, no magenta, black half. */
    uint8_t pixels[8 * 8 * 4];
    struct vt_image image = {0};
    for (size_t i = 0; i < 64; i++) {
        memcpy(pixels + 4 * i, (uint8_t[]){51, 255, 204, 128}, 4);
    }
    struct bytes file = jpeg_make(pixels, 8, 8, TJPF_CMYK, TJSAMP_444);
    assert_int_equal(decode(&file, NULL, &image), VT_OK);
    assert_int_equal(image.height, 8);
    assert_pixel(&image, 7, 7, 51 * 128 / 255, 128, 204 * 128 / 255, 2);
    free(file.data);
    vt_image_release(&image);
}

static void test_png_kinds(void **state)
{
    (void)state;
    struct vt_image image = {0};
    static const uint8_t rgb[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    static const uint8_t rgba[] = {1, 2, 3, 0, 4, 5, 6, 128, 7, 8, 9, 255, 10, 11, 12, 1};
    static const uint8_t grey16[] = {0, 0, 0x80, 0x80, 0xff, 0xff, 0x01, 0x00};
    static const uint8_t grey1[] = {0x40, 0x80};
    static const uint8_t palette[] = {0x10, 0xb0}; /* 2 bits: 0,1 and 2,3 */
    static const uint8_t grey_alpha[] = {9, 0, 10, 1, 11, 2, 12, 255};
    struct bytes file = png_make(rgb, 2, 2, 8, PNG_COLOR_TYPE_RGB, 6, PNG_INTERLACE_ADAM7);
    assert_int_equal(decode(&file, NULL, &image), VT_OK);
    assert_memory_equal(image.rgb, rgb, 12);
    free(file.data);
    file = png_make(rgba, 2, 2, 8, PNG_COLOR_TYPE_RGBA, 8, PNG_INTERLACE_NONE);
    assert_int_equal(decode(&file, NULL, &image), VT_OK);
    assert_memory_equal(image.rgb, rgb, 12);
    free(file.data);
    file = png_make(grey16, 2, 2, 16, PNG_COLOR_TYPE_GRAY, 4, PNG_INTERLACE_NONE);
    assert_int_equal(decode(&file, NULL, &image), VT_OK);
    assert_memory_equal(image.rgb, "\x00\x00\x00\x80\x80\x80\xff\xff\xff\x01\x01\x01", 12);
    free(file.data);
    file = png_make(grey1, 2, 2, 1, PNG_COLOR_TYPE_GRAY, 1, PNG_INTERLACE_NONE);
    assert_int_equal(decode(&file, NULL, &image), VT_OK);
    assert_memory_equal(image.rgb, "\x00\x00\x00\xff\xff\xff\xff\xff\xff\x00\x00\x00", 12);
    free(file.data);
    file = png_make(palette, 2, 2, 2, PNG_COLOR_TYPE_PALETTE, 1, PNG_INTERLACE_NONE);
    assert_int_equal(decode(&file, NULL, &image), VT_OK);
    assert_memory_equal(image.rgb, "\x0a\x14\x1e\xc8\x64\x32\x00\xff\x01\x07\x08\x09", 12);
    free(file.data);
    file = png_make(grey_alpha, 2, 2, 8, PNG_COLOR_TYPE_GRAY_ALPHA, 4, PNG_INTERLACE_NONE);
    assert_int_equal(decode(&file, NULL, &image), VT_OK);
    assert_memory_equal(image.rgb, "\x09\x09\x09\x0a\x0a\x0a\x0b\x0b\x0b\x0c\x0c\x0c", 12);
    free(file.data);
    vt_image_release(&image);
}

/* Cuts the file everywhere: no cut may pass as a whole picture, nothing may crash. */
static void test_cut_off(void **state)
{
    (void)state;
    uint8_t noise[16 * 16 * 3];
    for (size_t i = 0; i < sizeof noise; i++) {
        noise[i] = (uint8_t)(i * 7919 >> 3);
    }
    struct bytes jpeg = jpeg_make(noise, 16, 16, TJPF_RGB, TJSAMP_420);
    struct bytes png = png_make(noise, 16, 16, 8, PNG_COLOR_TYPE_RGB, 48, PNG_INTERLACE_NONE);
    struct vt_image image = {0};
    for (int kind = 0; kind < 2; kind++) {
        struct bytes whole = kind == 0 ? jpeg : png;
        /* Without the mark at the end the pixels of a JPEG are whole. */
        size_t last = whole.size - (kind == 0 ? 3 : 13);
        for (size_t n = 0; n <= last; n++) {
            struct vt_error err = VT_ERROR_INIT;
            uint8_t *cut = malloc(n + 1); /* so that reading behind it is seen */
            memcpy(cut, whole.data, n);
            struct bytes part = {cut, n};
            if (decode(&part, &err, &image) == VT_OK) {
                fail_msg("%s of %zu bytes passes cut at %zu", kind == 0 ? "JPEG" : "PNG",
                         whole.size, n);
            }
            assert_error(&err, VT_ERR_FORMAT, "f: ", "");
            free(cut);
        }
        assert_int_equal(decode(&whole, NULL, &image), VT_OK);
    }
    vt_image_release(&image);
    free(jpeg.data);
    free(png.data);
}

static void test_garbage(void **state)
{
    (void)state;
    struct vt_image image = {0};
    struct vt_error err = VT_ERROR_INIT;
    uint32_t width, height, seed = 1;
    uint8_t bytes[600];
    struct bytes file = {bytes, sizeof bytes};
    for (int round = 0; round < 2000; round++) {
        for (size_t i = 0; i < sizeof bytes; i++) {
            seed = seed * 1664525 + 1013904223;
            bytes[i] = (uint8_t)(seed >> 24);
        }
        memcpy(bytes, round % 2 == 0 ? "\xff\xd8\xff" : "\x89PNG\r\n\x1a\n",
               round % 2 == 0 ? 3 : 8);
        assert_int_not_equal(decode(&file, NULL, &image), VT_OK);
        assert_int_not_equal(
            vt_image_header(decoder, "f", bytes, sizeof bytes, NULL, &width, &height), VT_OK);
    }
    assert_int_equal(vt_image_header(decoder, "f", NULL, 0, &err, &width, &height), VT_ERR_FORMAT);
    assert_error(&err, VT_ERR_FORMAT, "f: ", "empty");
    err = (struct vt_error)VT_ERROR_INIT;
    file = (struct bytes){(uint8_t *)"GIF89a....", 10};
    assert_int_equal(decode(&file, &err, &image), VT_ERR_FORMAT);
    assert_error(&err, VT_ERR_FORMAT, "neither", "PNG");
    vt_image_release(&image);
}

/* Bytes flipped in valid files: any answer but a crash. */
static void test_flipped(void **state)
{
    (void)state;
    uint8_t noise[16 * 16 * 3];
    memset(noise, 90, sizeof noise);
    struct bytes files[2] = {
        jpeg_make(noise, 16, 16, TJPF_RGB, TJSAMP_420),
        png_make(noise, 16, 16, 8, PNG_COLOR_TYPE_RGB, 48, PNG_INTERLACE_ADAM7),
    };
    struct vt_image image = {0};
    for (int kind = 0; kind < 2; kind++) {
        for (size_t i = 0; i < files[kind].size; i++) {
            uint8_t before = files[kind].data[i];
            files[kind].data[i] = (uint8_t)(before ^ 0xff);
            (void)decode(&files[kind], NULL, &image);
            files[kind].data[i] = before;
        }
        free(files[kind].data);
    }
    vt_image_release(&image);
}

/* A header that promises more than may be. */
static void test_huge(void **state)
{
    (void)state;
    static const uint8_t rgb[12] = {0};
    struct vt_image image = {0};
    struct vt_error err = VT_ERROR_INIT;
    struct bytes file = png_make(rgb, 2, 2, 8, PNG_COLOR_TYPE_RGB, 6, PNG_INTERLACE_NONE);
    /* Width and height are big-endian at 16 and 20, their checksum at 29. */
    memcpy(file.data + 16, "\x00\x00\xff\x00\x00\x00\xff\x00", 8);
    uint32_t crc = 0xffffffff;
    for (size_t i = 12; i < 29; i++) {
        crc ^= file.data[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1)));
        }
    }
    crc = ~crc;
    for (int i = 0; i < 4; i++) {
        file.data[29 + i] = (uint8_t)(crc >> (24 - 8 * i));
    }
    assert_int_equal(decode(&file, &err, &image), VT_ERR_LIMIT);
    assert_error(&err, VT_ERR_LIMIT, "f: ", "65280 x 65280");
    assert_int_equal(image.capacity, 0);
    free(file.data);
    /* The same for a JPEG: the frame header holds the sizes behind ff c0 00 11 08. */
    file = jpeg_flat(8, 8, 1, 2, 3);
    for (size_t i = 0; i + 9 < file.size; i++) {
        if (memcmp(file.data + i, "\xff\xc0\x00\x11\x08", 5) == 0) {
            memcpy(file.data + i + 5, "\xff\x00\xff\x00", 4);
        }
    }
    err = (struct vt_error)VT_ERROR_INIT;
    assert_int_not_equal(decode(&file, &err, &image), VT_OK);
    assert_error(&err, VT_ERR_LIMIT, "f: ", "65280 x 65280");
    free(file.data);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    static const uint8_t rgb[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    struct bytes files[2] = {
        png_make(rgb, 2, 2, 8, PNG_COLOR_TYPE_RGB, 6, PNG_INTERLACE_NONE),
        jpeg_flat(8, 8, 1, 2, 3),
    };
    for (int kind = 0; kind < 2; kind++) {
        bool done = false;
        for (int allowed = 0; !done; allowed++) {
            struct vt_torture torture;
            struct vt_image_decoder *own = NULL;
            struct vt_image image = {0};
            struct vt_error err = VT_ERROR_INIT;
            vt_torture_begin(&torture, allowed);
            done = vt_image_decoder_new(&err, &own) == VT_OK &&
                   vt_image_decode(own, "f", files[kind].data, files[kind].size, &err, &image) ==
                       VT_OK;
            vt_image_release(&image);
            vt_image_decoder_free(own);
            assert_int_equal(vt_torture_end(&torture), 0);
            assert_int_equal(err.status, done ? VT_OK : VT_ERR_MEMORY);
            assert_true(allowed < 100);
        }
        free(files[kind].data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jpeg),      cmocka_unit_test(test_cmyk),
        cmocka_unit_test(test_png_kinds), cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_garbage),   cmocka_unit_test(test_flipped),
        cmocka_unit_test(test_huge),      cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

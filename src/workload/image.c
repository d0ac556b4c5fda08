/* SPDX-License-Identifier: Apache-2.0 */
#include "workload/image.h"

#include <string.h>
#include <turbojpeg.h>

#include "base/alloc.h"

/* A turbojpeg handle that met a damaged header does not start afresh: the next file, a good one,
 * would be called damaged too. So a handle is used no more after a failure. */
struct vt_image_decoder {
    tjhandle jpeg;
    bool spoiled;
};

void vt_image_release(struct vt_image *image)
{
    vt_free(image->rgb);
    *image = (struct vt_image){0};
}

static enum vt_status reserve(struct vt_image *image, uint64_t width, uint64_t height,
                              uint64_t pixel_bytes, struct vt_error *err)
{
    if (width < 1 || height < 1 || width > VT_IMAGE_SIDE_MAX || height > VT_IMAGE_SIDE_MAX ||
        width * height > VT_IMAGE_PIXELS_MAX) {
        return vt_error_set(err, VT_ERR_LIMIT,
                            "an image of %llu x %llu pixels: 1 to %d a side and %llu in all may be",
                            (unsigned long long)width, (unsigned long long)height,
                            VT_IMAGE_SIDE_MAX, (unsigned long long)VT_IMAGE_PIXELS_MAX);
    }
    size_t bytes = (size_t)(width * height * pixel_bytes);
    if (bytes > image->capacity) {
        uint8_t *rgb = vt_alloc(bytes);
        if (rgb == NULL) {
            return vt_error_set(err, VT_ERR_MEMORY, "out of memory for an image of %zu bytes",
                                bytes);
        }
        vt_free(image->rgb);
        image->rgb = rgb;
        image->capacity = bytes;
    }
    image->width = (uint32_t)width;
    image->height = (uint32_t)height;
    return VT_OK;
}

enum vt_status vt_image_resize_buffer(struct vt_image *image, uint64_t width, uint64_t height,
                                      struct vt_error *err)
{
    return reserve(image, width, height, 3, err);
}

enum vt_status vt_image_decoder_new(struct vt_error *err, struct vt_image_decoder **ret_decoder)
{
    struct vt_image_decoder *decoder = vt_calloc(1, sizeof *decoder);

    if (decoder != NULL) {
        decoder->jpeg = tjInitDecompress();
    }
    if (decoder == NULL || decoder->jpeg == NULL) {
        vt_free(decoder);
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for an image decoder");
    }
    *ret_decoder = decoder;
    return VT_OK;
}

void vt_image_decoder_free(struct vt_image_decoder *decoder)
{
    if (decoder != NULL) {
        if (decoder->jpeg != NULL) {
            (void)tjDestroy(decoder->jpeg);
        }
        vt_free(decoder);
    }
}

/* Warnings after which the picture is whole: odd bytes and odd headers of known cameras and
 * programs. All others mean that pixels are missing or wrong. */
static bool is_harmless(const char *warning)
{
    static const char *const harmless[] = {
        "extraneous bytes before marker",
        "Invalid SOS parameters",
        "Unknown Adobe color transform",
        "unknown JFIF revision",
    };
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
        if (strstr(warning, harmless[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static enum vt_status jpeg_status(struct vt_image_decoder *decoder, const char *name, int result,
                                  struct vt_error *err)
{
    if (result == 0) {
        return VT_OK;
    }
    decoder->spoiled = true;
    const char *text = tjGetErrorStr2(decoder->jpeg);
    if (tjGetErrorCode(decoder->jpeg) == TJERR_WARNING && is_harmless(text)) {
        return VT_OK;
    }
    return vt_error_set(err, VT_ERR_FORMAT, "%s: a damaged JPEG file: %s", name, text);
}

static enum vt_status renew(struct vt_image_decoder *decoder, const char *name,
                            struct vt_error *err)
{
    if (decoder->jpeg != NULL && !decoder->spoiled) {
        return VT_OK;
    }
    if (decoder->jpeg != NULL) {
        (void)tjDestroy(decoder->jpeg);
    }
    decoder->spoiled = false;
    decoder->jpeg = tjInitDecompress();
    if (decoder->jpeg == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory for an image decoder", name);
    }
    return VT_OK;
}

struct jpeg_header {
    int width, height, sampling, colours;
};

static enum vt_status jpeg_header(struct vt_image_decoder *decoder, const char *name,
                                  const uint8_t *bytes, size_t size, struct vt_error *err,
                                  struct jpeg_header *ret)
{
    struct jpeg_header header = {0};
    enum vt_status status = renew(decoder, name, err);

    if (status != VT_OK) {
        return status;
    }
    int result = tjDecompressHeader3(decoder->jpeg, bytes, (unsigned long)size, &header.width,
                                     &header.height, &header.sampling, &header.colours);
    /* An odd ratio of luma to chroma has no name in turbojpeg, but is decoded all the same. */
    bool odd = result != 0 && header.width > 0 && header.height > 0 &&
               strstr(tjGetErrorStr2(decoder->jpeg), "subsampling type") != NULL;
    status = odd ? VT_OK : jpeg_status(decoder, name, result, err);
    if (status != VT_OK) {
        return status;
    }
    /* A file that ends before its picture begins counts as one of tables alone. */
    if (header.width < 1 || header.height < 1) {
        decoder->spoiled = true;
        return vt_error_set(err, VT_ERR_FORMAT, "%s: a damaged JPEG file: no picture in it", name);
    }
    *ret = header;
    return VT_OK;
}

/* Inverted CMYK in four bytes a pixel to RGB in three, in place. */
static void cmyk_to_rgb(uint8_t *pixels, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned black = pixels[4 * i + 3];
        for (size_t c = 0; c < 3; c++) {
            pixels[3 * i + c] = (uint8_t)((pixels[4 * i + c] * black + 127) / 255);
        }
    }
}

static enum vt_status jpeg_decode(struct vt_image_decoder *decoder, const char *name,
                                  const uint8_t *bytes, size_t size, struct vt_error *err,
                                  struct vt_image *image)
{
    struct jpeg_header header;
    enum vt_status status = jpeg_header(decoder, name, bytes, size, err, &header);

    if (status != VT_OK) {
        return status;
    }
    uint64_t width = (uint64_t)header.width, height = (uint64_t)header.height;
    bool cmyk = header.colours == TJCS_CMYK || header.colours == TJCS_YCCK;
    status = reserve(image, width, height, cmyk ? 4 : 3, err);
    if (status != VT_OK) {
        vt_error_prefix(err, "%s", name);
        return status;
    }
    int result = tjDecompress2(decoder->jpeg, bytes, (unsigned long)size, image->rgb, header.width,
                               0, header.height, cmyk ? TJPF_CMYK : TJPF_RGB,
                               TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS);
    status = jpeg_status(decoder, name, result, err);
    if (status == VT_OK && cmyk) {
        cmyk_to_rgb(image->rgb, (size_t)width * height);
    }
    return status;
}

static bool is_jpeg(const uint8_t *bytes, size_t size)
{
    return size >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0;
}

static bool is_png(const uint8_t *bytes, size_t size)
{
    return size >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0;
}

static enum vt_status unknown(const char *name, size_t size, struct vt_error *err)
{
    if (size == 0) {
        return vt_error_set(err, VT_ERR_FORMAT, "%s: an empty file, not a JPEG or PNG image", name);
    }
    return vt_error_set(err, VT_ERR_FORMAT, "%s: neither a JPEG nor a PNG file by its first bytes",
                        name);
}

enum vt_status vt_image_header(struct vt_image_decoder *decoder, const char *name,
                               const uint8_t *bytes, size_t size, struct vt_error *err,
                               uint32_t *ret_width, uint32_t *ret_height)
{
    struct jpeg_header header;

    if (is_png(bytes, size)) {
        return vt_image_png(name, bytes, size, err, NULL, ret_width, ret_height);
    }
    if (!is_jpeg(bytes, size)) {
        return unknown(name, size, err);
    }
    enum vt_status status = jpeg_header(decoder, name, bytes, size, err, &header);
    if (status != VT_OK) {
        return status;
    }
    *ret_width = (uint32_t)header.width;
    *ret_height = (uint32_t)header.height;
    return VT_OK;
}

enum vt_status vt_image_decode(struct vt_image_decoder *decoder, const char *name,
                               const uint8_t *bytes, size_t size, struct vt_error *err,
                               struct vt_image *image)
{
    if (is_png(bytes, size)) {
        uint32_t width, height;
        return vt_image_png(name, bytes, size, err, image, &width, &height);
    }
    if (!is_jpeg(bytes, size)) {
        return unknown(name, size, err);
    }
    return jpeg_decode(decoder, name, bytes, size, err, image);
}

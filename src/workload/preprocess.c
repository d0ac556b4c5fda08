/* SPDX-License-Identifier: Apache-2.0 */
#include "workload/preprocess.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "workload/element.h"
#include "workload/resize.h"

/* The size where the model leaves it open and nobody says one. */
#define SIZE_DEFAULT 224

struct preset {
    const char *name;
    const char *values; /* for people */
    double crop, scale;
    double mean[3], std[3];
};

static const struct preset presets[] = {
    {"raw", "raw 0..255", 1, 1, {0, 0, 0}, {1, 1, 1}},
    {"imagenet",
     "normalised for ImageNet",
     0.875,
     1.0 / 255,
     {0.485, 0.456, 0.406},
     {0.229, 0.224, 0.225}},
    {"tf", "values -1..1", 0.875, 1 / 127.5, {1, 1, 1}, {1, 1, 1}},
};
#define PRESETS (sizeof presets / sizeof presets[0])

/* ---- values of the recipe -------------------------------------------------------------------- */

static enum vt_status bad_value(const struct vt_recipe_entry *entry, const char *allowed,
                                struct vt_error *err)
{
    return vt_error_set(err, VT_ERR_USAGE, "%s '%.80s': %s", entry->from, entry->value, allowed);
}

/* Digits up to `stop` as a number of pixels; false when it is none from 1 to the largest side. */
static bool parse_pixels(const char *text, const char *stop, uint32_t *ret)
{
    uint32_t value = 0;

    for (const char *at = text; at < stop; at++) {
        if (*at < '0' || *at > '9') {
            return false;
        }
        value = value * 10 + (uint32_t)(*at - '0');
        if (value > VT_IMAGE_SIDE_MAX) {
            return false;
        }
    }
    *ret = value;
    return value > 0;
}

/* "WxH". */
static bool parse_size(const char *text, uint32_t *ret_width, uint32_t *ret_height)
{
    const char *by = strchr(text, 'x');

    return by != NULL && parse_pixels(text, by, ret_width) &&
           parse_pixels(by + 1, by + strlen(by), ret_height);
}

static enum vt_status parse_resize(const struct vt_recipe *recipe, struct vt_error *err,
                                   struct vt_preprocess *ret)
{
    const struct vt_recipe_entry *entry = &recipe->entry[VT_RECIPE_RESIZE];
    const char *text = entry->value;

    if (text == NULL || parse_size(text, &ret->resize_width, &ret->resize_height) ||
        parse_pixels(text, text + strlen(text), &ret->resize_short)) {
        return VT_OK;
    }
    return bad_value(entry, "the shorter side in pixels (256) or WxH (224x224) is needed", err);
}

static enum vt_status parse_crop(const struct vt_recipe *recipe, struct vt_error *err,
                                 struct vt_preprocess *ret)
{
    const struct vt_recipe_entry *entry = &recipe->entry[VT_RECIPE_CROP];
    const char *text = entry->value;
    uint32_t pixels = 0;
    double fraction = 0;

    if (text == NULL || parse_size(text, &ret->crop_width, &ret->crop_height)) {
        return VT_OK;
    }
    if (parse_pixels(text, text + strlen(text), &pixels) && pixels > 1) {
        ret->crop_width = pixels;
        ret->crop_height = pixels;
        return VT_OK;
    }
    if (vt_parse_real(text, &fraction, NULL) == VT_OK && fraction > 0 && fraction <= 1) {
        ret->crop_fraction = fraction;
        return VT_OK;
    }
    return bad_value(entry, "a fraction over 0 and up to 1, pixels (224), or WxH is needed", err);
}

/* One number for all channels, or three with commas between. */
static enum vt_status parse_numbers(const struct vt_recipe_entry *entry, bool positive,
                                    struct vt_error *err, double ret[3], size_t *ret_n)
{
    const char *at = entry->value;
    double value[3];
    size_t n = 0;

    while (at != NULL && n < 3) {
        char word[64];
        size_t length = strcspn(at, ",");
        if (length >= sizeof word) {
            break;
        }
        memcpy(word, at, length);
        word[length] = '\0';
        if (vt_parse_real(word, &value[n], NULL) != VT_OK || (positive && value[n] <= 0)) {
            break;
        }
        n++;
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    if (at != NULL || (n != 1 && n != 3)) {
        return bad_value(entry,
                         positive ? "one number above 0, or three with commas between, is needed"
                                  : "one number, or three with commas between, is needed",
                         err);
    }
    for (size_t c = 0; c < 3; c++) {
        ret[c] = value[n == 3 ? c : 0];
    }
    *ret_n = n;
    return VT_OK;
}

static enum vt_status find_preset(const struct vt_recipe_entry *entry, struct vt_error *err,
                                  const struct preset **ret)
{
    for (size_t i = 0; i < PRESETS; i++) {
        if (entry->value == NULL || strcmp(entry->value, presets[i].name) == 0) {
            *ret = &presets[i];
            return VT_OK;
        }
    }
    return bad_value(entry, "raw, imagenet or tf is needed", err);
}

/* ---- the model's input ----------------------------------------------------------------------- */

static enum vt_status port_refused(const struct vt_port *port, struct vt_error *err)
{
    char shape[96];

    return vt_error_set(err, VT_ERR_UNSUPPORTED,
                        "the input '%s' is %s %s: an image is Nx3xHxW or NxHxWx3 (or of 1 channel) "
                        "with N open or 1, of float32, float16, float64, uint8 or int8; for other "
                        "models there is --workload tensor",
                        port->name, vt_dtype_name(port->dtype),
                        vt_shape_text(port->dim, port->rank, port->symbol, shape, sizeof shape));
}

static bool is_channels(int64_t extent)
{
    return extent == 1 || extent == 3;
}

/* The size that the recipe names in pixels: what comes out of its last step. */
static enum vt_status size_of_recipe(const struct vt_recipe *recipe, struct vt_error *err,
                                     uint32_t *ret_width, uint32_t *ret_height)
{
    struct vt_preprocess steps = {0};
    enum vt_status status = parse_resize(recipe, err, &steps);

    if (status == VT_OK) {
        status = parse_crop(recipe, err, &steps);
    }
    if (status == VT_OK) {
        bool crop = steps.crop_width > 0, stretch = steps.resize_width > 0;
        *ret_width = crop ? steps.crop_width : stretch ? steps.resize_width : SIZE_DEFAULT;
        *ret_height = crop ? steps.crop_height : stretch ? steps.resize_height : SIZE_DEFAULT;
    }
    return status;
}

enum vt_status vt_image_port_find(const struct vt_signature *signature,
                                  const struct vt_recipe *recipe, struct vt_error *err,
                                  struct vt_image_port *ret)
{
    uint32_t width, height;

    if (signature->n_inputs != 1) {
        return vt_error_set(err, VT_ERR_UNSUPPORTED,
                            "image-classification needs a model with one input, this one has %u: "
                            "use --workload tensor",
                            signature->n_inputs);
    }
    const struct vt_port *port = &signature->inputs[0];
    bool type = port->dtype == VT_F32 || port->dtype == VT_F16 || port->dtype == VT_F64 ||
                port->dtype == VT_U8 || port->dtype == VT_I8;
    bool batch = port->rank == 4 && (port->dim[0] == -1 || port->dim[0] == 1);
    if (!type || (!batch && port->rank != 3)) {
        return port_refused(port, err);
    }
    enum vt_status status = size_of_recipe(recipe, err, &width, &height);
    if (status != VT_OK) {
        return status;
    }
    const int64_t *dim = port->dim + (port->rank - 3);
    bool last = !is_channels(dim[0]) && is_channels(dim[2]);
    int64_t channels = last ? dim[2] : dim[0] == -1 ? 3 : dim[0];
    int64_t h = last ? dim[0] : dim[1], w = last ? dim[1] : dim[2];
    struct vt_image_port found = {.dtype = port->dtype,
                                  .rank = port->rank,
                                  .channels_last = last,
                                  .open = h < 0 || w < 0 || (!last && dim[0] < 0)};
    h = h == -1 ? height : h;
    w = w == -1 ? width : w;
    if (!is_channels(channels) || h < 1 || w < 1 || h > VT_IMAGE_SIDE_MAX ||
        w > VT_IMAGE_SIDE_MAX || (uint64_t)h * (uint64_t)w > VT_IMAGE_PIXELS_MAX) {
        return port_refused(port, err);
    }
    found.channels = (uint32_t)channels;
    found.height = (uint32_t)h;
    found.width = (uint32_t)w;
    *ret = found;
    return VT_OK;
}

uint32_t vt_image_port_shape(const struct vt_image_port *port, int64_t *ret_dim)
{
    uint32_t rank = 0;

    if (port->rank == 4) {
        ret_dim[rank++] = 1;
    }
    if (!port->channels_last) {
        ret_dim[rank++] = port->channels;
    }
    ret_dim[rank++] = port->height;
    ret_dim[rank++] = port->width;
    if (port->channels_last) {
        ret_dim[rank++] = port->channels;
    }
    return rank;
}

/* ---- building -------------------------------------------------------------------------------- */

/* The range of the integer types. */
static bool fits(enum vt_dtype dtype, double value)
{
    switch (dtype) {
    case VT_U8:
        return value >= 0 && value <= 255;
    case VT_I8:
        return value >= -128 && value <= 127;
    case VT_F16:
        return fabs(value) <= 65504;
    default:
        return true;
    }
}

/* Every element there can be, computed once in double precision. */
static enum vt_status fill_elements(struct vt_preprocess *preprocess, double scale,
                                    const double mean[3], const double std[3], struct vt_error *err)
{
    enum vt_dtype dtype = preprocess->port.dtype;

    preprocess->element_bytes = vt_dtype_bytes(dtype);
    for (size_t c = 0; c < 3; c++) {
        for (int v = 0; v < 256; v++) {
            double value = (v * scale - mean[c]) / std[c];
            value = vt_element_is_integer(dtype) ? floor(value + 0.5) : value;
            if (!fits(dtype, value)) {
                return vt_error_set(err, VT_ERR_USAGE,
                                    "a pixel of %d becomes %g, which %s, the type of the model's "
                                    "input, cannot hold: see --preprocess, --scale, --mean, --std",
                                    v, value, vt_dtype_name(dtype));
            }
            vt_element_set(dtype, preprocess->element[c][v], 0, value);
        }
    }
    return VT_OK;
}

static enum vt_status parse_values(struct vt_preprocess *ret, const struct vt_recipe *recipe,
                                   const struct preset *preset, struct vt_error *err)
{
    const struct vt_recipe_entry *entry = recipe->entry;
    double mean[3], std[3], scale = preset->scale;
    size_t n_mean = 3, n_std = 3;
    enum vt_status status = VT_OK;

    memcpy(mean, preset->mean, sizeof mean);
    memcpy(std, preset->std, sizeof std);
    if (entry[VT_RECIPE_MEAN].value != NULL) {
        status = parse_numbers(&entry[VT_RECIPE_MEAN], false, err, mean, &n_mean);
        ret->custom = true;
    }
    if (status == VT_OK && entry[VT_RECIPE_STD].value != NULL) {
        status = parse_numbers(&entry[VT_RECIPE_STD], true, err, std, &n_std);
        ret->custom = true;
    }
    if (status == VT_OK && entry[VT_RECIPE_SCALE].value != NULL) {
        status = vt_parse_real(entry[VT_RECIPE_SCALE].value, &scale, NULL);
        if (status != VT_OK || scale == 0) {
            status = bad_value(&entry[VT_RECIPE_SCALE], "a number other than 0 is needed", err);
        }
        ret->custom = true;
    }
    if (status != VT_OK) {
        return status;
    }
    bool differ = mean[0] != mean[1] || mean[0] != mean[2] || std[0] != std[1] || std[0] != std[2];
    if (ret->port.channels == 1 && differ) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "the model takes one channel, but --preprocess %s has three means and "
                            "deviations: give --mean and --std with one number each",
                            preset->name);
    }
    return fill_elements(ret, scale, mean, std, err);
}

enum vt_status vt_preprocess_init(const struct vt_recipe *recipe, const struct vt_image_port *port,
                                  struct vt_error *err, struct vt_preprocess *ret)
{
    const struct vt_recipe_entry *channels = &recipe->entry[VT_RECIPE_CHANNELS];
    const struct vt_recipe_entry *offset = &recipe->entry[VT_RECIPE_LABEL_OFFSET];
    struct vt_preprocess made = {.port = *port};
    const struct preset *preset = NULL;
    enum vt_status status = find_preset(&recipe->entry[VT_RECIPE_PREPROCESS], err, &preset);

    if (status == VT_OK) {
        status = parse_resize(recipe, err, &made);
    }
    if (status == VT_OK) {
        status = parse_crop(recipe, err, &made);
    }
    if (status == VT_OK && channels->value != NULL) {
        made.bgr = strcmp(channels->value, "bgr") == 0;
        if (!made.bgr && strcmp(channels->value, "rgb") != 0) {
            status = bad_value(channels, "rgb or bgr is needed", err);
        }
    }
    if (status == VT_OK && offset->value != NULL &&
        (vt_parse_int(offset->value, &made.label_offset, NULL) != VT_OK ||
         made.label_offset < INT32_MIN || made.label_offset > INT32_MAX)) {
        status = bad_value(offset, "a whole number is needed", err);
    }
    if (status == VT_OK) {
        made.preset = preset->values;
        status = parse_values(&made, recipe, preset, err);
    }
    if (status != VT_OK) {
        return status;
    }
    if (made.crop_fraction == 0 && made.crop_width == 0 && made.resize_short > 0 &&
        preset->crop == 1) {
        made.crop_width = port->width;
        made.crop_height = port->height;
    } else if (made.crop_fraction == 0 && made.crop_width == 0) {
        made.crop_fraction = made.resize_width > 0 ? 1 : preset->crop;
    }
    *ret = made;
    return VT_OK;
}

void vt_preprocess_text(const struct vt_preprocess *preprocess, char *text, size_t size)
{
    const struct vt_image_port *port = &preprocess->port;
    char crop[48] = "", resize[48] = "";

    if (preprocess->resize_short > 0) {
        (void)snprintf(resize, sizeof resize, "shorter side to %u, ", preprocess->resize_short);
    } else if (preprocess->resize_width > 0) {
        (void)snprintf(resize, sizeof resize, "stretched to %ux%u, ", preprocess->resize_width,
                       preprocess->resize_height);
    }
    if (preprocess->crop_width > 0) {
        (void)snprintf(crop, sizeof crop, "centre crop %ux%u, ", preprocess->crop_width,
                       preprocess->crop_height);
    } else if (preprocess->crop_fraction < 1) {
        (void)snprintf(crop, sizeof crop, "centre crop %g, ", preprocess->crop_fraction);
    }
    (void)snprintf(text, size, "%s%sfitted to %ux%u, %s %s", resize, crop, port->width,
                   port->height, preprocess->custom ? "own scale, mean, std," : preprocess->preset,
                   port->channels == 1 ? "grey"
                   : preprocess->bgr   ? "BGR"
                                       : "RGB");
}

/* ---- doing ----------------------------------------------------------------------------------- */

void vt_preprocess_scratch_release(struct vt_preprocess_scratch *scratch)
{
    vt_image_release(&scratch->resized);
    vt_image_release(&scratch->fitted);
}

size_t vt_preprocess_bytes(const struct vt_preprocess *preprocess)
{
    const struct vt_image_port *port = &preprocess->port;

    return (size_t)port->channels * port->height * port->width * preprocess->element_bytes;
}

/* Step 1; *ret_image is the image itself where there is no such step. */
static enum vt_status resize(const struct vt_preprocess *preprocess, const struct vt_image *image,
                             struct vt_image *room, struct vt_error *err,
                             const struct vt_image **ret_image)
{
    struct vt_region whole = {.width = image->width, .height = image->height};
    uint32_t width = preprocess->resize_width, height = preprocess->resize_height;

    if (preprocess->resize_short > 0) {
        double shorter = fmin(image->width, image->height);
        double scale = preprocess->resize_short / shorter;
        bool wide = image->width > image->height;
        double longer = floor(fmax(image->width, image->height) * scale + 0.5);
        if (longer > VT_IMAGE_SIDE_MAX) {
            return vt_error_set(err, VT_ERR_LIMIT, "%u x %u pixels cannot be resized to a side %u",
                                image->width, image->height, preprocess->resize_short);
        }
        width = wide ? (uint32_t)longer : preprocess->resize_short;
        height = wide ? preprocess->resize_short : (uint32_t)longer;
    }
    if (width == 0 || (width == image->width && height == image->height)) {
        *ret_image = image;
        return VT_OK;
    }
    *ret_image = room;
    return vt_image_bilinear(image, &whole, width, height, err, room);
}

/* Step 2. */
static enum vt_status crop(const struct vt_preprocess *preprocess, const struct vt_image *image,
                           struct vt_error *err, struct vt_region *ret)
{
    const struct vt_image_port *port = &preprocess->port;
    uint32_t width = preprocess->crop_width, height = preprocess->crop_height;

    if (preprocess->resize_width > 0 && width == 0 && preprocess->crop_fraction == 1) {
        *ret = (struct vt_region){.width = image->width, .height = image->height};
        return VT_OK;
    }
    if (width == 0) {
        *ret = vt_region_centred(image, port->width, port->height, preprocess->crop_fraction);
        return VT_OK;
    }
    if (width > image->width || height > image->height) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "a crop of %u x %u pixels from an image of %u x %u: see --crop and "
                            "--resize",
                            width, height, image->width, image->height);
    }
    *ret = (struct vt_region){.x = (image->width - width) / 2,
                              .y = (image->height - height) / 2,
                              .width = width,
                              .height = height};
    return VT_OK;
}

static uint8_t luma(const uint8_t *rgb)
{
    return (uint8_t)((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}

/* Step 4. Rows of `from` begin `stride` bytes apart. */
static void store(const struct vt_preprocess *preprocess, const uint8_t *from, size_t stride,
                  uint8_t *to)
{
    const struct vt_image_port *port = &preprocess->port;
    size_t bytes = preprocess->element_bytes;
    size_t plane = port->channels_last ? 1 : (size_t)port->width * port->height;
    size_t step = port->channels_last ? port->channels : 1;

    for (uint32_t c = 0; c < port->channels; c++) {
        size_t source = preprocess->bgr ? 2 - c : c;
        const uint8_t(*element)[8] = preprocess->element[port->channels == 1 ? 0 : source];
        uint8_t *at = to + c * plane * bytes;
        for (uint32_t y = 0; y < port->height; y++) {
            const uint8_t *row = from + (size_t)y * stride;
            for (uint32_t x = 0; x < port->width; x++, at += step * bytes) {
                uint8_t value =
                    port->channels == 1 ? luma(row + (size_t)3 * x) : row[(size_t)3 * x + source];
                memcpy(at, element[value], bytes);
            }
        }
    }
}

enum vt_status vt_preprocess_apply(const struct vt_preprocess *preprocess,
                                   const struct vt_image *image,
                                   struct vt_preprocess_scratch *scratch, struct vt_error *err,
                                   void *ret_data)
{
    const struct vt_image_port *port = &preprocess->port;
    const struct vt_image *from = NULL;
    struct vt_region region;
    enum vt_status status = resize(preprocess, image, &scratch->resized, err, &from);

    if (status == VT_OK) {
        status = crop(preprocess, from, err, &region);
    }
    if (status != VT_OK) {
        return status;
    }
    if (region.width != port->width || region.height != port->height) {
        status = vt_image_bilinear(from, &region, port->width, port->height, err, &scratch->fitted);
        if (status != VT_OK) {
            return status;
        }
        from = &scratch->fitted;
        region = (struct vt_region){.width = port->width, .height = port->height};
    }
    size_t stride = (size_t)from->width * 3;
    store(preprocess, from->rgb + region.y * stride + (size_t)region.x * 3, stride, ret_data);
    return VT_OK;
}

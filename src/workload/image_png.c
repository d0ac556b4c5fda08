/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PNG to RGB through libpng. Its errors leave by longjmp, so what must outlive one is in a struct
 * of the caller's, never in a local variable of the function that calls setjmp.
 */
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "workload/image.h"

/* Text and profiles in a file may ask for memory; so much is enough for honest ones. */
#define CHUNK_BYTES_MAX ((png_alloc_size_t)8 << 20)
#define CHUNKS_MAX      1000

struct png_job {
    const char *name;
    const uint8_t *bytes;
    size_t size, at;
    struct vt_image *image; /* NULL: the header alone */
    uint8_t **rows;
    uint32_t width, height;
    bool no_memory;
    enum vt_status status; /* of what failed on our side */
    struct vt_error *err;
    char text[128]; /* libpng's */
};

static void on_error(png_structp png, png_const_charp text)
{
    struct png_job *job = png_get_error_ptr(png);

    (void)snprintf(job->text, sizeof job->text, "%s", text);
    longjmp(png_jmpbuf(png), 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

static void on_read(png_structp png, png_bytep bytes, size_t n)
{
    struct png_job *job = png_get_io_ptr(png);

    if (n > job->size - job->at) {
        png_error(png, "the file is cut off");
    }
    memcpy(bytes, job->bytes + job->at, n);
    job->at += n;
}

static png_voidp on_alloc(png_structp png, png_alloc_size_t n)
{
    struct png_job *job = png_get_mem_ptr(png);

    /* Chunks beside the picture are read whole, and the limit that libpng is given does not hold
     * for all of them: some ask for as much as their length says, up to 2 GiB. */
    if (n > CHUNK_BYTES_MAX) {
        return NULL;
    }
    void *memory = vt_alloc(n);
    job->no_memory = job->no_memory || memory == NULL;
    return memory;
}

static void on_free(png_structp png, png_voidp memory)
{
    (void)png;
    vt_free(memory);
}

/* Asks for 8-bit RGB whatever is in the file. */
static void set_transforms(png_structp png, png_infop info)
{
    png_byte colours = png_get_color_type(png, info);

    png_set_scale_16(png);
    png_set_expand(png);
    if ((colours & PNG_COLOR_MASK_COLOR) == 0) {
        png_set_gray_to_rgb(png);
    }
    png_set_strip_alpha(png);
    (void)png_set_interlace_handling(png);
    png_read_update_info(png, info);
}

/* The room for the pixels; a failure is in the job. */
static bool make_room(struct png_job *job)
{
    job->status = vt_image_resize_buffer(job->image, job->width, job->height, job->err);
    if (job->status != VT_OK) {
        vt_error_prefix(job->err, "%s", job->name);
        return false;
    }
    job->rows = vt_calloc(job->height, sizeof job->rows[0]);
    if (job->rows == NULL) {
        job->status = vt_error_set(job->err, VT_ERR_MEMORY, "%s: out of memory", job->name);
        return false;
    }
    for (uint32_t y = 0; y < job->height; y++) {
        job->rows[y] = job->image->rgb + (size_t)y * job->width * 3;
    }
    return true;
}

/* False when libpng jumped out (its words are in the job) or our side failed. */
static bool read_png(struct png_job *job, png_structp png, png_infop info)
{
    if (setjmp(png_jmpbuf(png)) != 0) {
        return false;
    }
    png_set_user_limits(png, VT_IMAGE_SIDE_MAX, VT_IMAGE_SIDE_MAX);
    png_set_chunk_malloc_max(png, CHUNK_BYTES_MAX);
    png_set_chunk_cache_max(png, CHUNKS_MAX);
    png_set_read_fn(png, job, on_read);
    png_read_info(png, info);
    job->width = png_get_image_width(png, info);
    job->height = png_get_image_height(png, info);
    if (job->image == NULL) {
        return true;
    }
    set_transforms(png, info);
    if (png_get_rowbytes(png, info) != (size_t)job->width * 3) {
        png_error(png, "an unusual kind of pixels");
    }
    if (!make_room(job)) {
        return false;
    }
    png_read_image(png, job->rows);
    png_read_end(png, NULL);
    return true;
}

enum vt_status vt_image_png(const char *name, const uint8_t *bytes, size_t size,
                            struct vt_error *err, struct vt_image *image, uint32_t *ret_width,
                            uint32_t *ret_height)
{
    struct png_job job = {
        .name = name, .bytes = bytes, .size = size, .image = image, .status = VT_OK, .err = err};
    png_infop info = NULL;
    png_structp png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &job, on_error, on_warning,
                                               &job, on_alloc, on_free);

    if (png != NULL) {
        info = png_create_info_struct(png);
    }
    if (info == NULL) {
        png_destroy_read_struct(&png, &info, NULL);
        return vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory for a PNG decoder", name);
    }
    bool done = read_png(&job, png, info);
    png_destroy_read_struct(&png, &info, NULL);
    vt_free(job.rows);
    if (job.status != VT_OK) {
        return job.status;
    }
    if (!done && job.no_memory) {
        return vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory for a PNG image", name);
    }
    if (!done) {
        return vt_error_set(err, VT_ERR_FORMAT, "%s: a damaged PNG file: %s", name, job.text);
    }
    *ret_width = job.width;
    *ret_height = job.height;
    return VT_OK;
}

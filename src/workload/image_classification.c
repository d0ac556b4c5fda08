/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Image classification: a folder of JPEG and PNG files, top-1 accuracy.
 *
 * open() looks at the header of every file, load() decodes and prepares those it is asked for and
 * keeps them as the model's input, so that sample() is a look-up.
 *
 * A bad file ends the run, named, unless skip_bad is set. Then a file whose header is bad is left
 * out at open(). One whose header is good but whose contents turn out damaged at load() has been
 * announced by then, so it stays in its place: the model gets zeros for it, score() does not count
 * it, and info() counts it among those skipped.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/pool.h"
#include "base/topology.h"
#include "workload/classify.h"
#include "workload/dataset.h"
#include "workload/preprocess.h"
#include "workload/room.h"

/* Files that make a thread worth starting, and the most threads. */
#define FILES_A_THREAD 8
#define THREADS_MAX    64

struct images {
    struct vt_dataset dataset;
    const char *path; /* of the data set, borrowed */
    struct vt_preprocess preprocess;
    struct vt_class_output output;
    bool skip_bad;
    uint64_t count;
    uint64_t performance_count;
    int64_t *labels;  /* VT_NO_LABEL: not scored */
    void **data;      /* prepared samples; NULL: not loaded */
    bool *bad;        /* damaged files that load() met */
    uint64_t skipped; /* with those that open() left out */
    uint64_t dropped; /* by open() */
    size_t sample_bytes;
    uint32_t rank;
    int64_t dim[VT_RANK_MAX];
};

/* ---- many files at once ---------------------------------------------------------------------- */

struct worker {
    struct vt_image_decoder *decoder;
    struct vt_image image;
    struct vt_preprocess_scratch scratch;
    struct vt_error err;
    int64_t failed_at; /* position of the worker's first failure, INT64_MAX: none */
};

typedef enum vt_status (*file_func)(struct images *images, uint64_t index, struct worker *worker,
                                    struct vt_error *err);

/* One pass over files: `indices`, or 0 to n - 1 where that is NULL. */
struct pass {
    struct images *images;
    const uint64_t *indices;
    file_func work;
    struct worker *workers;
    uint32_t n_workers;
    _Atomic int64_t failed_at; /* lowest position of a failure: nothing behind it is begun */
};

static void pass_body(void *ctx, int64_t begin, int64_t end, uint32_t number)
{
    struct pass *pass = ctx;
    struct worker *worker = &pass->workers[number];

    for (int64_t i = begin; i < end && i < atomic_load(&pass->failed_at); i++) {
        uint64_t index = pass->indices != NULL ? pass->indices[i] : (uint64_t)i;
        struct vt_error err = VT_ERROR_INIT;
        if (pass->work(pass->images, index, worker, &err) == VT_OK) {
            continue;
        }
        if (i < worker->failed_at) {
            worker->failed_at = i;
            worker->err = err;
        }
        int64_t lowest = atomic_load(&pass->failed_at);
        while (i < lowest && !atomic_compare_exchange_weak(&pass->failed_at, &lowest, i)) {
        }
        return;
    }
}

/* The failure of the lowest position, whichever thread met it: the same in every run. */
static enum vt_status first_failure(const struct pass *pass, struct vt_error *err)
{
    const struct worker *first = NULL;

    for (uint32_t i = 0; i < pass->n_workers; i++) {
        const struct worker *worker = &pass->workers[i];
        if (worker->failed_at != INT64_MAX &&
            (first == NULL || worker->failed_at < first->failed_at)) {
            first = worker;
        }
    }
    return first == NULL ? VT_OK : vt_error_set(err, first->err.status, "%s", first->err.text);
}

static void pass_release(struct pass *pass)
{
    for (uint32_t i = 0; i < pass->n_workers && pass->workers != NULL; i++) {
        vt_image_decoder_free(pass->workers[i].decoder);
        vt_image_release(&pass->workers[i].image);
        vt_preprocess_scratch_release(&pass->workers[i].scratch);
    }
    vt_free(pass->workers);
}

static enum vt_status run_pass(struct images *images, const uint64_t *indices, size_t n,
                               file_func work, struct vt_error *err)
{
    uint64_t threads = vt_topology()->usable_cpus;
    struct vt_pool *pool = NULL;
    struct pass pass = {.images = images, .indices = indices, .work = work, .failed_at = INT64_MAX};
    enum vt_status status = VT_OK;

    threads = threads < n / FILES_A_THREAD ? threads : n / FILES_A_THREAD;
    threads = threads < 1 ? 1 : threads > THREADS_MAX ? THREADS_MAX : threads;
    if (threads > 1) {
        struct vt_pool_options options = {.threads = (uint32_t)threads};
        status = vt_pool_new(&options, err, &pool);
    }
    pass.n_workers = vt_pool_threads(pool);
    if (status == VT_OK) {
        pass.workers = vt_calloc(pass.n_workers, sizeof pass.workers[0]);
        if (pass.workers == NULL) {
            status = vt_error_set(err, VT_ERR_MEMORY, "out of memory for reading images");
        }
    }
    for (uint32_t i = 0; i < pass.n_workers && status == VT_OK; i++) {
        pass.workers[i].failed_at = INT64_MAX;
        status = vt_image_decoder_new(err, &pass.workers[i].decoder);
    }
    if (status == VT_OK) {
        vt_pool_run(pool, (int64_t)n, 1, pass_body, &pass);
        status = first_failure(&pass, err);
    }
    pass_release(&pass);
    vt_pool_free(pool);
    return status;
}

/* ---- open ------------------------------------------------------------------------------------ */

static void images_close(void *workload)
{
    struct images *images = workload;

    if (images == NULL) {
        return;
    }
    for (uint64_t i = 0; i < images->count && images->data != NULL; i++) {
        vt_free(images->data[i]);
    }
    vt_free((void *)images->data);
    vt_free(images->labels);
    vt_free(images->bad);
    vt_dataset_release(&images->dataset);
    vt_free(images);
}

/* Whether a failure is the file's fault. */
static bool is_bad_file(enum vt_status status)
{
    return status == VT_ERR_FORMAT || status == VT_ERR_READ || status == VT_ERR_NOT_FOUND ||
           status == VT_ERR_LIMIT || status == VT_ERR_UNSUPPORTED;
}

static enum vt_status check_header(struct images *images, uint64_t index, struct worker *worker,
                                   struct vt_error *err)
{
    const char *path = images->dataset.items[index].path;
    struct vt_file_map map = {0};
    uint32_t width, height;
    enum vt_status status = vt_file_map_open(path, err, &map);

    if (status == VT_OK) {
        status = vt_image_header(worker->decoder, path, map.bytes, map.size, err, &width, &height);
    }
    vt_file_map_release(&map);
    if (status != VT_OK && images->skip_bad && is_bad_file(status)) {
        images->bad[index] = true;
        return VT_OK;
    }
    return status;
}

/* Takes the bad items out of the list. */
static enum vt_status drop_bad(struct images *images, struct vt_error *err)
{
    uint64_t kept = 0;

    for (uint64_t i = 0; i < images->count; i++) {
        if (!images->bad[i]) {
            images->dataset.items[kept++] = images->dataset.items[i];
        }
        images->bad[i] = false;
    }
    images->dropped = images->count - kept;
    images->skipped = images->dropped;
    if (kept == 0) {
        return vt_error_set(err, VT_ERR_FORMAT, "%s: none of the %llu images can be read",
                            images->path, (unsigned long long)images->count);
    }
    images->count = kept;
    return VT_OK;
}

/* Labels must be classes of the model. */
static enum vt_status take_labels(struct images *images, struct vt_error *err)
{
    int64_t offset = images->preprocess.label_offset;
    int64_t classes = images->output.classes;

    for (uint64_t i = 0; i < images->count; i++) {
        const struct vt_dataset_item *item = &images->dataset.items[i];
        int64_t class = images->dataset.labelled ? item->label + offset : 0;
        if (class < 0 || (classes > 0 && class >= classes)) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "%s has label %lld (%s) with offset %lld, but the model has "
                                "classes 0 to %lld: see --label-offset",
                                item->path, (long long)item->label, images->dataset.source,
                                (long long)offset, (long long)classes - 1);
        }
        images->labels[i] = item->label;
    }
    return VT_OK;
}

static enum vt_status open_dataset(struct images *images, const struct vt_workload_config *config,
                                   struct vt_error *err)
{
    enum vt_status status = vt_dataset_open(config->dataset, config->labels, err, &images->dataset);

    if (status != VT_OK) {
        return status;
    }
    images->count = images->dataset.n;
    if (config->sample_count > 0 && config->sample_count < images->count) {
        images->count = config->sample_count;
    }
    images->labels = vt_calloc(images->count, sizeof images->labels[0]);
    images->data = (void **)vt_calloc(images->count, sizeof images->data[0]);
    images->bad = vt_calloc(images->count, sizeof images->bad[0]);
    if (images->labels == NULL || images->data == NULL || images->bad == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory for %llu images", images->path,
                            (unsigned long long)images->count);
    }
    status = run_pass(images, NULL, images->count, check_header, err);
    if (status == VT_OK) {
        status = drop_bad(images, err);
    }
    return status == VT_OK ? take_labels(images, err) : status;
}

static enum vt_status fit_to_model(const struct vt_workload_config *config,
                                   const struct vt_signature *signature, struct vt_error *err,
                                   struct vt_preprocess *ret)
{
    struct vt_recipe recipe;
    struct vt_image_port port;
    enum vt_status status = vt_recipe_open(config, err, &recipe);

    if (status != VT_OK) {
        return status;
    }
    status = vt_image_port_find(signature, &recipe, err, &port);
    if (status == VT_OK) {
        status = vt_preprocess_init(&recipe, &port, err, ret);
    }
    vt_recipe_release(&recipe);
    return status;
}

static enum vt_status images_open(const struct vt_workload_config *config,
                                  const struct vt_signature *signature, struct vt_error *err,
                                  void **ret_workload)
{
    if (config->dataset == NULL) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "image-classification needs --dataset: a folder of JPEG or PNG files "
                            "with val_map.txt or one folder a class, or a label list");
    }
    struct images *images = vt_calloc(1, sizeof *images);
    if (images == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for image-classification");
    }
    images->path = config->dataset;
    images->skip_bad = config->skip_bad;
    enum vt_status status = fit_to_model(config, signature, err, &images->preprocess);
    if (status == VT_OK) {
        status = vt_class_output_find(signature, err, &images->output);
    }
    if (status == VT_OK) {
        status = open_dataset(images, config, err);
    }
    if (status != VT_OK) {
        images_close(images);
        return status;
    }
    images->rank = vt_image_port_shape(&images->preprocess.port, images->dim);
    images->sample_bytes = vt_preprocess_bytes(&images->preprocess);
    images->performance_count = vt_workload_performance_count(
        images->count, config->performance_count, images->sample_bytes);
    *ret_workload = images;
    return VT_OK;
}

static enum vt_status images_shapes(const struct vt_workload_config *config,
                                    const struct vt_signature *signature, struct vt_error *err,
                                    struct vt_shape_binding *ret_shapes, uint32_t capacity,
                                    uint32_t *ret_n)
{
    struct vt_bindings bindings = {.items = ret_shapes, .capacity = capacity};
    struct vt_preprocess preprocess;
    int64_t dim[VT_RANK_MAX];
    enum vt_status status = fit_to_model(config, signature, err, &preprocess);

    if (status == VT_OK) {
        (void)vt_image_port_shape(&preprocess.port, dim);
        status =
            vt_bindings_add(&bindings, &signature->inputs[0], dim, preprocess.port.rank == 4, err);
    }
    if (status == VT_OK) {
        *ret_n = bindings.n;
    }
    return status;
}

/* ---- samples --------------------------------------------------------------------------------- */

static void images_info(void *workload, struct vt_workload_info *ret_info)
{
    const struct images *images = workload;
    char recipe[112];
    struct vt_workload_info info = {.name = vt_workload_image_classification.name,
                                    .total_count = images->count,
                                    .performance_count = images->performance_count,
                                    .skipped = images->skipped,
                                    .has_quality = images->dataset.labelled};

    vt_preprocess_text(&images->preprocess, recipe, sizeof recipe);
    (void)snprintf(info.description, sizeof info.description, "%llu images (%.56s), %s",
                   (unsigned long long)images->count, images->dataset.source, recipe);
    *ret_info = info;
}

static enum vt_status prepare(struct images *images, uint64_t index, struct worker *worker,
                              struct vt_error *err)
{
    const char *path = images->dataset.items[index].path;
    struct vt_file_map map = {0};
    enum vt_status status = vt_file_map_open(path, err, &map);

    if (status == VT_OK) {
        status = vt_image_decode(worker->decoder, path, map.bytes, map.size, err, &worker->image);
    }
    vt_file_map_release(&map);
    if (status != VT_OK && images->skip_bad && is_bad_file(status)) {
        images->bad[index] = true;
        memset(images->data[index], 0, images->sample_bytes);
        return VT_OK;
    }
    if (status != VT_OK) {
        return status;
    }
    status = vt_preprocess_apply(&images->preprocess, &worker->image, &worker->scratch, err,
                                 images->data[index]);
    if (status != VT_OK) {
        vt_error_prefix(err, "%s", path);
    }
    return status;
}

static void images_unload(void *workload, const uint64_t *indices, size_t n)
{
    struct images *images = workload;

    for (size_t i = 0; i < n; i++) {
        if (indices[i] < images->count) {
            vt_free(images->data[indices[i]]);
            images->data[indices[i]] = NULL;
        }
    }
}

/* Room for those of the set that are not in memory yet; writes their indices to `ret_wanted`. */
static enum vt_status make_room(struct images *images, const uint64_t *indices, size_t n,
                                struct vt_error *err, uint64_t *ret_wanted, size_t *ret_n)
{
    for (size_t i = 0; i < n; i++) {
        if (indices[i] >= images->count) {
            return vt_error_set(err, VT_ERR_USAGE, "sample %llu of %llu",
                                (unsigned long long)indices[i], (unsigned long long)images->count);
        }
        if (images->data[indices[i]] != NULL) {
            continue;
        }
        images->data[indices[i]] = vt_alloc(images->sample_bytes);
        if (images->data[indices[i]] == NULL) {
            return vt_error_set(err, VT_ERR_MEMORY,
                                "out of memory for %zu images of %zu bytes: lower "
                                "--performance-sample-count",
                                n, images->sample_bytes);
        }
        ret_wanted[(*ret_n)++] = indices[i];
    }
    return VT_OK;
}

/* What turned out damaged is counted, and not scored. */
static void forget_bad(struct images *images)
{
    images->skipped = images->dropped;
    for (uint64_t i = 0; i < images->count; i++) {
        if (images->bad[i]) {
            images->labels[i] = VT_NO_LABEL;
            images->skipped++;
        }
    }
}

static enum vt_status images_load(void *workload, const uint64_t *indices, size_t n,
                                  struct vt_error *err)
{
    struct images *images = workload;
    size_t n_wanted = 0;
    uint64_t *wanted = vt_calloc(n > 0 ? n : 1, sizeof *wanted);

    if (wanted == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for loading %zu images", n);
    }
    enum vt_status status = make_room(images, indices, n, err, wanted, &n_wanted);
    if (status == VT_OK && n_wanted > 0) {
        status = run_pass(images, wanted, n_wanted, prepare, err);
    }
    if (status != VT_OK) {
        images_unload(images, wanted, n_wanted);
    }
    if (status == VT_OK) {
        forget_bad(images);
    }
    vt_free(wanted);
    return status;
}

static void images_sample(void *workload, uint64_t index, struct vt_tensor *ret_inputs)
{
    const struct images *images = workload;
    struct vt_tensor tensor = {.dtype = images->preprocess.port.dtype,
                               .rank = images->rank,
                               .data = images->data[index],
                               .bytes = images->sample_bytes};

    memcpy(tensor.dim, images->dim, sizeof tensor.dim);
    ret_inputs[0] = tensor;
}

static enum vt_status images_finish(void *workload, uint64_t index, const struct vt_tensor *outputs,
                                    uint32_t n_outputs, void *ret_response, size_t *ret_bytes,
                                    struct vt_error *err)
{
    const struct images *images = workload;

    (void)index;
    return vt_class_output_finish(&images->output, outputs, n_outputs, ret_response, ret_bytes,
                                  err);
}

static enum vt_status images_score(void *workload, const struct vt_response *responses, size_t n,
                                   struct vt_error *err, struct vt_quality *ret_quality)
{
    const struct images *images = workload;
    struct vt_quality quality;
    enum vt_status status =
        vt_class_score(images->labels, images->count, images->preprocess.label_offset, responses, n,
                       err, &quality);

    if (status != VT_OK) {
        return status;
    }
    (void)snprintf(quality.detail, sizeof quality.detail, "on %llu images",
                   (unsigned long long)quality.count);
    if (images->skipped > 0) {
        (void)snprintf(quality.detail, sizeof quality.detail,
                       "on %llu images, %llu unreadable ones left out",
                       (unsigned long long)quality.count, (unsigned long long)images->skipped);
    }
    *ret_quality = quality;
    return VT_OK;
}

const struct vt_workload_ops vt_workload_image_classification = {
    .api_version = VT_WORKLOAD_API_VERSION,
    .struct_size = sizeof(struct vt_workload_ops),
    .name = "image-classification",
    .summary = "a folder of JPEG or PNG images with labels (--dataset); top-1",
    .open = images_open,
    .close = images_close,
    .info = images_info,
    .shapes = images_shapes,
    .load = images_load,
    .unload = images_unload,
    .sample = images_sample,
    .finish = images_finish,
    .score = images_score,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/ops/conv_choice.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/topology.h"
#include "plan/tuning.h"

/* What measuring one convolution may take; a larger one goes by rule. */
#define MEMORY_MOST ((size_t)2 << 30)

/* A convolution of made-up data, each choice with weights of its own. */
struct trial {
    const struct vt_conv *shape;
    struct vt_pool *pool;
    size_t n;
    struct vt_conv_choice choices[VT_CONV_CHOICES_MAX];
    struct vt_conv convs[VT_CONV_CHOICES_MAX];
    float *packed[VT_CONV_CHOICES_MAX];
    float *input, *output;
    void *workspace;
    size_t bytes;
};

static void *take(struct trial *trial, size_t bytes)
{
    trial->bytes += bytes;
    return trial->bytes <= MEMORY_MOST ? vt_alloc(bytes) : NULL;
}

/* Numbers without zeros, subnormals or overflow, and with pages of their own. */
static float *take_floats(struct trial *trial, size_t n)
{
    float *floats = n <= MEMORY_MOST / sizeof(float) ? take(trial, n * sizeof(float)) : NULL;
    for (size_t i = 0; i < n && floats != NULL; i++) {
        floats[i] = (float)(i % 13 + 1) * 0.0625f;
    }
    return floats;
}

static size_t image_floats(int64_t batch, int64_t channels, const int64_t extents[VT_CONV_DIMS])
{
    return (size_t)(batch * channels * extents[0] * extents[1] * extents[2]);
}

static bool begin(void *ctx)
{
    struct trial *trial = ctx;
    const struct vt_conv *shape = trial->shape;
    const uint32_t threads = vt_pool_threads(trial->pool);
    size_t workspace = 0;
    trial->input = take_floats(trial, image_floats(shape->batch, shape->in_channels, shape->in));
    trial->output = take_floats(trial, image_floats(shape->batch, shape->out_channels, shape->out));
    bool made = trial->input != NULL && trial->output != NULL;
    for (size_t i = 0; i < trial->n && made; i++) {
        struct vt_conv *conv = &trial->convs[i];
        *conv = *shape;
        vt_conv_init_as(conv, vt_topology()->features, &trial->choices[i]);
        const size_t bytes = vt_conv_workspace_bytes(conv, threads);
        workspace = bytes > workspace ? bytes : workspace;
        trial->packed[i] = take_floats(trial, vt_conv_packed_floats(conv));
        made = trial->packed[i] != NULL;
    }
    trial->workspace = made ? take(trial, workspace) : NULL;
    return trial->workspace != NULL;
}

static void run(void *ctx, uint32_t choice)
{
    const struct trial *trial = ctx;
    const struct vt_conv_data data = {
        .input = trial->input, .packed = trial->packed[choice], .output = trial->output};
    vt_conv_run(&trial->convs[choice], &data, trial->pool, trial->workspace);
}

static void end(void *ctx)
{
    struct trial *trial = ctx;
    for (size_t i = 0; i < trial->n; i++) {
        vt_free(trial->packed[i]);
    }
    vt_free(trial->input);
    vt_free(trial->output);
    vt_free(trial->workspace);
}

static void write_key(const struct vt_conv *c, char *key, size_t size)
{
    (void)snprintf(key, size,
                   "%s %s%s n%lld c%lld>%lld g%lld i%lldx%lldx%lld o%lldx%lldx%lld k%lldx%lldx%lld "
                   "s%lldx%lldx%lld d%lldx%lldx%lld p%lldx%lldx%lld",
                   c->transposed ? "deconv" : "conv", c->channels_last ? "last" : "first",
                   c->bf16 ? " bf16" : "", (long long)c->batch, (long long)c->in_channels,
                   (long long)c->out_channels, (long long)c->groups, (long long)c->in[0],
                   (long long)c->in[1], (long long)c->in[2], (long long)c->out[0],
                   (long long)c->out[1], (long long)c->out[2], (long long)c->kernel[0],
                   (long long)c->kernel[1], (long long)c->kernel[2], (long long)c->stride[0],
                   (long long)c->stride[1], (long long)c->stride[2], (long long)c->dilation[0],
                   (long long)c->dilation[1], (long long)c->dilation[2], (long long)c->pad[0],
                   (long long)c->pad[1], (long long)c->pad[2]);
}

void vt_conv_choose(struct vt_op_context *ctx, struct vt_conv *conv)
{
    const uint32_t features = vt_topology()->features;
    const struct vt_conv shape = *conv;
    struct trial trial = {.shape = &shape, .pool = ctx->pool};
    ctx->tuned = false;
    vt_conv_init(conv, features);
    trial.n = ctx->tuning != NULL ? vt_conv_choices(&shape, features, trial.choices) : 1;
    if (trial.n < 2) {
        return;
    }
    char key[2 * VT_TUNING_KEY_MAX]; /* one that is too long is no question */
    write_key(&shape, key, sizeof(key));
    struct vt_tuning_question question = {.key = key,
                                          .threads = vt_pool_threads(ctx->pool),
                                          .n_choices = (uint32_t)trial.n,
                                          .begin = begin,
                                          .run = run,
                                          .end = end,
                                          .ctx = &trial};
    for (size_t i = 0; i < trial.n; i++) {
        const struct vt_conv_choice *choice = &trial.choices[i];
        question.choices[i] = choice->name;
        if (choice->way == conv->way && choice->tile == conv->tile) {
            question.by_rule = (uint32_t)i;
        }
    }
    const uint32_t chosen = vt_tuning_choose(ctx->tuning, &question, &ctx->tuned);
    if (ctx->tuned) {
        *conv = shape;
        vt_conv_init_as(conv, features, &trial.choices[chosen]);
    }
}

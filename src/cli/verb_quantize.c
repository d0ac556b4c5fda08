/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/version.h"
#include "cli/cli.h"
#include "result/result.h"
#include "run/quantize/quantize.h"

static void print_db(char *text, size_t size, bool measured, double db)
{
    if (!measured) {
        (void)snprintf(text, size, "-");
    } else if (isinf(db)) {
        (void)snprintf(text, size, "exact");
    } else {
        (void)snprintf(text, size, "%.1f dB", db);
    }
}

static void print_layers(const struct vt_quantize_report *report)
{
    size_t width = strlen("layer");
    uint32_t quantised = 0;

    for (uint32_t i = 0; i < report->n_layers; i++) {
        const size_t length = strlen(report->layers[i].name);
        width = length > width ? (length < 48 ? length : 48) : width;
        quantised += report->layers[i].quantised ? 1 : 0;
    }
    (void)printf("%-*s  %-11s  %10s  %9s  %s\n", (int)width, "layer", "operator", "weights",
                 "alone", "becomes");
    for (uint32_t i = 0; i < report->n_layers; i++) {
        const struct vt_quantized_layer *layer = &report->layers[i];
        char db[32], weights[32];
        print_db(db, sizeof db, layer->measured, layer->db);
        (void)printf("%-*.*s  %-11s  %10s  %9s  %s%s%s\n", (int)width, (int)width, layer->name,
                     layer->folded_norm ? "Conv+Norm" : layer->op,
                     vt_count_text((uint64_t)layer->weights, weights, sizeof weights), db,
                     layer->quantised ? "int8" : "float32", layer->quantised ? "" : ": ",
                     layer->reason);
    }
    (void)printf("\nlayers         %u of %u in int8\n", quantised, report->n_layers);
}

static void print_report(const struct vt_quantize_report *report)
{
    char before[32], after[32], db[32];

    (void)printf("vatio %s · %s to int8\n%s, %llu samples of %s\n\n", vt_version(),
                 report->model_name, report->method, (unsigned long long)report->samples,
                 report->data);
    print_layers(report);
    print_db(db, sizeof db, report->has_db, report->db);
    (void)printf("outputs        %s of signal to quantisation noise on the samples\n", db);
    if (report->has_quality) {
        (void)printf("quality        %.2f %s in float32, %.2f %s in int8: %s %s\n",
                     report->before.value, report->before.unit, report->after.value,
                     report->after.unit, report->after.metric, report->after.detail);
    } else {
        (void)printf("quality        unmeasured: the samples have no labels\n");
    }
    (void)printf("size           %s bytes, were %s\n",
                 vt_count_text(report->bytes_after, after, sizeof after),
                 vt_count_text(report->bytes_before, before, sizeof before));
    (void)printf("saved          %s\n", report->path);
}

static int quantize_model(const struct vt_options *options, const char *model)
{
    struct vt_quantize_report *report = NULL;
    struct vt_error err = VT_ERROR_INIT;

    if (vt_quantize_model(options, model, &err, &report) != VT_OK) {
        return vt_cli_fail(&err);
    }
    print_report(report);
    vt_quantize_report_free(report);
    return 0;
}

int vt_verb_quantize(int argc, const char *const *argv)
{
    struct vt_quantize_job job;

    return vt_cli_on_model(vt_quantize_options(), &job, argc, argv,
                           "quantize: one model is needed, as in 'vatio quantize model.onnx "
                           "--calibrate images'",
                           quantize_model);
}

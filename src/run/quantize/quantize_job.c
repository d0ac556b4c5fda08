/* SPDX-License-Identifier: Apache-2.0 */
/* What a user can ask of `vatio quantize`. */
#include <pthread.h>
#include <string.h>

#include "run/job_part.h"
#include "run/quantize/quantize.h"

#define FIELD(name) offsetof(struct vt_quantize_job, name)

static const char *const methods[] = {"minmax", "percentile", "entropy", NULL};
static const char *const activation_types[] = {"uint8", "int8", NULL};

static const struct vt_option own_options[] = {
    {"calibrate", 'c', VT_OPTION_TEXT, FIELD(calibrate), "Quantisation", "DATA", 0, 0, NULL, NULL,
     "what the ranges of activations are found on: a folder or file with samples, or the name of a "
     "workload that brings its own"},
    {"output", 'o', VT_OPTION_TEXT, FIELD(file), "Quantisation", "FILE", 0, 0, NULL, NULL,
     "where to write (default: the model's name with .int8 before .onnx)"},
    {"method", 0, VT_OPTION_CHOICE, FIELD(method), "Quantisation", "METHOD", 0, 0, methods,
     "minmax",
     "how a range follows from what was seen: minmax takes all of it, percentile all but the "
     "outermost, entropy what changes the distribution least"},
    {"percentile", 0, VT_OPTION_REAL, FIELD(percentile), "Quantisation", "P", 50, 100, NULL,
     "99.99", "share of the numbers that a range holds, for --method percentile"},
    {"samples", 'n', VT_OPTION_INT, FIELD(samples), "Quantisation", "N", 1, 1e6, NULL, "100",
     "samples to calibrate on, spread over the data set"},
    {"skip", 0, VT_OPTION_TEXT, FIELD(skip), "Quantisation", "NAMES", 0, 0, NULL, "auto",
     "layers to leave in float32, by name and joined by commas; none; or auto: those that cost "
     "most, as long as --min-sqnr is not reached"},
    {"min-sqnr", 0, VT_OPTION_REAL, FIELD(least_db), "Quantisation", "DB", 0, 200, NULL, "15",
     "--skip auto: signal to quantisation noise that the model's outputs should keep, in dB"},
    {"activations", 0, VT_OPTION_CHOICE, FIELD(activations), "Quantisation", "TYPE", 0, 0,
     activation_types, "uint8", "type of quantised activations"},
};
#define N_OWN (sizeof own_options / sizeof own_options[0])

static const char *const left_out[] = {
    "engine",         "engine-option", "lanes",     "batch",        "model",
    "batch-delay-us", "dataset",       "precision", "quality-loss", NULL};

#define OPTIONS_MOST 96
static struct vt_option options_of_quantize[OPTIONS_MOST];
static struct vt_option_table table = {options_of_quantize, 0, sizeof(struct vt_quantize_job)};
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void build_table(void)
{
    _Static_assert(offsetof(struct vt_quantize_job, job) == 0, "the job stands first");
    memcpy(options_of_quantize, own_options, sizeof own_options);
    table.n_options = vt_job_part_options(options_of_quantize, N_OWN, OPTIONS_MOST, left_out);
}

const struct vt_option_table *vt_quantize_options(void)
{
    (void)pthread_once(&once, build_table);
    return &table;
}

const char *vt_quantize_method_name(int method)
{
    return methods[method];
}

const char *vt_quantize_type_name(int activations)
{
    return activation_types[activations];
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The manual page and the completion script, from the tables that parse the command line. */
#include "base/manual.h"

#include "base/version.h"
#include "cli/cli.h"

#define VERBS_MAX 24

static const struct vt_manual_entry exit_codes[] = {
    {"0", "measured and valid"},
    {"1", "measured, but not valid: a scenario missed its limits, the quality its target, or an "
          "output what --expect says"},
    {"2", "wrong use: an option, an argument, a value out of range"},
    {"3", "input cannot be found, read or understood"},
    {"4", "the engine or the machine failed"},
    {"5", "a result cannot be written"},
    {"130", "interrupted; what was measured is kept and marked partial"},
};

static const struct vt_manual_entry environment[] = {
    {"VATIO_CPU", "up to which instruction set the native engine goes: portable, avx2, avx512, "
                  "vnni, bf16 or amx, each with those before it (default: all the processor has)"},
    {"VATIO_ONNXRUNTIME, VATIO_OPENVINO, VATIO_LIBCURL",
     "where the engines onnxruntime, openvino and kserve find their library: the file, or a folder "
     "with it or its wheel"},
    {"VATIO_LOG", "debug or trace: what the library does, on standard error"},
};

/* `verbs` has room for VERBS_MAX and lives as long as the manual. */
static struct vt_manual manual_of_program(struct vt_manual_verb *verbs)
{
    size_t n;
    const struct vt_verb *table = vt_verbs(&n);

    n = n < VERBS_MAX ? n : VERBS_MAX;
    for (size_t i = 0; i < n; i++) {
        verbs[i] = (struct vt_manual_verb){
            .name = table[i].name,
            .usage = table[i].usage,
            .summary = table[i].summary,
            .text = table[i].text,
            .table = table[i].options != NULL ? table[i].options() : NULL,
        };
    }
    return (struct vt_manual){
        .program = "vatio",
        .version = vt_version(),
        .summary = "how fast, how promptly and for how many joules a machine runs an AI model",
        .description =
            "vatio puts load on a model under the scenarios of MLPerf Inference, through an engine "
            "of its own or anyone's, records every sample, and judges the run. Its results follow "
            "the rules but are unofficial: only MLCommons' own load generator makes MLPerf "
            "results.\n\nStart with: vatio run digits",
        .verbs = verbs,
        .n_verbs = n,
        .exit_codes = exit_codes,
        .n_exit_codes = sizeof exit_codes / sizeof exit_codes[0],
        .environment = environment,
        .n_environment = sizeof environment / sizeof environment[0],
    };
}

int vt_verb_manual(int argc, const char *const *argv)
{
    struct vt_manual_verb verbs[VERBS_MAX];

    if (argc > 1) {
        return vt_cli_usage("manual: '%s' is not understood, manual takes no arguments", argv[1]);
    }
    struct vt_manual manual = manual_of_program(verbs);
    vt_manual_print(&manual, stdout);
    return 0;
}

int vt_verb_completion(int argc, const char *const *argv)
{
    struct vt_manual_verb verbs[VERBS_MAX];

    if (argc > 1) {
        return vt_cli_usage("completion: '%s' is not understood, it writes the script for bash and "
                            "takes no arguments",
                            argv[1]);
    }
    struct vt_manual manual = manual_of_program(verbs);
    vt_manual_print_completion(&manual, stdout);
    return 0;
}

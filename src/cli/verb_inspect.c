/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "cli/cli.h"
#include "result/result.h"
#include "run/inspect.h"

struct inspect_options {
    struct vt_text_list shapes;
    bool passes;
};

static const struct vt_option options[] = {
    {"shape", 0, VT_OPTION_LIST, offsetof(struct inspect_options, shapes), "Options", "NAME=DIMS",
     0, 0, NULL, NULL,
     "extents of an input (1x3x224x224) or of one symbol (128) where the model leaves them open"},
    {"passes", 0, VT_OPTION_FLAG, offsetof(struct inspect_options, passes), "Options", NULL, 0, 0,
     NULL, NULL, "also what each pass of the native engine's planner does, and the steps left"},
};

const struct vt_option_table *vt_inspect_options(void)
{
    static const struct vt_option_table table = {options, sizeof options / sizeof options[0],
                                                 sizeof(struct inspect_options)};
    return &table;
}

static void print_ports(const char *title, const struct vt_port *ports, uint32_t n)
{
    char shape[256];

    for (uint32_t i = 0; i < n; i++) {
        const struct vt_port *port = &ports[i];
        (void)printf("%-12s %s  %s %s\n", i == 0 ? title : "", port->name,
                     vt_dtype_name(port->dtype),
                     vt_shape_text(port->dim, port->rank, port->symbol, shape, sizeof shape));
    }
}

static void print_flops(const struct vt_model_summary *summary)
{
    char number[32];

    if (summary->flops <= 0 && summary->uncounted_nodes > 0) {
        (void)printf("%-12s unknown: the shapes of %u nodes need --shape NAME=DIMS or the data\n",
                     "operations", summary->uncounted_nodes);
        return;
    }
    (void)printf("%-12s %s%s", "operations", summary->uncounted_nodes > 0 ? "at least " : "",
                 vt_number_text(summary->flops / 1e6, number, sizeof number));
    (void)printf(" MFLOP a sample");
    if (summary->uncounted_nodes > 0) {
        (void)printf(" (%u nodes not counted: their shapes need --shape NAME=DIMS or the data)",
                     summary->uncounted_nodes);
    }
    (void)fputc('\n', stdout);
}

static void print_operators(const char *title, const char *unit, uint32_t total,
                            const struct vt_operator_count *operators, uint32_t n)
{
    (void)printf("%-12s %u %s\n", title, total, unit);
    for (uint32_t i = 0; i < n; i++) {
        (void)printf("%-12s %5u  %s\n", "", operators[i].count, operators[i].name);
    }
}

static void print_summary(const char *model, const struct vt_model_summary *summary)
{
    char number[32], megabytes[32];

    (void)printf("%-12s %s\n", "model", model);
    (void)printf("%-12s opset %lld, IR version %lld%s%s\n", "format", (long long)summary->opset,
                 (long long)summary->ir_version,
                 summary->producer[0] != '\0' ? ", written by " : "", summary->producer);
    print_ports("inputs", summary->signature.inputs, summary->signature.n_inputs);
    print_ports("outputs", summary->signature.outputs, summary->signature.n_outputs);
    (void)printf("%-12s %s\n", "parameters",
                 vt_count_text((uint64_t)summary->parameters, number, sizeof number));
    (void)printf("%-12s %s bytes (%s MB) in %u constants\n", "weights",
                 vt_count_text(summary->constant_bytes, number, sizeof number),
                 vt_number_text((double)summary->constant_bytes / 1e6, megabytes, sizeof megabytes),
                 summary->n_constants);
    print_flops(summary);
    print_operators("operators", "nodes", summary->n_nodes, summary->operators,
                    summary->n_operators);
}

static int print_passes(const struct vt_inspection *inspection)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_inspected_passes *passes = NULL;

    if (vt_inspection_passes(inspection, &err, &passes) != VT_OK) {
        return vt_cli_fail(&err);
    }
    for (uint32_t i = 0; i < passes->n_reports; i++) {
        const struct vt_pass_report *report = &passes->reports[i];
        (void)printf("%-12s %-16s %5u → %5u steps %6u changes  %s\n", i == 0 ? "passes" : "",
                     report->name, report->steps_before, report->steps_after, report->changes,
                     report->summary);
    }
    print_operators("steps", "that run", passes->n_steps, passes->operators, passes->n_operators);
    vt_inspected_passes_free(passes);
    return 0;
}

int vt_verb_inspect(int argc, const char *const *argv)
{
    struct inspect_options values;
    struct vt_options parsed = {0};
    struct vt_error err = VT_ERROR_INIT;
    struct vt_inspection *inspection = NULL;
    int code = 0;

    enum vt_status status = vt_options_init(&parsed, vt_inspect_options(), &values, &err);
    if (status == VT_OK) {
        status = vt_options_parse(&parsed, argc, argv, &err);
    }
    if (status != VT_OK) {
        code = vt_cli_fail(&err);
    } else if (parsed.n_positional != 1) {
        code = vt_cli_usage("inspect: one model is needed, as in 'vatio inspect model.onnx'");
    } else if (vt_inspection_new(parsed.positional[0], &values.shapes, &err, &inspection) !=
               VT_OK) {
        code = vt_cli_fail(&err);
    } else {
        print_summary(parsed.positional[0], vt_inspection_summary(inspection));
        code = values.passes ? print_passes(inspection) : 0;
    }
    vt_inspection_free(inspection);
    vt_options_release(&parsed);
    return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/topology.h"
#include "base/version.h"
#include "cli/cli.h"
#include "report/report.h"
#include "run/caps/machine_caps.h"
#include "run/compare/compare_job.h"
#include "run/job.h"
#include "run/meters.h"
#include "run/plan_job.h"
#include "run/profile/profile.h"
#include "run/quantize/quantize.h"
#include "run/sweep/sweep.h"

#define DEFAULT_COLUMNS 100
#define LEAST_COLUMNS   40

static const struct vt_verb verbs[] = {
    {"run", "MODEL [options]", "measure a model under the MLPerf scenarios",
     "MODEL is the name of a built-in model or the path of an ONNX file.", vt_job_options,
     vt_verb_run},
    {"audit", "MODEL [options]", "run MLPerf's compliance tests on a model",
     "First the scenarios are measured as `vatio run` does, accuracy under each; then one more run "
     "a\n"
     "test and scenario, under the test's settings, is compared with them. TEST01: performance "
     "mode\n"
     "gives the answers of the accuracy run, and logging some of them costs no speed. TEST04: the\n"
     "same sample again and again is no faster. TEST06: tokens are consistent.",
     vt_job_options, vt_verb_audit},
    {"compare", "MODEL --engine E --engine E [options]", "measure engines on one model in turns",
     "They get the same samples and take turns, A B B A; outputs are checked against the first's.",
     vt_compare_options, vt_verb_compare},
    {"sweep", "MODEL [options]",
     "measure a model over batch, lanes, engines, scenarios and power caps",
     "Every point is a `vatio run` in a process and a folder of its own; sweep.json beside them "
     "says "
     "what\nfollows. A sweep that was interrupted goes on where it was: vatio sweep --resume DIR.\n"
     "Lists and ranges: 1,2,4, 1..256 (doubling), 200..700:50 (steps), 200,300..700 (going on).",
     vt_sweep_options, vt_verb_sweep},
    {"profile", "MODEL [options]", "show where the time of a model goes, layer by layer",
     "On the native engine, beside the multiply-adds and the memory traffic that the machine can "
     "do at best.",
     vt_profile_options, vt_verb_profile},
    {"quantize", "MODEL --calibrate DATA [options]", "make an int8 model of a float32 one",
     "The ranges of activations are found on samples, layers that cost too much accuracy are left "
     "out,\nand what comes out is compared with what went in. It is ONNX: QuantizeLinear and\n"
     "DequantizeLinear around the operators, which every engine understands.",
     vt_quantize_options, vt_verb_quantize},
    {"report", "DIR ... [options]", "make a page of what was measured",
     "DIR is what vatio run, audit, compare, profile or sweep saved, or a folder of such folders. "
     "The page\n"
     "is one file that needs no network: verdicts, distributions, throughput and power over time, "
     "energy,\n"
     "layers, sweeps, several runs side by side, and how to measure it again.",
     vt_report_options, vt_verb_report},
    {"job", "FILE [SECTION ...]", "run the sections of a job file, one run each",
     "A job file is an INI file whose keys are the options of `vatio run`; [global] applies to "
     "every section.",
     NULL, vt_verb_job},
    {"list", "", "show models, workloads, engines, devices and meters", NULL, NULL, vt_verb_list},
    {"meters", "[NAME ...] [options]", "show which energy meters work here, and what they read",
     "Every meter is listed with what it measures or why it cannot and the remedy; those that work "
     "are\nread for a second. Nothing is ever set.",
     vt_meters_options, vt_verb_meters},
    {"caps", "[restore] [options]", "show which limits of power and clocks can be set here",
     "Every kind is listed with its domains, what is set, within which bounds, or why it cannot be "
     "set and\nthe remedy; nothing is set by it. `vatio run --cap` sets and puts back. Where a "
     "process was killed\ntogether with its guardian, `vatio caps restore` puts back what it left.",
     vt_caps_options, vt_verb_caps},
    {"inspect", "MODEL [options]", "show what a model is made of", NULL, vt_inspect_options,
     vt_verb_inspect},
    {"zoo", "[NAME] [options]", "write a network of MLPerf with random weights as ONNX",
     "Without a NAME the networks are listed. `vatio run NAME` measures one at once.",
     vt_zoo_options, vt_verb_zoo},
    {"plan", "MODEL -o FILE [options]", "plan a model once, so that it opens at once",
     "FILE keeps the packed weights and which kernels are fastest on this machine. It is given in "
     "the\n"
     "model's place (`vatio run FILE`) and belongs to this model, this machine and this vatio: of "
     "a\n"
     "changed model it is refused, elsewhere what does not fit is made anew.",
     vt_plan_job_options, vt_verb_plan},
    {"dump", "FILE", "print a records.vtr file as CSV", NULL, NULL, vt_verb_dump},
    {"manual", "", "print the manual page (roff)", NULL, NULL, vt_verb_manual},
    {"completion", "", "print the completion script for bash", NULL, NULL, vt_verb_completion},
};

const struct vt_verb *vt_verbs(size_t *ret_n)
{
    *ret_n = sizeof verbs / sizeof verbs[0];
    return verbs;
}

const struct vt_verb *vt_verb_find(const char *name)
{
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(verbs[i].name, name) == 0) {
            return &verbs[i];
        }
    }
    return NULL;
}

int vt_cli_fail(const struct vt_error *err)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "vatio: %s\n", err->text);
    return vt_status_exit_code(err->status);
}

int vt_cli_usage(const char *fmt, ...)
{
    struct vt_error err = VT_ERROR_INIT;
    va_list args;

    va_start(args, fmt);
    vt_error_vset(&err, VT_ERR_USAGE, fmt, args);
    va_end(args);
    return vt_cli_fail(&err);
}

int vt_cli_on_model(const struct vt_option_table *table, void *job, int argc,
                    const char *const *argv, const char *usage,
                    int (*run)(const struct vt_options *options, const char *model))
{
    struct vt_options options = {0};
    struct vt_error err = VT_ERROR_INIT;
    int code;

    enum vt_status status = vt_options_init(&options, table, job, &err);
    if (status == VT_OK) {
        status = vt_options_parse(&options, argc, argv, &err);
    }
    if (status != VT_OK) {
        code = vt_cli_fail(&err);
    } else if (options.n_positional != 1) {
        code = vt_cli_usage("%s", usage);
    } else {
        code = run(&options, options.positional[0]);
    }
    vt_options_release(&options);
    return code;
}

int vt_cli_columns(FILE *stream)
{
    struct winsize size;
    long columns = 0;
    const char *text = getenv("COLUMNS");

    if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        columns = size.ws_col;
    } else if (text != NULL) {
        columns = strtol(text, NULL, 10);
    }
    if (columns <= 0 || columns > 1000) {
        columns = DEFAULT_COLUMNS;
    }
    return columns < LEAST_COLUMNS ? LEAST_COLUMNS : (int)columns;
}

bool vt_cli_wants_help(int argc, const char *const *argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return true;
        }
    }
    return false;
}

void vt_cli_print_verb_help(const struct vt_verb *verb, FILE *out)
{
    (void)fprintf(out, "vatio %s %s\n%c%s.\n", verb->name, verb->usage,
                  verb->summary[0] - 'a' + 'A', verb->summary + 1);
    if (verb->text != NULL) {
        (void)fprintf(out, "%s\n", verb->text);
    }
    if (verb->options != NULL) {
        (void)fputc('\n', out);
        vt_options_print_help(verb->options(), out, vt_cli_columns(out));
    }
}

static void print_help(FILE *out)
{
    (void)fprintf(out,
                  "vatio %s: how fast, how promptly and for how many joules a machine runs "
                  "an AI model\n\n",
                  vt_version());
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        (void)fprintf(out, "  vatio %-10s %-18s  %s\n", verbs[i].name, verbs[i].usage,
                      verbs[i].summary);
    }
    (void)fputs(
        "\nStart with: vatio run digits\n"
        "Options of a verb: vatio VERB --help. Also: vatio --version, --build-info.\n"
        "\nExit codes: 0 measured and valid; 1 measured, not valid; 2 usage; 3 input cannot "
        "be read or\nunderstood; 4 engine or device failed; 5 cannot write; 130 "
        "interrupted with a partial result.\n",
        out);
}

static void log_to_stderr(void *ctx, enum vt_log_level level, const char *line)
{
    (void)ctx;
    (void)level;
    (void)fprintf(stderr, "vatio: %s\n", line);
}

static int unknown_verb(const char *name)
{
    const char *names[sizeof verbs / sizeof verbs[0]];

    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        names[i] = verbs[i].name;
    }
    const char *near = vt_nearest_name(name, names, sizeof verbs / sizeof verbs[0]);
    return vt_cli_usage("%s: no such verb%s%s%s (vatio --help lists them)", name,
                        near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                        near != NULL ? "'?" : "");
}

static int dispatch(int argc, const char *const *argv)
{
    if (argc < 2) {
        print_help(stderr);
        return 2;
    }
    const char *first = argv[1];
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || strcmp(first, "help") == 0) {
        const struct vt_verb *verb = argc > 2 ? vt_verb_find(argv[2]) : NULL;
        if (verb != NULL) {
            vt_cli_print_verb_help(verb, stdout);
        } else if (argc > 2) {
            return unknown_verb(argv[2]);
        } else {
            print_help(stdout);
        }
        return 0;
    }
    if (strcmp(first, "--version") == 0) {
        (void)printf("vatio %s\n", vt_version());
        return 0;
    }
    if (strcmp(first, "--build-info") == 0) {
        (void)fputs(vt_build_info(), stdout);
        return 0;
    }
    const struct vt_verb *verb = vt_verb_find(first);
    if (verb == NULL) {
        return unknown_verb(first);
    }
    if (vt_cli_wants_help(argc - 1, argv + 1)) {
        vt_cli_print_verb_help(verb, stdout);
        return 0;
    }
    return verb->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    const char *log = getenv("VATIO_LOG");

    /* A reader that goes away is a write error like any other, not a sudden death. */
    (void)signal(SIGPIPE, SIG_IGN);
    if (log != NULL && strcmp(log, "debug") == 0) {
        vt_log_set(log_to_stderr, NULL, VT_LOG_DEBUG);
    } else if (log != NULL && strcmp(log, "trace") == 0) {
        vt_log_set(log_to_stderr, NULL, VT_LOG_TRACE);
    }
    if (vt_topology_complaint() != NULL) {
        (void)fprintf(stderr, "vatio: %s\n", vt_topology_complaint());
        return vt_status_exit_code(VT_ERR_USAGE);
    }
    int code = dispatch(argc, (const char *const *)argv);
    if ((fflush(stdout) != 0 || ferror(stdout) != 0) && (code == 0 || code == 1)) {
        (void)fputs("vatio: standard output cannot be written\n", stderr);
        code = vt_status_exit_code(VT_ERR_WRITE);
    }
    return code;
}

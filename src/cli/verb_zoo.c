/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "cli/cli.h"
#include "result/result.h"
#include "zoo/zoo.h"

struct zoo_options {
    const char *output;
    int scale;
    int64_t seed;
    struct vt_text_list sets;
    bool parameters;
};

#define FIELD(name) offsetof(struct zoo_options, name)

static const char *const scales[] = {"full", "small", NULL};

static const struct vt_option options[] = {
    {"output", 'o', VT_OPTION_TEXT, FIELD(output), "Options", "PATH", 0, 0, NULL, NULL,
     "where to write: a file, for rnnt a folder (default: NAME.onnx, rnnt)"},
    {"scale", 0, VT_OPTION_CHOICE, FIELD(scale), "Options", "SCALE", 0, 0, scales, "full",
     "full: the shapes of the benchmark; small: a network of the same kind that runs in no time"},
    {"seed", 0, VT_OPTION_INT, FIELD(seed), "Options", "N", 0, 9e15, NULL, "1",
     "seed of the weights"},
    {"set", 0, VT_OPTION_LIST, FIELD(sets), "Options", "KEY=VALUE", 0, 0, NULL, NULL,
     "another value for a parameter of the network; vatio zoo NAME --parameters lists them"},
    {"parameters", 0, VT_OPTION_FLAG, FIELD(parameters), "Options", NULL, 0, 0, NULL, NULL,
     "list the network's parameters and write nothing"},
};

const struct vt_option_table *vt_zoo_options(void)
{
    static const struct vt_option_table table = {options, sizeof options / sizeof options[0],
                                                 sizeof(struct zoo_options)};
    return &table;
}

static int list_networks(void)
{
    size_t n;
    const struct vt_zoo_network *const *networks = vt_zoo_networks(&n);

    for (size_t i = 0; i < n; i++) {
        (void)printf("  %-12s %s\n", networks[i]->name, networks[i]->summary);
    }
    (void)fputs("\nWeights are random, so answers mean nothing; time and memory are those of the "
                "real network.\n",
                stdout);
    return 0;
}

static int list_parameters(const struct vt_zoo_spec *spec)
{
    const struct vt_zoo_network *network = spec->network;
    struct vt_error err = VT_ERROR_INIT;
    uint64_t bytes;
    char text[32];

    if (vt_zoo_weight_bytes(spec, &err, &bytes) != VT_OK) {
        return vt_cli_fail(&err);
    }
    for (size_t i = 0; i < network->n_parameters; i++) {
        const struct vt_zoo_parameter *parameter = &network->parameters[i];
        (void)printf("  %-12s %9lld  %s (%lld..%lld)\n", parameter->key, (long long)spec->values[i],
                     parameter->help, (long long)parameter->minimum, (long long)parameter->maximum);
    }
    (void)printf("%s bytes of weights%s\n", vt_count_text(bytes, text, sizeof text),
                 spec->small ? " (small)" : "");
    return 0;
}

static int write_network(const struct vt_zoo_spec *spec, const char *output)
{
    const struct vt_zoo_network *network = spec->network;
    struct vt_error err = VT_ERROR_INIT;
    char usual[64];

    (void)snprintf(usual, sizeof usual, "%s%s", network->name,
                   network->n_graphs > 1 ? "" : ".onnx");
    const char *path = output != NULL ? output : usual;
    if (vt_zoo_write(spec, path, &err) != VT_OK) {
        return vt_cli_fail(&err);
    }
    (void)printf("%s: %s%s, random weights of seed %llu\n", path, network->name,
                 spec->small ? " (small)" : "", (unsigned long long)spec->seed);
    return 0;
}

static int unknown_network(const char *name)
{
    size_t n;
    const struct vt_zoo_network *const *networks = vt_zoo_networks(&n);
    const char *names[32];
    size_t n_names = 0;

    for (size_t i = 0; i < n && n_names < sizeof names / sizeof names[0]; i++) {
        names[n_names++] = networks[i]->name;
    }
    const char *near = vt_nearest_name(name, names, n_names);
    return vt_cli_usage("zoo: '%s' is not in the zoo%s%s%s (vatio zoo lists what is)", name,
                        near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                        near != NULL ? "'?" : "");
}

int vt_verb_zoo(int argc, const char *const *argv)
{
    struct zoo_options values;
    struct vt_options parsed = {0};
    struct vt_error err = VT_ERROR_INIT;
    struct vt_zoo_spec spec;
    int code;

    enum vt_status status = vt_options_init(&parsed, vt_zoo_options(), &values, &err);
    if (status == VT_OK) {
        status = vt_options_parse(&parsed, argc, argv, &err);
    }
    if (status != VT_OK) {
        code = vt_cli_fail(&err);
    } else if (parsed.n_positional > 1) {
        code = vt_cli_usage("zoo: '%s' is one argument too many, one network is written at a time",
                            parsed.positional[1]);
    } else if (parsed.n_positional == 0) {
        code = list_networks();
    } else if (vt_zoo_find(parsed.positional[0]) == NULL) {
        code = unknown_network(parsed.positional[0]);
    } else if (vt_zoo_spec_init(&spec, vt_zoo_find(parsed.positional[0]), values.scale == 1,
                                (uint64_t)values.seed, &values.sets, &err) != VT_OK) {
        code = vt_cli_fail(&err);
    } else {
        code = values.parameters ? list_parameters(&spec) : write_network(&spec, values.output);
    }
    vt_options_release(&parsed);
    return code;
}

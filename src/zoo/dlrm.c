/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DLRM (Naumov et al., 2019) over the 26 tables of Criteo's terabyte: a sample is one pair of user
 * and item, 13 numbers and one place in each table.
 *
 * Places are taken modulo a table's rows, so any non-negative number is one, and data made for the
 * whole tables serve cut ones too.
 */
#include <math.h>

#include "zoo/networks.h"

enum { MAX_ROWS, WIDTH, BOTTOM1, BOTTOM2, TOP1, TOP2, TOP3, TOP4 };

static const struct vt_zoo_parameter parameters[] = {
    [MAX_ROWS] = {"max_rows", 400000, 1000, 1, 40000000,
                  "of a table at most; 40000000 leaves all of them whole: 96 GB"},
    [WIDTH] = {"width", 128, 16, 1, 4096, "of a row of a table"},
    [BOTTOM1] = {"bottom1", 512, 64, 1, 65536, "first layer for the 13 numbers"},
    [BOTTOM2] = {"bottom2", 256, 32, 1, 65536, "second one; the third is as wide as a row"},
    [TOP1] = {"top1", 1024, 64, 1, 65536, "first layer behind the interaction"},
    [TOP2] = {"top2", 1024, 64, 1, 65536, "second one"},
    [TOP3] = {"top3", 512, 32, 1, 65536, "third one"},
    [TOP4] = {"top4", 256, 32, 1, 65536, "fourth one; the fifth gives the click"},
};

#define DENSE    13
#define TABLES   26
#define FEATURES (TABLES + 1)
#define PAIRS    (FEATURES * (FEATURES - 1) / 2)

/* Distinct values of the categories of Criteo's terabyte, cut at 40 million as MLPerf does. */
static const int64_t official_rows[TABLES] = {
    39884406, 39043,    17289,    7420,     20263,  3,     7120, 1543, 63,
    38532951, 2953546,  403346,   10,       2208,   11938, 155,  4,    976,
    14,       39979771, 25641295, 39664984, 585935, 12972, 108,  36};

static struct vt_net_value mlp(struct vt_net *net, struct vt_net_value x, const char *prefix,
                               const int64_t *widths, int n)
{
    for (int i = 0; i + 1 < n; i++) {
        x = vt_net_gemm(net, x, vt_net_name(net, "%s.%d", prefix, i), widths[i], widths[i + 1], 1);
        x = vt_net_relu(net, x, vt_net_name(net, "%s.%d.relu", prefix, i));
    }
    return x;
}

/* The 26 rows, each [N, 1, width], behind the bottom's output. */
static void look_up(struct vt_net *net, const char **ret_features, double power)
{
    const int64_t *v = net->spec->values;
    const double reach = sqrt(3 * power); /* of a uniform distribution with that power */
    int64_t rows[TABLES];

    for (int i = 0; i < TABLES; i++) {
        rows[i] = official_rows[i] < v[MAX_ROWS] ? official_rows[i] : v[MAX_ROWS];
    }
    vt_net_ints(net, "rows", TABLES, rows);
    vt_net_node(net, "Mod", "places", VT_NET_INPUTS("sparse", "rows"));
    for (int i = 0; i < TABLES; i++) {
        const char *column = vt_net_ints(net, vt_net_name(net, "column%d", i), 1, (int64_t[]){i});
        const char *place =
            vt_net_gather(net, "places", column, vt_net_name(net, "place%d", i), 1, 1).name;
        const char *table = vt_net_uniform(net, vt_net_name(net, "table%d", i),
                                           VT_NET_DIMS(rows[i], v[WIDTH]), -reach, reach);
        ret_features[i] =
            vt_net_gather(net, table, place, vt_net_name(net, "row%d", i), 0, power).name;
    }
}

/* The products of every two different features: [N, 351]. */
static struct vt_net_value interact(struct vt_net *net, struct vt_net_value features)
{
    int64_t below[PAIRS];
    size_t n = 0;

    for (int64_t i = 0; i < FEATURES; i++) {
        for (int64_t j = 0; j < i; j++) {
            below[n++] = i * FEATURES + j;
        }
    }
    struct vt_net_value turned =
        vt_net_transpose(net, features, "features.turned", 3, (int64_t[]){0, 2, 1});
    vt_net_node(net, "MatMul", "products", VT_NET_INPUTS(features.name, turned.name));
    struct vt_net_value x = {"products", 1};
    x = vt_net_reshape(net, x, "products.flat", 2, (int64_t[]){0, (int64_t)FEATURES * FEATURES});
    vt_net_ints(net, "below_diagonal", PAIRS, below);
    return vt_net_gather(net, x.name, "below_diagonal", "pairs", 1, 1);
}

static enum vt_status build(struct vt_net *net, struct vt_error *err)
{
    const int64_t *v = net->spec->values;
    const int64_t width = v[WIDTH];
    /* Products of two rows then have a power of about 1. */
    const double power = sqrt(1.0 / (double)width);
    const char *features[FEATURES + 1] = {NULL};

    (void)err;
    struct vt_net_value dense = vt_net_input(net, "dense", VT_F32, VT_NET_DIMS(-1, DENSE), 1);
    vt_net_input(net, "sparse", VT_I64, VT_NET_DIMS(-1, TABLES), 1);
    struct vt_net_value bottom =
        mlp(net, dense, "bottom", (int64_t[]){DENSE, v[BOTTOM1], v[BOTTOM2]}, 3);
    bottom = vt_net_gemm(net, bottom, "bottom.2", v[BOTTOM2], width, 2 * power);
    bottom = vt_net_relu(net, bottom, "bottom.2.relu");
    features[0] = vt_net_reshape(net, bottom, "bottom.row", 3, (int64_t[]){0, 1, width}).name;
    look_up(net, features + 1, power);
    struct vt_net_value all = vt_net_concat(net, "features", 1, power, features);
    struct vt_net_value pairs = interact(net, all);
    struct vt_net_value x =
        vt_net_concat(net, "interaction", 1, 1, VT_NET_INPUTS(bottom.name, pairs.name));
    x = mlp(net, x, "top", (int64_t[]){width + PAIRS, v[TOP1], v[TOP2], v[TOP3], v[TOP4]}, 5);
    x = vt_net_gemm(net, x, "top.4", v[TOP4], 1, 2);
    vt_net_node(net, "Sigmoid", "probability", VT_NET_INPUTS(x.name));
    vt_net_output(net, "probability", VT_F32, VT_NET_DIMS(-1, 1), "N");
    return VT_OK;
}

const struct vt_zoo_network vt_zoo_dlrm = {
    .name = "dlrm",
    .benchmark = "dlrm",
    .summary = "DLRM of Criteo's terabyte: 26 tables, of at most 400,000 rows by default; 1.7 GB",
    .parameters = parameters,
    .n_parameters = VT_ZOO_N_PARAMETERS(parameters),
    .graphs = {{"", build}},
    .n_graphs = 1,
};

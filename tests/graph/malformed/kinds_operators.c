/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators with attributes and inputs that make no sense. A case is a line:
 *
 *   inputs      separated by blanks: f32[1,3] is an input of the graph, f32[2]= a weight of zeroes,
 *               i64[2]=1,-1 a weight of these numbers, - an input that is omitted
 *   attributes  separated by blanks: axis:i=1, alpha:f=0.5, mode:s=word, pads:l=0,0 (a list of
 * whole numbers), scales:m=1,2 (a list of fractions), value:t=i64[2]=1,2 (a tensor)
 */
#include "malformed.h"

#include <stdbool.h>

struct operator_case {
    const char *op, *inputs, *attributes;
    const char *what;
    int64_t opset;       /* 0: 17 */
    const char *outputs; /* NULL: y */
};

static int dtype_of(const char *text)
{
    static const struct {
        const char *name;
        int dtype;
    } types[] = {{"f32[", VT_F32}, {"f64[", VT_F64}, {"f16[", VT_F16}, {"i64[", VT_I64},
                 {"i32[", VT_I32}, {"i8[", VT_I8},   {"u8[", VT_U8},   {"bool[", VT_BOOL}};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strncmp(text, types[i].name, strlen(types[i].name)) == 0) {
            return types[i].dtype;
        }
    }
    fail_msg("%s: no type", text);
    return 0;
}

/* Extents in brackets; the numbers behind them begin at *ret_rest, which is NULL without a "=". */
static int read_shape(const char *text, int64_t *dim, const char **ret_rest)
{
    const char *at = strchr(text, '[') + 1;
    int rank = 0;
    while (*at != ']') {
        char *end = NULL;
        dim[rank++] = strtoll(at, &end, 10);
        at = *end == ',' ? end + 1 : end;
    }
    *ret_rest = at[1] == '=' ? at + 2 : NULL;
    return rank;
}

static struct pb tensor_of(const char *name, const char *text)
{
    const char *rest = NULL;
    int64_t dim[8], elements = 1;
    int dtype = dtype_of(text), rank = read_shape(text, dim, &rest);
    for (int d = 0; d < rank; d++) {
        elements *= dim[d];
    }
    size_t bytes = vt_dtype_bytes((enum vt_dtype)dtype), n = (size_t)elements * bytes;
    uint8_t *data = calloc(n + 8, 1);
    assert_non_null(data);
    for (size_t i = 0; rest != NULL && *rest != '\0' && i < (size_t)elements; i++) {
        char *end = NULL;
        if (dtype == VT_F32) {
            float number = strtof(rest, &end);
            memcpy(data + i * bytes, &number, sizeof(number));
        } else {
            long long number = strtoll(rest, &end, 10);
            memcpy(data + i * bytes, &number, bytes);
        }
        rest = *end == ',' ? end + 1 : end;
    }
    struct pb tensor = ox_tensor_raw(name, dtype, rank, dim, data, n);
    free(data);
    return tensor;
}

static void add_list(struct pb *node, const char *name, const char *text, bool whole)
{
    struct pb attr = {NULL, 0, 0};
    pb_text(&attr, 1, name);
    while (*text != '\0') {
        char *end = NULL;
        if (whole) {
            pb_varint(&attr, 8, strtoll(text, &end, 10));
        } else {
            pb_float(&attr, 7, strtof(text, &end));
        }
        text = *end == ',' ? end + 1 : end;
    }
    pb_varint(&attr, 20, whole ? 7 : 6);
    pb_message(node, 5, &attr);
}

static void add_attribute(struct pb *node, char *text)
{
    char *colon = strchr(text, ':');
    const char *value = colon + 3;
    *colon = '\0';
    switch (colon[1]) {
    case 'i':
        ox_attr_int(node, text, strtoll(value, NULL, 10));
        break;
    case 'f':
        ox_attr_float(node, text, strtof(value, NULL));
        break;
    case 's':
        ox_attr_text(node, text, value);
        break;
    case 't': {
        struct pb tensor = tensor_of("", value);
        ox_attr_message(node, text, OX_TENSOR, &tensor);
        break;
    }
    default:
        add_list(node, text, value, colon[1] == 'l');
        break;
    }
}

static struct pb model_of(const struct operator_case *c)
{
    struct pb graph = {NULL, 0, 0}, node = {NULL, 0, 0}, y;
    char text[512], *state = NULL;
    unsigned n = 0;
    (void)snprintf(text, sizeof(text), "%s", c->inputs);
    for (char *part = strtok_r(text, " ", &state); part != NULL;
         part = strtok_r(NULL, " ", &state), n++) {
        char name[16] = "";
        const char *rest = NULL;
        int64_t dim[8];
        if (part[0] != '-') {
            (void)snprintf(name, sizeof(name), "x%u", n);
            int rank = read_shape(part, dim, &rest);
            struct pb declared =
                rest != NULL ? tensor_of(name, part) : ox_value(name, dtype_of(part), rank, dim);
            pb_message(&graph, rest != NULL ? OX_INITIALIZER : OX_INPUT, &declared);
        }
        pb_text(&node, 1, name);
    }
    pb_names(&node, 2, c->outputs != NULL ? c->outputs : "y");
    pb_text(&node, 4, c->op);
    pb_text(&node, 3, "bad_node");
    (void)snprintf(text, sizeof(text), "%s", c->attributes);
    for (char *part = strtok_r(text, " ", &state); part != NULL;
         part = strtok_r(NULL, " ", &state)) {
        add_attribute(&node, part);
    }
    pb_message(&graph, OX_NODE, &node);
    y = ox_value("y", VT_UNDEFINED, -1, NULL);
    pb_message(&graph, OX_OUTPUT, &y);
    return ox_model(c->opset != 0 ? c->opset : 17, &graph);
}

#define IMAGE  "f32[1,4,8,8] "
#define FILTER "f32[4,4,3,3]= "
#define TOP    "9223372036854775807"
#define BOTTOM "-9223372036854775808"

static const struct operator_case windows[] = {
    {"Conv", IMAGE FILTER, "strides:l=0,1", "stride", 0, NULL},
    {"Conv", IMAGE FILTER, "strides:l=-1,1", "stride", 0, NULL},
    {"Conv", IMAGE FILTER, "strides:l=1", "stride", 0, NULL},
    {"Conv", IMAGE FILTER, "strides:l=1,1,1", "stride", 0, NULL},
    {"Conv", IMAGE FILTER, "strides:i=1", "strides", 0, NULL},
    {"Conv", IMAGE FILTER, "strides:l=" TOP "," TOP " pads:l=" TOP "," TOP "," TOP "," TOP, "", 0,
     NULL},
    {"Conv", IMAGE FILTER, "dilations:l=0,1", "dilation", 0, NULL},
    {"Conv", IMAGE FILTER, "dilations:l=" TOP ",1", "", 0, NULL},
    {"Conv", IMAGE FILTER, "dilations:l=100,100", "", 0, NULL},
    {"Conv", IMAGE FILTER, "pads:l=-1,0,0,0", "pad", 0, NULL},
    {"Conv", IMAGE FILTER, "pads:l=0,0", "pads", 0, NULL},
    {"Conv", IMAGE FILTER, "pads:l=" TOP ",0," TOP ",0", "", 0, NULL},
    {"Conv", IMAGE FILTER, "pads:l=100000000,100000000,100000000,100000000", "this machine", 0,
     NULL},
    {"Conv", IMAGE FILTER, "group:i=0", "group", 0, NULL},
    {"Conv", IMAGE FILTER, "group:i=-1", "group", 0, NULL},
    {"Conv", IMAGE FILTER, "group:i=3", "group", 0, NULL},
    {"Conv", IMAGE FILTER, "group:i=" TOP, "overflows", 0, NULL},
    {"Conv", IMAGE FILTER, "group:f=1", "group", 0, NULL},
    {"Conv", IMAGE FILTER, "kernel_shape:l=5,5", "kernel", 0, NULL},
    {"Conv", IMAGE FILTER, "kernel_shape:l=0,0", "kernel", 0, NULL},
    {"Conv", IMAGE FILTER, "auto_pad:s=SOMEHOW", "auto_pad must be", 0, NULL},
    {"Conv", IMAGE FILTER "f32[5]=", "", "5", 0, NULL},
    {"Conv", IMAGE "f32[4,3,3,3]=", "", "4", 0, NULL},
    {"Conv", IMAGE "f32[4,4,3]=", "", "", 0, NULL},
    {"Conv", IMAGE "f32[4,4,0,0]=", "", "", 0, NULL},
    {"Conv", IMAGE "f32[0,4,3,3]=", "group:i=0", "group", 0, NULL},
    {"Conv", IMAGE "f32[4,4,9,9]=", "", "9", 0, NULL},
    {"Conv", IMAGE "i64[4,4,3,3]=", "", "type", 0, NULL},
    {"Conv", "f32[8] f32[8]=", "", "", 0, NULL},
    {"Conv", "f32[] f32[]=", "", "", 0, NULL},
    {"ConvTranspose", IMAGE FILTER, "output_padding:l=-1,0", "output_padding", 0, NULL},
    {"ConvTranspose", IMAGE FILTER, "output_shape:l=-4,8", "output_shape", 0, NULL},
    {"ConvTranspose", IMAGE FILTER, "output_shape:l=8", "output_shape", 0, NULL},
    {"ConvTranspose", IMAGE FILTER, "strides:l=" TOP "," TOP, "", 0, NULL},
    {"ConvTranspose", IMAGE FILTER, "pads:l=50,50,50,50", "", 0, NULL},
    {"MaxPool", IMAGE, "", "kernel_shape", 0, NULL},
    {"MaxPool", IMAGE, "kernel_shape:l=0,0", "kernel_shape", 0, NULL},
    {"MaxPool", IMAGE, "kernel_shape:l=-2,2", "kernel_shape", 0, NULL},
    {"MaxPool", IMAGE, "kernel_shape:l=2", "kernel_shape", 0, NULL},
    {"MaxPool", IMAGE, "kernel_shape:l=99,99", "99", 0, NULL},
    {"MaxPool", IMAGE, "kernel_shape:l=2,2 strides:l=0,0", "stride", 0, NULL},
    {"MaxPool", IMAGE, "kernel_shape:l=2,2 pads:l=0,0,0", "pads", 0, NULL},
    {"MaxPool", IMAGE, "kernel_shape:l=2,2 ceil_mode:i=7 strides:l=-1,2", "stride", 0, NULL},
    {"MaxPool", IMAGE, "kernel_shape:s=2x2", "kernel_shape", 0, NULL},
    {"AveragePool", IMAGE, "kernel_shape:l=" TOP "," TOP, "", 0, NULL},
    {"AveragePool", "f32[8]", "kernel_shape:l=2", "", 0, NULL},
    {"LpPool", IMAGE, "kernel_shape:l=2,2 p:i=0", "p", 0, NULL},
    {"LpPool", IMAGE, "kernel_shape:l=2,2 p:i=" BOTTOM, "p", 0, NULL},
    {"GlobalLpPool", IMAGE, "p:i=0", "p is 0", 0, NULL},
    {"MaxUnpool", IMAGE "i64[1,4,7,8]", "kernel_shape:l=2,2", "", 0, NULL},
    {"DeformConv", IMAGE FILTER "f32[1,18,6,6]=", "offset_group:i=0", "offset_group", 19, NULL},
    {"ConvInteger", "u8[1,4,8,8] u8[4,4,3,3]= u8[2]=", "", "", 0, NULL},
    {"GlobalAveragePool", "f32[4]", "", "", 0, NULL},
    {"BatchNormalization", IMAGE "f32[3]= f32[4]= f32[4]= f32[4]=", "", "3", 0, NULL},
    {"BatchNormalization", IMAGE "f32[4]= f32[4]= f32[4]=", "", "inputs", 0, NULL},
    {"InstanceNormalization", IMAGE "f32[5]= f32[4]=", "", "5", 0, NULL},
    {"GroupNormalization", IMAGE "f32[4]= f32[4]=", "num_groups:i=3", "groups", 21, NULL},
    {"GroupNormalization", IMAGE "f32[4]= f32[4]=", "", "num_groups", 21, NULL},
    {"LayerNormalization", IMAGE "f32[8]=", "axis:i=9", "axis", 0, NULL},
    {"LRN", IMAGE, "", "size", 0, NULL},
    {"LRN", IMAGE, "size:i=0", "size", 0, NULL},
    {"Col2Im", "f32[1,5,9] i64[2]=8,8 i64[2]=0,0", "", "", 18, NULL},
    {"Resize", IMAGE "- -", "", "", 0, NULL},
    {"Resize", IMAGE "- f32[4]=1,1,-2,2", "", "scale", 0, NULL},
    {"Resize", IMAGE "- f32[4]=1,1,nan,2", "", "scale", 0, NULL},
    {"Resize", IMAGE "- f32[4]=1,1,inf,2", "", "", 0, NULL},
    {"Resize", IMAGE "- f32[4]=1,1,1e30,2", "", "", 0, NULL},
    {"Resize", IMAGE "- f32[3]=1,1,2", "", "", 0, NULL},
    {"Resize", IMAGE "- - i64[4]=1,4,-8,8", "", "", 0, NULL},
    {"Resize", IMAGE "- - i64[4]=1,4,16,16", "mode:s=guess", "guess", 0, NULL},
    {"Upsample", IMAGE, "mode:s=nearest scales:m=1,1,0,1", "scale", 7, NULL},
    {"GridSample", IMAGE "f32[1,4,4,3]", "", "", 0, NULL},
    {"RoiAlign", IMAGE "f32[1,3] i64[1]=0", "", "", 0, NULL},
    {"RoiAlign", IMAGE "f32[1,4] i64[1]=0", "output_height:i=-1", "at least 1x1", 0, NULL},
    {"DepthToSpace", IMAGE, "blocksize:i=3", "", 0, NULL},
    {"DepthToSpace", IMAGE, "blocksize:i=0", "blocksize", 0, NULL},
    {"DepthToSpace", IMAGE, "", "blocksize", 0, NULL},
    {"SpaceToDepth", IMAGE, "blocksize:i=4294967296", "blocksize", 0, NULL},
};

static const struct operator_case moves[] = {
    {"Reshape", "f32[4] i64[2]=3,2", "", "4", 0, NULL},
    {"Reshape", "f32[4] i64[2]=-1,-1", "", "-1", 0, NULL},
    {"Reshape", "f32[4] i64[2]=-2,2", "", "-2", 0, NULL},
    {"Reshape", "f32[4] i64[1]=" TOP, "", "", 0, NULL},
    {"Reshape", "f32[4] i64[2]=" TOP "," TOP, "", "", 0, NULL},
    {"Reshape", "f32[4] i64[2]=4294967296,4294967296", "", "", 0, NULL},
    {"Reshape", "f32[4] i64[3]=0,0,0", "", "0", 0, NULL},
    {"Reshape", "f32[4] i64[1,1]=4", "", "", 0, NULL},
    {"Reshape", "f32[4] f32[1]=4", "", "type", 0, NULL},
    {"Reshape", "f32[4] i64[9]=1,1,1,1,1,1,1,1,4", "", "", 0, NULL},
    {"Reshape", "f32[4] i64[2]=-1,0", "allowzero:i=1", "", 0, NULL},
    {"Transpose", "f32[2,3]", "perm:l=0,0", "twice", 0, NULL},
    {"Transpose", "f32[2,3]", "perm:l=0,2", "axis 2", 0, NULL},
    {"Transpose", "f32[2,3]", "perm:l=0,-1", "", 0, NULL},
    {"Transpose", "f32[2,3]", "perm:l=0", "perm", 0, NULL},
    {"Transpose", "f32[2,3]", "perm:l=" TOP "," BOTTOM, "axis " TOP, 0, NULL},
    {"Transpose", "f32[2,3]", "perm:i=1", "perm", 0, NULL},
    {"Concat", "f32[2,3] f32[2,4]", "axis:i=0", "", 0, NULL},
    {"Concat", "f32[2,3] f32[2]", "axis:i=0", "", 0, NULL},
    {"Concat", "f32[2,3] i64[2,3]", "axis:i=0", "type", 0, NULL},
    {"Concat", "f32[2,3] f32[2,3]", "", "axis", 0, NULL},
    {"Concat", "f32[2,3] f32[2,3]", "axis:i=2", "axis", 0, NULL},
    {"Concat", "f32[2,3] f32[2,3]", "axis:i=" BOTTOM, "axis", 0, NULL},
    {"Concat", "f32[] f32[]", "axis:i=0", "axis", 0, NULL},
    {"Split", "f32[6]", "axis:i=1", "axis", 0, "y z"},
    {"Split", "f32[6] i64[2]=1,2", "", "", 0, "y z"},
    {"Split", "f32[6] i64[2]=7,-1", "", "", 0, "y z"},
    {"Split", "f32[6] i64[3]=2,2,2", "", "", 0, "y z"},
    {"Split", "f32[6]", "split:l=" TOP "," TOP, "", 11, "y z"},
    {"Split", "f32[6]", "num_outputs:i=0", "", 18, "y z"},
    {"Slice", "f32[6] i64[1]=0 i64[2]=1,2", "", "", 0, NULL},
    {"Slice", "f32[6] i64[1]=0 i64[1]=3 i64[1]=4", "", "ax", 0, NULL},
    {"Slice", "f32[6] i64[1]=0 i64[1]=3 i64[1]=0 i64[1]=0", "", "step", 0, NULL},
    {"Slice", "f32[6] i64[2]=0,0 i64[2]=3,3 i64[2]=0,0", "", "", 0, NULL},
    {"Slice", "f32[6] f32[1]=0 f32[1]=3", "", "type", 0, NULL},
    {"Slice", "f32[6]", "starts:l=0 ends:l=1,2", "", 9, NULL},
    {"Slice", "f32[6] i64[1]=0 i64[1]=3", "starts:l=4", "'starts' is an input from", 0, NULL},
    {"Slice", "f32[6] i64[1]=0 i64[1]=3", "steps:l=-1", "'steps' is an input from", 0, NULL},
    {"Squeeze", "f32[2,3] i64[1]=0", "", "", 0, NULL},
    {"Squeeze", "f32[2,1] i64[1]=5", "", "ax", 0, NULL},
    {"Squeeze", "f32[2,1] i64[1]=" BOTTOM, "", "ax", 0, NULL},
    {"Unsqueeze", "f32[2] i64[2]=0,0", "", "ax", 0, NULL},
    {"Unsqueeze", "f32[2] i64[1]=7", "", "ax", 0, NULL},
    {"Unsqueeze", "f32[2] i64[9]=0,1,2,3,4,5,6,7,8", "", "", 0, NULL},
    {"Unsqueeze", "f32[2]", "", "ax", 11, NULL},
    {"Flatten", "f32[2,3]", "axis:i=3", "axis", 0, NULL},
    {"Flatten", "f32[2,3]", "axis:i=" BOTTOM, "axis", 0, NULL},
    {"Expand", "f32[3] i64[1]=4", "", "", 0, NULL},
    {"Expand", "f32[3] i64[1]=-3", "", "", 0, NULL},
    {"Expand", "f32[1] i64[2]=4294967296,4294967296", "", "", 0, NULL},
    {"Expand", "f32[1] i64[1]=4611686018427387904", "", "", 0, NULL},
    {"Tile", "f32[2,3] i64[1]=2", "", "", 0, NULL},
    {"Tile", "f32[2,3] i64[2]=-1,2", "", "", 0, NULL},
    {"Tile", "f32[2,3] i64[2]=" TOP "," TOP, "", "", 0, NULL},
    {"Pad", "f32[2,3] i64[3]=0,0,0", "", "pads", 0, NULL},
    {"Pad", "f32[2,3] i64[4]=0,0,0,0", "pads:l=9,9,9,9", "'pads' is an input from", 0, NULL},
    {"Pad", "f32[2,3] i64[2]=1,1 - i64[1]=0", "", "axes are an input from", 17, NULL},
    {"Pad", "f32[2,3] i64[4]=-3,0,0,0", "", "", 0, NULL},
    {"Pad", "f32[2,3] i64[4]=" TOP ",0," TOP ",0", "", "", 0, NULL},
    {"Pad", "f32[2,3] i64[4]=0,0,0,0", "mode:s=odd", "mode must be", 0, NULL},
    {"Pad", "f32[2,3] i64[4]=9,9,9,9", "mode:s=reflect", "", 0, NULL},
    {"Pad", "f32[0,3] i64[4]=1,0,1,0", "mode:s=edge", "", 0, NULL},
    {"Pad", "f32[2,3] i64[4]=0,0,0,0 i64[]=", "", "type", 0, NULL},
    {"Gather", "f32[4] f32[2]", "", "type", 0, NULL},
    {"Gather", "f32[4] i64[1]=4", "", "4", 0, NULL},
    {"Gather", "f32[4] i64[1]=-5", "", "-5", 0, NULL},
    {"Gather", "f32[4] i64[1]=" BOTTOM, "", "", 0, NULL},
    {"Gather", "f32[4] i64[1]=0", "axis:i=1", "axis", 0, NULL},
    {"Gather", "f32[] i64[1]=0", "", "", 0, NULL},
    {"Gather", "f32[1,1,1,1,1] i64[1,1,1,1,1]=0", "", "", 0, NULL},
    {"GatherElements", "f32[4] i64[2,2]", "", "", 0, NULL},
    {"GatherElements", "f32[4] i32[1]=9", "", "9", 0, NULL},
    {"GatherND", "f32[4] i64[1,2]", "", "", 0, NULL},
    {"GatherND", "f32[4] i64[1]=0", "batch_dims:i=5", "batch_dims", 0, NULL},
    {"GatherND", "f32[4] i64[]=0", "", "", 0, NULL},
    {"ScatterElements", "f32[4] i64[2] f32[3]", "", "", 0, NULL},
    {"ScatterElements", "f32[4] i64[2] f32[2]", "axis:i=-2", "axis", 0, NULL},
    {"ScatterElements", "f32[4] i64[2] f32[2]", "reduction:s=guess", "reduction", 0, NULL},
    {"ScatterND", "f32[4] i64[2,1] f32[3]", "", "", 0, NULL},
    {"ScatterND", "f32[4] i64[2,2] f32[2]", "", "", 0, NULL},
    {"Compress", "f32[4] f32[4]", "", "type", 0, NULL},
    {"Compress", "f32[4] bool[4]", "axis:i=1", "axis", 0, NULL},
    {"OneHot", "i64[2] i64[1]=-1 f32[2]=0,1", "", "depth", 0, NULL},
    {"OneHot", "i64[2] i64[1]=4 f32[3]=0,1,1", "", "", 0, NULL},
    {"OneHot", "i64[2] i64[1]=" TOP " f32[2]=0,1", "", "", 0, NULL},
    {"Range", "i64[]=0 i64[]=10 i64[]=0", "", "", 0, NULL},
    {"Range", "i64[]=0 i64[]=" TOP " i64[]=1", "", "", 0, NULL},
    {"Range", "f32[]=0 f32[]=1e30 f32[]=1", "", "", 0, NULL},
    {"Range", "f32[]=0 f32[]=nan f32[]=1", "", "", 0, NULL},
    {"ConstantOfShape", "i64[1]=-1", "", "-1", 0, NULL},
    {"ConstantOfShape", "i64[2]=4294967296,4294967296", "", "", 0, NULL},
    {"ConstantOfShape", "i64[1]=1125899906842624", "", "this machine", 0, NULL},
    {"ConstantOfShape", "i64[1]=2", "value:t=f32[2]=1,2", "value", 0, NULL},
    {"ConstantOfShape", "i64[9]=1,1,1,1,1,1,1,1,1", "", "", 0, NULL},
    {"ConstantOfShape", "f32[1]=1", "", "type", 0, NULL},
    {"Constant", "", "", "value", 0, NULL},
    {"Constant", "", "value:i=1", "value", 0, NULL},
    {"EyeLike", "f32[2]", "", "", 0, NULL},
    {"Trilu", "f32[2]", "", "", 0, NULL},
    {"CenterCropPad", "f32[4] i64[1]=-1", "", "", 18, NULL},
    {"ReverseSequence", "f32[4,3] i64[2]", "", "", 0, NULL},
    {"Cast", "f32[4]", "", "to", 0, NULL},
    {"Cast", "f32[4]", "to:i=99", "99", 0, NULL},
    {"Cast", "f32[4]", "to:i=8", "string", 0, NULL},
    {"Cast", "f32[4]", "to:i=-1", "-1", 0, NULL},
    {"Cast", "f32[4]", "to:i=4294967297", "", 0, NULL},
    {"Einsum", "f32[2,3] f32[3,4]", "equation:s=ij,jk->iz", "", 0, NULL},
    {"Einsum", "f32[2,3] f32[4,4]", "equation:s=ij,jk->ik", "", 0, NULL},
    {"Einsum", "f32[2,3]", "equation:s=ij,jk->ik", "", 0, NULL},
    {"Einsum", "f32[2,3]", "", "equation", 0, NULL},
    {"Einsum", "f32[2,3]", "equation:s=i1->i", "", 0, NULL},
};

static const struct operator_case products[] = {
    {"Add", "f32[2,3] f32[2,4]", "", "", 0, NULL},
    {"Add", "f32[4] i64[4]", "", "type", 0, NULL},
    {"Add", "f32[4096,4096,4096,1] f32[4096,4096,4096,4096]", "", "this machine", 0, NULL},
    {"And", "f32[4] f32[4]", "", "type", 0, NULL},
    {"Not", "f32[4]", "", "type", 0, NULL},
    {"Sqrt", "i64[4]", "", "type", 0, NULL},
    {"Where", "f32[4] f32[4] f32[4]", "", "", 0, NULL},
    {"Where", "bool[4] f32[4] i64[4]", "", "type", 0, NULL},
    {"Mod", "f32[4] f32[4]", "fmod:i=0", "fmod", 0, NULL},
    {"BitShift", "u8[4] u8[4]", "", "direction", 0, NULL},
    {"BitShift", "u8[4] u8[4]", "direction:s=UP", "UP", 0, NULL},
    {"Clip", "f32[4] f32[2]=0,1", "", "", 0, NULL},
    {"PRelu", "f32[2,3] f32[5]=", "", "5", 0, NULL},
    {"MatMul", "f32[2,3] f32[4,5]", "", "", 0, NULL},
    {"MatMul", "f32[] f32[3]", "", "", 0, NULL},
    {"MatMul", "f32[2,2,3] f32[3,3,4]", "", "", 0, NULL},
    {"MatMul", "f32[2,3] f64[3,4]", "", "type", 0, NULL},
    {"Gemm", "f32[2,3] f32[4,5]", "", "", 0, NULL},
    {"Gemm", "f32[2,3,1] f32[3,4]", "", "", 0, NULL},
    {"Gemm", "f32[2,3] f32[3,4] f32[5]=", "", "", 0, NULL},
    {"Gemm", "f32[2,3] f32[3,4]", "alpha:i=1", "alpha", 0, NULL},
    {"Gemm", "f32[2,3] f32[3,4]", "transA:f=1", "transA", 0, NULL},
    {"MatMulInteger", "f32[2,3] f32[3,4]", "", "type", 0, NULL},
    {"Softmax", "f32[2,3]", "axis:i=2", "axis", 0, NULL},
    {"Softmax", "f32[2,3]", "axis:i=" BOTTOM, "axis", 0, NULL},
    {"Softmax", "f32[2,3]", "axis:l=1", "axis", 0, NULL},
    {"ReduceSum", "f32[2,3] i64[1]=2", "", "ax", 0, NULL},
    {"ReduceSum", "f32[2,3] i64[2]=0,0", "", "ax", 0, NULL},
    {"ReduceMean", "f32[2,3]", "axes:l=-3", "ax", 0, NULL},
    {"ReduceSum", "bool[2,3]", "", "type", 0, NULL},
    {"ReduceMax", "f32[2,3]", "noop_with_empty_axes:i=1", "from opset 18 on", 17, NULL},
    {"ReduceSum", "f32[2,3]", "noop_with_empty_axes:i=1", "from opset 13 on", 12, NULL},
    {"LSTM", "f32[3,1,2] f32[1,28,2]= f32[1,28,7]=", "hidden_size:i=7 layout:i=1",
     "'layout' exists from opset 14 on", 10, NULL},
    {"ReduceSum", "f32[2,3] i64[1]=0", "", "'axes' is an attribute before", 12, NULL},
    {"ReduceSum", "f32[2,3]", "axes:l=0 keepdims:i=0", "'axes' is an input from", 13, NULL},
    {"ReduceL2", "f32[3,5,2] i64[]=", "keepdims:i=0", "'axes' is an attribute before", 8, NULL},
    {"ReduceL2", "f32[3,5]", "axes:l=0 keepdims:i=0", "'axes' is an input from", 18, NULL},
    {"ArgMax", "f32[2,3]", "axis:i=2", "axis", 0, NULL},
    {"ArgMax", "f32[2,0]", "axis:i=1", "", 0, NULL},
    {"TopK", "f32[4] i64[1]=5", "", "5", 0, "v y"},
    {"TopK", "f32[4] i64[1]=-1", "", "", 0, "v y"},
    {"TopK", "f32[4] i64[1]=1", "axis:i=3", "axis", 0, "v y"},
    {"TopK", "f32[4] i64[2]=1,1", "", "", 0, "v y"},
    {"CumSum", "f32[4] i64[1]=3", "", "ax", 0, NULL},
    {"QuantizeLinear", "f32[4] f32[2]=1,1", "", "", 0, NULL},
    {"QuantizeLinear", "f32[4]", "", "inputs", 0, NULL},
    {"QuantizeLinear", "f32[2,4] f32[3]=1,1,1", "axis:i=0", "", 0, NULL},
    {"QuantizeLinear", "f32[4] f32[]=1 f32[]=0", "", "type", 0, NULL},
    {"DequantizeLinear", "u8[4] f32[]=1 i8[]=0", "", "int8", 0, NULL},
    {"DequantizeLinear", "f32[4] f32[]=1", "", "type", 0, NULL},
    {"DequantizeLinear", "u8[2,4] f32[2]=1,1", "axis:i=7", "axis", 0, NULL},
    {"DynamicQuantizeLinear", "i64[4]", "", "type", 0, "y s z"},
    {"QLinearConv", "u8[1,4,8,8] f32[]=1 u8[]=0 u8[4,4,3,3]= f32[]=1 u8[]=0 f32[]=1", "", "inputs",
     0, NULL},
    {"QLinearConv", "u8[1,4,8,8] f32[3]=1 u8[]=0 u8[4,4,3,3]= f32[]=1 u8[]=0 f32[]=1 u8[]=0", "",
     "", 0, NULL},
    {"QLinearConv", "u8[1,4,8,8] f32[]=1 u8[]=0 u8[4,4,3,3]= f32[3]=1 u8[]=0 f32[]=1 u8[]=0", "",
     "", 0, NULL},
    {"QLinearMatMul", "u8[2,3] f32[]=1 u8[]=0 u8[4,4]= f32[]=1 u8[]=0 f32[]=1 u8[]=0", "", "", 0,
     NULL},
    {"LSTM", "f32[3,1,4] f32[1,20,4]= f32[1,20,5]=", "hidden_size:i=6", "", 0, NULL},
    {"LSTM", "f32[3,1,4] f32[1,20,3]= f32[1,20,5]=", "hidden_size:i=5", "", 0, NULL},
    {"LSTM", "f32[3,1,4] f32[1,20,4]= f32[1,20,6]=", "hidden_size:i=5", "", 0, NULL},
    {"LSTM", "f32[3,1,4] f32[2,20,4]= f32[1,20,5]=", "hidden_size:i=5", "", 0, NULL},
    {"LSTM", "f32[3,1,4] f32[1,20,4]= f32[1,20,5]= f32[1,7]=", "hidden_size:i=5", "", 0, NULL},
    {"LSTM", "f32[3,1,4] f32[1,20,4]= f32[1,20,5]=", "hidden_size:i=5 direction:s=both",
     "direction must be", 0, NULL},
    {"LSTM", "f32[3,1,4] f32[1,20,4]= f32[1,20,5]=", "hidden_size:i=-5", "hidden_size", 0, NULL},
    {"LSTM", "f32[3,1,4] f32[1,20,4]= f32[1,20,5]=", "hidden_size:i=4611686018427387904", "", 0,
     NULL},
    {"LSTM", "f32[3,4] f32[1,20,4]= f32[1,20,5]=", "hidden_size:i=5", "", 0, NULL},
    {"GRU", "f32[3,1,4] f32[1,20,4]= f32[1,15,5]=", "hidden_size:i=5", "", 0, NULL},
    {"RNN", "f32[3,1,4] f32[1,5,4]= f32[1,5,6]=", "hidden_size:i=5", "", 0, NULL},
    {"Attention", "f32[1,2,3] f32[1,2,3] f32[1,2,3]", "", "", 23, NULL},
    {"RotaryEmbedding", "f32[1,2,3] f32[2,2] f32[2,2]", "", "", 23, NULL},
    {"NonMaxSuppression", "f32[1,4,3] f32[1,1,4]", "", "", 0, NULL},
    {"NonMaxSuppression", "f32[1,4,4] f32[1,1,5]", "", "", 0, NULL},
    {"DFT", "f32[1,8,3] i64[]=8", "axis:i=1", "", 0, NULL},
    {"DFT", "f32[1,8,1] i64[]=-8", "axis:i=1", "", 0, NULL},
    {"STFT", "f32[1,8,1] i64[]=0 - i64[]=4", "", "", 0, NULL},
    {"HannWindow", "i64[]=-4", "", "", 0, NULL},
    {"HannWindow", "i64[]=1125899906842624", "", "this machine", 0, NULL},
    {"MelWeightMatrix", "i64[]=-1 i64[]=16 i64[]=8000 f32[]=0 f32[]=4000", "", "", 0, NULL},
    {"RandomNormal", "", "", "shape", 0, NULL},
    {"RandomNormal", "", "shape:l=-1", "", 0, NULL},
    {"RandomUniform", "", "shape:l=4294967296,4294967296", "", 0, NULL},
    {"Multinomial", "f32[2]", "", "", 0, NULL},
    {"Multinomial", "f32[1,2]", "sample_size:i=-1", "sample_size", 0, NULL},
    {"Det", "f32[2,3]", "", "", 0, NULL},
    {"NegativeLogLikelihoodLoss", "f32[2,3] i64[3]", "", "", 0, NULL},
    {"Unique", "f32[4]", "axis:i=3", "axis", 0, NULL},
    {"AffineGrid", "f32[1,2,3] i64[4]=1,1,-2,2", "", "", 20, NULL},
    {"Reluu", "f32[4]", "", "nearest is Relu", 0, NULL},
    {"Upsample", "f32[4] f32[1]=1", "", "7 to 9", 0, NULL},
};

static void all(const struct operator_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char kind[160];
        (void)snprintf(kind, sizeof(kind), "%s of %s with %s", cases[i].op, cases[i].inputs,
                       cases[i].attributes);
        /* What is too large for the machine is the value. */
        const char *where = strcmp(cases[i].what, "this machine") == 0 ? "'y'" : "bad_node";
        refused(kind, model_of(&cases[i]), cases[i].what, where);
    }
}

void kinds_of_operators(void)
{
    all(windows, sizeof(windows) / sizeof(windows[0]));
    all(moves, sizeof(moves) / sizeof(moves[0]));
    all(products, sizeof(products) / sizeof(products[0]));
}

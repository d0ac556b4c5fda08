/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Micro-kernels of channels-last convolutions that read the image in place: a few neighbouring
 * outputs of a row times a few output channels. tiles.inc says how they work.
 */
#ifndef VT_KERNELS_CONV_TILES_H
#define VT_KERNELS_CONV_TILES_H

#include "kernels/gemm/gemm.h"

/* Outputs of a depthwise tile. */
#define VT_CONV_DEPTHWISE_OUTPUTS 6

/* One tap of the kernel: where its inputs stand, in floats, and which of the weights it takes. */
struct vt_conv_tap {
    int64_t x, w;
};

struct vt_conv_tile {
    const struct vt_conv_tap *taps;
    int64_t n_taps, tap_floats; /* tap_floats: of weights */
    const float *x;             /* of the first output, before the tap's offset */
    int64_t x_step;             /* to the next output's */
    int64_t depth;              /* input channels of a tap; used by the splat kernels */
    const float *w;             /* [tap][depth][vectors], or [tap][rotation][lanes] */
    float *y;
    const float *residual, *bias; /* NULL where there is none */
    int64_t y_step;               /* also of the residual */
    int64_t channels;             /* that are stored; the lanes beyond them are left out */
    const struct vt_gemm_finish *finish;
};
typedef void (*vt_conv_tile_func)(const struct vt_conv_tile *tile, uint32_t outputs);

/* All channels of a few neighbouring outputs of a depthwise convolution. */
struct vt_conv_depthwise_tile {
    /* The pixel under tap t of output q is x + taps[t].x + q * x_step; or, where taps is NULL,
     * table[t * VT_CONV_DEPTHWISE_OUTPUTS + q]. Exactly VT_CONV_DEPTHWISE_OUTPUTS are read. */
    const struct vt_conv_tap *taps;
    const float *x;
    int64_t x_step;
    const float *const *table;
    int64_t n_taps;
    const float *w; /* [tap][channels] */
    int64_t channels, multiplier;
    const float *bias;     /* or NULL */
    const float *residual; /* or NULL */
    float *y;
    int64_t output[VT_CONV_DEPTHWISE_OUTPUTS]; /* where each is, in pixels of y and residual */
    const struct vt_gemm_finish *finish;
};
/* Stores the first `outputs`. */
typedef void (*vt_conv_depthwise_func)(const struct vt_conv_depthwise_tile *tile, uint32_t outputs);

/* Over all kernels. */
#define VT_CONV_TILE_OUTPUTS_MAX 14

/* The kernels of an instruction set. */
struct vt_conv_tiles {
    uint32_t lanes; /* of a vector */
    /* Output channels of one or two vectors; a number of outputs each. */
    uint32_t splat_outputs[2];
    vt_conv_tile_func splat[2];
    /* Groups of as many input as output channels that divide a vector; 0 outputs: there is none. */
    uint32_t rotate4_outputs, rotate8_outputs;
    vt_conv_tile_func rotate4, rotate8;
    vt_conv_depthwise_func depthwise;
    /* Copies n channels, at most `width`, of neighbouring pixels `step` floats apart to [pixels]
     * [width], zeros behind them. */
    void (*copy)(const float *x, int64_t step, int64_t pixels, int64_t n, int64_t width,
                 float *ret);
};

extern const struct vt_conv_tiles vt_conv_tiles__portable;
#if defined(__x86_64__)
extern const struct vt_conv_tiles vt_conv_tiles__avx2;
extern const struct vt_conv_tiles vt_conv_tiles__avx512;
#endif
/* The best for a set of enum vt_cpu_feature. */
const struct vt_conv_tiles *vt_conv_tiles_find(uint32_t features);

#endif

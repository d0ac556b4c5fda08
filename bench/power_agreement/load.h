/* SPDX-License-Identifier: Apache-2.0 */
/* Work for a GPU that does nothing but take power. One thread. */
#ifndef VT_BENCH_POWER_AGREEMENT_LOAD_H
#define VT_BENCH_POWER_AGREEMENT_LOAD_H

#ifdef __cplusplus
extern "C" {
#endif

/* NULL, or what went wrong. Static storage. */
const char *load_open(int device);
/* Keeps all of the GPU busy for about so long and returns when it is done. */
const char *load_run(double seconds);
void load_close(void);

#ifdef __cplusplus
}
#endif

#endif

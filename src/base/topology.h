/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What machine this is: cores, NUMA nodes and the processor's instruction sets.
 *
 * The environment's VATIO_CPU says up to which instruction set kernels may go, so that every path
 * can be tested on one machine: portable, avx2, avx512, vnni, bf16 or amx, each with those before
 * it.
 */
#ifndef VT_BASE_TOPOLOGY_H
#define VT_BASE_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vatio/status.h"

enum vt_cpu_feature {
    VT_CPU_AVX2 = 1 << 0,   /* with FMA and F16C */
    VT_CPU_AVX512 = 1 << 1, /* F, BW, DQ, VL */
    VT_CPU_VNNI = 1 << 2,   /* AVX-512 VNNI */
    VT_CPU_BF16 = 1 << 4,   /* AVX-512 BF16 */
    VT_CPU_AMX = 1 << 3,    /* tile, int8, bf16; the kernel's permission is asked for when used */
};

struct vt_topology {
    char cpu_model[128];   /* "AMD EPYC 7763 64-Core Processor" */
    char os[128];          /* "Debian GNU/Linux 12, Linux 6.1.0" */
    uint32_t cores;        /* physical cores of the machine */
    uint32_t cpus;         /* logical CPUs of the machine */
    uint32_t usable_cpus;  /* logical CPUs this process may run on (affinity and cgroup quota) */
    uint32_t numa_nodes;   /* at least 1 */
    uint64_t memory_bytes; /* of the machine */
    size_t l2_bytes;       /* of one core's L2; 0 when unknown */
    uint32_t features;     /* enum vt_cpu_feature, what the processor has and the mask allows */
};

/* Read once, on first use; static storage, never NULL. Thread-safe. */
VT_API const struct vt_topology *vt_topology(void);
/* What is wrong with VATIO_CPU, in one line; NULL: nothing. */
VT_API const char *vt_topology_complaint(void);
/* The best usable instruction set as people say it: "AVX-512", "AVX2", "portable". */
VT_API const char *vt_topology_isa(void);
/*
 * One logical CPU for each usable core, those of the same NUMA node together, then the second
 * threads. Writes at most `capacity` numbers, returns how many.
 */
uint32_t vt_topology_cpu_order(uint32_t *ret_cpus, uint32_t capacity);

#endif

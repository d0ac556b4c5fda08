/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The micro-kernel with AVX2 and FMA, for 1 to 6 rows by 16 columns (call.h says what it computes):
 *
 *     ymm0 ... ymm11  the sums, two a row      ymm12, ymm13  a step of B
 *     ymm14           an element of A          rax, rdx      rows 0 and 3
 *     r8              the stride of rows       rsi, rbx      B and its stride
 *     rcx             steps left               r11           what to prefetch, or B's list of rows
 *
 * In assembly because the sums, B and A take all sixteen registers: compilers spill some.
 */
#include "call.h"

/* do ROW, SUM, SUM, "address", OFF for the first `rows` rows. */
.macro each_row rows, do, off=0
.if \rows > 0
    \do 0, 0, 1, "\off(%rax)", \off
.endif
.if \rows > 1
    \do 1, 2, 3, "\off(%rax,%r8)", \off
.endif
.if \rows > 2
    \do 2, 4, 5, "\off(%rax,%r8,2)", \off
.endif
.if \rows > 3
    \do 3, 6, 7, "\off(%rdx)", \off
.endif
.if \rows > 4
    \do 4, 8, 9, "\off(%rdx,%r8)", \off
.endif
.if \rows > 5
    \do 5, 10, 11, "\off(%rdx,%r8,2)", \off
.endif
.endm

/* The addresses of rows that are `offset` apart and start at rax. */
.macro set_rows offset
    movq    \offset(%rdi), %r8
    leaq    (%r8,%r8,2), %rdx
    addq    %rax, %rdx
.endm

.macro row_prefetch_write row, lo, hi, at, off
    prefetchw \at
.endm
.macro row_prefetch_read row, lo, hi, at, off
    prefetcht0 \at
.endm
.macro row_zero row, lo, hi, at, off
    vxorps  %ymm\lo, %ymm\lo, %ymm\lo
    vxorps  %ymm\hi, %ymm\hi, %ymm\hi
.endm
.macro row_copy row, lo, hi, at, off
    vmovaps %ymm12, %ymm\lo
    vmovaps %ymm13, %ymm\hi
.endm
.macro row_bias row, lo, hi, at, off
    vbroadcastss 4*\row(%rsi), %ymm14
    vaddps  %ymm14, %ymm\lo, %ymm\lo
    vaddps  %ymm14, %ymm\hi, %ymm\hi
.endm
.macro row_add_lo row, lo, hi, at, off
    vaddps  \at, %ymm\lo, %ymm\lo
.endm
.macro row_add_hi row, lo, hi, at, off
    vaddps  \at, %ymm\hi, %ymm\hi
.endm
/* The operand that comes first here survives a NaN in either. */
.macro row_clamp row, lo, hi, at, off
    vmaxps  %ymm\lo, %ymm12, %ymm\lo
    vmaxps  %ymm\hi, %ymm12, %ymm\hi
    vminps  %ymm\lo, %ymm13, %ymm\lo
    vminps  %ymm\hi, %ymm13, %ymm\hi
.endm
.macro row_store_lo row, lo, hi, at, off
    vmovups %ymm\lo, \at
.endm
.macro row_store_hi row, lo, hi, at, off
    vmovups %ymm\hi, \at
.endm
.macro row_step_rows row, lo, hi, at, off
    vbroadcastss \at, %ymm14
    vfmadd231ps %ymm12, %ymm14, %ymm\lo
    vfmadd231ps %ymm13, %ymm14, %ymm\hi
.endm
.macro row_step_packed row, lo, hi, at, off
    vbroadcastss 4*\row+\off(%rax), %ymm14
    vfmadd231ps %ymm12, %ymm14, %ymm\lo
    vfmadd231ps %ymm13, %ymm14, %ymm\hi
.endm

/* Step number `step` of an unrolled loop. */
.macro one_step mode, rows, in_rows, step
.ifc \mode, indirect
    movq    8*\step(%r11), %rsi
    vmovups (%rsi,%rbx), %ymm12
    vmovups 32(%rsi,%rbx), %ymm13
.else
.ifc \mode, lines
    vmovups (%rsi), %ymm12
    vmovups 32(%rsi), %ymm13
    addq    $64, %rsi
.else
    vmovups (%rsi), %ymm12
    vmovups 32(%rsi), %ymm13
    prefetcht0 64*\step(%r11)
    addq    %rbx, %rsi
.endif
.endif
.if \in_rows
    each_row \rows, row_step_rows, 4*\step
.else
    each_row \rows, row_step_packed, 24*\step
.endif
.endm

.macro advance mode, in_rows, steps
.if \in_rows
    addq    $4*\steps, %rax
    addq    $4*\steps, %rdx
.else
    addq    $24*\steps, %rax
.endif
.ifc \mode, indirect
    addq    $8*\steps, %r11
.endif
.ifnc \mode, indirect
.ifnc \mode, lines
    addq    $64*\steps, %r11
.endif
.endif
.endm

.macro sums_start rows
    movq    VT_CALL_C(%rdi), %rax
    set_rows VT_CALL_LDC
    each_row \rows, row_prefetch_write
    each_row \rows, row_prefetch_write, 60
    movq    VT_CALL_RESIDUAL(%rdi), %rax
    testq   %rax, %rax
    jz      1f
    set_rows VT_CALL_LDC
    each_row \rows, row_prefetch_read
    each_row \rows, row_prefetch_read, 60
1:  movq    VT_CALL_COL_BIAS(%rdi), %rsi
    testq   %rsi, %rsi
    jz      2f
    vmovups (%rsi), %ymm12
    vmovups 32(%rsi), %ymm13
    each_row \rows, row_copy
    jmp     3f
2:  each_row \rows, row_zero
3:  movq    VT_CALL_ROW_BIAS(%rdi), %rsi
    testq   %rsi, %rsi
    jz      4f
    each_row \rows, row_bias
4:
.endm

.macro sums_finish rows
    cmpb    $0, VT_CALL_ACCUMULATE(%rdi)
    je      1f
    movq    VT_CALL_C(%rdi), %rax
    set_rows VT_CALL_LDC
    each_row \rows, row_add_lo
    each_row \rows, row_add_hi, 32
1:  movq    VT_CALL_RESIDUAL(%rdi), %rax
    testq   %rax, %rax
    jz      2f
    set_rows VT_CALL_LDC
    each_row \rows, row_add_lo
    each_row \rows, row_add_hi, 32
2:  cmpb    $0, VT_CALL_CLAMP(%rdi)
    je      3f
    vbroadcastss VT_CALL_LOW(%rdi), %ymm12
    vbroadcastss VT_CALL_HIGH(%rdi), %ymm13
    each_row \rows, row_clamp
3:  movq    VT_CALL_C(%rdi), %rax
    set_rows VT_CALL_LDC
    each_row \rows, row_store_lo
    each_row \rows, row_store_hi, 32
.endm

/* void vt_f32_gemm_loop_MODE_ROWSx16__avx2(const struct vt_gemm_call *call) */
.macro kernel mode, in_rows, rows
    .globl  vt_f32_gemm_loop_\mode\()_\rows\()x16__avx2
    .hidden vt_f32_gemm_loop_\mode\()_\rows\()x16__avx2
    .type   vt_f32_gemm_loop_\mode\()_\rows\()x16__avx2, @function
    .p2align 6
vt_f32_gemm_loop_\mode\()_\rows\()x16__avx2:
    .cfi_startproc
    pushq   %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbx, 0
    sums_start \rows
    movq    VT_CALL_A(%rdi), %rax
.if \in_rows
    set_rows VT_CALL_A_STRIDE
.endif
    movq    VT_CALL_B(%rdi), %rsi
    movq    VT_CALL_B_STRIDE(%rdi), %rbx
.ifc \mode, indirect
    movq    VT_CALL_ROWS(%rdi), %r11
.else
    movq    VT_CALL_PREFETCH(%rdi), %r11
.endif
.ifc \mode, lines
    movq    VT_CALL_LINES(%rdi), %r11
    movq    VT_CALL_N_LINES(%rdi), %rbx
9:  movq    (%r11), %rax
    addq    $8, %r11
    set_rows VT_CALL_A_STRIDE
.endif
    movq    VT_CALL_K(%rdi), %rcx
    subq    $4, %rcx
    jl      6f
    .p2align 5
5:
    one_step \mode, \rows, \in_rows, 0
    one_step \mode, \rows, \in_rows, 1
    one_step \mode, \rows, \in_rows, 2
    one_step \mode, \rows, \in_rows, 3
    advance \mode, \in_rows, 4
    subq    $4, %rcx
    jge     5b
6:  addq    $4, %rcx
    jz      8f
7:
    one_step \mode, \rows, \in_rows, 0
    advance \mode, \in_rows, 1
    decq    %rcx
    jnz     7b
8:
.ifc \mode, lines
    decq    %rbx
    jnz     9b
.endif
    sums_finish \rows
    vzeroupper
    popq    %rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbx
    ret
    .cfi_endproc
    .size   vt_f32_gemm_loop_\mode\()_\rows\()x16__avx2, . - vt_f32_gemm_loop_\mode\()_\rows\()x16__avx2
.endm

    .text
.irp rows, 1, 2, 3, 4, 5, 6
    kernel packed, 0, \rows
    kernel rows, 1, \rows
    kernel lines, 1, \rows
    kernel indirect, 0, \rows
.endr

    .section .note.GNU-stack, "", @progbits

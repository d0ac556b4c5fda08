/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The micro-kernel with AVX-512, for 1 to 14 rows by up to 32 columns (call.h says what it
 * computes); a second copy leaves out what is beyond the 16th:
 *
 *     zmm0, zmm1  a step of B              zmm4 ... zmm31  the sums, two a row
 *     zmm2        an element of A          k1, k2          which columns are there
 *     rax, rdx    rows 0 and 7             r8, r9, r10     1, 3 and 5 strides of rows
 *     rsi, rbx    B and its stride         rcx             steps left
 *     r11         what to prefetch, or the list of rows of B
 *     rbp         bytes from one request to the next
 *     r12, r13    a row of the next tile of C, and its stride; r14: rows left
 */
#include "call.h"

/* do ROW, SUM, SUM, "address", OFF for the first `rows` rows. */
.macro each_row rows, do, off=0
.if \rows > 0
    \do 0, 4, 5, "\off(%rax)", \off
.endif
.if \rows > 1
    \do 1, 6, 7, "\off(%rax,%r8)", \off
.endif
.if \rows > 2
    \do 2, 8, 9, "\off(%rax,%r8,2)", \off
.endif
.if \rows > 3
    \do 3, 10, 11, "\off(%rax,%r9)", \off
.endif
.if \rows > 4
    \do 4, 12, 13, "\off(%rax,%r8,4)", \off
.endif
.if \rows > 5
    \do 5, 14, 15, "\off(%rax,%r10)", \off
.endif
.if \rows > 6
    \do 6, 16, 17, "\off(%rax,%r9,2)", \off
.endif
.if \rows > 7
    \do 7, 18, 19, "\off(%rdx)", \off
.endif
.if \rows > 8
    \do 8, 20, 21, "\off(%rdx,%r8)", \off
.endif
.if \rows > 9
    \do 9, 22, 23, "\off(%rdx,%r8,2)", \off
.endif
.if \rows > 10
    \do 10, 24, 25, "\off(%rdx,%r9)", \off
.endif
.if \rows > 11
    \do 11, 26, 27, "\off(%rdx,%r8,4)", \off
.endif
.if \rows > 12
    \do 12, 28, 29, "\off(%rdx,%r10)", \off
.endif
.if \rows > 13
    \do 13, 30, 31, "\off(%rdx,%r9,2)", \off
.endif
.endm

/* The addresses of rows that are `offset` apart and start at rax. */
.macro set_rows offset
    movq    \offset(%rdi), %r8
    leaq    (%r8,%r8,2), %r9
    leaq    (%r8,%r8,4), %r10
    leaq    (%r8,%r9,2), %rdx
    addq    %rax, %rdx
.endm

.macro row_prefetch_write row, lo, hi, at, off
    prefetchw \at
.endm
.macro row_prefetch_read row, lo, hi, at, off
    prefetcht0 \at
.endm
.macro row_zero row, lo, hi, at, off
    vpxord  %zmm\lo, %zmm\lo, %zmm\lo
.if wide
    vpxord  %zmm\hi, %zmm\hi, %zmm\hi
.endif
.endm
.macro row_copy row, lo, hi, at, off
    vmovaps %zmm0, %zmm\lo
.if wide
    vmovaps %zmm1, %zmm\hi
.endif
.endm
.macro row_bias row, lo, hi, at, off
    vbroadcastss 4*\row(%rsi), %zmm2
    vaddps  %zmm2, %zmm\lo, %zmm\lo
.if wide
    vaddps  %zmm2, %zmm\hi, %zmm\hi
.endif
.endm
.macro row_add_lo row, lo, hi, at, off
    vaddps  \at, %zmm\lo, %zmm\lo{%k1}
.endm
.macro row_add_hi row, lo, hi, at, off
    vaddps  \at, %zmm\hi, %zmm\hi{%k2}
.endm
/* The operand that comes first here survives a NaN in either. */
.macro row_clamp row, lo, hi, at, off
    vmaxps  %zmm\lo, %zmm0, %zmm\lo
    vminps  %zmm\lo, %zmm1, %zmm\lo
.if wide
    vmaxps  %zmm\hi, %zmm0, %zmm\hi
    vminps  %zmm\hi, %zmm1, %zmm\hi
.endif
.endm
.macro row_store_lo row, lo, hi, at, off
    vmovups %zmm\lo, \at{%k1}
.endm
.macro row_store_hi row, lo, hi, at, off
    vmovups %zmm\hi, \at{%k2}
.endm
.macro row_step_rows row, lo, hi, at, off
    vbroadcastss \at, %zmm2
    vfmadd231ps %zmm0, %zmm2, %zmm\lo
.if wide
    vfmadd231ps %zmm1, %zmm2, %zmm\hi
.endif
.endm
.macro row_step_packed row, lo, hi, at, off
    vbroadcastss 4*\row+\off(%rax), %zmm2
    vfmadd231ps %zmm0, %zmm2, %zmm\lo
.if wide
    vfmadd231ps %zmm1, %zmm2, %zmm\hi
.endif
.endm

/* Step number `step` of an unrolled loop. */
.macro one_step mode, rows, in_rows, step
.ifc \mode, indirect
    movq    8*\step(%r11), %rsi
    vmovups (%rsi,%rbx), %zmm0
.if wide
    vmovups 64(%rsi,%rbx), %zmm1
.endif
.else
.ifc \mode, lines
    vmovups (%rsi), %zmm0
.if wide
    vmovups 64(%rsi), %zmm1
.endif
    addq    $128, %rsi
.else
    vmovups (%rsi), %zmm0
.if wide
    vmovups 64(%rsi), %zmm1
.endif
    prefetcht0 (%r11)
    addq    %rbp, %r11
    addq    %rbx, %rsi
.endif
.endif
.if \in_rows
    each_row \rows, row_step_rows, 4*\step
.else
    each_row \rows, row_step_packed, 56*\step
.endif
.endm

.macro advance mode, in_rows, steps
.if \in_rows
    addq    $4*\steps, %rax
    addq    $4*\steps, %rdx
.else
    addq    $56*\steps, %rax
.endif
.ifc \mode, indirect
    addq    $8*\steps, %r11
.endif
.endm

.macro sums_start rows
    movq    VT_CALL_C(%rdi), %rax
    set_rows VT_CALL_LDC
    each_row \rows, row_prefetch_write
.if wide
    each_row \rows, row_prefetch_write, 124
.endif
    movq    VT_CALL_RESIDUAL(%rdi), %rax
    testq   %rax, %rax
    jz      1f
    set_rows VT_CALL_LDC
    each_row \rows, row_prefetch_read
.if wide
    each_row \rows, row_prefetch_read, 124
.endif
1:  movq    VT_CALL_COL_BIAS(%rdi), %rsi
    testq   %rsi, %rsi
    jz      2f
    vmovups (%rsi), %zmm0{%k1}{z}
.if wide
    vmovups 64(%rsi), %zmm1{%k2}{z}
.endif
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
.if wide
    each_row \rows, row_add_hi, 64
.endif
1:  movq    VT_CALL_RESIDUAL(%rdi), %rax
    testq   %rax, %rax
    jz      2f
    set_rows VT_CALL_LDC
    each_row \rows, row_add_lo
.if wide
    each_row \rows, row_add_hi, 64
.endif
2:  cmpb    $0, VT_CALL_CLAMP(%rdi)
    je      3f
    vbroadcastss VT_CALL_LOW(%rdi), %zmm0
    vbroadcastss VT_CALL_HIGH(%rdi), %zmm1
    each_row \rows, row_clamp
3:  movq    VT_CALL_C(%rdi), %rax
    set_rows VT_CALL_LDC
    each_row \rows, row_store_lo
.if wide
    each_row \rows, row_store_hi, 64
.endif
.endm

/* void vt_f32_gemm_loop_MODE_ROWSxCOLS__avx512(const struct vt_gemm_call *call) */
.macro kernel mode, in_rows, rows, cols
    .globl  vt_f32_gemm_loop_\mode\()_\rows\()x\cols\()__avx512
    .hidden vt_f32_gemm_loop_\mode\()_\rows\()x\cols\()__avx512
    .type   vt_f32_gemm_loop_\mode\()_\rows\()x\cols\()__avx512, @function
    .p2align 6
vt_f32_gemm_loop_\mode\()_\rows\()x\cols\()__avx512:
    .cfi_startproc
    pushq   %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbx, 0
    pushq   %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    pushq   %r12
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r12, 0
    pushq   %r13
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r13, 0
    pushq   %r14
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r14, 0
    movq    VT_CALL_PACE(%rdi), %rbp
    movq    VT_CALL_NEXT_C(%rdi), %r12
    movq    VT_CALL_LDC(%rdi), %r13
    movl    $\rows, %r14d
    movl    VT_CALL_COLUMNS(%rdi), %eax
    kmovw   %eax, %k1
    shrl    $16, %eax
    kmovw   %eax, %k2
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
    prefetchw (%r12)
.if wide
    prefetchw 124(%r12)
.endif
    addq    %r13, %r12
    decq    %r14
    cmovzq  %r14, %r13  /* behind the last row it stays where it is */
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
    popq    %r14
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r14
    popq    %r13
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r13
    popq    %r12
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r12
    popq    %rbp
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbp
    popq    %rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbx
    ret
    .cfi_endproc
    .size   vt_f32_gemm_loop_\mode\()_\rows\()x\cols\()__avx512, . - vt_f32_gemm_loop_\mode\()_\rows\()x\cols\()__avx512
.endm

    .text
    .set    wide, 1
.irp rows, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14
    kernel packed, 0, \rows, 32
    kernel rows, 1, \rows, 32
    kernel lines, 1, \rows, 32
    kernel indirect, 0, \rows, 32
.endr
    .set    wide, 0
.irp rows, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14
    kernel packed, 0, \rows, 16
    kernel rows, 1, \rows, 16
    kernel lines, 1, \rows, 16
    kernel indirect, 0, \rows, 16
.endr

    .section .note.GNU-stack, "", @progbits

/* SPDX-License-Identifier: Apache-2.0 */
/* See dlsym_x86_64.S. x16 may be used between a call and its target (AAPCS64), and a jump through it may land on a
 * "bti c". */
    .text
    .globl dlsym
    .type dlsym, %function
    .p2align 4
dlsym:
    .cfi_startproc
    hint #34                    /* bti c */
    cbz x1, .Lnext
    ldrb w9, [x1]
    cmp w9, #'c'
    b.eq .Lmaybe_cudnn
    cmp w9, #'n'
    b.eq .Lmaybe_nvrtc
.Lnext:
    adrp x16, cudnn_tune_next_dlsym
    ldr x16, [x16, #:lo12:cudnn_tune_next_dlsym]
    cbz x16, .Lask
    br x16

.Lmaybe_cudnn:
    ldrb w9, [x1, #1]
    cmp w9, #'u'
    b.eq .Lask
    b .Lnext
.Lmaybe_nvrtc:
    ldrb w9, [x1, #1]
    cmp w9, #'v'
    b.ne .Lnext

.Lask:
    stp x29, x30, [sp, #-32]!
    .cfi_def_cfa_offset 32
    .cfi_offset x29, -32
    .cfi_offset x30, -24
    mov x29, sp
    stp x0, x1, [sp, #16]
    mov x2, x30
    bl cudnn_tune_dlsym
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #32
    .cfi_restore x29
    .cfi_restore x30
    .cfi_def_cfa_offset 0
    cbnz x16, .Lreturn
    adrp x16, cudnn_tune_next_dlsym
    ldr x16, [x16, #:lo12:cudnn_tune_next_dlsym]
    cbz x16, .Lreturn
    br x16
.Lreturn:
    mov x0, x16
    ret
    .cfi_endproc
    .size dlsym, . - dlsym

#if defined(__ARM_FEATURE_BTI_DEFAULT) || defined(__ARM_FEATURE_PAC_DEFAULT)
/* GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI. x30 is saved as the caller left it, as glibc's own assembly does. */
    .section .note.gnu.property, "a"
    .p2align 3
    .word 4, 16, 5
    .asciz "GNU"
    .word 0xc0000000, 4, 1, 0
#endif

    .section .note.GNU-stack, "", %progbits

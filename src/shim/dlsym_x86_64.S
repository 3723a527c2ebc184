/* SPDX-License-Identifier: Apache-2.0 */
/* void* dlsym(void* handle, const char* name): asks cudnn_tune_dlsym, and otherwise jumps to the next dlsym in the
 * chain. A jump, not a call: RTLD_NEXT and RTLD_DEFAULT mean "as seen from the object that holds the return address",
 * and interposers behind us look at it too. Names that cannot be ours take the jump at once. */
#if defined(__CET__)
#include <cet.h>
#else
#define _CET_ENDBR
#endif

    .text
    .globl dlsym
    .type dlsym, @function
    .p2align 4
dlsym:
    .cfi_startproc
    _CET_ENDBR
    testq %rsi, %rsi
    jz .Lnext
    /* byte by byte: the name may end at the end of a page */
    cmpb $'c', (%rsi)
    je .Lmaybe_cudnn
    cmpb $'n', (%rsi)
    je .Lmaybe_nvrtc
.Lnext:
    movq cudnn_tune_next_dlsym(%rip), %rax
    testq %rax, %rax
    jz .Lask
    jmp *%rax

.Lmaybe_cudnn:
    cmpb $'u', 1(%rsi)
    je .Lask
    jmp .Lnext
.Lmaybe_nvrtc:
    cmpb $'v', 1(%rsi)
    jne .Lnext

.Lask:
    movq (%rsp), %rdx
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call cudnn_tune_dlsym
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    testq %rax, %rax
    jnz .Lreturn
    movq cudnn_tune_next_dlsym(%rip), %rax
    testq %rax, %rax
    jz .Lreturn
    jmp *%rax
.Lreturn:
    ret
    .cfi_endproc
    .size dlsym, . - dlsym

    .section .note.GNU-stack, "", @progbits

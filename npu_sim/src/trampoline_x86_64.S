# Entered from the generated stub of an aclnnXGetWorkspaceSize with the operator's number in r11d. The callers pass
# anything in any number, so the argument registers are saved and handed on with the address of the stack arguments:
#     int npusim_prepare(const SavedRegisters*, const uint64_t* stack, int index)
    .text
    .globl npusim_prepare_entry
    .hidden npusim_prepare_entry
    .type npusim_prepare_entry, @function
npusim_prepare_entry:
    pushq %rbp
    movq %rsp, %rbp
    subq $112, %rsp
    movq %rdi, 0(%rsp)
    movq %rsi, 8(%rsp)
    movq %rdx, 16(%rsp)
    movq %rcx, 24(%rsp)
    movq %r8, 32(%rsp)
    movq %r9, 40(%rsp)
    movsd %xmm0, 48(%rsp)
    movsd %xmm1, 56(%rsp)
    movsd %xmm2, 64(%rsp)
    movsd %xmm3, 72(%rsp)
    movsd %xmm4, 80(%rsp)
    movsd %xmm5, 88(%rsp)
    movsd %xmm6, 96(%rsp)
    movsd %xmm7, 104(%rsp)
    movq %rsp, %rdi
    leaq 16(%rbp), %rsi
    movl %r11d, %edx
    call npusim_prepare@PLT
    leave
    ret
    .size npusim_prepare_entry, .-npusim_prepare_entry
    .section .note.GNU-stack,"",@progbits

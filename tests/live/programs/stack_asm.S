/* SPDX-License-Identifier: MIT */
/*
 * Frames by hand, in a program without a C library:
 *
 *   leaf < by_r9 < by_rbx < by_r10_saved < pushes < no_cfi < main < _start
 *
 * no_cfi has a frame pointer and no unwind rules. by_r9 keeps its frame's address in a register that
 * its callee leaves alone, though it need not; by_rbx in rbx; by_r10_saved at the frame pointer minus
 * 8, as compilers do that realign the stack. pushes moves its stack pointer with each argument that
 * it pushes and spends its own time there. Built with -DROUNDS it does all that once, in few TURNS.
 */
#ifndef TURNS
#define TURNS 2000
#endif

	.text

	.globl leaf
	.type leaf, @function
leaf:
	.cfi_startproc
	mov $(10 * TURNS), %ecx
1:	dec %ecx
	jnz 1b
	ret
	.cfi_endproc
	.size leaf, . - leaf

	.globl by_r9
	.type by_r9, @function
by_r9:
	.cfi_startproc
	lea 8(%rsp), %r9
	.cfi_def_cfa %r9, 0
	sub $72, %rsp
	and $-128, %rsp
	call leaf
	lea -8(%r9), %rsp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size by_r9, . - by_r9

	.globl by_rbx
	.type by_rbx, @function
by_rbx:
	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	mov %rsp, %rbx
	.cfi_def_cfa_register %rbx
	sub $200, %rsp
	and $-256, %rsp
	call by_r9
	mov %rbx, %rsp
	.cfi_def_cfa_register %rsp
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size by_rbx, . - by_rbx

	.globl by_r10_saved
	.type by_r10_saved, @function
by_r10_saved:
	.cfi_startproc
	lea 8(%rsp), %r10
	.cfi_def_cfa %r10, 0
	and $-64, %rsp
	push -8(%r10)
	push %rbp
	mov %rsp, %rbp
	.cfi_escape 0x10,0x6,0x2,0x76,0
	push %r10
	.cfi_escape 0xf,0x3,0x76,0x78,0x6
	sub $104, %rsp
	call by_rbx
	add $104, %rsp
	pop %r10
	.cfi_def_cfa %r10, 0
	pop %rbp
	.cfi_restore %rbp
	lea -8(%r10), %rsp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size by_r10_saved, . - by_r10_saved

	.globl pushes
	.type pushes, @function
pushes:
	.cfi_startproc
	mov $TURNS, %ecx
1:	push %rcx
	.cfi_adjust_cfa_offset 8
	push $1
	.cfi_adjust_cfa_offset 8
	push $2
	.cfi_adjust_cfa_offset 8
	push $3
	.cfi_adjust_cfa_offset 8
	add $24, %rsp
	.cfi_adjust_cfa_offset -24
	pop %rcx
	.cfi_adjust_cfa_offset -8
	dec %ecx
	jnz 1b
	sub $8, %rsp
	.cfi_adjust_cfa_offset 8
	call by_r10_saved
	add $8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size pushes, . - pushes

	.globl no_cfi
	.type no_cfi, @function
no_cfi:
	push %rbp
	mov %rsp, %rbp
	sub $48, %rsp
	call pushes
	leave
	ret
	.size no_cfi, . - no_cfi

	.globl main
	.type main, @function
main:
	.cfi_startproc
	sub $8, %rsp
	.cfi_def_cfa_offset 16
1:	call no_cfi
#ifndef ROUNDS
	jmp 1b
#endif
	add $8, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size main, . - main

	.globl _start
	.type _start, @function
_start:
	.cfi_startproc
	.cfi_undefined %rip
	xor %ebp, %ebp
	mov $1, %eax
	mov $1, %edi
	lea ready(%rip), %rsi
	mov $6, %edx
	syscall
	call main
	xor %edi, %edi
	mov $60, %eax
	syscall
	hlt
	.cfi_endproc
	.size _start, . - _start

	.section .rodata
ready:	.ascii "ready\n"
	.section .note.GNU-stack, "", @progbits

/* SPDX-License-Identifier: MIT */
/*
 * Functions without unwind rules, for stack_gap.c. Each is told how often to turn. gap_leaf pushes
 * and makes no frame; gap_inner calls it; gap_borrows has something else in the frame pointer;
 * gap_aligned goes far down and keeps the stack pointer that it had in a register; gap_stale has
 * room that it never writes.
 */
	.text

	.macro function name
	.globl \name
	.type \name, @function
\name:
	.endm

	.macro turn count
1:	dec \count
	jnz 1b
	.endm

	.macro end name
	ret
	.size \name, . - \name
	.endm

	/* What comes before is another one. */
	function gap_before
	end gap_before

	function gap_leaf
	push %rbx
	push %r12
	sub $72, %rsp
	turn %rdi
	add $72, %rsp
	pop %r12
	pop %rbx
	end gap_leaf

	function gap_inner
	sub $40, %rsp
	call gap_leaf
	add $40, %rsp
	end gap_inner

	function gap_borrows
	push %rbx
	push %rbp
	push %r12
	mov %rdi, %rbp
	turn %rbp
	pop %r12
	pop %rbp
	pop %rbx
	end gap_borrows

	function gap_aligned
	push %rbx
	mov %rsp, %rbx
	sub $28672, %rsp
	and $-4096, %rsp
	turn %rdi
	mov %rbx, %rsp
	pop %rbx
	end gap_aligned

	function gap_stale
	sub $408, %rsp
	turn %rdi
	add $408, %rsp
	end gap_stale

	.section .note.GNU-stack, "", @progbits

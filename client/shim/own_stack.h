/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_SHIM_OWN_STACK_H
#define PROFD_CLIENT_SHIM_OWN_STACK_H

/*
 * Calls a function on another stack, for work in a handler of signals: what that has may be a few
 * kilobytes (sigaltstack(2)). Not by makecontext(3), of which AddressSanitizer warns the user.
 */
#include <stddef.h>

/* @stack: @length bytes. Asking for the frame's address has stacks walked by it meanwhile. */
__attribute__((noinline)) static void own_stack_call(void *stack, size_t length, void (*work)(void))
{
	char *top = (char *)stack + (length & ~(size_t)15);

	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
#if defined(__x86_64__)
	__asm__ volatile("mov %%rsp, %%rbx\n\t"
			 "mov %[top], %%rsp\n\t"
			 "call *%[work]\n\t"
			 "mov %%rbx, %%rsp"
			 : [top] "+r"(top), [work] "+r"(work)
			 :
			 : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
			   "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
			   "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory",
			   "cc");
#elif defined(__aarch64__)
	__asm__ volatile("mov x19, sp\n\t"
			 "mov sp, %[top]\n\t"
			 "blr %[work]\n\t"
			 "mov sp, x19"
			 : [top] "+r"(top), [work] "+r"(work)
			 :
			 : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
			   "x12", "x13", "x14", "x15", "x16", "x17", "x19", "x30", "v0", "v1", "v2",
			   "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
			   "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23",
			   "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "memory", "cc");
#else
#error "no stack can be changed on this architecture"
#endif
}

#endif

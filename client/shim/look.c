/* SPDX-License-Identifier: MIT */
/*
 * What the library is not called for: threads that were not made by pthread_create(3) or
 * thrd_create(3), and code that was not loaded by dlopen(3), or by one that had to be left to its
 * caller (hooks.c); JIT compilers' for one. Handlers that sample look for it: for threads every
 * second, for code as a sample shows some that is not known, less and less often.
 */
#include <unistd.h>

#include "client/shim/shim_private.h"
#include "common/clock.h"

#define LOOK_FIRST_NS (NS_PER_S / 100)

/*
 * Calls @work on @stack, of @length bytes: that of a handler of signals may be a few kilobytes
 * (sigaltstack(2)). Not by makecontext(3), of which AddressSanitizer warns the user. Asking for the
 * frame's address has stacks walked by it meanwhile.
 */
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

void shim_run_on_stack(void (*work)(void))
{
	own_stack_call(shim.stack, SHIM_STACK_BYTES, work);
}

static void look_for_threads(void)
{
	const struct threads_timing when = shim_timing();
	bool any;

	if (!shim.itimer.is_on && when.frequency)
		threads_scan(shim.threads, &when, &any);
}

static void look_for_code(void)
{
	images_refresh(shim.images, true);
}

/* The lock is held. */
static void shim_scan_locked(bool wants, uint64_t now)
{
	if (wants) {
		shim_run_on_stack(look_for_code);
		shim.look_wait_ns = shim.look_wait_ns ? shim.look_wait_ns * 2 : LOOK_FIRST_NS;
		if (shim.look_wait_ns > NS_PER_S)
			shim.look_wait_ns = NS_PER_S;
	}
	if (now - shim.scanned_ns >= NS_PER_S) {
		shim_run_on_stack(look_for_threads);
		shim.scanned_ns = now;
	}
	atomic_store(&shim.look_ns, now + (shim.look_wait_ns ? shim.look_wait_ns : LOOK_FIRST_NS));
}

void shim_scan_if_due(bool wants)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC_COARSE), due = atomic_load(&shim.look_ns);

	if (now < due || (!wants && now - due < NS_PER_S) || !lock_try(&shim.lock))
		return;
	if (shim_wants_ticks() && shim.pid == getpid())
		shim_scan_locked(wants, now);
	lock_release_only(&shim.lock);
}

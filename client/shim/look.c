/* SPDX-License-Identifier: MIT */
/*
 * What nobody tells the library of: threads that were not made by pthread_create(3) or
 * thrd_create(3), and code that was not loaded by dlopen(3), or by one that had to be left to its
 * caller (hooks.c); JIT compilers' for one. Handlers that sample look for it: for threads every
 * second, for code as a sample shows some that is not known, less and less often.
 */
#include <unistd.h>

#include "client/shim/own_stack.h"
#include "client/shim/shim_private.h"
#include "common/clock.h"

#define LOOK_FIRST_NS (NS_PER_S / 100)

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

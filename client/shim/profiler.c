/* SPDX-License-Identifier: MIT */
/*
 * The functions of profd/profiler.h. They may be called by any thread, in handlers of signals too,
 * so whatever takes the lock leaves errno as it was.
 */
#include "client/shim/include/profd/profiler.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>

#include "client/shim/core/tick.h"
#include "client/shim/shim.h"

_Static_assert(offsetof(struct ProfilerState, enabled) == 0, "as libprofiler has it");
_Static_assert(offsetof(struct ProfilerState, start_time) == 8, "as libprofiler has it");
_Static_assert(offsetof(struct ProfilerState, profile_name) == 16, "as libprofiler has it");
_Static_assert(offsetof(struct ProfilerState, samples_gathered) == 1040, "as libprofiler has it");
_Static_assert(sizeof(struct ProfilerState) == 1048, "as libprofiler has it");

int ProfilerStart(const char *fname)
{
	return shim_start(fname, NULL);
}

int ProfilerStartWithOptions(const char *fname, const struct ProfilerOptions *options)
{
	return shim_start(fname, options);
}

void ProfilerStop(void)
{
	int kept = errno;
	sigset_t mask;

	lock_take(&shim.lock, &mask);
	shim_stop_locked();
	lock_release(&shim.lock, &mask);
	errno = kept;
}

void ProfilerFlush(void)
{
	shim_flush();
}

void ProfilerEnable(void)
{
}

void ProfilerDisable(void)
{
}

int ProfilingIsEnabledForAllThreads(void)
{
	return atomic_load(&shim.is_on);
}

void ProfilerRegisterThread(void)
{
	if (!shim.has_key || !pthread_getspecific(shim.key))
		shim_thread_begin(NULL);
}

void ProfilerGetCurrentState(struct ProfilerState *ret)
{
	_Atomic int *samples = &shim.samples;
	sigset_t mask;
	size_t n = 0;

	memset(ret, 0, sizeof(*ret));
	lock_take(&shim.lock, &mask);
	if (atomic_load(&shim.is_on)) {
		ret->enabled = 1;
		ret->start_time = shim.start_time;
		ret->samples_gathered = atomic_load(samples);
		n = strnlen(shim.name, sizeof(ret->profile_name) - 1);
		memcpy(ret->profile_name, shim.name, n);
	}
	/* Programs may ask for the counter once, before their first profile. */
	if (n + 1 + sizeof(samples) <= sizeof(ret->profile_name))
		memcpy(ret->profile_name + n + 1, &samples, sizeof(samples));
	lock_release(&shim.lock, &mask);
}

static int shim_trace(const struct unwind_registers *registers, void **result, int max_depth,
		      int64_t skip)
{
	struct threads *threads = atomic_load(&shim.threads);
	struct thread *room = threads ? threads_claim(threads) : NULL;
	struct images_view *view = room && shim.images ? images_enter(shim.images) : NULL;
	struct tick_stack stack;
	int n = 0;

	if (view) {
		tick_walk(shim.images, view, room, registers, &stack);
		for (; skip < stack.n && n < max_depth; skip++)
			result[n++] = (void *)(uintptr_t)(room->frames[skip] + 1);
		images_leave(view);
	}
	if (room)
		threads_release(room);
	return n;
}

/* One frame is ours: this function. */
int ProfilerGetStackTrace(void **result, int max_depth, int skip_count, const void *uc)
{
	struct unwind_registers registers;
	sigset_t all, mask;
	ucontext_t here;
	int n;

	(void)uc;
	getcontext(&here);
	tick_registers(&here, &registers);
	/* A handler that does not return must not keep what is held in between. */
	sigfillset(&all);
	lock_set_mask(&all, &mask);
	n = shim_trace(&registers, result, max_depth, 1 + (int64_t)skip_count);
	lock_set_mask(&mask, NULL);
	return n;
}

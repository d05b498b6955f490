/* SPDX-License-Identifier: MIT */
/* The functions of profd/profiler.h. */
#include "client/shim/include/profd/profiler.h"

#include "client/shim/shim.h"

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
	shim_stop();
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
	return shim_is_on();
}

void ProfilerRegisterThread(void)
{
	if (!shim_thread_is_known())
		shim_thread_begin(NULL);
}

void ProfilerGetCurrentState(struct ProfilerState *state)
{
	shim_get_state(state);
}

int ProfilerGetStackTrace(void **result, int max_depth, int skip_count, const void *uc)
{
	int n = shim_stack_trace(result, max_depth, skip_count);

	(void)uc;
	/* Not its last call: it is one of the frames that shim_stack_trace() leaves out. */
	__asm__ volatile("");
	return n;
}

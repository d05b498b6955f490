/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFILER_H
#define PROFD_PROFILER_H

/*
 * libprofd: profiles of the CPU time of the program that it is linked into, or loaded into by
 * LD_PRELOAD. No privileges, no daemon. The interface, the environment and the files are those of
 * gperftools' libprofiler; google-pprof, go tool pprof and profctl read the files.
 *
 * All threads are profiled, each by its own CPU time, with or without being registered. Without a
 * call of any of these functions the environment decides:
 *
 *   CPUPROFILE=FILE               profile from the beginning of the program to its end, into FILE;
 *                                 processes that are started by it use FILE_PID
 *   CPUPROFILE_FREQUENCY=N        samples a second of CPU time, 1 to 4000, default 100
 *   CPUPROFILESIGNAL=N            signal N begins and ends profiles: FILE.0, FILE.1, ...
 *   CPUPROFILE_REALTIME=1         by the wall clock: the main thread alone, also as it waits
 *   CPUPROFILE_TIMER_SIGNAL=N     the signal that samples, default SIGPROF
 *   CPUPROFILE_USE_PID=1          FILE_PID for the first process, too
 *   CPUPROFILE_PER_THREAD_TIMERS  by the wall clock: all threads. Else it is always so
 *   PROFD_CONNECT=PATH            hands samples to the server at the Unix socket PATH, too; 1: to
 *                                 the one that PROFD_SOCKET names, or profd. `profctl run` does it.
 *                                 A server that is not there makes no difference, and is found
 *                                 when it starts, by programs that use CPU time.
 *
 * Programs that run with more privileges than their caller (AT_SECURE of getauxval(3)) are never
 * profiled.
 *
 * A profile is written when it is stopped, at the end of the program, before exec(3), and when a
 * signal ends the program that it does not handle; after SIGKILL the file is what it was before.
 * Programs that are linked statically load nothing, and are not profiled by LD_PRELOAD; those of
 * another C library (musl) are refused by their loader.
 *
 * All functions may be called by any thread. Those that sample need the timer's signal: while the
 * program has a handler of its own for it, nothing can be profiled.
 * While a profile runs, no thread blocks it; of one that had done so before, all CPU time counts
 * for the function that it began with.
 */
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* Zero it before use. */
struct ProfilerOptions {
	/*
	 * If it is not NULL, a sample counts only when filter_in_thread(filter_in_thread_arg),
	 * called in the sampled thread by a signal handler, returns nonzero.
	 */
	int (*filter_in_thread)(void *arg);
	void *filter_in_thread_arg;
};

/*
 * Starts a profile that will be written to @fname; what was in there is gone. Returns nonzero, or 0
 * when there is a profile running already, or none can be.
 */
int ProfilerStart(const char *fname);
/* The same with @options, which may be NULL. */
int ProfilerStartWithOptions(const char *fname, const struct ProfilerOptions *options);
/* Ends the running profile and writes its file; without one it does nothing. */
void ProfilerStop(void);
/* Writes what has been gathered so far; the profile goes on. The file is a whole one. */
void ProfilerFlush(void);

/* Do nothing: single threads cannot be left out any more. Use filter_in_thread. */
void ProfilerEnable(void);
void ProfilerDisable(void);

/* Nonzero while a profile runs. */
int ProfilingIsEnabledForAllThreads(void);

/* Not needed but by threads that were made without pthread_create(3). */
void ProfilerRegisterThread(void);

struct ProfilerState {
	int enabled;             /* whether a profile runs; if not, the rest is 0 */
	time_t start_time;       /* when it was started */
	char profile_name[1024]; /* its file, as it was named, cut if it is longer */
	int samples_gathered;    /* so far */
};
/*
 * Behind the 0 that ends profile_name, if there is room, lies the address of an int that rises with
 * each sample.
 */
void ProfilerGetCurrentState(struct ProfilerState *state);

/*
 * The calling thread's stack: where this call returns to, where its caller does, and so on; the
 * first @skip_count of them are left out, at most @max_depth are stored. Meant for handlers of the
 * timer's signal while a profile runs, or after one: else there may be none. It goes through the
 * signal's frame to what was interrupted, so @uc is not looked at. Returns how many there are.
 */
int ProfilerGetStackTrace(void **result, int max_depth, int skip_count, const void *uc);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif

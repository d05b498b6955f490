/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_SHIM_SHIM_H
#define PROFD_CLIENT_SHIM_SHIM_H

/*
 * The one profile that a process can have at a time: started, sampled, written, ended. The
 * functions of profd/profiler.h (profiler.c) and what is put between the program and its C library
 * (hooks.c) come here.
 *
 * All may be called by any thread, in a signal handler too, but not in filter_in_thread.
 */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "client/shim/core/images.h"
#include "client/shim/core/link.h"
#include "client/shim/core/profile_file.h"
#include "client/shim/core/settings.h"
#include "client/shim/core/tally.h"
#include "client/shim/core/threads.h"
#include "client/shim/include/profd/profiler.h"
#include "client/shim/lock.h"

/* Once, before anything else: reads the environment, and starts what that says. */
void shim_begin(void);
/*
 * At the end of the process: ends the profile, unless it is that of a process we were forked from.
 * Needs little of the caller's stack.
 */
void shim_end(void);

bool shim_start(const char *name, const struct ProfilerOptions *options);
void shim_flush(void);

/*
 * What a thread needs that is to be made, until threads_release() if it is not; NULL: it is made as
 * it always was.
 */
struct thread *shim_thread_prepare(void *(*start)(void *), void *argument);
/* In the new thread, first: @thread as prepared, or NULL for one that was made otherwise. */
void shim_thread_begin(struct thread *thread);

/* Libraries may have been loaded. */
void shim_libraries_changed(void);

/* The signal that threads must not block: 0 while no profile runs. */
int shim_tick_signal(void);
/* Whether that signal is @number, and the library's handler is there, for this process. */
bool shim_has_signal(int number);

/* Before exec(3), and after one that failed. */
void shim_exec_begin(void);
void shim_exec_failed(void);

/* --- inside ----------------------------------------------------------------------------------- */

/*
 * A handler of signals has no argument of ours, and the functions of libprofiler's interface have
 * no handle: so here is the one object of static storage that the library has.
 *
 * What may be touched where: `is_on`, the counters, tally, images and link are the handler's as
 * well as everybody's, and atomic or made for it; the rest belongs to the thread that holds the
 * lock. A handler counts itself into a view of images before it looks at is_on, and leaves it when
 * it is done: so after is_on is false and images_wait(), no handler is at work.
 */

struct shim {
	struct lock lock;
	sigset_t fork_mask;   /* while a fork holds the lock */
	struct thread *forks; /* the thread that does */

	bool is_secure; /* a program with more privileges than its caller */
	bool has_key;
	pthread_key_t key; /* ends threads: its value is the slot */
	struct settings settings;
	unsigned n_switched; /* profiles that the switching signal has begun */

	struct threads *_Atomic threads;
	struct images *images;
	struct tally *tally;

	struct link link;     /* a server that has the samples, too, or alone */
	struct itimer itimer; /* where threads can have no timers */
	bool has_timers, uses_itimer, said_no_timer;
	void *stack; /* SHIM_STACK_BYTES for work in handlers that hold the lock */

	/* When handlers look for threads and code that came unseen; CLOCK_MONOTONIC. */
	_Atomic uint64_t look_ns; /* not before */
	uint64_t look_wait_ns, scanned_ns;

	_Atomic bool is_on; /* a profile of our own runs */
	_Atomic int samples;
	struct profile_counters counters;
	int (*_Atomic filter)(void *argument);
	void *_Atomic filter_argument;

	/* The running profile. */
	int pid; /* this process; not that of a copy made by a system call */
	time_t start_time;
	char name[PATH_MAX]; /* as it was asked for */
	char base[PATH_MAX]; /* absolute */
	struct profile_file file;
};

#define SHIM_STACK_BYTES (256u << 10)

extern struct shim shim;

/* With the lock held, all of these. */
void shim_stop_locked(void);
/* Whether threads are to have timers: for a profile, or a server, be it to hear what that wants. */
bool shim_wants_ticks(void);
/*
 * What the timer of a thread that ends, or whose timer has ended, had still to tell counts for the
 * stack that it had last; for the function that it began with if there was none. In our own profile
 * (@own), and at the server (@link). The process's timer has it to tell of all threads, and the one
 * that asks gets it.
 */
void shim_count_missed_ticks(struct thread *thread, bool own, bool link);
/* The same of a thread that ends while it is sampled. */
void shim_count_end(struct thread *thread);
/* The frequency at which the timer runs that ticks for a thread, its own or the process's. */
uint32_t shim_frequency_of(const struct thread *thread);
/* At which frequency timers are to run; 0: not at all. */
uint32_t shim_wanted_frequency(void);
/* The handler of their signal. */
void shim_on_tick(int number, siginfo_t *info, void *ucontext);
/* Calls @work on a stack that is large enough, whatever the handler that wants it runs on. */
void shim_run_on_stack(void (*work)(void));
struct threads_timing shim_timing(void);

#endif

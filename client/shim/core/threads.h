/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_SHIM_CORE_THREADS_H
#define PROFD_CLIENT_SHIM_CORE_THREADS_H

/*
 * The threads of this process and their timers. Each thread has a timer of the kernel's on its own
 * CPU clock (timer_create(2) with SIGEV_THREAD_ID), whose signal carries the number of the thread's
 * slot: so the handler finds everything that belongs to its thread without thread-local memory.
 *
 * A slot is taken by the thread that makes the thread (threads_claim()), or when a list of all
 * threads shows one without (threads_scan()). All slots lie in one mapping whose pages are had by
 * touching them; a slot that was ever used stays mapped.
 *
 * Claiming and releasing need no lock; all others are called with the library's lock held.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define THREADS_MAX        4096
#define THREADS_FRAMES_MAX 1024
#define THREADS_CHUNKS     4
#define THREADS_CHUNK      1024

struct thread {
	_Atomic int tid; /* 0: the slot is free; -1: the thread is being made */
	bool has_timer;
	int timer;
	_Atomic uint32_t frequency; /* of its timer; 0: it does not run */

	/*
	 * The clock of the thread's CPU time when its timer ran out first (0: it counts something
	 * else), and how often its handler was called. The kernel sends signals at its own ticks
	 * only: a thread that ends owes the rest.
	 */
	uint64_t first_ns;
	_Atomic uint64_t n_told;

	/* Its stack is mapped from `low` (or further down: as far as it was used) to `end`. 0:
	 * unknown. */
	uint64_t low, end;

	/* What pthread_create(3) was asked for. */
	void *(*start)(void *argument);
	void *argument;

	/* The handler's: no stack of the program's is asked for that much. */
	uint64_t frames[THREADS_FRAMES_MAX];
	uint32_t n_frames; /* of the last sample; 0: there was none */
	uint8_t quality, reason;
	uint64_t chunks[THREADS_CHUNKS][THREADS_CHUNK / sizeof(uint64_t)];
};

struct threads;

struct threads_timing {
	uint32_t frequency; /* a second; not 0 */
	int signal;
	bool is_realtime; /* else by CPU time */
	/*
	 * A tick by the wall clock ends a thread's sleep(3) or poll(2) with EINTR, whatever
	 * SA_RESTART says: then only the main thread has any.
	 */
	bool is_main_only;
};

/* Returns 0 or -ENOMEM. */
int threads_new(struct threads **ret);

/* A free slot, or NULL. Its tid is -1 then. */
struct thread *threads_claim(struct threads *threads);
/* Gives it back, without a timer. */
void threads_release(struct thread *thread);
/* The slot of that number, from 0 on, or NULL if there is none. */
struct thread *threads_at(struct threads *threads, int number);
/*
 * Whether a timer of ours sends signals with that value; then the slot of its thread, or NULL.
 * Async-signal-safe, both.
 */
bool threads_is_value(int value);
struct thread *threads_of_value(struct threads *threads, int value);
struct thread *threads_find(struct threads *threads, int tid);

/*
 * Starts or ends its timer; does nothing if it has one, or none, or is to have none. False: the
 * kernel has no timer.
 * The first period is cut short at random, so that short threads count as often as they should.
 */
bool threads_arm(struct threads *threads, struct thread *thread,
		 const struct threads_timing *timing);
void threads_disarm(struct thread *thread);
/* The calling thread's timer runs at @frequency from now on; 0: not at all. Async-signal-safe. */
void threads_retime(struct thread *thread, uint32_t frequency);
void threads_disarm_all(struct threads *threads);
/* How often its timer has run out, or would have by now, without a call of the handler. */
uint64_t threads_missed_ticks(const struct thread *thread);
/*
 * Gives all threads of this process slots and timers, and takes those of threads that are gone.
 * Returns how many threads have got no timer; *ret_any: whether others have.
 */
unsigned threads_scan(struct threads *threads, const struct threads_timing *timing, bool *ret_any);
/* In a forked child: only this thread is left, under another number, and there are no timers. */
void threads_after_fork(struct threads *threads, struct thread *mine, int tid);

/*
 * Where threads may not have timers of their own (a seccomp filter that refuses timer_create(2)):
 * the process's one, setitimer(2) of ITIMER_PROF. The kernel gives its signal, SIGPROF, to any
 * thread, mostly the one that runs as it is due: sums are right, shares are rough.
 *
 * The signal does not say how often the timer ran out since the last one. The process's clock does.
 */
struct itimer {
	bool is_on;
	_Atomic uint32_t frequency; /* 0: it does not run */
	_Atomic uint64_t told_ns;   /* of the process's CPU time */
};

/* False: the program has set that timer for itself, or may not. */
bool itimer_start(struct itimer *itimer, uint32_t frequency);
/* It runs at @frequency from now on; 0: not at all. Async-signal-safe. */
void itimer_retime(struct itimer *itimer, uint32_t frequency);
void itimer_stop(struct itimer *itimer);
/* How many periods have passed since it was asked last. Async-signal-safe. */
uint32_t itimer_take(struct itimer *itimer);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_AGGREGATE_AGGREGATE_H
#define PROFD_AGGREGATE_AGGREGATE_H

/*
 * The counts of one window of one session: samples and weights per (process, mapping generation,
 * thread, stack, kind of wait), and in which bucket of time each was. Bounded: past max_bytes it
 * refuses, and the owner closes the window early. Times have an eighth of it at most: buckets
 * become coarser then, and if that does not help, no times are known of the window.
 *
 * Waits are entries of their own: the weight of theirs is time without a CPU. They have no times: a
 * wait is one sample, for all of its length, taken when it has ended.
 *
 * A process is the resolver's serial number here: never reused, and meaning nothing else to this
 * module.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/waits.h"

/*
 * A wait as one number: what the thread waited for, and the system call that it was in. 0: it had a
 * CPU.
 */
static inline uint32_t aggregate_wait(enum wait_state state, int call)
{
	return state == WAIT_NONE ? 0
	       : call < 0         ? (uint32_t)state
				  : (uint32_t)state | ((uint32_t)call + 1) << 8;
}

static inline enum wait_state aggregate_wait_state(uint32_t wait)
{
	return (enum wait_state)(wait & 0xff);
}

/* Or WAIT_NO_CALL. */
static inline int aggregate_wait_call(uint32_t wait)
{
	return (int)(wait >> 8) - 1;
}

/* A stack is its frames, in order, and how its walk ended. */
struct stack {
	const uint64_t *frames; /* leaf first, see common/frame.h */
	uint32_t n_frames;
	uint16_t n_kernel; /* of these, the first ones */
	uint8_t quality;   /* enum stack_quality */
	uint8_t reason;
};

struct aggregate_entry {
	uint64_t process;     /* serial of the process */
	uint32_t generation;  /* of the process's mappings */
	uint32_t thread_name; /* id, see aggregate_thread_name() */
	uint32_t tid;         /* 0 unless threads are distinguished by id */
	uint32_t stack;       /* id, see aggregate_stack() */
	uint32_t wait;        /* see aggregate_wait() */
	uint32_t waker;       /* of the wait, see aggregate_waker(); 0: unknown */
	uint32_t times;       /* see aggregate_time() */
	uint64_t count;       /* samples */
	uint64_t weight;      /* sum of the samples' weights */
};

/* How many of an entry's samples are of one bucket of time. */
struct aggregate_time {
	uint64_t bucket : 36; /* where it begins: units of 100 ms since 1970 */
	uint64_t count : 28;
	uint32_t next; /* of the same entry */
} __attribute__((packed, aligned(4)));

struct aggregate;

int aggregate_new(struct aggregate **ret, size_t max_bytes);
void aggregate_free(struct aggregate *a);
DEFINE_CLEANUP(struct aggregate *, aggregate_free)

/* What one sample adds: the key, and when. @thread_name is NUL-terminated, at most 15 characters.
 */
struct aggregate_key {
	uint64_t process;
	uint64_t time_ns; /* Unix time; 0: not known; of a wait it is not looked at */
	uint32_t generation;
	uint32_t tid;
	uint32_t wait;  /* see aggregate_wait() */
	uint32_t waker; /* of aggregate_add_waker(), or 0 */
	const char *thread_name;
	struct stack stack;
};

/* A thread of that name, or an interrupt; process: 0 if it is not a user process. */
struct aggregate_waker {
	uint64_t process;
	uint32_t generation;
	uint32_t thread_name; /* as an entry's */
	uint32_t stack;
	uint32_t by_interrupt;
};

enum {
	AGGREGATE_E_OK,
	AGGREGATE_E_FULL, /* there is no room for it below max_bytes: it was not counted */
	AGGREGATE_E_NEW,  /* only what is known is wanted, and this is not: it was not counted */
};

/* Counts @count samples that weigh @weight together. Returns AGGREGATE_E_* or negative errno. */
int aggregate_add(struct aggregate *a, const struct aggregate_key *key, uint64_t count,
		  uint64_t weight);
/* The same, but for what needs an entry, a stack or a name that is not there: AGGREGATE_E_NEW. */
int aggregate_add_known(struct aggregate *a, const struct aggregate_key *key, uint64_t count,
			uint64_t weight);

/*
 * *ret: the number of @key's process, generation, thread and stack, from 1 on. The same outcomes.
 */
int aggregate_add_waker(struct aggregate *a, const struct aggregate_key *key, bool by_interrupt,
			uint32_t *ret);
/* Of a number up to aggregate_n_wakers(). Lives until the next add. */
const struct aggregate_waker *aggregate_waker(const struct aggregate *a, uint32_t waker);
uint32_t aggregate_n_wakers(const struct aggregate *a);

/* The number of the entry that the last aggregate_add() counted, which returned AGGREGATE_E_OK. */
uint32_t aggregate_last(const struct aggregate *a);
/*
 * From now on entries have latencies (latency.h), 0 to begin with: a table beside theirs, which
 * others do not pay for. What is added of another aggregate has its own. Returns 0 or -ENOMEM.
 */
int aggregate_want_latency(struct aggregate *a);
/* Where that was asked for. */
void aggregate_add_latency(struct aggregate *a, uint32_t entry, uint64_t ns);
/* Of one of @a's entries, ns; 0 where nobody asked. */
uint64_t aggregate_latency(const struct aggregate *a, const struct aggregate_entry *e);

/* Counts what @e of another aggregate counts, with its times. The same outcomes. */
int aggregate_add_entry(struct aggregate *a, const struct aggregate *from,
			const struct aggregate_entry *e);

/*
 * Entries are 0 .. n - 1, in order of first appearance; they live, as a stack's frames do, until
 * the next add.
 */
const struct aggregate_entry *aggregate_entries(const struct aggregate *a, size_t *ret_n);
struct stack aggregate_stack(const struct aggregate *a, uint32_t stack);
/*
 * A list: begin with an entry's `times`, go on with `next`; 0 is the end. What they count is what
 * the entry counts, or less where not all of its times are known.
 */
struct aggregate_time aggregate_time(const struct aggregate *a, uint32_t time);
/* Buckets are 2^that units long. */
unsigned aggregate_time_scale(const struct aggregate *a);
const char *aggregate_thread_name(const struct aggregate *a, uint32_t thread_name);
/* Samples, all entries together. */
uint64_t aggregate_count(const struct aggregate *a);
/* Heap memory held, bytes. */
size_t aggregate_bytes(const struct aggregate *a);
/* Of these, what is in use, but for times: each add that brings something new raises it. */
size_t aggregate_used_bytes(const struct aggregate *a);

#endif

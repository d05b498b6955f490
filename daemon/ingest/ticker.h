/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_TICKER_H
#define PROFD_INGEST_TICKER_H

/*
 * The perf events of one sampler, or of the records of processes, which never tick: one per CPU
 * that is online, opened and closed as CPUs come and go. Knows how many ticks each was to make, by
 * the event's own count, and from that how many the kernel skipped.
 *
 * Accuracy. An event counts from when it is enabled; its first tick comes one period later. With
 * every tick there, the count leads the sum of the ticks' periods by less than one period, always:
 * the partial period at the end, which is not due yet. What is more is missing ticks, rounded down,
 * per CPU. So a stopped sampler is exact to the tick, but for this: the clocks count in
 * local_clock() and tick in CLOCK_MONOTONIC, and a time server that slews the latter by x parts per
 * million moves the result by x per million.
 * A throttled event does not count while it is stopped: those ticks were never due.
 * While it runs, a tick can be late rather than missing: it counts only when it is still missing at
 * the next look, so that no number falls.
 *
 * Periods may be varied (ticker_vary()), so that nothing can run in step with an event: then the
 * owner makes fewer ticks of those that come, one for each sampler's period of what period_sum
 * says, and the event's next tick is of up to two of its own periods, as a change cuts one off
 * (ahead).
 *
 * What a missing tick would have met nobody saw. The timer of a halted virtual CPU comes late,
 * and what fell due meanwhile never comes; a host that is busy elsewhere stops running CPUs, too.
 * For clocks the CPU's idle time (idle_next()) tells them apart: a CPU that was idle for so long
 * owes so many idle ticks, and those that did not come are idle, as far as there are missing ones;
 * the rest is skipped. Ticks are a sample of that time, whose number errs by its standard
 * deviation: missing ticks count as idle up to twice that (sqrt(n), of n that were due, where the
 * CPU was idle for half of the time; nothing where it never, or always, was). So of a half-idle
 * CPU, up to sqrt(n) skipped ticks in n cannot be told from idle ones, and the share falls with
 * time. Of a sampler that has a filter, skipped ticks are outside of it in the proportion of those
 * that came to the CPU meanwhile.
 */
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/cpus.h"
#include "daemon/ingest/perf_ring.h"
#include "daemon/ingest/source.h"

/* One CPU's event. */
struct tick {
	unsigned cpu;
	int fd;   /* -1: the CPU is offline */
	int link; /* the owner's, closed with the event; -1 none */
	struct perf_ring ring;

	/* The owner's to fill: ticks that came, what they stand for, and how many of them were
	 * idle, and outside the filter. */
	uint64_t runs, period_sum, idle, excluded;
	uint64_t ahead;   /* what the next tick is of at most; 0: a period */
	uint64_t varied;  /* the event's period by now; 0: the first one */
	uint64_t counted; /* by events of this CPU that were closed, less their partial periods */
	uint64_t events;  /* counted, and what the open one had at ticker_read() */
	uint64_t idle_since; /* the CPU's idle time less idle_ns, when the open one began */
	uint64_t idle_ns;    /* how long the CPU was idle meanwhile; 0 too if it is no clock */
	uint64_t undue;      /* of counts_elsewhere: partial periods that may be in events */
	uint64_t missing;    /* ticks at the last look */
	uint64_t skipped, idle_found;        /* what they are, when they surely are missing */
	double skipped_outside;              /* of those skipped, outside the filter */
	uint64_t split_busy, split_excluded; /* runs without idle ones, and excluded, up to then */
};

struct ticker {
	struct perf_event_attr attr;
	uint64_t period;   /* events, as long as no tick has said better; 0 unknown */
	size_t ring_bytes; /* of each event */
	size_t ring_least; /* with less, an event cannot be opened; 0: one page */
	/*
	 * The ticks are those of other events, which the owner opens to write into the rings here;
	 * then it also fills in events and undue after ticker_read(), and stops them by itself.
	 */
	bool counts_elsewhere;
	struct tick *ticks;
	size_t n_ticks;
	uint64_t throttled; /* times; see ticker_drain_throttled() */
	/* Called with each new event, before it is enabled. Returns 0 or negative errno. */
	int (*attach)(void *userdata, struct tick *tick);
	/* Called before an event gets @period. Returns 0 or negative errno: it does not get it. */
	int (*vary)(void *userdata, const struct tick *tick, uint64_t period);
	uint64_t varied_ns; /* when that was last looked at, CLOCK_MONOTONIC */
	uint64_t limit_ns;  /* when the kernel's limit of rates was, which it lowers itself */
	uint32_t spread;    /* see tick_spread() */
	void *userdata;
};

/* An attach(): the tick's ring wakes up the epoll instance that @epoll_fd, an int *, points to. */
int tick_watch(void *epoll_fd, struct tick *tick);

/* Nothing opens yet. */
void ticker_init(struct ticker *t, const struct perf_event_attr *attr, size_t ring_bytes,
		 int (*attach)(void *userdata, struct tick *tick), void *userdata);
/* Closes all. Takes one of zeroes. */
void ticker_deinit(struct ticker *t);
/*
 * Opens and enables events on the CPUs of @cpus that have none, and closes those of others. A CPU
 * that went away just now is passed over. Returns 0 or negative errno, as perf_event_open(2) has
 * it; events that were opened stay open. Before, the owner has called ticker_read(), filled in what
 * is its own, and called ticker_judge().
 */
int ticker_follow(struct ticker *t, const struct cpus *cpus);
/* The event of @cpu, or -1. */
int ticker_fd(const struct ticker *t, unsigned cpu);
/* Whether ticker_follow() would do anything. */
bool ticker_differs(const struct ticker *t, const struct cpus *cpus);
/* Nanoseconds between two ticks of a clock; 0: it is none. */
uint64_t ticker_clock_period(const struct perf_event_attr *attr);
/*
 * To be called some ten times a second where there is a vary(), at times that are in step with
 * nothing: half of the events get another period, with rates of one to two times the sampler's, all
 * equally likely; or less, as far as the kernel's limit of rates
 * (kernel.perf_event_max_sample_rate) allows. Not more often, for each change interrupts a CPU (15
 * to 70 us); more seldom, some work would be in step for seconds. But a tick lies between two
 * changes, as each begins a period anew.
 */
void ticker_vary(struct ticker *t, uint64_t now_ns);
/*
 * Pure: a period whose rate is 1 to 1 + @spread / 2^32 times that of @period, by a random number;
 * but not less than the kernel can do.
 */
uint64_t tick_vary_period(uint64_t period, uint32_t spread, uint32_t random);
/* Pure: the @spread with which nothing is throttled where the limit is @max_hz; 0: unknown. */
uint32_t tick_spread(uint64_t period, uint64_t max_hz);
/* No more ticks from here on: when this returns, the last has come. */
void ticker_stop(struct ticker *t);
/* Reads all counts and idle times. To be called before the owner fills in what is its own. */
void ticker_read(struct ticker *t);
/* Finds the missing ticks and what they are. @exact: stopped, so that no tick can be late. */
void ticker_judge(struct ticker *t, bool exact);
/*
 * Fills in what was throttled, skipped, not outside the filter, and idle, which are idle ticks that
 * came or were found.
 */
void ticker_get_stats(const struct ticker *t, struct source_stats *ret);
/* Ticks that were skipped, outside the filter. */
uint64_t ticker_skipped_outside(const struct ticker *t);
/*
 * Counts the throttle records in the rings, for an owner that has no other use for the rings. Where
 * the ring was too small for all, each two lost records (throttle, unthrottle) count as one.
 */
void ticker_drain_throttled(struct ticker *t);
size_t ticker_bytes(const struct ticker *t);
/* The kernel may have granted less than ring_bytes. */
size_t ticker_smallest_ring(const struct ticker *t);

/* Pure: one CPU's part of ticker_judge(). */
void tick_judge(struct tick *tick, uint64_t period, bool exact);

/*
 * How long a CPU has been idle since the machine started: the columns "idle" and "iowait" of its
 * line of @stat, /proc/stat (proc(5)), rounded down to units of USER_HZ. The kernel keeps these by
 * the clock, not by ticks, where it stops the tick of idle CPUs (CONFIG_NO_HZ; fs/proc/stat.c,
 * get_idle_time()): what goes on counts already, and so does the time that a virtual machine's host
 * lets a wakeup wait. False: there is no other line of a CPU; @stat may be NULL.
 */
bool idle_next(FILE *stat, unsigned *ret_cpu, uint64_t *ret_ns);

#endif

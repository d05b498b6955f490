/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_TICKER_H
#define PROFD_INGEST_TICKER_H

/*
 * The perf events of one sampler: one per CPU that is online, opened and closed as CPUs come and
 * go. Knows how many ticks each was to make, by the event's own count, and from that how many the
 * kernel skipped.
 *
 * Accuracy. An event counts from when it is enabled; its first tick comes one period later. With
 * every tick there, the count leads the sum of the ticks' periods by less than one period, always:
 * the partial period at the end, which is not due yet. What is more is skipped ticks, rounded down,
 * per CPU. So a stopped sampler is exact to the tick, but for two things. The clocks count in
 * local_clock() and tick in CLOCK_MONOTONIC: a time server that slews the latter by x parts per
 * million moves the result by x per million. And what a tick would have met, had it come, nobody
 * knows: skipped ticks of a virtual machine that was not running count too. Those between two ticks
 * that met an idle CPU were idle (bpf/profile.bpf.c counts them so).
 * A throttled event does not count while it is stopped: those ticks were never due.
 * While it runs, a tick can be late rather than skipped: it counts as skipped only when it is
 * still missing at the next look, so that the number never falls.
 */
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/ingest/cpus.h"
#include "daemon/ingest/perf_ring.h"

/* One CPU's event. */
struct tick {
	unsigned cpu;
	int fd;   /* -1: the CPU is offline */
	int link; /* the owner's, closed with the event; -1 none */
	struct perf_ring ring;

	uint64_t runs,
		period_sum; /* ticks that came, and what they stand for; the owner's to fill */
	uint64_t counted;   /* by events of this CPU that were closed, less their partial periods */
	uint64_t events;    /* counted, and what the open one had at ticker_read() */
	uint64_t missing;   /* ticks at the last look */
	uint64_t skipped;
};

struct ticker {
	struct perf_event_attr attr;
	uint64_t period;   /* events, as long as no tick has said better; 0 unknown */
	size_t ring_bytes; /* of each event */
	struct tick *ticks;
	size_t n_ticks;
	uint64_t throttled; /* times; see ticker_drain_throttled() */
	/* Called with each new event, before it is enabled. Returns 0 or negative errno. */
	int (*attach)(void *userdata, struct tick *tick);
	void *userdata;
};

/* Nothing opens yet. */
void ticker_init(struct ticker *t, const struct perf_event_attr *attr, size_t ring_bytes,
		 int (*attach)(void *userdata, struct tick *tick), void *userdata);
/* Closes all. Takes one of zeroes. */
void ticker_deinit(struct ticker *t);
/*
 * Opens and enables events on the CPUs of @cpus that have none, and closes those of others. A CPU
 * that went away just now is passed over. Returns 0 or negative errno, as perf_event_open(2) has
 * it; events that were opened stay open. Before, the owner has called ticker_read(), filled in runs
 * and period_sum, and called ticker_judge().
 */
int ticker_follow(struct ticker *t, const struct cpus *cpus);
/* Whether ticker_follow() would do anything. */
bool ticker_differs(const struct ticker *t, const struct cpus *cpus);
/* No more ticks from here on: when this returns, the last has come. */
void ticker_stop(struct ticker *t);
/* Reads all counts. To be called before the owner fills in runs and period_sum. */
void ticker_read(struct ticker *t);
/* Finds the skipped ticks. @exact: stopped, so that no tick can be late. */
void ticker_judge(struct ticker *t, bool exact);
uint64_t ticker_skipped(const struct ticker *t);
/*
 * Counts the throttle records in the rings, for an owner that has no other use for the rings. Where
 * the ring was too small for all, each two lost records (throttle, unthrottle) count as one.
 */
void ticker_drain_throttled(struct ticker *t);
size_t ticker_bytes(const struct ticker *t);

/* Pure: one CPU's part of ticker_judge(). */
void tick_judge(struct tick *tick, uint64_t period, bool exact);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_PERF_RING_H
#define PROFD_INGEST_PERF_RING_H

/*
 * One perf event's ring buffer: a control page and 2^n data pages, written by the kernel, read
 * here (perf_event_open(2), "MMAP layout"). The ring lives as long as it is mapped.
 */
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A record's length is a 16-bit field. */
#define PERF_RING_RECORD_MAX 65536

struct perf_ring {
	struct perf_event_mmap_page *page; /* NULL: not mapped */
	uint8_t *data;
	size_t data_bytes;
	uint64_t n_malformed; /* times the reader lost its place and skipped what there was */
};

#define PERF_ALL_TASKS (-1)

/*
 * Opens an event on the calling thread that never happens, with @like's clock and wakeups: its ring
 * is for events of other threads on @cpu (PERF_EVENT_IOC_SET_OUTPUT), and takes no privileges.
 */
int perf_open_silent(const struct perf_event_attr *like, unsigned cpu);

/*
 * Maps the largest ring that the kernel grants (RLIMIT_MEMLOCK, perf_event_mlock_kb), from
 * @most data bytes downwards to @least, both rounded down to 2^n pages, at least one page.
 * Returns 0 or negative errno.
 */
int perf_ring_map(struct perf_ring *ring, int fd, size_t most, size_t least);
/* Takes unmapped ones. */
void perf_ring_unmap(struct perf_ring *ring);
/*
 * Copies the oldest record to @record and frees its room in the ring. Returns its length, 0 if
 * the ring is empty. A record is at least as long as its header.
 */
size_t perf_ring_read(struct perf_ring *ring, uint8_t record[PERF_RING_RECORD_MAX]);
/* Bytes of memory held. */
size_t perf_ring_bytes(const struct perf_ring *ring);

#endif

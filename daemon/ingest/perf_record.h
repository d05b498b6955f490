/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_PERF_RECORD_H
#define PROFD_INGEST_PERF_RECORD_H

/*
 * Records of perf rings, decoded. Pure functions over one whole record: host byte order, every
 * length checked (perf_event_open(2), "mmap layout"; include/uapi/linux/perf_event.h).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/ingest/sample.h"

enum {
	PERF_RECORD_E_OK,
	PERF_RECORD_E_OTHER,     /* a sort of record that this function does not decode */
	PERF_RECORD_E_MALFORMED, /* shorter than it says, or inconsistent */
};

/* The records of an event with sample_id_all and PROCESS_EVENT_SAMPLE_TYPE. */
#define PERF_RECORD_PROCESS_SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

/* MMAP2, COMM, FORK, EXIT and LOST. The path in *ret points into @record. */
int perf_record_process_event(const uint8_t *record, size_t length, struct process_event *ret);
/* Only when it was made, for sorting. */
int perf_record_time(const uint8_t *record, size_t length, uint64_t *ret);

#define PERF_RECORD_SAMPLE_TYPE                                                  \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

struct perf_sample {
	uint64_t time_ns, period;
	pid_t pid, tid;
	uint32_t cpu;
	bool user_mode; /* the tick hit user mode */
	bool has_user;  /* the kernel looked for a user stack */
	uint32_t n_kernel, n_frames;
	uint64_t frames[SAMPLE_FRAMES_MAX]; /* lookup addresses, leaf first */
};

/*
 * SAMPLE of an event with PERF_RECORD_SAMPLE_TYPE. Callers are shifted by one, leaves are not: also
 * not a user leaf below a kernel stack, which may be a system call's return address or, in a fault,
 * the exact one; not shifting is wrong only for calls that never return.
 */
int perf_record_sample(const uint8_t *record, size_t length, struct perf_sample *ret);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SOURCE_BPF_PRIVATE_H
#define PROFD_INGEST_SOURCE_BPF_PRIVATE_H

/* What the parts of the BPF source, source_bpf*.c, share. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "common/bpf_features.h"
#include "daemon/ingest/process_events.h"
#include "daemon/ingest/source.h"
#include "daemon/ingest/source_bpf_record.h"
#include "daemon/ingest/ticker.h"
#include "daemon/ingest/unwind_host.h"

struct bpf_source;
struct profile_bpf;
struct ring_buffer;

struct bpf_sampler;

/*
 * What makes the kernel call a program of bpf/profile.bpf.c for a sampler: one row each, which
 * SAMPLE_CAUSES (source.h) names.
 */
struct bpf_cause {
	const char *programs[5]; /* their names, up to a NULL; start() attaches them */
	bool loads_late;         /* and loads them: a machine that does not use them has none */
	/* What the kernel lacks for it; "": nothing. NULL: whatever runs profd's programs has it.
	 */
	const char *(*missing)(const struct bpf_source *s);
	/*
	 * On the CPUs of @cpus. Returns SOURCE_E_*, with @message, or a negative errno for
	 * event_explain() to explain.
	 */
	int (*start)(struct bpf_sampler *sampler, const struct cpus *cpus,
		     struct source_message *message);
	/*
	 * Delivers samples of what has not come to its end, as a session's end is next. NULL: there
	 * is no such thing.
	 */
	int (*account)(struct bpf_sampler *sampler);
	/*
	 * When it returns, the last call has come; takes what was not started, or was stopped.
	 * NULL: start() opened sampler->ticker, and all its calls are ticks.
	 */
	void (*stop)(struct bpf_sampler *sampler);
};

#define BPF_CAUSE(name, of_bpf) extern const struct bpf_cause of_bpf;
SAMPLE_CAUSES(BPF_CAUSE)

struct bpf_sampler {
	struct bpf_source *owner;
	unsigned index;
	const struct bpf_cause *cause;
	struct ticker ticker;  /* of causes without a stop(); else zeroes */
	struct bpf_link *link; /* of causes that have one */
	int ring_fd;
	struct ring_buffer *ring;
	size_t ring_bytes;
	uint64_t malformed;
};

/* source_bpf_waits.c: what all clocks of waits share, while there is one. */
struct bpf_wait_clocks {
	char missing[BPF_FEATURES_TEXT_MAX]; /* in this kernel, for clocks of waits */
	int memory_fd, wakers_fd;            /* scratch memory */
	int woken_fd;
	uint32_t scratch_bytes;       /* of a CPU */
	struct profile_bpf *skeleton; /* of the programs, with the maps of the source's */
	struct bpf_wait_ring *rings;  /* by CPU: what asks for interrupts */
	unsigned n_rings;
	struct bpf_link *links[3];
	struct profile_bpf *wakers_skeleton;
	struct bpf_link *wakers;
	struct bpf_visit *visit; /* of threads that sleep; NULL: none is going on */
	uint64_t next_visit_ns;  /* CLOCK_MONOTONIC */
	struct {
		struct bpf_sampler *sampler; /* NULL: free */
		bool has_wakers;
		int kept_fd;
	} clocks[ABI_WAIT_CLOCKS_MAX];
};

struct bpf_source {
	struct source source; /* its fd is an epoll instance */
	struct profile_bpf *skeleton;
	struct process_events *events;
	struct unwind_host host;   /* the memory of the walks, mapped */
	bool follows_children;     /* the tracepoints' programs could be attached */
	struct ring_buffer *lives; /* source_bpf_lives.c; NULL: they could not */
	uint64_t lives_lost;       /* that were reported */
	uint64_t lives_until;      /* those that are younger may wait */
	struct ring_buffer *codes; /* source_bpf_codes.c */
	uint64_t codes_read;       /* bytes, in this turn */
	struct abi_told *told;     /* the map of ids, mapped */
	struct bpf_sampler samplers[SAMPLERS_MAX];
	struct bpf_wait_clocks waits;
	unsigned n_possible_cpus;
	struct abi_counters *counters; /* room for one look-up, all possible CPUs */

	/* Of the drain that is going on. */
	uint64_t events_until; /* process events up to here have been delivered */
	uint64_t ends_ns;      /* what comes later may wait */
	unsigned budget;
	int error;
	uint64_t frames[SAMPLE_FRAMES_MAX];
	struct source_bpf_parts parts;
};

/* source_bpf_maps.c */
/*
 * The filter: the hash of member processes (bpf/filter.bpf.h), which the tracepoints change at the
 * same time.
 */
int bpf_filter_pid(struct source *source, unsigned sampler, pid_t pid, bool adds, bool children);
/* Takes all of @sampler's members out. */
void bpf_members_remove_sampler(const struct bpf_source *s, unsigned sampler);

/* Before the skeleton is loaded: shares @bytes (0: a default) between the maps. */
void bpf_unwind_size(struct profile_bpf *skeleton, uint64_t bytes);
/* Once it is loaded: maps s->host. Returns 0 or negative errno. */
int bpf_unwind_open(struct bpf_source *s);
/* Takes one that was not opened, or not wholly. */
void bpf_unwind_close(struct bpf_source *s);

/*
 * Once the tracepoints' programs are attached and s->events is there: what they report of processes
 * joins it. Returns 0 or negative errno; the owner frees s->lives.
 */
int bpf_lives_open(struct bpf_source *s);

/*
 * source_bpf_codes.c: once the skeleton is loaded and s->host is there. Returns 0 or negative
 * errno.
 */
int bpf_codes_open(struct bpf_source *s);
/* Takes one that was not opened. */
void bpf_codes_close(struct bpf_source *s);
/* What was told goes to s->source.codes. Returns 0 or negative errno. */
int bpf_codes_read(struct bpf_source *s);
/* For struct source_bpf_parts. */
bool bpf_codes_find(void *userdata, uint64_t id, uint32_t *ret);

/*
 * What libbpf says first goes to @said, "" until then, of this thread's calls from now on; NULL:
 * nowhere.
 */
void bpf_source_hear(struct source_message *said);
/*
 * Delivers the record of a sampler: its sample or samples, behind the process events before it.
 * False: it is malformed, or s->error is set.
 */
bool bpf_deliver_record(struct bpf_source *s, const void *data, size_t length,
			bool *ret_is_younger);

/* source_bpf_waits.c */
void bpf_waits_init(struct bpf_source *s);
/*
 * In each drain: has what asks for interrupts go on, and visits some of the threads that sleep.
 * Returns 0 or negative errno.
 */
int bpf_waits_drain(struct bpf_source *s);
/* Of the kernel, bytes. */
uint64_t bpf_waits_bytes(const struct bpf_source *s);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SOURCE_BPF_PRIVATE_H
#define PROFD_INGEST_SOURCE_BPF_PRIVATE_H

/* What the parts of the BPF source, source_bpf*.c, share. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "daemon/ingest/process_events.h"
#include "daemon/ingest/source.h"
#include "daemon/ingest/source_bpf_unwind.h"
#include "daemon/ingest/ticker.h"

struct bpf_source;
struct profile_bpf;
struct ring_buffer;

struct bpf_sampler {
	struct bpf_source *owner;
	unsigned index;
	bool used;
	struct sampler_spec spec;
	struct ticker ticker;
	int ring_fd;
	struct ring_buffer *ring;
	size_t ring_bytes;
	uint64_t malformed;
	struct source_stats stats; /* of the last look */
};

struct bpf_source {
	struct source source;
	struct source_options options;
	struct profile_bpf *skeleton;
	struct process_events *events;
	struct bpf_unwind unwind;
	int epoll;
	bool follows_children; /* the tracepoints' programs could be attached */
	unsigned next_index;
	struct bpf_sampler samplers[SAMPLERS_MAX];
	unsigned n_possible_cpus;
	struct abi_counters *counters; /* room for one look-up, all possible CPUs */

	/* Of the drain that is going on. */
	uint64_t events_until; /* process events up to here have been delivered */
	unsigned budget;
	int error;
	uint64_t frames[SAMPLE_FRAMES_MAX];
};

/* NULL if @source is of another kind. */
struct bpf_source *source_bpf_from(struct source *source);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SOURCE_BPF_RECORD_H
#define PROFD_INGEST_SOURCE_BPF_RECORD_H

/* The records of the BPF programs (bpf/abi.h), and the rows that they get. Pure. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/runtime/code.h"
#include "common/runtime/row.h"
#include "daemon/ingest/sample.h"
#include "daemon/ingest/unwind_host.h"
#include "daemon/ingest/wait_places.h"

/* Of a wait that has ended: how long, of which its sample is one part or the other. */
struct source_bpf_wait {
	uint64_t blocked_ns, runnable_ns;
	bool is_merged; /* the record has both, and it was runnable all the time */
};

/* Where the parts of a sample go that are not in it. */
struct source_bpf_parts {
	uint64_t *frames; /* room for SAMPLE_FRAMES_MAX */
	struct sample_rest rest;
	struct sample_runtime runtime;
	struct source_bpf_wait wait; /* if the sample's `wait` is not WAIT_NONE */
	struct wait_places places;
	/* Samplers, by bits, that have no kernel frames: of a wait, one comes all the same. */
	uint32_t without_kernel;
	/* The number of a code object; NULL: none is known. False: not known. */
	bool (*find_code)(void *userdata, uint64_t id, uint32_t *ret);
	void *userdata;
};

/*
 * Decodes one record. The sample's frames, its rest and its runtime, as far as it has them, are in
 * @parts; the stack of its rest is in @data. False: it is not a record.
 */
bool source_bpf_decode(const uint8_t *data, size_t length, struct source_bpf_parts *parts,
		       struct sample *ret);

#define SOURCE_BPF_WAIT_PARTS 2

/*
 * The samples of @sample, which is all of @wait, in the order of time: as many as were seen. Each
 * ends at its time_ns. Where both parts were counted, and one is nothing after all, the other one
 * comes in two halves. Returns how many there are, 1 or 2.
 */
unsigned source_bpf_wait_parts(const struct source_bpf_wait *wait, const struct sample *sample,
			       struct sample ret[SOURCE_BPF_WAIT_PARTS]);

/* A code object, as it is; its bytes are in @data. */
struct source_bpf_code {
	uint64_t id;
	uint32_t uid; /* whose; ABI_NOBODY: unknown */
	struct runtime_code code;
};

/* False: it is no record of a code object. */
bool source_bpf_decode_code(const uint8_t *data, size_t length, struct source_bpf_code *ret);

/* The row of @runtime's file, as a program. False: nothing is known of that version. */
bool source_bpf_row(const struct unwind_host_runtime *runtime, struct runtime_row *ret);

#endif

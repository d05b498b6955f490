/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_REPLAY_FORMAT_H
#define PROFD_INGEST_REPLAY_FORMAT_H

/*
 * The file that `profd --record-replay` writes and `profd --source replay:FILE` reads: everything
 * that a source delivered, in that order. Samples are finished ones, their frames addresses: an
 * image's number means nothing to another profd.
 *
 * Little-endian throughout, no padding. The file begins with eight bytes "profdrpl" and a u32
 * version, 1. Then records: u32 type, u32 length of what follows, and
 *
 *   SAMPLER  u32 index, u32 flags, u64 rate, u32 max_depth, u32 type, u64 config, char name[32]
 *   SAMPLE   u64 time, weight, start, cgroup; u32 pid, tid, cpu; u16 sampler, quality, reason,
 *            kind; char comm[16]; u32 n_kernel, n_frames; u64 frames[n_frames]
 *   EVENT    u32 kind; u64 time; u32 pid, tid, parent; char comm[16]; u64 lost; u64 start, length,
 *            offset; u32 major, minor; u64 inode, generation; u32 prot, flags; u32 path_length;
 *            char path[path_length]
 *
 * A sample's kind is 1 for a kernel thread's, and of a wait 2 times its state (common/waits.h) and
 * 16 times its system call + 1.
 *
 * Owners and groups of events are not in it: who replays a file asks nobody.
 *
 * Quality and reason are the numbers of common/reasons.h, whose lists grow at their ends only; one
 * that the reader does not know is read as broken: unknown. Records of other types are skipped by
 * their length, so that there may be more in the future.
 */
#include <stddef.h>
#include <stdint.h>

#include "daemon/ingest/source.h"

#define REPLAY_HEAD_BYTES  12
#define REPLAY_PATH_MAX    4352 /* PATH_MAX, and what the kernel appends */
#define REPLAY_RECORD_HEAD 8    /* of each record: type and length */
#define REPLAY_RECORD_MAX  (128 + SAMPLE_FRAMES_MAX * 8)

enum replay_type {
	REPLAY_SAMPLER = 1,
	REPLAY_SAMPLE = 2,
	REPLAY_EVENT = 3,
};

enum {
	REPLAY_E_OK,
	REPLAY_E_SHORT,     /* the record is longer than what there is */
	REPLAY_E_MALFORMED, /* it is no record */
};

/* One decoded record; what is valid depends on the type. Unknown types leave the rest alone. */
struct replay_record {
	uint32_t type;
	unsigned sampler;           /* SAMPLER: index */
	struct sampler_spec spec;   /* SAMPLER */
	struct sample sample;       /* SAMPLE; its frames are below */
	struct process_event event; /* EVENT; its path is below */
	uint64_t frames[SAMPLE_FRAMES_MAX];
	char path[REPLAY_PATH_MAX + 1];
};

void replay_encode_head(uint8_t ret[REPLAY_HEAD_BYTES]);
/* Pure. Returns REPLAY_E_*; _MALFORMED too for versions that this profd does not know. */
int replay_decode_head(const uint8_t *data, size_t length);

/* Encode one record; return its length. Longer paths are cut. */
size_t replay_encode_sampler(unsigned sampler, const struct sampler_spec *spec,
			     uint8_t ret[REPLAY_RECORD_MAX]);
size_t replay_encode_sample(const struct sample *sample, uint8_t ret[REPLAY_RECORD_MAX]);
size_t replay_encode_event(const struct process_event *event, uint8_t ret[REPLAY_RECORD_MAX]);
/* Pure. Decodes the record at the beginning of @data, of *ret_used bytes. Returns REPLAY_E_*. */
int replay_decode(const uint8_t *data, size_t length, struct replay_record *ret, size_t *ret_used);

#endif

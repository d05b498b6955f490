/* SPDX-License-Identifier: MIT */
#include "daemon/ingest/source_bpf_record.h"

#include <string.h>

#include "bpf/abi.h"

_Static_assert(SAMPLERS_MAX == ABI_SAMPLERS_MAX, "samplers");
_Static_assert(SAMPLE_FRAMES_MAX >= ABI_FRAMES_MAX, "frames");
_Static_assert(SAMPLE_COMM_SIZE == ABI_COMM_SIZE, "comm");
_Static_assert(ABI_FRAME_IMAGE(0, 0) >> 60 == FRAME_IMAGE, "frame kinds");

/* Whether the lengths in @record add up to @length, and nothing in it is beyond its list. */
static bool is_sound(const struct abi_sample *record, size_t length)
{
	size_t n = (size_t)record->n_kernel + record->n_user, expected;

	expected = sizeof(*record) + n * sizeof(uint64_t);
	if (record->rest & ABI_REST)
		expected += sizeof(struct unwind_registers) + record->copy_bytes;
	if (record->copy_bytes > (record->rest & ABI_REST ? ABI_COPY_MAX : 0))
		return false;
	return n <= ABI_FRAMES_MAX && length == expected && record->sampler < SAMPLERS_MAX &&
	       record->quality < N_STACK_QUALITY;
}

/* @data: what follows the frames. */
static void decode_rest(const struct abi_sample *record, const uint8_t *data,
			struct sample_rest *ret)
{
	*ret = (struct sample_rest){
		.pushed = record->rest & ABI_PUSHED,
		.is_witness = record->rest & ABI_WITNESS,
		.start_stack = record->start_stack,
		.start_code = record->start_code,
		.end_code = record->end_code,
		.stack_address = record->copy_address,
		.stack_length = record->copy_bytes,
		.stack = data + sizeof(ret->registers),
	};
	memcpy(&ret->registers, data, sizeof(ret->registers));
}

bool source_bpf_decode(const uint8_t *data, size_t length, uint64_t *frames,
		       struct sample_rest *rest, struct sample *ret)
{
	struct abi_sample record;
	size_t n;

	if (length < sizeof(record))
		return false;
	memcpy(&record, data, sizeof(record));
	if (!is_sound(&record, length))
		return false;
	n = (size_t)record.n_kernel + record.n_user;
	memcpy(frames, data + sizeof(record), n * sizeof(*frames));
	for (size_t i = 1; i < record.n_kernel; i++)
		frames[i]--;
	*ret = (struct sample){
		.time_ns = record.time_ns,
		.weight = record.period,
		.start_ns = record.start_ns,
		.cgroup_id = record.cgroup_id,
		.pid = (pid_t)record.pid,
		.tid = (pid_t)record.tid,
		.cpu = record.cpu,
		.sampler = record.sampler,
		.quality = record.quality,
		.reason = record.reason,
		.kernel_thread = record.kernel_thread,
		.owner_known = record.owner & ABI_OWNER_KNOWN,
		.only_uid = record.owner & ABI_OWNER_ONLY,
		.uid = record.uid,
		.n_kernel = record.n_kernel,
		.n_frames = (uint32_t)n,
		.frames = frames,
		.walked_until_ns = record.walked_until_ns,
	};
	memcpy(ret->comm, record.comm, sizeof(ret->comm));
	ret->comm[sizeof(ret->comm) - 1] = '\0';
	if (record.rest & ABI_REST) {
		decode_rest(&record, data + sizeof(record) + n * sizeof(*frames), rest);
		ret->rest = rest;
	}
	return true;
}

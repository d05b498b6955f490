/* SPDX-License-Identifier: MIT */
/*
 * A sample's record is a head, frames (the kernel's, then the user's, leaves first), registers and
 * a piece of the stack where the walk did not finish, and an interpreter's frames. The head counts
 * them all, and a record whose counts do not make its length is none. The kernel's return addresses
 * are moved into their calls here; the walk has done so with the user's.
 */
#include "daemon/ingest/source_bpf_record.h"

#include <string.h>

#include "bpf/abi.h"
#include "common/cleanup.h"
#include "common/runtime/python_row.h"
#include "common/runtime/row.h"

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
	if (record->copy_bytes > (record->rest & ABI_REST ? ABI_COPY_MAX : 0) ||
	    record->n_runtime > ABI_RUNTIME_MAX)
		return false;
	expected += record->n_runtime * sizeof(struct abi_runtime_entry);
	return n <= ABI_FRAMES_MAX && length == expected && record->sampler < SAMPLERS_MAX &&
	       record->quality < N_STACK_QUALITY && record->wait < N_WAIT_STATES &&
	       (record->n_blocked || record->n_runnable) == (record->wait != WAIT_NONE) &&
	       !(record->rest & ABI_WAKER && record->wait != WAIT_NONE);
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

/* What is not known has the number that no code has. */
static uint64_t decode_runtime_frame(const struct source_bpf_parts *parts,
				     const struct abi_runtime_entry *entry, uint32_t offset)
{
	uint32_t code;

	if (!parts->find_code || !parts->find_code(parts->userdata, entry->value, &code))
		code = UINT32_MAX;
	return frame_in_runtime(code, offset);
}

/* @data: @n entries, the last thing of a record. */
static void decode_runtime(const uint8_t *data, size_t n, struct source_bpf_parts *parts)
{
	struct sample_runtime *ret = &parts->runtime;
	struct abi_runtime_entry entry;
	uint32_t first = 0, above;
	bool is_own, is_placed;

	ret->n_groups = ret->n_frames = 0;
	for (size_t i = 0; i < n; i++) {
		memcpy(&entry, data + i * sizeof(entry), sizeof(entry));
		above = entry.kind >> ABI_RUNTIME_KIND_BITS;
		entry.kind &= (1u << ABI_RUNTIME_KIND_BITS) - 1;
		is_own = entry.kind == ABI_RUNTIME_OWN || entry.kind == ABI_RUNTIME_BEHIND;
		if ((entry.kind == ABI_RUNTIME_CODE || is_own) &&
		    ret->n_frames < ARRAY_SIZE(ret->frames))
			ret->frames[ret->n_frames++] =
				decode_runtime_frame(parts, &entry, is_own ? above : entry.at);
		if (entry.kind == ABI_RUNTIME_CODE)
			continue;
		is_placed = entry.at != ABI_UNPLACED && entry.kind != ABI_RUNTIME_COUNTED;
		if (ret->n_frames == first || ret->n_groups == SAMPLE_GROUPS_MAX)
			continue;
		ret->lengths[ret->n_groups] = (uint16_t)(ret->n_frames - first);
		ret->anchors[ret->n_groups++] = (struct walk_anchor){
			.address = entry.value,
			.at = is_placed ? entry.at : WALK_UNPLACED,
			.n_bytes = entry.kind == ABI_RUNTIME_COUNTED ? entry.at : 0,
			.is_loop = entry.kind == ABI_RUNTIME_LOOP || entry.kind == ABI_RUNTIME_OWN,
		};
		first = ret->n_frames;
	}
	ret->n_frames = first;
}

/*
 * A thread that waits has called what it waits in, unless it is new. What that is may say more of
 * the wait than the record; and one that is in no system call does not sleep.
 */
static void decode_wait(const struct abi_sample *record, struct source_bpf_parts *parts,
			struct sample *sample)
{
	struct source_bpf_wait *wait = &parts->wait;
	uint64_t *frames = parts->frames, leaf = record->n_kernel ? frames[0] : 0;
	uint8_t place = wait_places_find(&parts->places, leaf);

	*wait = (struct source_bpf_wait){.blocked_ns = record->period * record->n_blocked,
					 .runnable_ns = record->period * record->n_runnable};
	if (record->n_kernel && !wait_places_is_beginning(&parts->places, leaf))
		frames[0]--;
	if (place == WAIT_NONE && sample->wait == WAIT_SLEEP && sample->call == WAIT_NO_CALL &&
	    !sample->kernel_thread)
		place = WAIT_RUNNABLE;
	if (place == WAIT_RUNNABLE) {
		wait->is_merged = wait->blocked_ns && wait->runnable_ns;
		wait->runnable_ns += wait->blocked_ns;
		wait->blocked_ns = 0;
	} else if (place != WAIT_NONE) {
		sample->wait = place;
	}
	if (parts->without_kernel >> sample->sampler & 1) {
		sample->frames += sample->n_kernel;
		sample->n_frames -= sample->n_kernel;
		sample->n_kernel = 0;
	}
}

/*
 * What a thread did when it woke another one is the user's part of its stack; the kernel's part is
 * the same for all. Of the kernel's own threads there is no other. Where an interrupt came, and
 * what comes of one while the CPU is idle, that part up to there is it, and nothing of the thread.
 */
static void decode_waker(const struct source_bpf_parts *parts, bool is_idle, struct sample *sample)
{
	uint32_t n = 0;

	/* Callers were moved into their calls. */
	while (n < sample->n_kernel &&
	       !wait_places_is_interrupt(&parts->places, sample->frames[n] + (n > 0)))
		n++;
	sample->is_waker = true;
	sample->by_interrupt = n < sample->n_kernel || is_idle;
	if (sample->by_interrupt || sample->kernel_thread) {
		sample->n_kernel = n;
		sample->n_frames = n;
		/* Not what the thread's stack was, which is of no matter. */
		sample->quality = STACK_COMPLETE;
		sample->reason = 0;
		return;
	}
	sample->frames += sample->n_kernel;
	sample->n_frames -= sample->n_kernel;
	sample->n_kernel = 0;
}

bool source_bpf_decode(const uint8_t *data, size_t length, struct source_bpf_parts *parts,
		       struct sample *ret)
{
	struct abi_sample record;
	uint64_t *frames = parts->frames;
	size_t n, n_entries;

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
		.call = record.call,
		.wait = record.wait,
		.waker = record.waker,
		.kernel_thread = record.rest & ABI_KERNEL_THREAD,
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
	if (record.wait != WAIT_NONE)
		decode_wait(&record, parts, ret);
	/* Those of a few frames are all that is wanted: the walk need not be finished. */
	if (record.rest & ABI_WAKER) {
		decode_waker(parts, record.rest & ABI_IDLE, ret);
	} else if (record.rest & ABI_REST) {
		decode_rest(&record, data + sizeof(record) + n * sizeof(*frames), &parts->rest);
		ret->rest = &parts->rest;
	}
	n_entries = ret->by_interrupt ? 0 : record.n_runtime;
	if (n_entries) {
		decode_runtime(data + length - n_entries * sizeof(struct abi_runtime_entry),
			       n_entries, parts);
		parts->runtime.is_cut = record.rest & ABI_CUT;
		ret->runtime = &parts->runtime;
	}
	return true;
}

/* What ended the sleep did not give it the CPU. */
static struct sample wait_part_runnable(const struct sample *sample, uint64_t weight,
					uint64_t until_ns)
{
	struct sample part = *sample;

	part.wait = WAIT_RUNNABLE;
	part.waker = 0;
	part.weight = weight;
	part.time_ns = until_ns;
	return part;
}

unsigned source_bpf_wait_parts(const struct source_bpf_wait *wait, const struct sample *sample,
			       struct sample ret[SOURCE_BPF_WAIT_PARTS])
{
	uint64_t runnable_ns = wait->runnable_ns, until_ns = sample->time_ns;
	unsigned n = 0;

	if (wait->is_merged) {
		uint64_t half = runnable_ns / 2;

		runnable_ns -= half;
		ret[n++] = wait_part_runnable(sample, half, until_ns - runnable_ns);
	} else if (wait->blocked_ns) {
		/* It slept first. */
		ret[n] = *sample;
		ret[n].weight = wait->blocked_ns;
		ret[n++].time_ns = until_ns - runnable_ns;
	}
	if (runnable_ns)
		ret[n++] = wait_part_runnable(sample, runnable_ns, until_ns);
	return n;
}

bool source_bpf_decode_code(const uint8_t *data, size_t length, struct source_bpf_code *ret)
{
	struct abi_code head;

	if (length < ABI_CODE_HEAD || length > sizeof(head))
		return false;
	memcpy(&head, data, ABI_CODE_HEAD);
	if (head.name_bytes > ABI_CODE_NAME || head.file_bytes > ABI_CODE_FILE ||
	    head.table_bytes != length - ABI_CODE_HEAD)
		return false;
	ret->id = head.id;
	ret->uid = head.uid;
	ret->code = (struct runtime_code){
		.version = head.version,
		.first_line = head.first_line,
		.name = {data + offsetof(struct abi_code, name), head.name_bytes, head.name_width},
		.file = {data + offsetof(struct abi_code, file), head.file_bytes, head.file_width},
		.table = data + ABI_CODE_HEAD,
		.table_bytes = head.table_bytes,
	};
	return true;
}

bool source_bpf_row(const struct unwind_host_runtime *runtime, struct runtime_row *ret)
{
	*ret = (struct runtime_row){.kind = RUNTIME_LIBRARY,
				    .state = (int64_t)(runtime->debug - runtime->text)};
	if (RUNTIME_IS_V8(runtime->version))
		*ret = (struct runtime_row){.kind = RUNTIME_V8,
					    .version = runtime->version,
					    .v8 = runtime->v8};
	if (runtime->debug || ret->kind == RUNTIME_V8)
		return true;
	if (!python_row(runtime->version, ret))
		return false;
	ret->state = (int64_t)(runtime->state - runtime->text);
	ret->loop = (int32_t)(runtime->loop - runtime->state);
	ret->loop_bytes = runtime->loop_bytes;
	ret->state_bytes = runtime->state_bytes;
	ret->libc = runtime->libc == RUNTIME_MUSL ? RUNTIME_MUSL : RUNTIME_GLIBC;
	if (ret->count_kind == RUNTIME_COUNT_STATIC && runtime->count)
		ret->count = (int32_t)(runtime->count - runtime->state);
	ret->tls_index = runtime->tls_index ? (int32_t)(runtime->tls_index - runtime->state) : 0;
	ret->tls_at = runtime->tls_at;
	return true;
}

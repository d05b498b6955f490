/* SPDX-License-Identifier: MIT */
/*
 * Interpreters (bpf/runtime.bpf.h): the rows of their files, and the ring on which code objects are
 * sent. A code is sent before the first sample that has it; where a sample has an id that is not
 * known, the ring is read again.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/abi.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/runtime/python_row.h"
#include "daemon/ingest/source_bpf_private.h"
#include "daemon/ingest/source_bpf_record.h"
#include "profile.skel.h"

#define TOLD_BYTES (sizeof(struct abi_told) << ABI_TOLD_BITS)

/* It may be sent again. */
static void bpf_codes_untell(struct bpf_source *s, uint64_t id)
{
	struct abi_told *told = &s->told[id >> (64 - ABI_TOLD_BITS)];

	for (unsigned i = 0; i < ABI_TOLD_WAYS; i++)
		if (told->ids[i] == id)
			told->ids[i] = 0;
}

/* Negative ends the reading. */
static int bpf_codes_on_record(void *userdata, void *data, size_t length)
{
	struct bpf_source *s = userdata;
	struct source_bpf_code record;
	struct code_origin origin;
	bool has_forgotten;

	if (!source_bpf_decode_code(data, length, &record))
		return 0;
	origin = (struct code_origin){.id = record.id,
				      .uid = record.uid,
				      .now_ns = clock_ns(CLOCK_MONOTONIC)};
	s->error = code_book_add(s->source.codes, &origin, &record.code, &has_forgotten);
	if (has_forgotten)
		memset(s->told, 0, TOLD_BYTES);
	if (s->error != CODE_BOOK_E_SHARE)
		return s->error;
	bpf_codes_untell(s, record.id);
	return s->error = 0;
}

int bpf_codes_read(struct bpf_source *s)
{
	int r = ring_buffer__consume(s->codes);

	return r < 0 ? s->error ?: error_origin(r) : 0;
}

/* One that is not known may have been told meanwhile. */
bool bpf_codes_find(void *userdata, uint64_t id, uint32_t *ret)
{
	struct bpf_source *s = userdata;

	if (code_book_find(s->source.codes, id, ret))
		return true;
	return !bpf_codes_read(s) && code_book_find(s->source.codes, id, ret);
}

/* A bucket may be busy: then the frames are missing. */
static int bpf_codes_put(const struct bpf_source *s, const struct abi_runtime_key *key,
			 const struct runtime_row *row)
{
	return bpf_map_update_elem(bpf_map__fd(s->skeleton->maps.runtimes), key, row, BPF_ANY)
		       ? UNWIND_HOST_E_FULL
		       : UNWIND_HOST_E_OK;
}

/* By its file, as a program; by its dynamic section, and by its image, as a library. */
static int bpf_codes_add_runtime(void *userdata, const struct unwind_host_runtime *runtime)
{
	const struct bpf_source *s = userdata;
	const struct abi_runtime_key key = {
		.inode = runtime->inode,
		.size = runtime->size,
		.device = runtime->device_major << 20 | runtime->device_minor,
	};
	const struct abi_runtime_key library = {.size = runtime->dynamic};
	const struct abi_runtime_key image = {.size = runtime->image, .device = ABI_RUNTIME_IMAGE};
	struct runtime_row row = {.kind = RUNTIME_LIBRARY,
				  .state = (int64_t)(runtime->debug - runtime->text)};
	int r;

	if (RUNTIME_IS_V8(runtime->version))
		row = (struct runtime_row){.kind = RUNTIME_V8,
					   .version = runtime->version,
					   .v8 = runtime->v8};
	if (runtime->debug || row.kind == RUNTIME_V8)
		return bpf_codes_put(s, &key, &row);
	if (!python_row(runtime->version, &row))
		return UNWIND_HOST_E_UNKNOWN;
	row.state = (int64_t)(runtime->state - runtime->text);
	row.loop = (int32_t)(runtime->loop - runtime->state);
	row.loop_bytes = runtime->loop_bytes;
	row.state_bytes = runtime->state_bytes;
	if (row.count_kind == RUNTIME_COUNT_STATIC && runtime->count)
		row.count = (int32_t)(runtime->count - runtime->state);
	row.tls_index = runtime->tls_index ? (int32_t)(runtime->tls_index - runtime->state) : 0;
	row.tls_at = runtime->tls_at;
	r = bpf_codes_put(s, &key, &row);
	if (r || !runtime->dynamic)
		return r;
	row.state += (int64_t)runtime->text_offset;
	r = bpf_codes_put(s, &image, &row);
	if (r)
		return r;
	row.state = (int64_t)runtime->state;
	row.check = (int64_t)runtime->check;
	row.check_value = runtime->check_value;
	return bpf_codes_put(s, &library, &row);
}

int bpf_codes_open(struct bpf_source *s)
{
	struct epoll_event wake = {.events = EPOLLIN};
	int r = code_book_new(&s->source.codes, s->source.options.code_bytes / 2);

	if (r)
		return r;
	s->told = mmap(NULL, TOLD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		       bpf_map__fd(s->skeleton->maps.codes_told), 0);
	if (s->told == MAP_FAILED) {
		s->told = NULL;
		return error_origin(-errno);
	}
	s->codes = ring_buffer__new(bpf_map__fd(s->skeleton->maps.codes), bpf_codes_on_record, s,
				    NULL);
	if (!s->codes)
		return error_origin(-errno);
	wake.data.fd = ring_buffer__epoll_fd(s->codes);
	if (epoll_ctl(s->source.fd, EPOLL_CTL_ADD, wake.data.fd, &wake) < 0)
		return error_origin(-errno);
	s->host.add_runtime = bpf_codes_add_runtime;
	return 0;
}

void bpf_codes_close(struct bpf_source *s)
{
	ring_buffer__free(s->codes);
	if (s->told)
		munmap(s->told, TOLD_BYTES);
}

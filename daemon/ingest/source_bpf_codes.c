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

static int bpf_codes_take(struct bpf_source *s, void *data, size_t length)
{
	struct source_bpf_code record;
	struct code_origin origin;
	bool has_forgotten, is_refused;

	if (!source_bpf_decode_code(data, length, &record))
		return 0;
	origin = (struct code_origin){.id = record.id,
				      .uid = record.uid,
				      .now_ns = clock_ns(CLOCK_MONOTONIC)};
	s->error = code_book_add(s->source.codes, &origin, &record.code, &has_forgotten);
	is_refused = s->error == CODE_BOOK_E_SHARE;
	if (has_forgotten)
		memset(s->told, 0, TOLD_BYTES);
	if (is_refused)
		bpf_codes_untell(s, record.id);
	/* What a CPU keeps of them holds until this is another number: it is the last to change. */
	if (has_forgotten || is_refused)
		__atomic_fetch_add(&s->skeleton->bss->codes_forgotten, 1, __ATOMIC_RELEASE);
	return is_refused ? s->error = 0 : s->error;
}

/* Negative ends the reading: -EAGAIN, as a ring's worth was read, or an error. */
static int bpf_codes_on_record(void *userdata, void *data, size_t length)
{
	struct bpf_source *s = userdata;
	int r = bpf_codes_take(s, data, length);

	s->codes_read += length;
	return r ?: s->codes_read < ABI_CODES_BYTES ? 0 : -EAGAIN;
}

/* All that was there when it began, however fast more comes. */
int bpf_codes_read(struct bpf_source *s)
{
	int r;

	s->codes_read = 0;
	r = ring_buffer__consume(s->codes);
	return r < 0 && r != -EAGAIN ? s->error ?: error_origin(r) : 0;
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
	struct runtime_row row;
	int r;

	if (!source_bpf_row(runtime, &row))
		return UNWIND_HOST_E_UNKNOWN;
	if (row.kind == RUNTIME_LIBRARY || row.kind == RUNTIME_V8)
		return bpf_codes_put(s, &key, &row);
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

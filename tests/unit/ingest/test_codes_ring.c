/* SPDX-License-Identifier: MIT */
/* The ring of code objects, with libbpf's functions in place of the library's: it never gets empty.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/libbpf.h>

#include "common/cleanup.h"
#include "daemon/ingest/code_book.h"
#include "daemon/ingest/source_bpf_private.h"
#include "profile.skel.h"

#define ENDLESS_BYTES (16 * (size_t)ABI_CODES_BYTES)

static struct {
	ring_buffer_sample_fn on_record;
	void *userdata;
	int memory_fd, wake_fd;
	size_t n_bytes; /* that were taken of it */
} ring = {.memory_fd = -1, .wake_fd = -1};

struct ring_buffer *ring_buffer__new(int map_fd, ring_buffer_sample_fn fn, void *userdata,
				     const struct ring_buffer_opts *options)
{
	(void)map_fd, (void)options;
	ring.on_record = fn;
	ring.userdata = userdata;
	return (struct ring_buffer *)&ring;
}

void ring_buffer__free(struct ring_buffer *r)
{
	(void)r;
}

int ring_buffer__epoll_fd(const struct ring_buffer *r)
{
	(void)r;
	return ring.wake_fd;
}

int ring_buffer__consume(struct ring_buffer *r)
{
	static uint8_t record[sizeof(struct abi_code)];
	int taken = 0;

	(void)r;
	for (ring.n_bytes = 0; taken >= 0 && ring.n_bytes < ENDLESS_BYTES;
	     ring.n_bytes += sizeof(record))
		taken = ring.on_record(ring.userdata, record, sizeof(record));
	return taken;
}

int bpf_map__fd(const struct bpf_map *map)
{
	(void)map;
	return ring.memory_fd;
}

/* However fast code objects come, samples are read as well. */
static void test_a_turn_ends(void **state)
{
	struct profile_bpf skeleton = {0};
	struct bpf_source s = {.skeleton = &skeleton, .source.options.code_bytes = 1 << 20};

	(void)state;
	ring.memory_fd = memfd_create("told", MFD_CLOEXEC);
	ring.wake_fd = eventfd(0, EFD_CLOEXEC);
	s.source.fd = epoll_create1(EPOLL_CLOEXEC);
	assert_int_equal(ftruncate(ring.memory_fd, sizeof(struct abi_told) << ABI_TOLD_BITS), 0);
	assert_int_equal(bpf_codes_open(&s), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(bpf_codes_read(&s), 0);
		assert_true(ring.n_bytes >= ABI_CODES_BYTES);
		assert_true(ring.n_bytes < ABI_CODES_BYTES + 2 * sizeof(struct abi_code));
	}
	bpf_codes_close(&s);
	code_book_free(s.source.codes);
	closep(&s.source.fd);
	closep(&ring.wake_fd);
	closep(&ring.memory_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_turn_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

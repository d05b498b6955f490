/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include "daemon/ingest/perf_ring.h"

#define DATA_BYTES 4096

/* A ring in ordinary memory, with this test in the kernel's role. */
struct fake {
	struct perf_event_mmap_page page;
	uint8_t data[DATA_BYTES];
	struct perf_ring ring;
	uint8_t record[PERF_RING_RECORD_MAX];
};

static int setup(void **state)
{
	struct fake *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	f->ring = (struct perf_ring){.page = &f->page, .data = f->data, .data_bytes = DATA_BYTES};
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static void produce(struct fake *f, const void *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		f->data[(f->page.data_head + i) % DATA_BYTES] = ((const uint8_t *)bytes)[i];
	f->page.data_head += length;
}

static void produce_record(struct fake *f, uint16_t size, uint8_t fill)
{
	uint8_t bytes[512];
	struct perf_event_header header = {.type = 1, .size = size};

	memset(bytes, fill, sizeof(bytes));
	memcpy(bytes, &header, sizeof(header));
	produce(f, bytes, size);
}

/* Records of changing length go around the ring many times; each comes out whole. */
static void test_wrap(void **state)
{
	struct fake *f = *state;

	for (unsigned i = 0; i < 5000; i++) {
		uint16_t size = (uint16_t)(8 + 8 * (i % 50));

		produce_record(f, size, (uint8_t)i);
		assert_int_equal(perf_ring_read(&f->ring, f->record), size);
		for (unsigned j = 8; j < size; j++)
			assert_int_equal(f->record[j], (uint8_t)i);
		assert_int_equal(perf_ring_read(&f->ring, f->record), 0);
	}
	assert_int_equal(f->page.data_tail, f->page.data_head);
	assert_int_equal(f->ring.n_malformed, 0);
}

static void test_order(void **state)
{
	struct fake *f = *state;

	for (uint8_t i = 1; i <= 5; i++)
		produce_record(f, 16, i);
	for (uint8_t i = 1; i <= 5; i++) {
		assert_int_equal(perf_ring_read(&f->ring, f->record), 16);
		assert_int_equal(f->record[8], i);
	}
	assert_int_equal(perf_ring_read(&f->ring, f->record), 0);
}

static void test_nonsense(void **state)
{
	struct fake *f = *state;
	struct perf_event_header header = {.size = 4};

	produce(f, &header, sizeof(header));
	assert_int_equal(perf_ring_read(&f->ring, f->record), 0);
	assert_int_equal(f->ring.n_malformed, 1);
	header.size = 4000; /* more than was written */
	produce(f, &header, sizeof(header));
	assert_int_equal(perf_ring_read(&f->ring, f->record), 0);
	assert_int_equal(f->ring.n_malformed, 2);
	produce_record(f, 24, 9);
	assert_int_equal(perf_ring_read(&f->ring, f->record), 24);
}

static void test_unmapped(void **state)
{
	struct fake *f = *state;
	struct perf_ring none = {0};

	assert_int_equal(perf_ring_read(&none, f->record), 0);
	assert_int_equal(perf_ring_bytes(&none), 0);
	perf_ring_unmap(&none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_wrap, setup, teardown),
		cmocka_unit_test_setup_teardown(test_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nonsense, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unmapped, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

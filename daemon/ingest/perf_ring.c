/* SPDX-License-Identifier: MIT */
/*
 * The kernel moves data_head, this side data_tail. Each record is copied out before it is parsed:
 * it may wrap around the end of the ring.
 */
#include "daemon/ingest/perf_ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/error.h"
#include "daemon/ingest/perf_admin.h"

int perf_open_silent(const struct perf_event_attr *like, unsigned cpu)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.use_clockid = like->use_clockid,
		.clockid = like->clockid,
		.watermark = like->watermark,
		.wakeup_watermark = like->wakeup_watermark,
	};

	return perf_admin_open(&attr, 0, (int)cpu);
}

/* The largest 2^n pages that fit into @bytes. */
static size_t whole_pages(size_t bytes, size_t page)
{
	size_t result = page;

	while (result <= bytes / 2)
		result *= 2;
	return result;
}

int perf_ring_map(struct perf_ring *ring, int fd, size_t most, size_t least)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t smallest = whole_pages(least, page);
	size_t bytes = whole_pages(most, page);
	void *base;

	for (;; bytes /= 2) {
		base = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (base != MAP_FAILED)
			break;
		if ((errno != EPERM && errno != ENOMEM) || bytes <= smallest)
			return error_origin(-errno);
	}
	ring->page = base;
	ring->data = (uint8_t *)base + page;
	ring->data_bytes = bytes;
	return 0;
}

void perf_ring_unmap(struct perf_ring *ring)
{
	if (ring->page)
		munmap(ring->page, perf_ring_bytes(ring));
	ring->page = NULL;
}

static void perf_ring_copy(const struct perf_ring *ring, uint64_t from, void *to, size_t length)
{
	size_t at = from & (ring->data_bytes - 1);
	size_t until_end = ring->data_bytes - at;

	if (until_end > length)
		until_end = length;
	memcpy(to, ring->data + at, until_end);
	memcpy((uint8_t *)to + until_end, ring->data, length - until_end);
}

size_t perf_ring_read(struct perf_ring *ring, uint8_t record[PERF_RING_RECORD_MAX])
{
	struct perf_event_header header;
	uint64_t head, tail;

	if (!ring->page)
		return 0;
	head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	tail = ring->page->data_tail; /* ours alone */
	if (head == tail)
		return 0;
	perf_ring_copy(ring, tail, &header, sizeof(header));
	if (header.size < sizeof(header) || header.size > head - tail) {
		ring->n_malformed++;
		__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
		return 0;
	}
	perf_ring_copy(ring, tail, record, header.size);
	__atomic_store_n(&ring->page->data_tail, tail + header.size, __ATOMIC_RELEASE);
	return header.size;
}

size_t perf_ring_bytes(const struct perf_ring *ring)
{
	return ring->page ? ring->data_bytes + (size_t)sysconf(_SC_PAGESIZE) : 0;
}

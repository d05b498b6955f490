/* SPDX-License-Identifier: MIT */
/*
 * Writers reserve words by moving the head, write them, and commit the record with its first
 * word, all without locks: signal handlers of several threads write at once, and may interrupt
 * each other.
 */
#include "common/shim/ring_writer.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Programs expect the low ones for themselves. */
#define DESCRIPTOR_MIN 200

/* Takes @bell over. */
static void keep_bell(struct ring_writer *w, int bell)
{
	int high = fcntl(bell, F_DUPFD_CLOEXEC, DESCRIPTOR_MIN);
	struct stat st;

	if (high >= 0) {
		close(bell);
		bell = high;
	}
	w->bell = bell;
	if (fstat(bell, &st) == 0) {
		w->bell_device = st.st_dev;
		w->bell_inode = st.st_ino;
	}
}

bool ring_writer_open(struct ring_writer *ret, int fd, int bell)
{
	struct ring_writer w = {.bell = -1};
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) < 0 || st.st_size < 0)
		return false;
	w.length = (size_t)st.st_size;
	w.n_words = ring_n_words(w.length);
	if (!w.n_words)
		return false;
	w.page = mmap(NULL, w.length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (w.page == MAP_FAILED)
		return false;
	if (w.page->magic != RING_MAGIC || w.page->version != RING_VERSION ||
	    w.page->n_words != w.n_words) {
		munmap(w.page, w.length);
		return false;
	}
	w.words = (_Atomic uint64_t *)(void *)((uint8_t *)w.page + RING_PAGE);
	madvise(w.page, w.length, MADV_DONTDUMP);
	if (bell >= 0)
		keep_bell(&w, bell);
	*ret = w;
	return true;
}

static bool has_bell(const struct ring_writer *w)
{
	struct stat st;

	return w->bell >= 0 && fstat(w->bell, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       st.st_dev == w->bell_device && st.st_ino == w->bell_inode;
}

void ring_writer_close(struct ring_writer *w)
{
	if (has_bell(w))
		close(w->bell);
	if (w->page)
		munmap(w->page, w->length);
	*w = (struct ring_writer){.bell = -1};
}

uint32_t ring_writer_frequency(const struct ring_writer *w)
{
	uint32_t frequency = atomic_load_explicit(&w->page->frequency, memory_order_relaxed);

	return frequency < RING_FREQUENCY_MAX ? frequency : RING_FREQUENCY_MAX;
}

bool ring_writer_has_server(const struct ring_writer *w)
{
	char byte;

	return !has_bell(w) || recv(w->bell, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0;
}

/* Takes @n words, and leaves their number there. False: so many are not free. */
static bool ring_writer_reserve(struct ring_writer *w, uint8_t type, uint32_t n, uint64_t *ret)
{
	struct ring_page *page = w->page;
	uint64_t head = atomic_load(&page->head), used;

	for (;;) {
		/* What lies before the tail is zero: acquire. */
		used = head - atomic_load_explicit(&page->tail, memory_order_acquire);
		if (used > w->n_words || n > w->n_words - used) {
			/* Or this head is of before that tail. */
			uint64_t now = atomic_load(&page->head);

			if (now == head)
				return false;
			head = now;
			continue;
		}
		if (atomic_compare_exchange_weak(&page->head, &head, head + n))
			break;
	}
	atomic_store_explicit(&w->words[head & (w->n_words - 1)], RING_HEAD(type, n),
			      memory_order_relaxed);
	if (used < w->n_words / 2 && used + n >= w->n_words / 2 && has_bell(w))
		send(w->bell, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	*ret = head;
	return true;
}

static void ring_writer_put(struct ring_writer *w, uint64_t position, uint64_t word)
{
	atomic_store_explicit(&w->words[position & (w->n_words - 1)], word, memory_order_relaxed);
}

static void ring_writer_commit(struct ring_writer *w, uint64_t position, uint8_t type, uint32_t n)
{
	atomic_store_explicit(&w->words[position & (w->n_words - 1)],
			      RING_HEAD(type, n) | RING_COMMITTED, memory_order_release);
}

bool ring_writer_sample(struct ring_writer *w, const struct ring_sample *sample)
{
	uint32_t n = RING_SAMPLE_FIXED + sample->n_frames;
	uint64_t at, comm[RING_COMM / 8];

	if (!ring_writer_reserve(w, RING_SAMPLE, n, &at))
		return false;
	memcpy(comm, sample->comm, sizeof(comm));
	ring_writer_put(w, at + 1, sample->time_ns);
	ring_writer_put(w, at + 2, (uint64_t)sample->tid << 32 | sample->weight);
	ring_writer_put(w, at + 3,
			(uint64_t)sample->generation << 32 | (uint64_t)sample->frequency << 16 |
				(uint64_t)sample->reason << 8 | sample->quality);
	ring_writer_put(w, at + 4, comm[0]);
	ring_writer_put(w, at + 5, comm[1]);
	for (uint32_t i = 0; i < sample->n_frames; i++)
		ring_writer_put(w, at + RING_SAMPLE_FIXED + i, sample->frames[i]);
	ring_writer_commit(w, at, RING_SAMPLE, n);
	return true;
}

static bool ring_writer_put_part(struct ring_writer *w, uint32_t generation, const char *text,
				 size_t length, size_t done, size_t size)
{
	uint32_t n = RING_MAPS_FIXED + (uint32_t)((size + 7) / 8);
	uint64_t at;

	if (!ring_writer_reserve(w, RING_MAPS, n, &at))
		return false;
	ring_writer_put(w, at + 1, (uint64_t)generation << 32 | size);
	ring_writer_put(w, at + 2, (uint64_t)length << 32 | done);
	for (size_t i = 0; i < size; i += 8) {
		uint64_t word = 0;

		memcpy(&word, text + done + i, size - i < 8 ? size - i : 8);
		ring_writer_put(w, at + RING_MAPS_FIXED + i / 8, word);
	}
	ring_writer_commit(w, at, RING_MAPS, n);
	return true;
}

bool ring_writer_maps(struct ring_writer *w, uint32_t generation, const char *text, size_t length,
		      size_t *done)
{
	while (*done < length) {
		size_t size = length - *done < RING_MAPS_PART ? length - *done : RING_MAPS_PART;

		if (!ring_writer_put_part(w, generation, text, length, *done, size))
			return false;
		*done += size;
	}
	return true;
}

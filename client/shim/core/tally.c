/* SPDX-License-Identifier: MIT */
/*
 * The words of an entry: its hash and how many frames it has, its count, and the frames. Buckets
 * are probed one after the other from the one that the hash says.
 */
#include "client/shim/core/tally.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "common/error.h"

/* A bucket for 16 words: stacks of ten frames fill three quarters of them. */
#define WORDS_A_BUCKET 16
#define PROBES_MAX     64
/* Of the words, this part is for leaves alone. */
#define LEAF_PART 16

/* Words of an entry before its frames: hash and number of frames, count. */
#define HEAD       0
#define COUNT      1
#define HEAD_WORDS 2

struct tally {
	size_t n_words, n_buckets, length; /* length: bytes of the whole mapping */
	_Atomic uint64_t *words;
	_Atomic uint32_t *buckets;
	_Atomic uint64_t used; /* words; beyond n_words: there are none left */
};

static size_t power_of_two_below(size_t n)
{
	size_t power = 1;

	while (power * 2 <= n)
		power *= 2;
	return power;
}

/* Of memory that is all 0. */
static void tally_lay_out(struct tally *tally, size_t n_words, size_t n_buckets, size_t length)
{
	tally->n_words = n_words;
	tally->n_buckets = n_buckets;
	tally->length = length;
	tally->words = (_Atomic uint64_t *)(tally + 1);
	tally->buckets = (_Atomic uint32_t *)(tally->words + n_words);
	atomic_store(&tally->used, 1);
}

int tally_new(struct tally **ret, size_t n_words)
{
	size_t n_buckets = power_of_two_below(n_words / WORDS_A_BUCKET);
	size_t length = sizeof(struct tally) + n_words * 8 + n_buckets * 4;
	struct tally *tally;

	if (!n_buckets || n_words > UINT32_MAX)
		return error_origin(-ENOMEM);
	tally = mmap(NULL, length, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (tally == MAP_FAILED)
		return error_origin(-ENOMEM);
	/* The program's core files are not to be larger for us. */
	madvise(tally, length, MADV_DONTDUMP);
	tally_lay_out(tally, n_words, n_buckets, length);
	*ret = tally;
	return 0;
}

void tally_reset(struct tally *tally)
{
	struct tally kept = *tally;

	/* Pages come back zeroed (madvise(2), private anonymous memory). */
	madvise(tally, tally->length, MADV_DONTNEED);
	tally_lay_out(tally, kept.n_words, kept.n_buckets, kept.length);
}

static uint32_t hash_of(const uint64_t *frames, uint32_t n)
{
	uint64_t hash = n;

	for (uint32_t i = 0; i < n; i++) {
		hash = (hash ^ frames[i]) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	return (uint32_t)(hash ^ hash >> 32);
}

static bool tally_entry_equals(const struct tally *tally, uint32_t at, uint64_t head,
			       const uint64_t *frames, uint32_t n)
{
	if (atomic_load_explicit(&tally->words[at + HEAD], memory_order_relaxed) != head)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (atomic_load_explicit(&tally->words[at + HEAD_WORDS + i],
					 memory_order_relaxed) != frames[i])
			return false;
	return true;
}

/* The position of a new entry, or 0: there is no room. */
static uint32_t tally_new_entry(struct tally *tally, uint64_t head, const uint64_t *frames,
				uint32_t n, uint32_t weight)
{
	size_t limit = tally->n_words;
	uint64_t at;

	if (n > 1)
		limit -= limit / LEAF_PART;
	/* Looked at first: `used` must not wrap, however often there was no room. */
	if (atomic_load_explicit(&tally->used, memory_order_relaxed) + HEAD_WORDS + n > limit)
		return 0;
	at = atomic_fetch_add_explicit(&tally->used, HEAD_WORDS + n, memory_order_relaxed);
	if (at + HEAD_WORDS + n > limit)
		return 0;
	atomic_store_explicit(&tally->words[at + HEAD], head, memory_order_relaxed);
	atomic_store_explicit(&tally->words[at + COUNT], weight, memory_order_relaxed);
	for (uint32_t i = 0; i < n; i++)
		atomic_store_explicit(&tally->words[at + HEAD_WORDS + i], frames[i],
				      memory_order_relaxed);
	return (uint32_t)at;
}

static bool tally_insert(struct tally *tally, const uint64_t *frames, uint32_t n, uint32_t weight)
{
	uint32_t hash = hash_of(frames, n), at, mine = 0;
	uint64_t head = (uint64_t)hash << 32 | n;

	for (uint32_t i = 0; i < PROBES_MAX; i++) {
		_Atomic uint32_t *bucket = &tally->buckets[(hash + i) & (tally->n_buckets - 1)];

		at = atomic_load_explicit(bucket, memory_order_acquire);
		if (!at) {
			if (!mine)
				mine = tally_new_entry(tally, head, frames, n, weight);
			if (!mine)
				return false;
			if (atomic_compare_exchange_strong_explicit(
				    bucket, &at, mine, memory_order_release, memory_order_acquire))
				return true;
		}
		if (tally_entry_equals(tally, at, head, frames, n)) {
			atomic_fetch_add_explicit(&tally->words[at + COUNT], weight,
						  memory_order_relaxed);
			return true;
		}
	}
	return false;
}

int tally_add(struct tally *tally, const uint64_t *frames, uint32_t n, uint32_t weight)
{
	if (tally_insert(tally, frames, n, weight))
		return TALLY_OK;
	return tally_insert(tally, frames, 1, weight) ? TALLY_CUT : TALLY_FULL;
}

bool tally_next(const struct tally *tally, size_t *cursor, struct tally_entry *ret)
{
	while (*cursor < tally->n_buckets) {
		uint32_t at = atomic_load_explicit(&tally->buckets[(*cursor)++],
						   memory_order_acquire);

		if (!at)
			continue;
		ret->count = atomic_load(&tally->words[at + COUNT]);
		ret->n = (uint32_t)atomic_load(&tally->words[at + HEAD]);
		ret->frames = (const uint64_t *)(const void *)&tally->words[at + HEAD_WORDS];
		return true;
	}
	return false;
}

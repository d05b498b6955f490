/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_SHIM_RING_LAYOUT_H
#define PROFD_COMMON_SHIM_RING_LAYOUT_H

/*
 * The memory through which libprofd.so hands its samples to the program that gathers them: profd,
 * or `profctl run`, here the server. The server makes it (attach.h), both map it; neither believes
 * what the other can write.
 *
 * One page, struct ring_page, then words (8 bytes, native order), a power of two of them. A
 * position counts words from the ring's beginning on and never wraps in practice; word p lies at p
 * modulo the number of words. `tail` is the server's: all before it is read, and zero again. `head`
 * is the library's: all before it is taken by a record.
 *
 * A record is a head word and its payload, one behind the other, over the end of the memory if need
 * be. The signal handlers of many threads write at once: each takes its words by moving `head`
 * (compare-and-swap), stores the head word without RING_COMMITTED, then the payload, then the head
 * word with it. The server reads in order, and stops at a record that is not committed. Words that
 * are free are zero, so what was there before is never taken for a record.
 *
 * A full ring loses samples, which are counted; nobody waits for anybody.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RING_MAGIC     UINT64_C(0x676e6972666f7270) /* "profring" */
#define RING_VERSION   1
#define RING_PAGE      4096
#define RING_WORDS_MIN (1u << 13) /* 64 KiB: several of the longest records */
#define RING_WORDS_MAX (1u << 27)

/* How many words memory of so many bytes has; 0: none is of that length. */
static inline uint64_t ring_n_words(uint64_t length)
{
	uint64_t n_words = length > RING_PAGE ? (length - RING_PAGE) / 8 : 0;
	bool is_good = n_words >= RING_WORDS_MIN && n_words <= RING_WORDS_MAX &&
		       !(n_words & (n_words - 1)) && length == RING_PAGE + n_words * 8;

	return is_good ? n_words : 0;
}

/* Of the head word: the length in words, itself included; enum ring_type; whether all is there. */
#define RING_LENGTH(head)       ((uint32_t)(head))
#define RING_TYPE(head)         ((uint8_t)((head) >> 32))
#define RING_COMMITTED          (UINT64_C(1) << 63)
#define RING_HEAD(type, length) ((uint64_t)(type) << 32 | (length))

enum ring_type {
	/*
	 * A sample. Words: time (CLOCK_MONOTONIC, ns); thread's number << 32 | weight; generation
	 * << 32 | frequency << 16 | reason << 8 | quality (common/reasons.h); two words of the
	 * thread's name; then the frames.
	 */
	RING_SAMPLE = 1,
	/*
	 * A part of the process's mappings. Words: generation << 32 | bytes in this part; bytes in
	 * all << 32 | bytes before this part; then the bytes of this part.
	 */
	RING_MAPS = 2,
};

#define RING_SAMPLE_FIXED 6 /* words before the frames, the head word included */
#define RING_MAPS_FIXED   3
#define RING_COMM         16 /* a thread's name, ended by NUL (prctl(2), PR_GET_NAME) */
#define RING_FRAMES_MAX   1024
#define RING_MAPS_PART    4096 /* bytes of a part at most */
#define RING_MAPS_MAX     (4u << 20)
#define RING_RECORD_MAX   (RING_SAMPLE_FIXED + RING_FRAMES_MAX)

#define RING_FREQUENCY_MAX 4000

/*
 * X(name): what became of the ticks of one process's timers, each as often as its timer had run
 * out. When nobody is at work:
 *
 *   seen = complete + truncated + broken + filtered + lost
 *
 * and the first three of these are in records. Of a process that was killed some may be seen, and
 * nothing else.
 */
#define RING_COUNTERS(X)                                      \
	X(seen)                                               \
	X(complete)                                           \
	X(truncated) /* more frames than a record may have */ \
	X(broken)    /* no root was reached */                \
	X(filtered)  /* the program's filter refused it */    \
	X(lost)      /* the ring was full, or the mappings changed just then */

#define RING_COUNTER_FIELD(name) _Atomic uint64_t name;
struct ring_counters {
	RING_COUNTERS(RING_COUNTER_FIELD)
};

/* Parts with different writers are kept out of each other's cache lines. */
struct ring_page {
	/* The server's, before anybody else sees the memory. */
	uint64_t magic;
	uint32_t version;
	uint32_t reserved;
	uint64_t n_words;

	/* The server's, at any time: samples per second of CPU time, 0 for none. */
	_Alignas(64) _Atomic uint32_t frequency;
	_Alignas(64) _Atomic uint64_t tail;

	/* The library's. */
	_Alignas(64) _Atomic uint64_t head;
	_Alignas(64) struct ring_counters counters;
};

_Static_assert(sizeof(struct ring_page) <= RING_PAGE, "one page");
_Static_assert(RING_MAPS_FIXED + RING_MAPS_PART / 8 <= RING_RECORD_MAX, "the longest record");

#endif

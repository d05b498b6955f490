/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_SHIM_CORE_TALLY_H
#define PROFD_CLIENT_SHIM_CORE_TALLY_H

/*
 * The table of distinct stacks and how often each was seen, filled by signal handlers of many
 * threads at once: no lock, no allocation, no waiting.
 *
 * One run of words, of which the kernel gives pages when they are touched, taken from the front and
 * never given back; and buckets, each the position of an entry in it or 0. An entry is written in
 * whole before a compare-and-swap puts it into its bucket; a thread that loses that race to an
 * equal stack adds to the other's count, and its words are wasted.
 *
 * When the words run out, stacks that are not there yet count by their leaf alone, for which some
 * room is kept.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tally;

/* Reserves @n_words (8 bytes each, a million or so). Returns 0 or -ENOMEM. */
int tally_new(struct tally **ret, size_t n_words);
/* Forgets all of them. Nobody adds meanwhile. */
void tally_reset(struct tally *tally);

enum {
	TALLY_OK,
	TALLY_CUT,  /* only the leaf was kept */
	TALLY_FULL, /* there was no room: lost */
};

/* Async-signal-safe. @n >= 1 and @weight >= 1. Returns TALLY_*. */
int tally_add(struct tally *tally, const uint64_t *frames, uint32_t n, uint32_t weight);

struct tally_entry {
	uint64_t count;
	const uint64_t *frames; /* borrowed */
	uint32_t n;
};

/* The next one from bucket *cursor on, which begins with 0. False: there are no more. */
bool tally_next(const struct tally *tally, size_t *cursor, struct tally_entry *ret);

#endif

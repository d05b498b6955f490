/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_SHIM_RING_READER_H
#define PROFD_COMMON_SHIM_RING_READER_H

/*
 * The server's end of a ring (ring_layout.h), which a stranger may write to at any moment, in any
 * way. Each record is copied before it is looked at; the server's own position is kept here, and
 * what stands in the page is never read back; nothing outside the memory is touched. Pure but for
 * that memory: no system call.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/shim/ring_writer.h" /* struct ring_sample */

struct ring_reader;

/*
 * What is in the ring, handed over in order. Nothing outlives the call. All of it is within the
 * bounds that ring_layout.h and struct ring_sample name; a frame that is no address of user space
 * is 0.
 */
struct ring_sink {
	void (*sample)(void *userdata, const struct ring_sample *sample);
	/*
	 * All executable mappings of the process, as lines of /proc/PID/maps, though the process
	 * may have written anything: any bytes but NUL. Samples with this generation or a higher
	 * one, until the next, were taken with them; some may come before. Each generation comes at
	 * most once. NULL: for who asks the kernel instead; then no parts are kept.
	 */
	void (*maps)(void *userdata, uint32_t generation, const char *text, size_t length);
	void *userdata;
};

/* What the process says; only taken, malformed and torn are our own count. */
#define RING_LEDGER_FIELD(name) uint64_t name;
struct ring_ledger {
	RING_COUNTERS(RING_LEDGER_FIELD)
	uint64_t taken;     /* sum of the weights of the samples handed over */
	uint64_t malformed; /* records whose contents made no sense: skipped */
	uint64_t torn;      /* records that were not committed when the process ended */
};

/*
 * Makes an empty ring of the @length bytes at @memory, which are borrowed, aligned to a page and
 * zero: RING_PAGE and a power of two of words between RING_WORDS_MIN and RING_WORDS_MAX. Returns 0
 * or negative errno.
 */
int ring_reader_new(struct ring_reader **ret, void *memory, size_t length);
/* The memory stays. Takes NULL. */
void ring_reader_free(struct ring_reader *r);

/* From now on the library samples @frequency times per second of CPU time; 0: not at all. */
void ring_reader_set_frequency(struct ring_reader *r, uint32_t frequency);

enum {
	RING_READER_E_OK,   /* nothing more is there now */
	RING_READER_E_MORE, /* @budget is used up */
	/* The ring makes no sense: nothing is read from it any more. What was taken stands. */
	RING_READER_E_BROKEN,
};

/*
 * Hands over what is there, at most about @budget words of it. Returns RING_READER_E_* or -ENOMEM.
 * @is_last: the process is gone; records that it did not finish are passed over, as far as it left
 * their lengths.
 */
int ring_reader_drain(struct ring_reader *r, size_t budget, bool is_last,
		      const struct ring_sink *sink);

/*
 * The account so far. The process's own numbers are what it says and may be anything, but: seen is
 * the sum of complete, truncated, broken, filtered and lost, or more.
 */
void ring_reader_ledger(const struct ring_reader *r, struct ring_ledger *ret);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_WAIT_PLACES_H
#define PROFD_INGEST_WAIT_PLACES_H

/*
 * What the kernel function that a thread waits in says of the wait. The scheduler forgets when a
 * thread that was runnable all the time, and was moved to another CPU meanwhile, began to be so;
 * and whether one that runs again had been stopped. But the places where threads lose their CPU
 * against their will are few, and so are those where they are stopped.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WAIT_PLACES_MAX 160

enum { WAIT_PLACE_INTERRUPT = 0x80 }; /* where interrupts begin: a place of no wait */

struct wait_places {
	struct wait_place {
		uint64_t start, end; /* addresses */
		uint8_t wait;        /* enum wait_state, or the above */
	} all[WAIT_PLACES_MAX];
	unsigned n;
	uint64_t beginnings[2]; /* of a thread that has not run yet; 0: not known */
};

/*
 * Pure: from a text in /proc/kallsyms' format, which ends in a NUL that is not counted. Addresses
 * that are hidden, 0, are none.
 */
void wait_places_parse(const char *text, size_t length, struct wait_places *ret);
/*
 * What a thread waits for whose first kernel frame, a return address, is @leaf; WAIT_NONE: that
 * says nothing.
 */
uint8_t wait_places_find(const struct wait_places *places, uint64_t leaf);
/* Whether a frame with this return address is where an interrupt came. */
bool wait_places_is_interrupt(const struct wait_places *places, uint64_t address);
/* Whether these places are known. */
bool wait_places_have_interrupts(const struct wait_places *places);
/* Whether @leaf is where a new thread begins, which nothing has called. */
bool wait_places_is_beginning(const struct wait_places *places, uint64_t leaf);

#endif

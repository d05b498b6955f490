/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_EXTENTS_H
#define PROFD_RESOLVE_EXTENTS_H

/*
 * Gives out runs of an array's elements, first fit, and takes them back. A run that came back rests
 * before it is given out again, because readers elsewhere may still be in it (layout.h, "Reuse").
 * Knows numbers only, not the array.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

struct extents;

enum {
	EXTENTS_E_OK,
	EXTENTS_E_FULL, /* no gap is large enough; some may become so when they have rested */
};

/* Of an array of @n elements. A run rests for @rest_ns. */
int extents_new(struct extents **ret, size_t n, uint64_t rest_ns);
void extents_free(struct extents *e);
DEFINE_CLEANUP(struct extents *, extents_free)

/*
 * A run of @n >= 1 elements. @now_ns is a clock of the caller's choice that does not go back.
 * Returns EXTENTS_E_* or -ENOMEM.
 */
int extents_allocate(struct extents *e, size_t n, uint64_t now_ns, size_t *ret_first);
/* Gives back a run that was taken, all of it. Never fails. */
void extents_release(struct extents *e, size_t first, size_t n, uint64_t now_ns);
/* Elements that nobody has: those that rest count. */
size_t extents_unused(const struct extents *e);

#endif

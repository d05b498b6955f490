/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_NATIVE_FRAMES_H
#define PROFD_TESTS_NATIVE_FRAMES_H

#include "common/frame.h"
#include "daemon/ingest/sample.h"

/*
 * The user frames of @s without an interpreter's own, which no other unwinder knows; into *ret,
 * with room for all. Returns how many.
 */
static inline uint32_t native_frames(const struct sample *s, uint64_t *ret)
{
	uint32_t n = 0;

	for (uint32_t i = s->n_kernel; i < s->n_frames; i++)
		if (frame_kind(s->frames[i]) != FRAME_RUNTIME)
			ret[n++] = s->frames[i];
	return n;
}

#endif

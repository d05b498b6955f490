/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_FRAMES_H
#define PROFD_CLIENT_ANALYSIS_FRAMES_H

/*
 * Frames: what a report has a line for, and what pprof calls a node's name. How much of a place in
 * the code a frame tells is the report's granularity; what it does not tell is 0, so that places
 * which the report does not tell apart are one frame.
 */
#include <stdint.h>
#include <stdlib.h>

#include "client/analysis/intern.h"

/* Without padding: frames are compared as bytes. */
struct frame {
	uint32_t name, system_name; /* strings of the profile; 0: none */
	uint32_t filename;          /* cleaned, see source_path.h */
	uint32_t object, build_id;  /* the mapping's path, and what tells its file apart */
	int32_t column;             /* in the line; 0: unknown, or not told apart */
	int64_t line, start_line;   /* start_line: of the function */
	uint64_t address;
};

/* All zero has no frames. */
struct frames {
	struct frame *all;
	struct intern in;
};

static inline void frames_deinit(struct frames *f)
{
	intern_deinit(&f->in);
	free(f->all);
}

/* The index of the frame equal to @key, which is added if need be. 0 or negative errno. */
static inline int frames_intern(struct frames *f, const struct frame *key, uint32_t *ret)
{
	_Static_assert(sizeof(*key) == 6 * sizeof(uint32_t) + 3 * sizeof(uint64_t), "no padding");

	return intern_add(&f->in, &f->all, key, sizeof(*key), sizeof(*key), ret);
}

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_EXPORT_CUT_H
#define PROFD_CLIENT_EXPORT_CUT_H

/*
 * Where a profile is cut: how many of its samples, with all that they refer to, fit into a file of
 * profile.proto of bounded size, before it is compressed.
 */
#include <stddef.h>
#include <stdint.h>

struct profile;

#define EXPORT_CUT_MIN (UINT64_C(1) << 20) /* bytes, in which each frame fits (frames.h) */

/* All zero but for these three. */
struct export_cut {
	struct profile *p;    /* borrowed; as export_frames_fit() leaves one */
	uint64_t max_bytes;   /* at least EXPORT_CUT_MIN */
	uint64_t max_samples; /* at least 1 */
	/* What the current part has: by index in @p, the number of the last part with it. */
	uint32_t *strings, *mappings, *functions, *locations;
	uint32_t part;
	uint64_t bytes;
};

int export_cut_init(struct export_cut *c);
void export_cut_deinit(struct export_cut *c);
/*
 * How many samples from @first on, at most @n and at least 1, fit into a part. A stack that does
 * not fit alone loses its outermost frames. Without labels, which are not counted.
 */
size_t export_cut_next(struct export_cut *c, size_t first, size_t n);

#endif

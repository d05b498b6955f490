/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_COVERAGE_H
#define PROFD_COMMON_PROFILE_COVERAGE_H

/*
 * The spans of time that the windows of a profile cover; what is between them was not sampled. A
 * profile that is merged with its times, and without a list of its windows, has them as comments:
 *
 *   # profd covered: <time_ns>+<duration_ns>    one for each span; adjacent windows are one
 *
 * Of others they are those of its windows. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/profile/profile.h"
#include "common/profile/windows.h"

struct profile_span {
	int64_t start_ns, end_ns; /* Unix time */
};

/* All zero is empty. */
struct profile_coverage {
	struct profile_span *all; /* in order, with gaps between them */
	size_t n, max;
};

void profile_coverage_deinit(struct profile_coverage *c);
/* Those of @p. 0 or negative errno. */
int profile_coverage_of(const struct profile *p, struct profile_coverage *ret);
/* Puts @w, which does not begin before what is there, to the end. 0 or negative errno. */
int profile_coverage_add(struct profile_coverage *c, const struct profile_window *w);
/* Whether @at_ns is covered, and how much is from @since_ns up to @until_ns. */
bool profile_coverage_has(const struct profile_coverage *c, int64_t at_ns);
int64_t profile_coverage_ns(const struct profile_coverage *c, int64_t since_ns, int64_t until_ns);
/* Adds a comment for each span of @windows to @p. 0 or negative errno. */
int profile_coverage_list(const struct profile_windows *windows, struct profile *p);
/* Whether @comment is such a line. */
bool profile_coverage_is_line(const char *comment);

#endif

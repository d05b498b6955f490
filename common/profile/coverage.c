/* SPDX-License-Identifier: MIT */
#include "common/profile/coverage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clamped.h"
#include "common/cleanup.h"
#include "common/partition_point.h"
#include "common/room.h"
#include "common/text_print.h"

#define COVERED "# profd covered: "
/* One window ends as the next one begins; both are converted from another clock. */
#define JOINED_NS 100000000

void profile_coverage_deinit(struct profile_coverage *c)
{
	free(c->all);
	*c = (struct profile_coverage){0};
}

int profile_coverage_add(struct profile_coverage *c, const struct profile_window *w)
{
	const struct profile_span span = {.start_ns = w->time_ns,
					  .end_ns = clamped_add(w->time_ns, w->duration_ns)};
	struct profile_span *last = c->n ? &c->all[c->n - 1] : NULL;

	if (span.end_ns <= span.start_ns)
		return 0;
	if (!last || span.start_ns > clamped_add(last->end_ns, JOINED_NS))
		return room_append(&c->all, &c->max, &c->n, span);
	if (span.end_ns > last->end_ns)
		last->end_ns = span.end_ns;
	return 0;
}

bool profile_coverage_is_line(const char *comment)
{
	return strncmp(comment, COVERED, strlen(COVERED)) == 0;
}

static int coverage_of_windows(const struct profile_windows *windows, struct profile_coverage *ret)
{
	int r = 0;

	for (size_t i = 0; i < windows->n && !r; i++)
		r = profile_coverage_add(ret, &windows->all[i]);
	return r;
}

/* Lines that are out of order are no lines of ours. */
static int coverage_of_lines(const struct profile *p, struct profile_coverage *ret)
{
	struct profile_window window, last = {.time_ns = INT64_MIN};
	int r = 0;

	for (size_t i = 0; i < p->n_comments && !r; i++) {
		const char *comment = profile_string(p, p->comments[i]);

		if (!profile_coverage_is_line(comment) ||
		    !profile_window_parse(comment + strlen(COVERED), &window) ||
		    window.time_ns < last.time_ns)
			continue;
		r = profile_coverage_add(ret, &window);
		last = window;
	}
	return r;
}

int profile_coverage_of(const struct profile *p, struct profile_coverage *ret)
{
	cleanup(profile_windows_deinit) struct profile_windows windows = {0};
	int r = coverage_of_lines(p, ret);

	if (r || ret->n)
		return r;
	return profile_windows_of(p, &windows) ?: coverage_of_windows(&windows, ret);
}

bool profile_coverage_has(const struct profile_coverage *c, int64_t at_ns)
{
	size_t i = partition_point(c->n, j, c->all[j].end_ns <= at_ns);

	return i < c->n && c->all[i].start_ns <= at_ns;
}

int64_t profile_coverage_ns(const struct profile_coverage *c, int64_t since_ns, int64_t until_ns)
{
	int64_t sum = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct profile_span *s = &c->all[i];
		int64_t start_ns = s->start_ns > since_ns ? s->start_ns : since_ns;
		int64_t end_ns = s->end_ns < until_ns ? s->end_ns : until_ns;

		if (end_ns > start_ns)
			sum = clamped_add(sum, end_ns - start_ns);
	}
	return sum;
}

int profile_coverage_list(const struct profile_windows *windows, struct profile *p)
{
	cleanup(profile_coverage_deinit) struct profile_coverage c = {0};
	int r = coverage_of_windows(windows, &c);

	for (size_t i = 0; i < c.n && !r; i++) {
		cleanup(freep) char *line = NULL;

		r = text_print(&line, COVERED "%" PRId64 "+%" PRId64, c.all[i].start_ns,
			       c.all[i].end_ns - c.all[i].start_ns)
			    ?: profile_add_comment(p, line);
	}
	return r;
}

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_TITLE_H
#define PROFD_CLIENT_ANALYSIS_TITLE_H

/*
 * What a report is of, for people: whose samples, on which host, from when to when. profd's own
 * profiles have that in labels and comments; of others the program, by convention the first
 * mapping, is all that is known. Texts of strangers: control characters are replaced.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

struct profile;
struct view_input;

#define TITLE_RANGE_MAX 80

struct report_title {
	char *services; /* "a, b", or "12 services"; NULL: not known. Owned, as is the next. */
	char *host;     /* or "3 hosts"; NULL: not known */
};

/* The first host that the profile names, which it owns, or NULL; *ret_n: how many it names. */
const char *report_title_host(const struct profile *p, size_t *ret_n);
void report_title_deinit(struct report_title *title);
/* To be deinitialized in any case. 0 or negative errno. */
int report_title_init(struct report_title *ret, const struct view_input *input);
/*
 * All of it in one line, without the time: "nginx.service on web1", or @otherwise if nothing is
 * known. *ret malloc'ed. 0 or negative errno.
 */
int report_title_print(const struct view_input *input, const char *otherwise, char **ret);
/* @time_ns, local time, as headers have it; false: it is unknown. */
bool report_title_time(char *ret, size_t size, int64_t time_ns);
/*
 * When @p was taken, local time: its beginning, of profd's profiles also the end; @ret has room for
 * TITLE_RANGE_MAX bytes. false: it cannot be told.
 */
bool report_title_range(const struct profile *p, char *ret);

#endif

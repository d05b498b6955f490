/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_REMOTE_H
#define PROFD_REPORT_REMOTE_H

/*
 * Gets the profiles that sources name by URLs, all at once, so that they are of the same time.
 * Nothing here speaks to servers: see common/http.
 */
#include <stddef.h>

#include "client/report/load.h"
#include "client/report/sources.h"
#include "common/profile/profile.h"

/*
 * Fetches what is at the URLs of @sources and @more, which may be empty: their fds are open then.
 * Says before what is fetched and how long that takes. Of several, those that fail are left out
 * with a line for each, as pprof does it; it fails where none is left. Blocks until all have ended.
 * REPORT_E_* or negative errno.
 */
int remote_fetch(struct sources *sources, struct sources *more, const struct load_options *options,
		 struct profile_message *message);

/*
 * What was fetched is kept where pprof keeps it, in $PPROF_TMPDIR, else ~/pprof: a server samples
 * for seconds, and its next profile is another one. Writes @p, as gzip'ed profile.proto, to a new
 * file, and tells its name, or why there is none: that spoils no report. 0 or negative errno.
 */
int remote_save_profile(const struct profile *p, const struct listener *listener);

/* One answer of a server, as a message: its status, and the first line of what @fd holds. */
void remote_describe(unsigned status, int fd, char *ret, size_t size);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_FETCHED_H
#define PROFD_REPORT_FETCHED_H

/*
 * What was fetched is kept where pprof keeps it, in $PPROF_TMPDIR, else ~/pprof: a server samples
 * for seconds, and its next profile is another one.
 */
#include "client/report/listener.h"
#include "common/profile/profile.h"

/*
 * Writes @p, as gzip'ed profile.proto, to a new file, and tells its name, or why there is none:
 * that spoils no report. 0 or negative errno.
 */
int fetched_save_profile(const struct profile *p, const struct listener *listener);

#endif

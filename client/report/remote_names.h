/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_REMOTE_NAMES_H
#define PROFD_REPORT_REMOTE_NAMES_H

/*
 * Names for what has none, from the servers that profiles were fetched from, as pprof's
 * internal/symbolz asks for them: each server knows the addresses of its own process. A merge moves
 * addresses, so where each mapping of each profile was is noted before it, and looked up after it.
 * At most one question a server; what is answered is a stranger's, and can do no more than to give
 * wrong names to what was asked for.
 */
#include "client/report/input.h"
#include "client/report/remote.h"

struct remote_names;

/* @options: borrowed. Returns 0 or negative errno. */
int remote_names_new(struct remote_names **ret, const struct load_options *options);
void remote_names_free(struct remote_names *n);
DEFINE_CLEANUP(struct remote_names *, remote_names_free)

/*
 * Notes where the mappings of @in are, which came from @source (borrowed); one for all is made
 * where there are none, and those without a name get one, by which the merge keeps them apart.
 * Nothing if it is no URL. Returns 0 or negative errno.
 */
int remote_names_record(struct remote_names *n, struct input *in, const struct source *source);
/* All is merged to @p: looks up what was noted. Returns 0 or negative errno. */
int remote_names_look_up(struct remote_names *n, const struct profile *p);
/*
 * Asks for what has no names by now. Mappings may have been added, and got other paths, since the
 * look-up. Blocks on the servers. What does not work is a note. Returns 0 or negative errno.
 */
int remote_names_fetch(struct remote_names *n, struct profile *p);

#endif

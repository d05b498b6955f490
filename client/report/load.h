/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_LOAD_H
#define PROFD_REPORT_LOAD_H

/*
 * All that a report is of, as one profile: files of any format and directories of them, or what the
 * store holds of a service; merged, less a base, with names. Samples come in batches while a single
 * file of profile.proto is all there is, and nothing needs them at once; else they are held.
 */
#include <stdbool.h>
#include <stdint.h>

#include "client/report/listener.h"
#include "client/report/options.h"
#include "client/report/outcome.h"
#include "common/cleanup.h"
#include "common/profile/profile.h"

/*
 * Of the store: windows of `service`, which is one (nginx is nginx.service), several
 * (names_is_pattern()), or all. Those that are still open come from profd, as a profile.
 */
struct load_stored {
	const char *store;           /* its directory */
	const char *service;         /* "": all; load_new() has it from the inputs */
	uint64_t since_ns, until_ns; /* Unix time; 0: no bound */
	int open_fd;                 /* load_new() takes it over; -1: none */
	uint64_t open_s;             /* Unix time: windows that begin then or later are in it */
};

struct load_options {
	const struct report_inputs *inputs; /* borrowed by load_new() */
	struct load_stored stored;
	bool hold;                /* all samples at once */
	bool times;               /* what is merged keeps when samples were counted */
	bool want_lines;          /* of what has no names, lines as well */
	bool want_code;           /* programs will be read, also with all names */
	const char *program;      /* of the inputs; load_new() looks for it itself */
	struct listener listener; /* its context lives as long as the load */
};

struct load;

/* Blocks on files and the image worker. REPORT_E_* or negative errno. */
int load_new(struct load **ret, const struct load_options *options,
	     struct profile_message *message);
void load_free(struct load *l);
DEFINE_CLEANUP(struct load *, load_free)

/*
 * The load's, as long as it lives. Its tables may grow with each batch; times and comments are
 * known when the samples have come to their end for the first time.
 */
struct profile *load_profile(struct load *l);
/* Whether all inputs were legacy CPU profiles. */
bool load_is_legacy(const struct load *l);
/* Whether there is a base. */
bool load_is_comparison(const struct load *l);
/* How many files. */
size_t load_n_files(const struct load *l);
/*
 * Whether samples have a value `wall` (wall.h), from the next load_next() on; at first they have
 * none. REPORT_E_OK, REPORT_E_BAD_OPTION if they cannot (@message may be NULL), or negative errno.
 */
int load_set_wall(struct load *l, bool has_wall, struct profile_message *message);
/*
 * The next samples, instead of those before. *ret_any false: there are no more, and the next call
 * begins with the first ones again. As load_new().
 */
int load_next(struct load *l, bool *ret_any, struct profile_message *message);

#endif

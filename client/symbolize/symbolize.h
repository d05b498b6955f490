/* SPDX-License-Identifier: MIT */
#ifndef PROFD_SYMBOLIZE_SYMBOLIZE_H
#define PROFD_SYMBOLIZE_SYMBOLIZE_H

/*
 * Names for the locations of a profile, from the files on this host that its mappings name, which
 * an image worker reads. What has names keeps them, unless it is forced, or lines are asked for and
 * there are none: then the location is looked up anew, in a file that has the mapping's build id.
 * The kernel's and its modules' get functions if it is the one that runs here, and generated code
 * those of its perf map; the vdso and what is in no mapping stay as they are. Samples are not
 * touched.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/symbolize/notes.h"
#include "common/profile/profile.h"

struct symbolize_options {
	bool want_lines;         /* source lines and inlined functions, not functions alone */
	bool is_forced;          /* files' names for what has names, too, also by path alone */
	int root_fd;             /* where paths begin: "/"; borrowed */
	const char *worker_path; /* as in worker.h */
	uint64_t deadline_ns;    /* for one answer of the worker; 0: a minute */
	/*
	 * The debug file of a build id that is not on this host, which @path needs: an fd that is
	 * given away, or -1. May block. NULL: there is no other source.
	 */
	int (*fetch)(void *context, const uint8_t *id, size_t length, const char *path);
	/*
	 * The perf map that has names for code in @mapping of the profile, memory without a file:
	 * an fd that stays the owner's, or -1. NULL: there are none.
	 */
	int (*perf_map)(void *context, uint32_t mapping);
	/*
	 * How far it is, before each file: @done is 0 to 1; @text, the same in words, holds what
	 * strangers wrote: print_safely(). Or NULL.
	 */
	void (*progress)(void *context, double done, const char *text);
	void *context;
};

/* Pure. Whether @path is that of a file; "//anon" is what perf calls memory without one. */
bool symbolize_is_file(const char *path);
/* Pure. Whether a source line of @l, a location of @p, is known. */
bool symbolize_has_line(const struct profile *p, const struct profile_location *l);

struct symbolize_result {
	size_t n_locations, n_named; /* in the profile, in the end */
	size_t n_new;                /* that got their names, or lines, now */
	struct notes notes;          /* what could not be used, and why */
	char trouble[64];            /* why no worker can be run, for SYMBOLIZE_E_NO_WORKER */
};

enum {
	SYMBOLIZE_E_OK,
	SYMBOLIZE_E_NO_WORKER, /* no image worker can be run */
};

/*
 * *ret is written in any case, to be freed with symbolize_result_deinit(). Blocks on the disk and
 * the worker. Returns SYMBOLIZE_E_* or negative errno; then the profile is named in part.
 */
int symbolize_profile(struct profile *p, const struct symbolize_options *options,
		      struct symbolize_result *ret);
void symbolize_result_deinit(struct symbolize_result *result);

#endif

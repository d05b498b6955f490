/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_WRITER_H
#define PROFD_OUTPUT_WRITER_H

/*
 * The output thread's work without the thread: one call writes one snapshot, begins an epoch, or
 * lists. Blocks on the disk. Time is an argument.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/output/collect.h"
#include "daemon/output/conditions.h"
#include "daemon/output/output.h"
#include "daemon/output/store.h"

/* The world around it; tests put their own in its place. Copied, what is pointed to borrowed. */
struct writer_world {
	const char *host;           /* NULL: this machine's name */
	int proc_fd, sys_fd;        /* directory fds of /proc and /sys; -1: the real ones */
	const struct file_ops *ops; /* NULL: the real ones */
	uint64_t boot_ns;           /* CLOCK_BOOTTIME at the time of opening */
	bool read_later;            /* what is in the store: writer_read_store() */
	const char *worker_path;    /* as in symbols.h */
};

struct writer;

/* Opens the store. @now_ns: Unix time. */
int writer_new(struct writer **ret, const struct output_options *options,
	       const struct writer_world *world, uint64_t now_ns);
void writer_free(struct writer *w);
DEFINE_CLEANUP(struct writer *, writer_free)
/*
 * Finds out what is in the store, and collects; a second or so where there are 100,000 files.
 * With read_later it has to be called before anything else. If it fails, which takes a lack
 * of memory, so do writes and listings, which try it again first.
 */
int writer_read_store(struct writer *w, uint64_t now_ns);
/* New limits; collects at once. */
void writer_configure(struct writer *w, const struct output_options *options, uint64_t now_ns);

/* What both clocks tell now (steady.h); before each of the calls below. */
void writer_follow_clock(struct writer *w, uint64_t now_ns, uint64_t boot_ns);

/*
 * Writes all that @snapshot asks for, in one go (see batch.h). Takes @snapshot over: it is freed,
 * or comes back in @result->unwritten. Fills error, paths and counts of @result.
 */
void writer_write(struct writer *w, struct snapshot *snapshot, uint64_t now_ns,
		  struct output_result *result);
/* Begins an image epoch; its name becomes the result's path. */
void writer_epoch(struct writer *w, uint64_t now_ns, struct output_result *result);
/* @service NULL: all services. Unix time; 0 for no bound. */
void writer_list(struct writer *w, const struct listing_options *options,
		 struct output_result *result);

/* @request: OUTPUT_USAGE; without an upper bound, until now. */
void writer_usage(struct writer *w, const struct output_request *request, uint64_t now_ns,
		  struct output_result *result);
/* All files of these sessions (listing.h), as the result's `collected`. */
void writer_list_sessions(struct writer *w, const uint64_t *ids, size_t n_ids,
			  struct output_result *result);

/*
 * A step of what can wait, deleting (retention.h) and rolling up (rollup.h); false: there is
 * nothing to do now. Takes some milliseconds, or what a disk takes to write the end of an hour's
 * file.
 */
bool writer_background(struct writer *w, uint64_t now_ns);

/*
 * Begins to collect what @options tell (collect.h). @open: the windows that are no files yet, or
 * NULL; borrowed. Returns COLLECT_E_OK or _REFUSED with *ret, or negative errno.
 */
int writer_collect(struct writer *w, const struct collect_options *options,
		   const struct snapshot *open, struct collect **ret);
/* Deletes what is older or bigger than the limits of @request, or counts what that would be. */
void writer_vacuum(struct writer *w, const struct output_request *request, uint64_t now_ns,
		   struct output_result *result);

unsigned writer_conditions(const struct writer *w);
/* One line about a condition, for the log. Lives until the next call. */
const char *writer_describe(struct writer *w, unsigned condition);
/* All but what the thread knows. */
void writer_get_state(const struct writer *w, struct output_state *ret);

#endif

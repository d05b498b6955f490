/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_COLLECT_H
#define PROFD_OUTPUT_COLLECT_H

/*
 * One profile of what the store holds of a service, a session, a process or the whole machine in a
 * range of time. Which files those are is decided at the beginning; then each step reads a piece of
 * one, and the last ones end the result. A window is in range if it overlaps it, whether it is
 * still a file of its own or part of an hour's: the answer is the same before and after a roll-up.
 * Or one file alone, of which select.not_before_s and until_ns choose windows by their beginning;
 * the path of a window that has been rolled up since is that window still.
 *
 * Memory: samples that have grown past max_bytes are written away, compressed, and forgotten; equal
 * ones may then stand in the result several times, and add up when it is read. What samples refer
 * to (names, locations) must fit into max_bytes, the result, which is a memfd, into max_result; and
 * one file is in memory at a time.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/profile/merge.h"
#include "daemon/output/store.h"

struct collect_options {
	const char *service; /* unescaped, or a pattern; NULL: all services, or the session */
	uint64_t session;    /* 0: services */
	const char *file;    /* a path, perhaps of no file of the store; NULL: all of the above */
	struct merge_select select;
	size_t max_bytes, max_result;
	bool open_only; /* nothing of the store */
	bool times;     /* samples keep them: sample_times.h */
	bool at_once;   /* in one step; it is no more work than to write a window */
};

enum {
	COLLECT_E_OK,      /* a step was done; call again */
	COLLECT_E_DONE,    /* the result is there */
	COLLECT_E_REFUSED, /* too much, or things that do not add up: see the message */
};

/* All zero but for the fd: nothing was found. */
struct collected {
	int fd; /* a pprof file; -1: none */
	uint64_t bytes;
	uint64_t samples;
	uint64_t n_windows;
	uint64_t n_unreadable; /* files */
	bool in_pieces;        /* equal samples may stand there several times */
	/* Of a window that was taken: see common/control.proto. */
	bool more, over;
	uint64_t dropped, lost;
	struct profile_message message;
};

void collected_free(struct collected *c);
DEFINE_CLEANUP(struct collected *, collected_free)

struct collect;

/* @store is borrowed. */
int collect_new(struct collect **ret, struct store *store, const struct collect_options *options);
void collect_free(struct collect *c);
DEFINE_CLEANUP(struct collect *, collect_free)
/*
 * A profile that is no file yet; not_before_s does not apply to it. COLLECT_E_OK, _REFUSED or
 * negative errno.
 */
int collect_add(struct collect *c, const struct profile *profile);
/* Returns COLLECT_E_* or negative errno. */
int collect_step(struct collect *c);
/* After COLLECT_E_DONE or _REFUSED: the caller's. Otherwise NULL. */
struct collected *collect_take_result(struct collect *c);

#endif

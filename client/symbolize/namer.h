/* SPDX-License-Identifier: MIT */
#ifndef PROFD_SYMBOLIZE_NAMER_H
#define PROFD_SYMBOLIZE_NAMER_H

/*
 * Writes what was found into a profile: lines of functions to its locations, and to its mappings
 * what can be said of them now. Names come from strangers' files: how much text they may bring is
 * bounded, and each text of an answer is looked at once.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/profile/profile.h"
#include "common/worker/answer.h"

struct namer;

/* @p: borrowed. Returns 0 or negative errno. */
int namer_new(struct namer **ret, struct profile *p);
void namer_free(struct namer *n);
DEFINE_CLEANUP(struct namer *, namer_free)

/* Another answer: namer_set() takes its frames from that. */
void namer_begin(struct namer *n, const struct answer_names *answer);
/*
 * Gives @location the frames of @found, if it has any; a location that has names gets others only
 * if they have lines or it @is_forced, and never one that is made of an address. *ret_set: whether
 * it has true names now. Returns 0 or negative errno.
 */
int namer_set(struct namer *n, uint32_t location, const struct worker_location *found,
	      bool is_forced, bool *ret_set);
/* The same for a lone function. */
int namer_set_function(struct namer *n, uint32_t location, const char *name,
		       const char *system_name);
/* Whether there were more texts than may be. */
bool namer_is_full(const struct namer *n);

/*
 * All is named: tells what holds for the mappings of locations that were set
 * (profile_mark_mappings()), and drops what nothing refers to any more.
 */
int namer_finish(struct namer *n);

#endif

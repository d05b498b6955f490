/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_PPROF_READER_H
#define PROFD_COMMON_PROFILE_PPROF_READER_H

/*
 * A profile.proto file in pieces, for files whose samples are too many to be held at once, and for
 * callers that must not be away for long. The file's bytes are handed over twice, from its
 * beginning, in pieces of any size: writers put what samples refer to behind them. The first time
 * that is read, the second time the samples, which may be taken and cleared from the profile
 * between two pieces.
 *
 *	feed() ... feed(), end() until it is done      the profile is there, but for its samples
 *	feed() ... feed(), end()                       and these
 *
 * What it takes is the time for one piece, and the memory for what samples refer to. Gzip'ed or
 * plain; what it refuses is what pprof_read() refuses, and fields longer than 1 MiB. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/profile/pprof.h"

struct pprof_reader;

/* @max_bytes: bound for what samples refer to, unpacked. Returns 0 or negative errno. */
int pprof_reader_new(struct pprof_reader **ret, size_t max_bytes);
void pprof_reader_free(struct pprof_reader *r);
DEFINE_CLEANUP(struct pprof_reader *, pprof_reader_free)

/*
 * Before anything is fed: whether samples get their times, which they do unless this is called. To
 * read these may take as long as all else.
 */
void pprof_reader_set_times(struct pprof_reader *r, bool wanted);
/* PPROF_E_*, then @message says why, or negative errno; the reader is of no use then. */
int pprof_reader_feed(struct pprof_reader *r, const uint8_t *data, size_t length,
		      struct profile_message *message);
/*
 * All has been fed, for the first or for the second time. *ret_done false: there is more to do,
 * call it again. Returns as pprof_reader_feed().
 */
int pprof_reader_end(struct pprof_reader *r, bool *ret_done, struct profile_message *message);
/* How many types of values were met by now: a file of profd begins with them. */
uint32_t pprof_reader_count_types(const struct pprof_reader *r);
/* The reader's; there once the first time has ended. */
struct profile *pprof_reader_profile(struct pprof_reader *r);
/* The same, handed over to the caller once the second time has ended: the reader is done. */
struct profile *pprof_reader_steal(struct pprof_reader *r);

#endif

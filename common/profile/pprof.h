/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_PPROF_H
#define PROFD_COMMON_PROFILE_PPROF_H

/*
 * profile.proto (github.com/google/pprof/proto/profile.proto), gzip'ed or plain. The writer keeps
 * every rule that `go tool pprof` enforces (string 0 is empty, ids nonzero and unique, no dangling
 * reference); the reader refuses what breaks them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

struct profile;

enum {
	PPROF_E_OK,
	PPROF_E_MALFORMED, /* not a profile, or one that breaks a rule; see the message */
	PPROF_E_TOO_BIG,   /* unpacks to more than the limit */
};

/* What a reader has to say of a file that it refuses: one line, no newline. */
struct profile_message {
	char text[200];
};

/*
 * Encodes @p as gzip'ed profile.proto. *ret is malloc'ed, owned by the caller. @level is zlib's,
 * 1 (fast) to 9. Returns 0 or negative errno.
 */
int pprof_write(const struct profile *p, int level, uint8_t **ret, size_t *ret_length);

/*
 * The same bit by bit: samples can be written, taken, and cleared from the profile, before more of
 * them come in. What they refer to must keep its index until the end, and sample types may not
 * change. One pprof_writer_samples() at least, then pprof_writer_step() until it is done. Return 0
 * or negative errno.
 */
struct pprof_writer;

int pprof_writer_new(struct pprof_writer **ret, int level);
void pprof_writer_free(struct pprof_writer *w);
DEFINE_CLEANUP(struct pprof_writer *, pprof_writer_free)
/* Of those that there are by now the ones from @first on, at most @n. */
int pprof_writer_samples(struct pprof_writer *w, const struct profile *p, size_t first, size_t n);
/* Writes the rest, at most @max things at once; *ret_done: that was all. */
int pprof_writer_step(struct pprof_writer *w, const struct profile *p, size_t max, bool *ret_done);
/* The bytes that are ready by now, one after the other the file; malloc'ed, the caller's. */
int pprof_writer_steal(struct pprof_writer *w, uint8_t **ret, size_t *ret_length);

/*
 * Decodes @length bytes, gzip'ed or plain; unpacks to at most @max_bytes. Returns PPROF_E_*, then
 * fills @message, or negative errno.
 */
int pprof_read(const uint8_t *data, size_t length, size_t max_bytes, struct profile **ret,
	       struct profile_message *message);

/* How a reader refuses a file: fills @message (may be NULL) and returns @outcome. */
int profile_refuse(struct profile_message *message, int outcome, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif

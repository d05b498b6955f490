/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_ERROR_H
#define PROFD_COMMON_ERROR_H

/*
 * The project's return values: 0 is done; positive is a named outcome that the direct caller
 * handles; negative is a fatal errno that is passed up untouched. error_origin() marks the place
 * where a fatal one arose, so that the one line logged at the top can name it.
 *
 * a() ?: b() ?: c() takes one step after the other while they return 0, and is what the last one
 * that was taken returned (gcc's manual, "Conditionals with Omitted Operands").
 */
#include <errno.h>

/*
 * Returns @err (negative errno) after remembering where it arose (per thread, the newest origin).
 */
#define error_origin(err) error_origin_at((err), __FILE__, __LINE__)

int error_origin_at(int err, const char *file, int line);

/*
 * What a system call says of something that is others' to make, to remove or to refuse: @error, an
 * errno, as a named outcome; but that there is no memory is fatal.
 */
#define error_outcome(error) ((error) == ENOMEM ? error_origin(-ENOMEM) : (error))

/*
 * Describes the newest fatal error of this thread as "file:line: message"; @err is the value that
 * reached the top. The text lives until the next call in this thread.
 */
const char *error_describe(int err);

#endif

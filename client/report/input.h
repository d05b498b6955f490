/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_INPUT_H
#define PROFD_REPORT_INPUT_H

/*
 * One file's profile, of whatever format. What its samples refer to is there at once; they
 * themselves come in batches where the format and the file allow it (profile.proto in a regular
 * file), so that a million of them are never all in memory, else in one.
 */
#include <stdbool.h>

#include "client/formats/any_read.h"
#include "client/report/listener.h"
#include "client/report/load.h"
#include "common/cleanup.h"
#include "common/profile/profile.h"

#define INPUT_BYTES_MAX \
	((size_t)384 << 20) /* of a file, of what it unpacks to, and of what samples refer to */

struct input;

/*
 * @path "-" is standard input. @reading is told how far it is, as long as the input lives.
 * REPORT_E_* or negative errno, of which only -ENOMEM is ours.
 */
int input_open(struct input **ret, const char *path, struct reading *reading,
	       struct profile_message *message);
/* The same of an open file, at its beginning; @fd is the input's, also if this fails. */
int input_open_fd(struct input **ret, int fd, struct reading *reading,
		  struct profile_message *message);
void input_free(struct input *in);
DEFINE_CLEANUP(struct input *, input_free)

/* The input's, as long as it lives; its samples are those of the batch. */
struct profile *input_profile(struct input *in);
enum any_format input_format(const struct input *in);
/* Whether samples come in batches, not all at once. */
bool input_is_stream(const struct input *in);
/* The next samples instead of those before; *ret_any false: there are no more. As input_open(). */
int input_next(struct input *in, bool *ret_any, struct profile_message *message);
/*
 * All samples at once; the profile is the caller's, and the input has none any more. As
 * input_open().
 */
int input_hold(struct input *in, struct profile **ret, struct profile_message *message);
/* Begins with the first samples again. */
void input_rewind(struct input *in);

#endif

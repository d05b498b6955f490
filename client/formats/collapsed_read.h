/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_FORMATS_COLLAPSED_READ_H
#define PROFD_CLIENT_FORMATS_COLLAPSED_READ_H

/*
 * Collapsed stacks as input, whoever wrote them: lines `root;caller;leaf 42`, the names up to the
 * last blank. Empty lines are passed over, and those that begin with # and end in no count. The
 * samples' only value is samples/count; functions are all that is known of a frame. Pure.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/profile/pprof.h" /* struct profile_message */

enum {
	COLLAPSED_E_OK,
	COLLAPSED_E_MALFORMED, /* see the message; it names the line */
};

/* COLLAPSED_E_* or negative errno. */
int collapsed_read(const uint8_t *data, size_t length, struct profile **ret,
		   struct profile_message *message);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFCTL_TAKE_H
#define PROFCTL_TAKE_H

/* Windows of live sessions, each of which is given out once. */
#include <stdbool.h>
#include <stdint.h>

#include "client/profctl/profctl.h"
#include "common/profile/profile.h"

struct taken {
	struct profile *profile; /* the caller's; NULL: there was no sample */
	uint64_t lost;           /* samples of the session, since it began, that nobody is given */
	bool more;               /* samples wait already, to be taken next */
	char trouble[256];       /* why nothing was taken: a line without its end */
};

enum {
	TAKE_E_OK,
	TAKE_E_LATER, /* profd refuses for now */
	TAKE_E_GONE,  /* profd does not answer */
	TAKE_E_BAD,   /* what it gave is of no use */
};

/* The oldest of @session's. Blocks for an answer. Says nothing. TAKE_E_* or negative errno. */
int take_window(const struct context *context, uint64_t session, struct taken *ret);

#endif

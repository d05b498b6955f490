/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_HELD_H
#define PROFD_PROFCTL_HELD_H

/*
 * A session that ends with us, however we end: profd notices within a second; and windows of a live
 * one, each of which is given out once.
 */
#include "client/profctl/call.h"
#include "common/profile/profile.h"

struct held {
	uint64_t id;
	int fd; /* readable when the session has ended, or profd has gone */
};

#define HELD_NONE ((struct held){.fd = -1})

/* Opens what @start asks for, as a held session. STATUS_DONE, or as call_daemon(). */
int held_start(const struct context *context, Profd__Control__Start *start, struct held *ret);
/* Ends it; *ret: the answer, whose paths are the files it wrote. STATUS_DONE, or as call_daemon().
 */
int held_stop(const struct context *context, struct held *held, Profd__Control__Response **ret);
/* Its fd is readable: whether it has ended by itself, as its process has; else profd has gone. */
bool held_has_ended(const struct held *held);
/* Lets it go, if there is one. */
void held_deinit(struct held *held);

struct taken {
	struct profile *profile; /* the caller's; NULL: there was no sample */
	uint64_t lost;           /* samples of the session, since it began, that nobody is given */
	bool more;               /* samples wait already, to be taken next */
	bool over;               /* it has ended, and there is nothing left to take */
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

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_HELD_H
#define PROFD_PROFCTL_HELD_H

/* A session that ends with us, however we end: profd notices within a second. */
#include "client/profctl/call.h"

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
/* Lets it go, if there is one. */
void held_deinit(struct held *held);

#endif

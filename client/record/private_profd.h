/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RECORD_PRIVATE_PROFD_H
#define PROFD_RECORD_PRIVATE_PROFD_H

/*
 * A profd of our own, for as long as nobody else's answers: with a directory of its own
 * (private_dir.h) for its state, its socket and its log, and without a system session. As root it
 * samples like the system's, otherwise like `profd --user`. Or one that only reads a store, which
 * may be another machine's.
 */
#include "common/cleanup.h"

struct private_profd;

enum {
	PRIVATE_PROFD_E_OK,
	PRIVATE_PROFD_E_REFUSED, /* it does not start: see the message */
};

struct private_profd_message {
	char text[512]; /* one line */
};

/*
 * @store: that store; NULL: it samples. Returns when it answers. No signal's handler may be set,
 * nor may there be threads. PRIVATE_PROFD_E_* or negative errno.
 */
int private_profd_new(struct private_profd **ret, const char *store,
		      struct private_profd_message *message);
/* Ends it, and waits until nothing is left of it. Takes NULL. */
void private_profd_free(struct private_profd *p);
DEFINE_CLEANUP(struct private_profd *, private_profd_free)

/* Its control socket; borrowed. */
const char *private_profd_socket(const struct private_profd *p);
/* Readable when it has ended. */
int private_profd_life(const struct private_profd *p);

#endif

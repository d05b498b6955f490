/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CONTROL_CONNECTION_H
#define PROFD_CONTROL_CONNECTION_H

/*
 * One client: takes a request from its socket, has it dispatched, writes the answer, takes the
 * next. Ends by itself when the client goes, sends garbage, or does not go on in time.
 */
#include <stddef.h>

#include "daemon/control/control.h"

struct connection;

/* One request that is to be answered: control.h has the outer side. */
struct reply {
	struct connection *connection; /* NULL: the client has gone */
};

#define CONNECTIONS_MAX 64

/* What all connections of a listener share; outlives them. */
struct connection_owner {
	sd_event *loop;
	const struct control_verb *verbs; /* up to one without a name */
	void *userdata;                   /* of the verbs */
	bool read_only;                   /* control.h */
	int proc_fd;                      /* /proc */
	struct buckets *buckets;          /* control.h */
	uint64_t stall_ns;
	/* Bytes of clients without privileges, and of those with: */
	size_t queued[2];     /* answers that wait to be read */
	uint64_t attached[2]; /* files behind them */
	struct listener_stats stats;
	struct connection *connections[CONNECTIONS_MAX]; /* one that ends leaves the list */
	unsigned n_connections;
};

/* @fd is taken over on success. Returns 0 or negative errno. */
int connection_new(struct connection **ret, struct connection_owner *owner, int fd,
		   const struct peer *peer);
/* Ends it; the owner's list stays as it is. A pending reply then answers nobody. Takes NULL. */
void connection_free(struct connection *c);
DEFINE_CLEANUP(struct connection *, connection_free)

const struct peer *connection_get_peer(const struct connection *c);

/* An error as a packed answer, header included, or NULL without memory; the caller frees it. */
uint8_t *reply_pack_error(enum control_error error, const char *text, size_t *ret_size);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CONTROL_REQUEST_H
#define PROFD_CONTROL_REQUEST_H

/*
 * The bytes of one request become a struct request whose every field is within its bounds: texts
 * have their form, numbers their range, enumerations a known value. Says nothing of who asks.
 */
#include <stddef.h>

#include "daemon/control/control.h"

enum {
	REQUEST_E_OK,
	REQUEST_E_GARBAGE, /* no message of our protocol: give the client up */
	REQUEST_E_INVALID, /* a message, but of no use: see the message */
};

enum request_verb {
	REQUEST_START,
	REQUEST_STOP_ID,
	REQUEST_STOP_PID,
	REQUEST_STOP_ALL,
	REQUEST_PAUSE,
	REQUEST_RESUME,
	REQUEST_STATUS,
	REQUEST_FLUSH,
	REQUEST_EPOCH,
	REQUEST_CONFIG,
	REQUEST_LIST,
	REQUEST_WANTED,
	REQUEST_COLLECT,
	REQUEST_VACUUM,
	REQUEST_ATTACH,
	REQUEST_HOLD,
};

struct request_message {
	char text[256]; /* one line */
};

struct Profd__Control__Request;

struct request {
	enum request_verb verb;
	struct session_request start;            /* START; pidfd is owned, owner is not set */
	uint64_t id;                             /* STOP_ID, HOLD, FLUSH (0: everything) */
	pid_t pid;                               /* STOP_PID */
	const char *service;                     /* LIST, or NULL */
	uint64_t since_ns, until_ns;             /* LIST */
	struct collect_request collect;          /* COLLECT */
	uint64_t max_age_ns, max_size;           /* VACUUM */
	struct Profd__Control__Request *message; /* owns the texts */
};

/* Pure. Returns REQUEST_E_* or negative errno; the caller frees *@ret. */
int request_decode(const uint8_t *data, size_t size, struct request **ret,
		   struct request_message *message);
/* Closes the pidfd; takes NULL. */
void request_free(struct request *r);
DEFINE_CLEANUP(struct request *, request_free)

#endif

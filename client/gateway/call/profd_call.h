/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_PROFD_CALL_H
#define PROFD_CLIENT_GATEWAY_PROFD_CALL_H

/*
 * A request to profd over its control socket (common/control.proto), whose answer arrives in the
 * loop: nothing here waits for profd. Where a file follows the answer, it is read, too.
 */
#include <stdbool.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "common/cleanup.h"
#include "control.pb-c.h"

enum profd_call_outcome {
	PROFD_CALL_DONE,
	PROFD_CALL_AWAY,    /* no profd answers, or not in time */
	PROFD_CALL_REFUSED, /* it answers with an error; the message is its own */
	PROFD_CALL_FAILED,  /* something else: too large an answer, another version */
};

/* Borrowed while the callback runs. */
struct profd_answer {
	enum profd_call_outcome outcome;
	Profd__Control__ErrorCode code;           /* of PROFD_CALL_REFUSED */
	const char *message;                      /* one line, unless it is DONE */
	const Profd__Control__Response *response; /* of DONE */
	const uint8_t *file;                      /* what follows it, unless it is in memory */
	size_t file_length;
	int memory_fd; /* in sealed memory, the call's; -1: there is none */
};

/* The status of HTTP for one that is not DONE. */
unsigned profd_answer_status(const struct profd_answer *answer);

struct profd_call;

/* In place of a path: connections are the parent process's (parent_connect.h). */
#define PROFD_CALL_BY_PARENT ""

struct profd_call_options {
	sd_event *loop;
	const char *socket; /* its path, or PROFD_CALL_BY_PARENT */
	Profd__Control__Request__VerbCase verb;
	const void *message;                         /* that of the verb; NULL: an empty one */
	Profd__Control__Response__ResultCase result; /* what it is answered with */
	uint64_t timeout_ms;                         /* 0: none */
	size_t max_file;                             /* bytes */
	bool wants_memory; /* the file is for another process: memory_file.h */
	void (*done)(void *userdata, const struct profd_answer *answer);
	void *userdata;
};

/*
 * `done` is called once, from the loop, unless the call is freed before; in it, the call may be
 * freed. Returns 0 or negative errno.
 */
int profd_call_new(struct profd_call **ret, const struct profd_call_options *options);
/* Forgets it. Takes NULL. */
void profd_call_free(struct profd_call *c);
DEFINE_CLEANUP(struct profd_call *, profd_call_free)

#endif

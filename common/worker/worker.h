/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_WORKER_WORKER_H
#define PROFD_COMMON_WORKER_WORKER_H

/*
 * A profd-image-worker of one's own: started when it is first needed, asked one thing at a time,
 * killed when it takes too long, started again when it died, later each time it dies without having
 * answered (from 100 ms up to 30 s). A worker that has used up what it may use of CPU time ends by
 * itself between two requests and is replaced at once.
 *
 * An answer that the worker owes when it dies is its file's fault: the caller marks the image bad
 * and does not ask for it again. It is no file's fault if the worker never came up, or ended before
 * it took the request: somebody stopped and killed it.
 *
 * Not thread-safe: a worker belongs to one thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/worker/protocol.h"

struct memory_budget;
struct worker;

struct worker_options {
	/*
	 * The program; NULL: $PROFD_IMAGE_WORKER (secure_getenv(3)), else profd-image-worker next
	 * to our own executable, else the one in PROFD_LIBEXECDIR.
	 */
	const char *path;
	const char *name;      /* "tables", "symbols": for messages and the process's name */
	uint64_t memory_bytes; /* that it may ever have; 0: as much as it needs for one image */
	/* Borrowed: bounds each request by what is left of it; NULL: memory_bytes is the bound. */
	struct memory_budget *budget;
	unsigned number; /* of the budget's workers */
	/*
	 * What it may hold between two requests, for the next one; a worker that holds more when it
	 * has answered ends by itself, and is replaced. 0: a quarter of memory_bytes.
	 */
	uint64_t keep_bytes;
	uint64_t deadline_ns; /* for an answer; 0: 10 s. Time in which it gets no CPU is extra */
};

/* Starts nothing yet. @options is copied. Returns 0 or negative errno. */
int worker_new(struct worker **ret, const struct worker_options *options);
/* Kills it if it lives. Takes NULL. */
void worker_free(struct worker *w);
DEFINE_CLEANUP(struct worker *, worker_free)

struct worker_request {
	enum worker_kind kind;
	uint32_t flags;
	uint64_t key;
	uint64_t max_words;
	const char *path; /* of the image, borrowed, for names that are made of it; or NULL */
	int files[N_WORKER_FILES]; /* -1: not this one; borrowed for the call alone */
	const void *payload;
	size_t payload_length;
};

/* A request of @kind for the file @image. */
struct worker_request worker_request_of(enum worker_kind kind, int image);

enum {
	WORKER_E_OK,
	WORKER_E_BUSY, /* an answer is owed: take that first */
	WORKER_E_REST, /* it died a moment ago, or cannot be started: not now */
	WORKER_E_NONE, /* no answer yet */
	WORKER_E_DIED, /* it died, was too slow or broke the protocol: no answer will come */
};

/*
 * Never blocks, but for starting the program and, when one has died, some ms for its end. Returns
 * WORKER_E_OK, _BUSY, _REST or negative errno (-E2BIG: larger than WORKER_REQUEST_MAX).
 */
int worker_send(struct worker *w, const struct worker_request *request);

/* @data: owned by the worker until the next call; aligned to 8 bytes; NULL if length is 0. */
struct worker_reply {
	enum worker_outcome outcome;
	const uint8_t *data;
	size_t length;
};

/*
 * Never blocks. Returns WORKER_E_OK, _NONE, _DIED, or _REST: it never took the request, so no
 * answer will come, and it is not the file's fault. WORKER_E_NONE too when nothing is owed.
 */
int worker_receive(struct worker *w, struct worker_reply *ret);
/*
 * Both, waiting for the answer. Where files that only root can write take more than the budget
 * leaves, room is made for them (memory_budget_claim()), and they are asked for again. Returns
 * WORKER_E_OK, _BUSY, _REST, _DIED or negative errno.
 */
int worker_query(struct worker *w, const struct worker_request *request, struct worker_reply *ret);

/*
 * What it answered last is nothing that its caller can use (answer.h): it is killed, and counts as
 * one that died of the file.
 */
void worker_reject_answer(struct worker *w);
/*
 * An epoll fd, always the same one: readable when worker_receive() has something to say, the
 * deadline included.
 */
int worker_fd(const struct worker *w);
/* CLOCK_MONOTONIC of when it may be asked again after WORKER_E_REST; 0: now. */
uint64_t worker_backoff_until(const struct worker *w);

struct worker_stats {
	uint64_t started, died, answered;
	uint64_t used_ns; /* CPU time of all its processes up to now */
	/* Of the last death, for a log line: "killed by signal 11", "too slow"; "" none yet. */
	char why[64];
};

void worker_get_stats(const struct worker *w, struct worker_stats *ret);
/* Its process, or 0: for tests and measurements. */
int worker_pid(const struct worker *w);

#endif

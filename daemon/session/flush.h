/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_SESSION_FLUSH_H
#define PROFD_DAEMON_SESSION_FLUSH_H

/*
 * Between closing a window and its files being durable lies the output thread. A flush stands for
 * somebody who waits for one or several windows: it ends when the last of them is written.
 * Snapshots that the output's short queue has no room for wait here, in order.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/output/output.h"
#include "daemon/session/window.h"

struct session;

struct texts {
	char **all; /* NULL-terminated, once there is one */
	size_t n;
};

void texts_deinit(struct texts *t);
/* @text is taken over, also if that fails; NULL: there was no memory for it. 0 or -ENOMEM. */
int texts_add(struct texts *t, char *text);

struct flush {
	unsigned n_pending;
	struct texts paths; /* of files */
	int error;          /* errno of the first write that failed */
	/* What was asked for, if it was that; owned. */
	struct listing *listing;
	struct collected *collected;
	uint64_t freed_files, freed_bytes;
	void (*done)(void *userdata, struct flush *flush);
	void *userdata;
};

/* Starts with one pending hold, which flush_release() ends. @done is called exactly once. */
int flush_new(struct flush **ret, void (*done)(void *userdata, struct flush *flush),
	      void *userdata);
/* The last release calls done and frees. */
void flush_release(struct flush *flush);

/* The cookie of a request to the output thread. */
struct flush_item {
	struct flush_item *next;   /* in a flusher */
	struct snapshot *snapshot; /* the same */
	struct session *session;   /* NULL: an epoch or a listing */
	struct flush *flush;       /* held, or NULL */
	unsigned attachment;       /* of the session, when the window was closed */
	struct window_closing closing;
};

struct flusher {
	struct output *output;           /* borrowed */
	struct flush_item *first, *last; /* they wait for room in the queue */
};

void flusher_deinit(struct flusher *f);

/* Hands a copy of @submitted, with its snapshot, to the output thread, now or when there is room.
 */
int flusher_submit(struct flusher *f, const struct flush_item *submitted);
/* Tries again what waits. */
void flusher_retry(struct flusher *f);
/* Gives what came of it to the flush that waits for it. The caller still frees @result. */
int flush_item_finish(struct flush_item *item, struct output_result *result);

#endif

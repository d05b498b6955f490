/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_EXPORT_QUEUE_H
#define PROFD_CLIENT_GATEWAY_EXPORT_QUEUE_H

/*
 * Stored windows that wait for a target: the oldest first, one of a service at a time, so that each
 * service's come in order. One that failed rests, and those of its service behind it. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/gateway/export/place.h"
#include "client/gateway/export/rest.h"
#include "common/cleanup.h"

#define QUEUE_WINDOWS_MAX ((size_t)1 << 20)
#define QUEUE_BUSY_MAX    64u /* in work or resting at a time */

struct queued {
	char *path;
	struct place place;            /* of the path */
	uint64_t bytes;                /* of the file; 0: not known */
	bool was_held;                 /* it was refused for its age before */
	struct rest_failures failures; /* the exporter's */
	uint64_t rests_until_ns;       /* CLOCK_MONOTONIC; 0: it does not */
};

struct queue;

/* 0 or -ENOMEM. */
int queue_new(struct queue **ret);
/* Takes NULL. */
void queue_free(struct queue *q);
DEFINE_CLEANUP(struct queue *, queue_free)

/* Adds what is not in it yet; what is no window, or one too many, is not. 0 or -ENOMEM. */
int queue_add(struct queue *q, const char *path, uint64_t bytes, bool was_held);
/*
 * The first that may be sent at @now_ns (CLOCK_MONOTONIC), which is in work from here on; NULL:
 * none. Lasts until it is removed.
 */
struct queued *queue_take(struct queue *q, uint64_t now_ns);
/* It waits again, in its place; not to be sent before @rests_until_ns, 0: at once. */
void queue_return(struct queue *q, struct queued *w, uint64_t rests_until_ns);
/* When the first of those that rest may be sent; 0: none rests. */
uint64_t queue_next(const struct queue *q);
void queue_remove(struct queue *q, struct queued *w);
/* The first that is not in work; NULL: none. */
struct queued *queue_first_waiting(const struct queue *q);
/* Windows in it, in work or not; bytes of their files. */
size_t queue_length(const struct queue *q);
uint64_t queue_bytes(const struct queue *q);
/* When the first one ended, Unix seconds; 0: it is empty. */
uint64_t queue_oldest(const struct queue *q);

#endif

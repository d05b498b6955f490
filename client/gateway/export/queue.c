/* SPDX-License-Identifier: MIT */
/*
 * An array of windows in the order of their ends: what comes is nearly always the last. Those in
 * work, and those that rest, are a few of it: no other one of their services is taken.
 */
#include "client/gateway/export/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/room.h"

struct queue {
	struct queued **all;
	size_t n, max;
	struct queued *busy[QUEUE_BUSY_MAX];
	size_t n_busy;
	uint64_t bytes;
};

int queue_new(struct queue **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : error_origin(-ENOMEM);
}

static void queued_free(struct queued *w)
{
	free(w->path);
	free(w);
}

void queue_free(struct queue *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->n; i++)
		queued_free(q->all[i]);
	free(q->all);
	free(q);
}

static int queue_compare(const struct queued *a, const struct queued *b)
{
	return place_compare(&a->place, &b->place) ?: strcmp(a->path, b->path);
}

/* Where @w is, or is to be: the first that is not before it. */
static size_t queue_search(const struct queue *q, const struct queued *w)
{
	size_t low = 0, high = q->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (queue_compare(q->all[middle], w) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int queue_add(struct queue *q, const char *path, uint64_t bytes, bool was_held)
{
	struct queued *w = calloc(1, sizeof(*w));
	size_t at;
	int r;

	if (!w)
		return error_origin(-ENOMEM);
	*w = (struct queued){.path = strdup(path), .bytes = bytes, .was_held = was_held};
	r = w->path ? room_make(&q->all, &q->max, q->n + 1, sizeof(struct queued *))
		    : error_origin(-ENOMEM);
	if (r || q->n == QUEUE_WINDOWS_MAX || !place_parse(w->path, &w->place)) {
		queued_free(w);
		return r;
	}
	at = queue_search(q, w);
	if (at < q->n && queue_compare(q->all[at], w) == 0) {
		queued_free(w);
		return 0;
	}
	memmove(&q->all[at + 1], &q->all[at], (q->n - at) * sizeof(struct queued *));
	q->all[at] = w;
	q->n++;
	q->bytes += bytes;
	return 0;
}

static bool queue_is_of_service(const struct queued *a, const struct queued *b)
{
	return a->place.service_length == b->place.service_length &&
	       memcmp(a->place.service, b->place.service, a->place.service_length) == 0;
}

static bool queue_is_free(const struct queue *q, const struct queued *w)
{
	for (size_t i = 0; i < q->n_busy; i++)
		if (queue_is_of_service(q->busy[i], w))
			return false;
	return true;
}

static void queue_drop_busy(struct queue *q, size_t i)
{
	q->busy[i]->rests_until_ns = 0;
	q->busy[i] = q->busy[--q->n_busy];
}

static size_t queue_find_busy(const struct queue *q, const struct queued *w)
{
	size_t i = 0;

	while (i < q->n_busy && q->busy[i] != w)
		i++;
	return i;
}

static void queue_wake(struct queue *q, uint64_t now_ns)
{
	for (size_t i = q->n_busy; i-- > 0;)
		if (q->busy[i]->rests_until_ns && q->busy[i]->rests_until_ns <= now_ns)
			queue_drop_busy(q, i);
}

struct queued *queue_take(struct queue *q, uint64_t now_ns)
{
	queue_wake(q, now_ns);
	for (size_t i = 0; i < q->n && q->n_busy < QUEUE_BUSY_MAX; i++)
		if (queue_is_free(q, q->all[i]))
			return q->busy[q->n_busy++] = q->all[i];
	return NULL;
}

void queue_return(struct queue *q, struct queued *w, uint64_t rests_until_ns)
{
	size_t i = queue_find_busy(q, w);

	if (i < q->n_busy && rests_until_ns)
		w->rests_until_ns = rests_until_ns;
	else if (i < q->n_busy)
		queue_drop_busy(q, i);
}

uint64_t queue_next(const struct queue *q)
{
	uint64_t next_ns = 0;

	for (size_t i = 0; i < q->n_busy; i++) {
		uint64_t ns = q->busy[i]->rests_until_ns;

		if (ns && (!next_ns || ns < next_ns))
			next_ns = ns;
	}
	return next_ns;
}

void queue_remove(struct queue *q, struct queued *w)
{
	size_t at = queue_search(q, w);

	queue_return(q, w, 0);
	q->bytes -= w->bytes;
	q->n--;
	memmove(&q->all[at], &q->all[at + 1], (q->n - at) * sizeof(struct queued *));
	queued_free(w);
}

struct queued *queue_first_waiting(const struct queue *q)
{
	for (size_t i = 0; i < q->n; i++) {
		struct queued *w = q->all[i];

		if (w->rests_until_ns || queue_find_busy(q, w) == q->n_busy)
			return w;
	}
	return NULL;
}

size_t queue_length(const struct queue *q)
{
	return q->n;
}

uint64_t queue_bytes(const struct queue *q)
{
	return q->bytes;
}

uint64_t queue_oldest(const struct queue *q)
{
	return q->n ? q->all[0]->place.end_s : 0;
}

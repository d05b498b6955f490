/* SPDX-License-Identifier: MIT */
/*
 * A list of requests by rank, one of them at the worker. Everything moves on in
 * table_loader_receive(): the answer becomes a result, the next request is sent.
 *
 * Each new worker is asked for the vdso's table first (the probe). One that dies of that is no
 * good for any file, so that no file is blamed for it; and one that did it and dies then was
 * killed by a file, so that its successor begins at once (worker.h rests only after workers that
 * never answered): many crafted files in a row hold up the others by some ms each.
 */
#include "daemon/resolve/table_loader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/log.h"
#include "common/worker/answer.h"
#include "common/worker/memory.h"
#include "common/worker/worker.h"
#include "daemon/resolve/vdso.h"

/* Of a worker that keeps nothing: the rest is its heap's gaps. */
#define KEEP_BYTES (UINT64_C(8) << 20)

#define BUDGET_PART 4

#define RANK_BYTES (64u << 10)

struct table_loader_request {
	uint64_t rank;
	struct image *image; /* reference */
	struct table_loader_request *next;
};

struct table_loader {
	size_t max_words;
	struct worker *worker;
	int vdso_fd;                        /* -1: there is none, and no probe */
	struct table_loader_request *queue; /* list: the lowest rank is the first */
	uint64_t n_requests;
	struct table_loader_request
		*working; /* what the worker is at; NULL: nothing, or the probe */
	bool is_probing;
	int proven; /* process of the worker that has answered the probe */
	struct table_loader_stats stats;
};

void table_result_free(struct table_result *result)
{
	if (!result)
		return;
	image_unref(result->image);
	free(result->words);
	free(result);
}

/* --- the queue ---------------------------------------------------------------------------------
 */

/* Where @queued stands to @added: of equal ones, the first is the one that came first. */
static int table_request_compare(const struct table_loader_request *queued,
				 const struct table_loader_request *added)
{
	return queued->rank <= added->rank ? -1 : 1;
}

/* Takes the first one out of the queue, which is not empty. Returns its image, a reference. */
static struct image *table_queue_take(struct table_loader *l)
{
	struct table_loader_request *first = l->queue;
	struct image *image = first->image;

	LL_DELETE(l->queue, first);
	free(first);
	return image;
}

/* --- results -----------------------------------------------------------------------------------
 */

/* @image: a reference that becomes the result's. */
static int result_new(struct table_result **ret, struct image *image, enum table_state state)
{
	struct table_result *result = calloc(1, sizeof(*result));

	if (!result) {
		image_unref(image);
		return error_origin(-ENOMEM);
	}
	result->image = image;
	result->slot.state = state;
	*ret = result;
	return 0;
}

enum table_state table_state_known(const struct image *image)
{
	const struct elf_summary *elf = image_elf(image);

	if (image->kind == IMAGE_VDSO)
		return TABLE_ABSENT;
	if (image->kind != IMAGE_FILE ||
	    (image_has_headers(image) && (!elf || elf->pointer_bytes != 8)))
		return TABLE_NO_CFI;
	return image->fd < 0 || atomic_load(&image->is_bad) ? TABLE_REFUSED : TABLE_ABSENT;
}

/* Known without a worker: *ret_state. */
static bool is_settled(const struct table_loader *l, const struct image *image,
		       enum table_state *ret_state)
{
	*ret_state = table_state_known(image);
	if (image->kind == IMAGE_VDSO && l->vdso_fd < 0)
		*ret_state = TABLE_NO_CFI;
	return *ret_state != TABLE_ABSENT;
}

/* The worker was lost over @image. */
static void mark_image_bad(struct table_loader *l, struct image *image)
{
	struct worker_stats worker;

	worker_get_stats(l->worker, &worker);
	l->stats.last_bad_ns = clock_ns(CLOCK_MONOTONIC);
	text_clean(image->path, strlen(image->path), l->stats.last_bad_image,
		   sizeof(l->stats.last_bad_image) - 1);
	if (!atomic_exchange(&image->is_bad, true))
		l->stats.bad_images++;
	log_warning("image worker for unwind tables: %s while reading %s; the file is skipped from "
		    "now on",
		    worker.why, l->stats.last_bad_image);
}

/* No image's fault. Told once, until one answers again. */
static void table_loader_log_trouble(struct table_loader *l)
{
	struct worker_stats worker;

	worker_get_stats(l->worker, &worker);
	if (strcmp(l->stats.trouble, worker.why) == 0)
		return;
	strcpy(l->stats.trouble, worker.why);
	log_warning("image worker for unwind tables: %s; images wait for the next worker",
		    worker.why);
}

/*
 * @table NULL: it is no ELF file. The vdso's headers would be taken for those of 32-bit processes'
 * vdso, which is the same image.
 */
static int publish_headers(struct image *image, const struct worker_table *table)
{
	if (image->kind != IMAGE_FILE)
		return 0;
	if (!table || !table->elf.pointer_bytes)
		return image_set_headers(image, NULL, NULL, NULL);
	return image_set_headers(image, &table->elf, &table->go, &table->release);
}

static int use_table(struct table_loader *l, const struct worker_reply *reply,
		     struct table_result *result)
{
	const uint64_t *words;
	struct worker_table table;
	uint32_t state;
	int r;

	if (!answer_table(reply->data, reply->length, l->max_words, &table, &words)) {
		worker_reject_answer(l->worker);
		mark_image_bad(l, result->image);
		return 0;
	}
	r = publish_headers(result->image, &table);
	if (r)
		return r;
	state = table.state;
	if (result->image->kind == IMAGE_FILE && state == TABLE_LOADED &&
	    table.elf.pointer_bytes != 8)
		state = TABLE_NO_CFI;
	if (state == TABLE_LOADED && table.n_words) {
		result->words = malloc(table.n_words * sizeof(*words));
		if (!result->words) {
			result->slot.state = TABLE_ABSENT;
			return 0;
		}
		memcpy(result->words, words, table.n_words * sizeof(*words));
		result->n_words = (size_t)table.n_words;
	}
	if (state == TABLE_LOADED)
		result->slot = table.slot;
	result->slot.state = state;
	result->over_4g = table.over_4g;
	result->runtime = table.runtime;
	result->counters = table.counters;
	return 0;
}

/* Fills in the result (REFUSED so far) of what the worker was at. */
static int use_reply(struct table_loader *l, const struct worker_reply *reply,
		     struct table_result *result)
{
	switch (reply->outcome) {
	case WORKER_DONE:
		return use_table(l, reply, result);
	case WORKER_NOT_ELF:
		result->slot.state = TABLE_NO_CFI;
		return publish_headers(result->image, NULL);
	case WORKER_MALFORMED:
	case WORKER_UNREADABLE:
		return publish_headers(result->image, NULL);
	default:
		return 0;
	}
}

/* --- the worker --------------------------------------------------------------------------------
 */

/* What the worker had to say. *ret: untouched if that is no result. */
static int receive_table_reply(struct table_loader *l, struct table_result **ret)
{
	cleanup(table_result_freep) struct table_result *result = NULL;
	struct table_loader_request *request = l->working;
	bool was_probing = l->is_probing;
	struct worker_reply reply;
	int outcome, r;

	outcome = worker_receive(l->worker, &reply);
	if (outcome == WORKER_E_NONE)
		return 0;
	l->working = NULL;
	l->is_probing = false;
	if (outcome == WORKER_E_OK) {
		l->stats.trouble[0] = '\0';
		if (was_probing)
			l->proven = worker_pid(l->worker);
	} else if (outcome == WORKER_E_REST || was_probing) {
		table_loader_log_trouble(l);
		if (request)
			LL_INSERT_INORDER(l->queue, request, table_request_compare);
		return 0;
	}
	if (!request)
		return 0;
	r = result_new(&result, request->image, TABLE_REFUSED);
	free(request);
	if (r)
		return r;
	if (outcome == WORKER_E_OK)
		r = use_reply(l, &reply, result);
	else
		mark_image_bad(l, result->image);
	if (!r)
		*ret = steal_ptr(&result);
	return r;
}

static bool needs_probe(const struct table_loader *l)
{
	int process = worker_pid(l->worker);

	return l->vdso_fd >= 0 && (!process || process != l->proven);
}

/* Returns WORKER_E_OK, _BUSY, _REST (noted) or negative errno. */
static int send_file(struct table_loader *l, int fd)
{
	struct worker_request request = worker_request_of(WORKER_TABLE, fd);
	int r;

	request.max_words = l->max_words;
	r = worker_send(l->worker, &request);
	if (r == WORKER_E_REST)
		table_loader_log_trouble(l);
	return r;
}

/* Borrowing counts as using: the file is not the next one that is closed to make room. */
static int send_image(struct table_loader *l, struct image *image)
{
	cleanup(closep) int fd = -1;

	if (image->kind == IMAGE_VDSO)
		return send_file(l, l->vdso_fd);
	fd = image_borrow_file(image);
	return send_file(l, fd);
}

static int send_probe(struct table_loader *l)
{
	int r = send_file(l, l->vdso_fd);

	l->is_probing = r == WORKER_E_OK;
	return r < 0 ? r : 0;
}

/* Sends what is next, if the worker owes nothing. *ret (NULL at first): a result on the way there.
 */
static int send_next(struct table_loader *l, struct table_result **ret)
{
	enum table_state state;
	int r;

	while (l->queue && !l->working && !l->is_probing) {
		struct image *image = l->queue->image;

		if (is_settled(l, image, &state)) {
			if (*ret)
				return 0;
			r = result_new(ret, table_queue_take(l), state);
			if (r)
				return r;
			continue;
		}
		if (needs_probe(l))
			return send_probe(l);
		r = send_image(l, image);
		if (r)
			return r < 0 ? r : 0;
		l->working = l->queue;
		LL_DELETE(l->queue, l->working);
	}
	return 0;
}

/* --- the loader --------------------------------------------------------------------------------
 */

static uint64_t loader_memory(uint64_t share)
{
	return share > MEMORY_LEFT_MIN ? share : MEMORY_LEFT_MIN;
}

int table_loader_new(struct table_loader **ret, size_t max_words, struct memory_budget *budget)
{
	const struct worker_options options = {
		.name = "tables",
		.keep_bytes = KEEP_BYTES,
		/* A table takes much less: names are to have the rest. */
		.memory_bytes = budget ? loader_memory(budget->bytes / BUDGET_PART) : 0,
		.budget = budget,
		.number = MEMORY_TABLES,
	};
	cleanup(table_loader_freep) struct table_loader *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return error_origin(-ENOMEM);
	l->max_words = max_words;
	l->vdso_fd = vdso_open();
	r = worker_new(&l->worker, &options);
	if (r)
		return r;
	/* The first request is not to wait for the worker's start. */
	if (l->vdso_fd >= 0) {
		r = send_probe(l);
		if (r)
			return r;
	}
	*ret = steal_ptr(&l);
	return 0;
}

void table_loader_free(struct table_loader *l)
{
	if (!l)
		return;
	worker_free(l->worker);
	if (l->working)
		LL_PREPEND(l->queue, l->working);
	while (l->queue)
		image_unref(table_queue_take(l));
	closep(&l->vdso_fd);
	free(l);
}

int table_loader_request(struct table_loader *l, struct image *image)
{
	struct table_loader_request *request = calloc(1, sizeof(*request));

	if (!request)
		return error_origin(-ENOMEM);
	request->rank = l->n_requests++ + image->size / RANK_BYTES;
	request->image = image_ref(image);
	LL_INSERT_INORDER(l->queue, request, table_request_compare);
	return 0;
}

int table_loader_fd(const struct table_loader *l)
{
	return worker_fd(l->worker);
}

int table_loader_receive(struct table_loader *l, struct table_result **ret)
{
	cleanup(table_result_freep) struct table_result *result = NULL;
	int r;

	*ret = NULL;
	r = receive_table_reply(l, &result) ?: send_next(l, &result);
	if (!r)
		*ret = steal_ptr(&result);
	return r;
}

void table_loader_get_stats(const struct table_loader *l, struct table_loader_stats *ret)
{
	struct worker_stats worker;

	worker_get_stats(l->worker, &worker);
	*ret = l->stats;
	ret->workers_died = worker.died;
	ret->worker = worker_pid(l->worker);
	ret->used_ns = worker.used_ns;
}

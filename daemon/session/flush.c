/* SPDX-License-Identifier: MIT */
/*
 * A flush counts what it waits for, and ends when that is nothing any more. Snapshots go to the
 * output thread in order; those it has no room for are a list here, tried again at each result and
 * tick.
 */
#include "daemon/session/flush.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

void texts_deinit(struct texts *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->all[i]);
	free(t->all);
}

int texts_add(struct texts *t, char *text)
{
	char **moved = text ? reallocarray(t->all, t->n + 2, sizeof(*moved)) : NULL;

	if (!moved) {
		free(text);
		return error_origin(-ENOMEM);
	}
	t->all = moved;
	t->all[t->n++] = text;
	t->all[t->n] = NULL;
	return 0;
}

int flush_new(struct flush **ret, void (*done)(void *userdata, struct flush *flush), void *userdata)
{
	struct flush *flush = calloc(1, sizeof(*flush));

	if (!flush)
		return error_origin(-ENOMEM);
	*flush = (struct flush){.n_pending = 1, .done = done, .userdata = userdata};
	*ret = flush;
	return 0;
}

void flush_release(struct flush *flush)
{
	if (!flush || --flush->n_pending > 0)
		return;
	flush->done(flush->userdata, flush);
	texts_deinit(&flush->paths);
	listing_free(flush->listing);
	collected_free(flush->collected);
	free(flush);
}

int flush_item_finish(struct flush_item *item, struct output_result *result)
{
	int r = 0;

	if (item->flush) {
		for (char **path = result->paths; !r && path && *path; path++)
			r = texts_add(&item->flush->paths, strdup(*path));
		if (result->listing)
			item->flush->listing = steal_ptr(&result->listing);
		if (result->collected)
			item->flush->collected = steal_ptr(&result->collected);
		item->flush->freed_files += result->freed_files;
		item->flush->freed_bytes += result->freed_bytes;
		if (result->error && !item->flush->error)
			item->flush->error = result->error;
		flush_release(item->flush);
	}
	free(item);
	return r;
}

void flusher_deinit(struct flusher *f)
{
	struct flush_item *item;

	while ((item = f->first)) {
		f->first = item->next;
		snapshot_free(item->snapshot);
		free(item);
	}
}

void flusher_retry(struct flusher *f)
{
	while (f->first) {
		const struct output_request request = {.task = OUTPUT_WRITE,
						       .cookie = f->first,
						       .snapshot = f->first->snapshot};
		struct flush_item *next = f->first->next;

		if (output_submit(f->output, &request) != OUTPUT_E_OK)
			return;
		f->first = next;
	}
}

int flusher_submit(struct flusher *f, const struct flush_item *submitted)
{
	struct flush_item *item = malloc(sizeof(*item));

	if (!item) {
		snapshot_free(submitted->snapshot);
		return error_origin(-ENOMEM);
	}
	*item = *submitted;
	if (item->flush)
		item->flush->n_pending++;
	if (f->first)
		f->last->next = item;
	else
		f->first = item;
	f->last = item;
	flusher_retry(f);
	return 0;
}

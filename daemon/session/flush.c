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

struct flusher_waiting {
	struct flusher_waiting *next;
	struct snapshot *snapshot;
	struct flush_item *item;
};

void paths_deinit(struct paths *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->all[i]);
	free(p->all);
}

int paths_add(struct paths *p, char *path)
{
	char **moved = path ? reallocarray(p->all, p->n + 2, sizeof(*moved)) : NULL;

	if (!moved) {
		free(path);
		return error_origin(-ENOMEM);
	}
	p->all = moved;
	p->all[p->n++] = path;
	p->all[p->n] = NULL;
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
	paths_deinit(&flush->paths);
	listing_free(flush->listing);
	collected_free(flush->collected);
	free(flush);
}

int flush_item_finish(struct flush_item *item, struct output_result *result)
{
	int r = 0;

	if (item->flush) {
		for (char **path = result->paths; !r && path && *path; path++)
			r = paths_add(&item->flush->paths, strdup(*path));
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

static void flusher_drop_first(struct flusher *f)
{
	struct flusher_waiting *w = f->first;

	f->first = w->next;
	free(w);
}

void flusher_deinit(struct flusher *f)
{
	while (f->first) {
		free(f->first->item);
		snapshot_free(f->first->snapshot);
		flusher_drop_first(f);
	}
}

void flusher_retry(struct flusher *f)
{
	while (f->first) {
		const struct output_request request = {.task = OUTPUT_WRITE,
						       .cookie = f->first->item,
						       .snapshot = f->first->snapshot};

		if (output_submit(f->output, &request) != OUTPUT_E_OK)
			return;
		flusher_drop_first(f);
	}
}

int flusher_submit(struct flusher *f, struct snapshot *snapshot, const struct flush_item *item)
{
	struct flush_item *cookie = malloc(sizeof(*cookie));
	struct flusher_waiting *w = malloc(sizeof(*w));

	if (!cookie || !w) {
		free(cookie);
		free(w);
		snapshot_free(snapshot);
		return error_origin(-ENOMEM);
	}
	*cookie = *item;
	if (cookie->flush)
		cookie->flush->n_pending++;
	*w = (struct flusher_waiting){.snapshot = snapshot, .item = cookie};
	if (f->first)
		f->last->next = w;
	else
		f->first = w;
	f->last = w;
	flusher_retry(f);
	return 0;
}

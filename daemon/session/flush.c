/* SPDX-License-Identifier: MIT */
#include "daemon/session/flush.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

int flush_new(struct flush **ret, void (*done)(void *userdata, struct flush *flush), void *userdata)
{
	struct flush *flush = calloc(1, sizeof(*flush));

	if (!flush)
		return error_origin(-ENOMEM);
	*flush = (struct flush){.n_pending = 1, .done = done, .userdata = userdata};
	*ret = flush;
	return 0;
}

void flush_fail(struct flush *flush, int error)
{
	if (flush && !flush->error)
		flush->error = error;
}

void flush_release(struct flush *flush)
{
	if (!flush || --flush->n_pending > 0)
		return;
	flush->done(flush->userdata, flush);
	texts_deinit(&flush->paths);
	listing_free(flush->listing);
	usage_free(flush->usage);
	collected_free(flush->collected);
	free(flush);
}

int flush_item_submit(const struct flush_item *item, struct output *output,
		      struct output_request *request)
{
	cleanup(freep) struct flush_item *cookie = malloc(sizeof(*cookie));
	int r;

	if (!cookie)
		return error_origin(-ENOMEM);
	*cookie = *item;
	request->cookie = cookie;
	r = output_submit(output, request);
	if (r)
		return r;
	steal_ptr(&cookie);
	if (item->flush)
		item->flush->n_pending++;
	return OUTPUT_E_OK;
}

int flush_item_finish(struct flush_item *item, struct output_result *result)
{
	int r = 0;

	if (item->flush) {
		for (size_t i = 0; i < result->paths.n && !r; i++)
			r = texts_add(&item->flush->paths, strdup(result->paths.all[i]));
		if (result->listing)
			item->flush->listing = steal_ptr(&result->listing);
		if (result->usage)
			item->flush->usage = steal_ptr(&result->usage);
		if (result->collected)
			item->flush->collected = steal_ptr(&result->collected);
		item->flush->used_ns += result->used_ns;
		item->flush->freed_files += result->freed_files;
		item->flush->freed_bytes += result->freed_bytes;
		flush_fail(item->flush, result->error);
		flush_release(item->flush);
	}
	free(item);
	return r;
}

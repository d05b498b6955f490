/* SPDX-License-Identifier: MIT */
/*
 * What has arrived is handed to a viewer as a whole, and its answer becomes the first of the pieces
 * that have arrived meanwhile. The next time is when there is twice as much as was left then, so
 * that a profile that does not get smaller is not merged all the time.
 */
#include "client/gateway/gathered.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/gateway/api/viewer.h"
#include "client/gateway/view/pieces.h"
#include "common/error.h"

#define MERGE_MIN    ((size_t)8 << 20)  /* bytes to merge before the end */
#define GATHERED_MAX ((size_t)64 << 20) /* with what a viewer has in work */

struct gathered {
	struct viewers *viewers;
	struct pieces pieces;
	struct viewer *viewer; /* that merges some of them */
	size_t in_work, limit; /* bytes */
	char fault[VIEW_REASON_MAX + 1];
	bool is_finished;
	struct view_merge merge;
	void (*done)(void *userdata, struct viewer_result *result);
	void *userdata;
};

int gathered_new(struct gathered **ret, struct viewers *viewers)
{
	struct gathered *g = calloc(1, sizeof(*g));

	if (!g)
		return error_origin(-ENOMEM);
	g->viewers = viewers;
	g->pieces = PIECES_NONE;
	g->limit = MERGE_MIN;
	*ret = g;
	return 0;
}

void gathered_free(struct gathered *g)
{
	if (!g)
		return;
	viewer_free(g->viewer);
	pieces_deinit(&g->pieces);
	free(g);
}

/* Has all pieces merged. VIEWER_E_* or negative errno. */
static int gathered_start(struct gathered *g, const struct view_merge *merge,
			  void (*take)(void *userdata, struct viewer_result *result))
{
	const struct view_request message = {.task = VIEW_MERGE, .merge = *merge};
	int r = pieces_seal(&g->pieces);

	if (!r)
		r = viewer_new(&g->viewer, g->viewers,
			       &(struct viewer_request){.message = &message,
							.files = &g->pieces.fd,
							.n_files = 1,
							.done = take,
							.userdata = g});
	if (r)
		return r;
	g->in_work = g->pieces.bytes;
	pieces_deinit(&g->pieces);
	return VIEWER_E_OK;
}

static void gathered_take_last(void *userdata, struct viewer_result *result)
{
	struct gathered *g = userdata;

	g->done(g->userdata, result);
}

static void gathered_end(struct gathered *g)
{
	struct viewer_result result = {.status = 503, .body = g->fault};
	int r = *g->fault ? 0 : gathered_start(g, &g->merge, gathered_take_last);

	if (!r && !*g->fault)
		return;
	if (r)
		snprintf(g->fault, sizeof(g->fault), "%s",
			 r == VIEWER_E_BUSY ? "too many profiles at once" : "out of memory");
	g->done(g->userdata, &result);
}

static void gathered_take_part(void *userdata, struct viewer_result *result)
{
	struct gathered *g = userdata;

	viewer_free(g->viewer);
	g->viewer = NULL;
	g->in_work = 0;
	if (result->status != 200)
		snprintf(g->fault, sizeof(g->fault), "%s",
			 result->body ? result->body : "out of memory");
	else if (pieces_add(&g->pieces, result->body, result->length))
		snprintf(g->fault, sizeof(g->fault), "out of memory");
	if (2 * result->length > g->limit)
		g->limit = 2 * result->length;
	if (g->is_finished)
		gathered_end(g);
}

const char *gathered_add(struct gathered *g, const void *data, size_t length)
{
	static const struct view_merge plain;
	int r;

	if (*g->fault)
		return g->fault;
	if (g->pieces.bytes + g->in_work + length > GATHERED_MAX)
		return "there are too many different stacks";
	if (pieces_add(&g->pieces, data, length))
		return "out of memory";
	if (g->viewer || g->pieces.bytes < g->limit)
		return NULL;
	r = gathered_start(g, &plain, gathered_take_part);
	return r < 0 ? "out of memory" : NULL;
}

void gathered_finish(struct gathered *g, const struct view_merge *merge,
		     void (*done)(void *userdata, struct viewer_result *result), void *userdata)
{
	g->is_finished = true;
	g->merge = *merge;
	g->done = done;
	g->userdata = userdata;
	if (!g->viewer)
		gathered_end(g);
}

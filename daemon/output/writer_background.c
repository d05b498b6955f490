/* SPDX-License-Identifier: MIT */
/* What the output thread does between snapshots. */
#include <errno.h>

#include "common/clock.h"
#include "common/error.h"
#include "daemon/output/pprof.h"
#include "daemon/output/writer_private.h"

#define RETRY_NS (600 * NS_PER_S) /* after an hour that could not be written: for another one */

static bool roll_up(struct writer *w, uint64_t now_ns)
{
	uint64_t now_s = now_ns / NS_PER_S;
	int r;

	w->conditions &= ~(unsigned)WRITER_DAMAGED;
	if (!w->is_read || !w->rollup_after_s || now_s < w->rollup_after_s ||
	    (now_ns < w->rollup_retry_ns && w->rollup_retry_ns <= now_ns + RETRY_NS)) /* no jump */
		return false;
	r = rollup_step(w->rollup, now_s - w->rollup_after_s, now_s);
	if (r < 0) {
		w->rollup_retry_ns = now_ns + RETRY_NS;
		w->rollup_error = r;
		w->conditions |= WRITER_NOT_ROLLED_UP;
		return false;
	}
	w->rollup_retry_ns = 0;
	if (!rollup_is_behind(w->rollup))
		w->conditions &= ~(unsigned)WRITER_NOT_ROLLED_UP;
	if (r == ROLLUP_E_DAMAGED)
		w->conditions |= WRITER_DAMAGED;
	return r != ROLLUP_E_IDLE;
}

bool writer_background(struct writer *w, uint64_t now_ns)
{
	if (!w->more_to_delete)
		return roll_up(w, now_ns);
	writer_apply_retention(w, now_ns, 0);
	return true;
}

/* The open windows, service by service, as they would be written. */
static int collect_open(struct writer *w, struct collect *c, const struct snapshot *open)
{
	const struct context context = {
		.symbols = w->symbols,
		.kernel = w->kernel,
		.host = w->host,
		.release = w->release,
	};
	cleanup(view_freep) struct view *view = NULL;
	int r = view_new(&view, open);

	if (!r)
		r = kernel_images_refresh(w->kernel);
	if (r)
		return r;
	symbols_begin_window(w->symbols);
	for (size_t i = 0; i < view->n_groups && !r; i++) {
		cleanup(profile_freep) struct profile *profile = NULL;

		r = output_pprof(&context, view, &view->groups[i], &profile);
		if (!r)
			r = collect_add(c, profile);
	}
	kernel_images_release(w->kernel);
	return r;
}

int writer_collect(struct writer *w, const struct collect_options *options,
		   const struct snapshot *open, struct collect **ret)
{
	cleanup(collect_freep) struct collect *c = NULL;
	int r;

	/*
	 * They share the memory. Who collects every minute keeps no hour from getting ready, nor
	 * does who takes windows, which are small, every second.
	 */
	if (!options->open_only && rollup_bytes(w->rollup) > options->max_bytes / 4)
		rollup_reset(w->rollup);
	r = collect_new(&c, w->store, options);
	if (!r && open)
		r = collect_open(w, c, open);
	if (r < 0)
		return r;
	*ret = steal_ptr(&c);
	return r;
}

void writer_vacuum(struct writer *w, uint64_t max_age_s, uint64_t max_size, uint64_t now_ns,
		   struct output_result *result)
{
	const struct index *index = &w->store->index;
	uint64_t blocks = index->blocks, n_files = index->n_files;
	struct retention_limits limits = w->limits;
	int r;

	if (max_age_s)
		limits.max_age_s = max_age_s;
	if (max_size)
		limits.max_size = max_size;
	r = retention_run(w->store, &limits, now_ns / NS_PER_S, 0, NULL);
	result->freed_bytes = (blocks - index->blocks) * INDEX_BLOCK;
	result->freed_files = n_files - index->n_files;
	if (r < 0)
		result->error = -r;
}

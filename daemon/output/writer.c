/* SPDX-License-Identifier: MIT */
/*
 * One call, one snapshot: the store is looked after (it may have been removed), the snapshot is
 * laid out (view.h), encoded into one batch (encoders.h) and committed; then old files go. A write
 * that finds no room deletes as much as it needs and tries once more. What went wrong stays as
 * conditions, which are rows of a table, until the next call.
 *
 * Between snapshots the same thread deletes what is left to delete and rolls up hours.
 */
#include "daemon/output/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/error.h"
#include "daemon/output/code_names.h"
#include "daemon/output/encoders.h"
#include "daemon/output/pprof.h"
#include "daemon/output/rollup.h"
#include "daemon/output/rollup_recover.h"
#include "daemon/output/sightings.h"
#include "daemon/output/steady.h"
#include "daemon/output/vacuum.h"
#include "daemon/output/versions.h"

#define TEXT_BYTES_MIN ((size_t)1 << 20) /* of names in a profile, however small the budget */
#define NEED_AT_LEAST  65536u            /* bytes to free after a write found no room */
/* Files by one call, some tens of microseconds each: the next request need not wait for all. */
#define DELETED_AT_ONCE 1000u
#define RETRY_NS        (600 * NS_PER_S) /* after an hour that could not be written: for another one */

struct writer {
	struct store *store;
	struct context context; /* its host is owned, as are symbols and kernel images */
	struct epochs epochs;
	struct output_options options;
	struct steady clock;
	struct origin origin; /* of a store that is only read */
	struct sightings sightings;
	bool more_to_delete;
	bool is_read;     /* the store's index holds what is there */
	uint64_t boot_ns; /* CLOCK_BOOTTIME of the opening */
	struct rollup *rollup;
	uint64_t rollup_retry_ns; /* Unix time: not before */
	int rollup_error;         /* behind WRITER_NOT_ROLLED_UP */
	int proc_fd, sys_fd;
	unsigned conditions;
	int error;       /* behind WRITER_FULL, _FAILED and _INCOMPLETE */
	char text[1200]; /* writer_describe() */
};

static struct retention_limits writer_limits(const struct writer *w)
{
	struct retention_limits limits = w->options.limits;

	limits.clock_is_doubtful = !steady_is_reliable(&w->clock);
	limits.steady_s = steady_seconds(&w->clock);
	return limits;
}

static void writer_set_options(struct writer *w, const struct output_options *options)
{
	w->options = *options;
	w->context.legacy_max_processes = options->legacy_max_processes;
	w->context.text_bytes = options->background_bytes > TEXT_BYTES_MIN
					? options->background_bytes
					: TEXT_BYTES_MIN;
	w->rollup_retry_ns = 0;
}

/* @given, or the real one where that is -1. */
static int writer_open_dir(const char *path, int given)
{
	return given >= 0 ? fcntl(given, F_DUPFD_CLOEXEC, 3)
			  : open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/*
 * Deletes what the limits tell, as far as it is done at once; with @need (bytes, after a write
 * found no room) all of it, and as much as that. What is left is for the time between snapshots.
 */
static void writer_apply_retention(struct writer *w, uint64_t now_ns, uint64_t need)
{
	struct retention_limits limits = writer_limits(w);
	uint64_t n = 0;

	if (w->options.read_only)
		return;
	limits.max_deleted = need ? 0 : DELETED_AT_ONCE;
	if (retention_run(w->store, &limits, now_ns / NS_PER_S, need, &n) < 0) {
		w->conditions |= WRITER_NOT_COLLECTED;
		n = 0;
	}
	w->more_to_delete = limits.max_deleted && n >= limits.max_deleted;
}

int writer_read_store(struct writer *w, uint64_t now_ns)
{
	uint64_t oldest, newest;
	int r;

	if (w->is_read)
		return 0;
	r = store_rescan(w->store)
		    ?: rollup_recover(w->store, w->options.background_bytes)
		    ?: epochs_init(&w->epochs, w->store, w->context.host_dir, w->context.boot_s,
				   now_ns / NS_PER_S);
	if (!r && w->options.read_only)
		r = origin_find(&w->origin, w->store, w->context.text_bytes);
	if (r)
		return r;
	index_span(&w->store->index, &oldest, &newest);
	steady_begin(&w->clock, now_ns, w->boot_ns, newest);
	w->is_read = true;
	writer_apply_retention(w, now_ns, 0);
	return 0;
}

static const struct file_ops *writer_file_ops(const struct output_options *options,
					      const struct writer_world *world)
{
	if (world->ops)
		return world->ops;
	return options->read_only ? &file_ops_read_only : &file_ops_system;
}

int writer_new(struct writer **ret, const struct output_options *options,
	       const struct writer_world *world, uint64_t now_ns)
{
	cleanup(writer_freep) struct writer *w = calloc(1, sizeof(*w));
	struct symbols_options symbols = {
		.max_bytes = options->symbol_cache_bytes,
		.worker_path = world->worker_path,
		.fetched_path = options->fetched_path,
		.opener = options->opener,
		.copier = options->copier,
		.host_root = options->host_root,
		.budget = options->budget,
	};
	int r;

	if (!w)
		return error_origin(-ENOMEM);
	writer_set_options(w, options);
	w->proc_fd = writer_open_dir("/proc", world->proc_fd);
	w->sys_fd = writer_open_dir("/sys", world->sys_fd);
	if (w->proc_fd < 0 || w->sys_fd < 0)
		return error_origin(-errno);
	r = context_read_host(&w->context, world->host, w->proc_fd)
		    ?: kernel_images_new(&w->context.kernel, w->proc_fd, w->sys_fd);
	symbols.kernel = w->context.kernel;
	r = r ?: symbols_new(&w->context.symbols, &symbols)
	      ?: store_new(&w->store, options->store_fd, options->store_path,
			   writer_file_ops(options, world))
	      ?: rollup_new(&w->rollup, w->store, options->background_bytes);
	if (r)
		return r;
	w->boot_ns = world->boot_ns;
	r = world->read_later ? 0 : writer_read_store(w, now_ns);
	if (r)
		return r;
	*ret = steal_ptr(&w);
	return 0;
}

void writer_free(struct writer *w)
{
	if (!w)
		return;
	rollup_free(w->rollup);
	epochs_deinit(&w->epochs);
	sightings_deinit(&w->sightings);
	store_free(w->store);
	symbols_free(w->context.symbols);
	kernel_images_free(w->context.kernel);
	closep(&w->proc_fd);
	closep(&w->sys_fd);
	free(w->context.host);
	free(w);
}

void writer_configure(struct writer *w, const struct output_options *options, uint64_t now_ns)
{
	writer_set_options(w, options);
	symbols_set_max(w->context.symbols, options->symbol_cache_bytes);
	symbols_set_fetched(w->context.symbols, options->fetched_path);
	w->conditions &= ~(unsigned)WRITER_NOT_COLLECTED;
	writer_apply_retention(w, now_ns, 0);
}

void writer_follow_clock(struct writer *w, uint64_t now_ns, uint64_t boot_ns)
{
	steady_follow(&w->clock, now_ns, boot_ns);
}

/* One attempt at all files. *ret_bytes: how much had been written when it failed. */
static struct batch_outcome writer_try_files(struct writer *w, struct writing *g,
					     struct output_result *result, uint64_t *ret_bytes)
{
	cleanup(batch_freep) struct batch *batch = NULL;
	struct batch_outcome outcome = {0};
	int r = batch_new(&batch, w->store);

	*ret_bytes = 0;
	g->batch = batch;
	if (!r)
		r = encoders_add_files(g);
	if (batch)
		*ret_bytes = batch_bytes(batch);
	if (r) {
		outcome.error = r;
		return outcome;
	}
	outcome = batch_commit(batch);
	if (!outcome.is_final)
		return outcome;
	r = batch_paths(batch, &result->paths);
	if (!r && g->has_images)
		r = epochs_add_window(&w->epochs, g->snapshot->event, g->snapshot->period,
				      g->snapshot->ledger);
	if (r && !outcome.error)
		outcome.error = r;
	return outcome;
}

static bool is_disk_full(int error)
{
	return error == -ENOSPC || error == -EDQUOT;
}

/* Before a write: whether there is a state directory to write to. */
static int writer_check_store(struct writer *w)
{
	bool revived;
	int r = store_revive(w->store, &revived);

	if (r)
		w->conditions |= WRITER_GONE;
	if (revived)
		w->conditions |= WRITER_REVIVED;
	return r || !revived ? r : rollup_recover(w->store, w->options.background_bytes);
}

/*
 * The snapshot in the order of writing, and the kernel's images and names for one window. @pprof:
 * whether profiles are made of it.
 */
static int writer_begin_window(struct writer *w, const struct snapshot *snapshot, bool pprof,
			       struct view **ret)
{
	int r = kernel_images_refresh(w->context.kernel);

	if (r)
		return r;
	symbols_begin_window(w->context.symbols);
	r = view_new(ret, snapshot);
	if (!r && pprof)
		r = code_names_new(&(*ret)->places->codes, *ret, &w->context)
			    ?: versions_find(w->context.symbols, snapshot);
	return r;
}

/* Of the system session: what happened in this window, of each group of it. */
static int writer_find_events(struct writer *w, const struct view *view, struct texts *ret)
{
	uint64_t oldest_s, newest_s;
	int r = 0;

	if (view->snapshot->session || !(view->snapshot->formats & FORMAT_PPROF))
		return 0;
	index_span(&w->store->index, &oldest_s, &newest_s);
	ret->all = calloc(view->n_groups + 1, sizeof(*ret->all));
	if (!ret->all)
		return error_origin(-ENOMEM);
	for (ret->n = 0; ret->n < view->n_groups && !r; ret->n++) {
		char **events = &ret->all[ret->n];

		if (!ret->n)
			r = sightings_look_at_machine(&w->sightings, view->snapshot,
						      w->context.boot_s, newest_s, events);
		r = r
			    ?: sightings_look(&w->sightings, w->sys_fd, view, &view->groups[ret->n],
					      events);
	}
	return r;
}

static int writer_write_files(struct writer *w, struct snapshot *snapshot, uint64_t now_ns,
			      struct output_result *result, bool *ret_final)
{
	cleanup(view_freep) struct view *view = NULL;
	cleanup(texts_deinit) struct texts events = {0};
	struct writing g = {.context = &w->context,
			    .store = w->store,
			    .epochs = &w->epochs,
			    .snapshot = snapshot};
	struct batch_outcome outcome;
	uint64_t bytes;
	int r = writer_read_store(w, now_ns)
			?: writer_check_store(w)
			?: writer_begin_window(w, snapshot, snapshot->formats & FORMAT_PPROF,
					       &view)
			?: writer_find_events(w, view, &events);

	if (r)
		return r;
	g.view = view;
	g.events = events.all;
	outcome = writer_try_files(w, &g, result, &bytes);
	if (!outcome.is_final && is_disk_full(outcome.error)) {
		rollup_reset(w->rollup); /* what it has written by now */
		writer_apply_retention(w, now_ns, 2 * bytes + NEED_AT_LEAST);
		outcome = writer_try_files(w, &g, result, &bytes);
	}
	*ret_final = outcome.is_final;
	if (g.has_new_epoch)
		w->conditions |= WRITER_NEW_EPOCH;
	return outcome.error;
}

static void writer_set_conditions(struct writer *w, int error, bool is_final)
{
	w->store->full = error && !is_final && is_disk_full(error);
	if (w->store->full)
		w->conditions |= WRITER_FULL;
	else if (error && !(w->conditions & WRITER_GONE))
		w->conditions |= is_final ? WRITER_INCOMPLETE : WRITER_FAILED;
	if (w->store->acl_refused)
		w->conditions |= WRITER_NO_ACL;
	if (!w->options.no_kernel && !kernel_images_main(w->context.kernel)->is_known)
		w->conditions |= WRITER_NO_KALLSYMS;
	if (symbols_trouble(w->context.symbols)[0])
		w->conditions |= WRITER_NO_WORKER;
}

/* Somebody removed directories. */
static void writer_rescan(struct writer *w)
{
	rollup_reset(w->rollup); /* what it was going to remove must not be found again */
	if (!store_rescan(w->store))
		(void)rollup_recover(w->store, w->options.background_bytes);
}

void writer_write(struct writer *w, struct snapshot *snapshot, uint64_t now_ns,
		  struct output_result *result)
{
	bool is_final = false;
	int r;

	w->conditions &= WRITER_NOT_ROLLED_UP;
	w->store->acl_refused = false;
	w->error = 0;
	r = writer_write_files(w, snapshot, now_ns, result, &is_final);
	kernel_images_release(w->context.kernel);
	if (r) {
		w->error = r;
		result->error = -r;
	}
	if (is_final)
		snapshot_free(snapshot);
	else
		result->unwritten = snapshot;
	if (!r && w->store->is_stale)
		writer_rescan(w);
	if (!r || is_disk_full(r))
		writer_apply_retention(w, now_ns, 0);
	writer_set_conditions(w, r, is_final);
}

void writer_epoch(struct writer *w, uint64_t now_ns, struct output_result *result)
{
	int r = writer_read_store(w, now_ns);

	if (r) {
		result->error = -r;
		return;
	}
	epochs_begin(&w->epochs, now_ns / NS_PER_S);
	result->error = -texts_add(&result->paths, strdup(w->epochs.name));
}

void writer_list(struct writer *w, const struct listing_options *options,
		 struct output_result *result)
{
	int r = w->is_read ? listing_new(&result->listing, w->store, options)
			   : error_origin(-ENOMEM);

	if (r)
		result->error = -r;
}

void writer_usage(struct writer *w, const struct output_request *request, uint64_t now_ns,
		  struct output_result *result)
{
	const struct usage_options options = {
		.since_ns = request->what.select.since_ns,
		.until_ns = request->what.select.until_ns ?: now_ns,
		.steps = request->steps,
		.limit = request->limit,
		.text = request->what.service,
		.open = request->snapshot,
	};
	int r = w->is_read ? usage_new(&result->usage, w->store, &options) : error_origin(-ENOMEM);

	if (r)
		result->error = -r;
}

void writer_list_sessions(struct writer *w, const uint64_t *ids, size_t n_ids,
			  struct output_result *result)
{
	int r = w->is_read ? listing_of_sessions(&result->collected, w->store, ids, n_ids)
			   : error_origin(-ENOMEM);

	result->error = -r;
}

/* --- between snapshots ------------------------------------------------------------------------ */

static bool writer_roll_up(struct writer *w, uint64_t now_ns)
{
	uint64_t now_s = now_ns / NS_PER_S, after_s = w->options.limits.rollup_after_s;
	int r;

	w->conditions &= ~(unsigned)WRITER_DAMAGED;
	if (!w->is_read || !after_s || w->options.read_only || now_s < after_s ||
	    (now_ns < w->rollup_retry_ns && w->rollup_retry_ns <= now_ns + RETRY_NS)) /* no jump */
		return false;
	r = rollup_step(w->rollup, now_s - after_s, now_s);
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
		return writer_roll_up(w, now_ns);
	writer_apply_retention(w, now_ns, 0);
	return true;
}

/* The open windows, service by service, as they would be written. */
static int writer_collect_open(struct writer *w, struct collect *c, const struct snapshot *open)
{
	cleanup(view_freep) struct view *view = NULL;
	int r = writer_begin_window(w, open, true, &view);

	for (size_t i = 0; !r && i < view->n_groups; i++) {
		cleanup(profile_freep) struct profile *profile = NULL;

		r = output_pprof(&w->context, view, &view->groups[i], open->symbolize, &profile)
			    ?: collect_add(c, profile);
	}
	kernel_images_release(w->context.kernel);
	return r;
}

/* Whether it may take about as much memory as it is allowed to. */
static bool writer_collects_much(const struct collect_options *options)
{
	const char *name = options->file ? strrchr(options->file, '/') : NULL;
	struct names_window window;

	if (options->open_only)
		return false;
	return !name || !names_parse_window(name + 1, &window) ||
	       names_is_rolled_up(window.start_s, window.seconds);
}

int writer_collect(struct writer *w, const struct collect_options *options,
		   const struct snapshot *open, struct collect **ret)
{
	cleanup(collect_freep) struct collect *c = NULL;
	int r;

	/*
	 * They share the memory. A client that collects every minute does not keep an hour from
	 * getting ready, nor does one that takes or reads windows, which are small, every second.
	 */
	if (writer_collects_much(options) && rollup_bytes(w->rollup) > options->max_bytes / 4)
		rollup_reset(w->rollup);
	r = collect_new(&c, w->store, options);
	if (!r && open)
		r = writer_collect_open(w, c, open);
	if (r < 0)
		return r;
	*ret = steal_ptr(&c);
	return r;
}

void writer_vacuum(struct writer *w, const struct output_request *request, uint64_t now_ns,
		   struct output_result *result)
{
	struct retention_limits limits = writer_limits(w);
	struct vacuum vacuum = {0};
	int r;

	/* What is asked for is by the wall clock, whatever that did. */
	limits.clock_is_doubtful = false;
	limits.steady_s = 0;
	limits.is_dry_run = request->is_dry_run;
	if (request->max_age_s)
		limits.max_age_s = request->max_age_s;
	if (request->max_size)
		limits.max_size = request->max_size;
	r = store_vacuum(w->store, &limits, now_ns / NS_PER_S, &vacuum);
	result->freed_bytes = vacuum.bytes;
	result->freed_files = vacuum.files;
	if (r < 0)
		result->error = -r;
}

/* --- what there is to say --------------------------------------------------------------------- */

unsigned writer_conditions(const struct writer *w)
{
	return w->conditions;
}

const char *writer_describe(struct writer *w, unsigned condition)
{
	const struct condition_facts facts = {
		.store = w->store->path,
		.rollup = rollup_path(w->rollup),
		/* One at a time: the next call may put its text in the same place. */
		.error = error_describe(condition == WRITER_NOT_ROLLED_UP ? w->rollup_error
									  : w->error),
		.worker = symbols_trouble(w->context.symbols),
		.epoch = w->epochs.name,
	};

	condition_describe(condition, &facts, w->text, sizeof(w->text));
	return w->text;
}

void writer_get_state(const struct writer *w, struct output_state *ret)
{
	const struct index *index = &w->store->index;
	uint64_t oldest, newest;

	index_span(index, &oldest, &newest);
	*ret = (struct output_state){.origin = w->origin,
				     .store = {.bytes = index->blocks * INDEX_BLOCK,
					       .n_files = index->n_files,
					       .oldest_ns = oldest * NS_PER_S,
					       .newest_ns = newest * NS_PER_S,
					       .full = w->store->full,
					       .share_max = retention_share_max(
						       &w->options.limits)}};
	ret->store.n_shares = index_shares(index, ret->store.shares, OUTPUT_SHARES_MAX);
	memcpy(ret->store.epoch, w->epochs.name, sizeof(w->epochs.name));
	symbols_get_stats(w->context.symbols, &ret->symbols);
	symbols_get_wanted(w->context.symbols, &ret->wanted);
}

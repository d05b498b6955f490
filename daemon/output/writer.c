/* SPDX-License-Identifier: MIT */
#include "daemon/output/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "common/clock.h"
#include "common/error.h"
#include "daemon/output/writer_private.h"

#define NEED_AT_LEAST 65536u /* bytes to free after a write found no room */
/* Files by one call, some tens of microseconds each: whoever comes next need not wait for all. */
#define DELETED_AT_ONCE 1000u

static void writer_set_options(struct writer *w, const struct output_options *options)
{
	w->limits = (struct retention_limits){
		.max_size = options->max_size,
		.min_free = options->min_free,
		.max_age_s = options->max_age_s,
		.legacy_keep_s = options->legacy_keep_s,
		.keep_windows = options->keep_windows,
	};
	w->rollup_after_s = options->rollup_after_s;
	w->rollup_retry_ns = 0;
	w->background_bytes = options->background_bytes;
	w->legacy_max_processes = options->legacy_max_processes;
	w->no_kernel = options->no_kernel;
}

/* The first number behind @key in a text file of /proc; 0 if there is none. */
static double read_proc_number(int proc_fd, const char *file, const char *key)
{
	int fd = openat(proc_fd, file, O_RDONLY | O_CLOEXEC);
	FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
	double number = 0;
	char line[256];

	if (!in) {
		closep(&fd);
		return 0;
	}
	while (fgets(line, sizeof(line), in)) {
		if (strncmp(line, key, strlen(key)) != 0)
			continue;
		number = strtod(line + strlen(key) + strspn(line + strlen(key), " \t:"), NULL);
		break;
	}
	fclose(in);
	return number;
}

static int writer_get_dir(const char *path, int given, int *owned, int *ret)
{
	if (given >= 0) {
		*ret = given;
		return 0;
	}
	*owned = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*owned < 0)
		return error_origin(-errno);
	*ret = *owned;
	return 0;
}

/* Who and where we are. */
static int writer_read_host(struct writer *w, const char *host, int proc_fd)
{
	struct utsname names;
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	double mhz = read_proc_number(proc_fd, "cpuinfo", "cpu MHz");

	if (uname(&names) < 0)
		return error_origin(-errno);
	w->host = strdup(host ? host : names.nodename[0] ? names.nodename : "localhost");
	if (!w->host)
		return error_origin(-ENOMEM);
	names_escape(w->host, NAMES_ESCAPED_MAX, w->host_name);
	snprintf(w->release, sizeof(w->release), "%s", names.release);
	w->cpucount = n > 0 ? (uint32_t)n : 0;
	w->cpuspeed_mhz = mhz > 0 && mhz < 1e6 ? (uint32_t)mhz : 0;
	return 0;
}

void writer_apply_retention(struct writer *w, uint64_t now_ns, uint64_t need)
{
	struct retention_limits limits = w->limits;
	uint64_t n = 0;

	limits.clock_is_doubtful = !steady_is_reliable(&w->clock);
	limits.steady_s = steady_seconds(&w->clock);
	limits.max_deleted = need ? 0 : DELETED_AT_ONCE;
	if (retention_run(w->store, &limits, now_ns / NS_PER_S, need, &n) < 0) {
		w->conditions |= WRITER_NOT_COLLECTED;
		n = 0;
	}
	w->more_to_delete = limits.max_deleted && n >= limits.max_deleted;
}

static int writer_open_symbols(struct writer *w, const struct output_options *options,
			       const struct writer_world *world)
{
	const struct symbols_options symbols = {
		.max_bytes = options->symbol_cache_bytes,
		.kernel = w->kernel,
		.worker_path = world->worker_path,
		.deadline_ns = world->worker_deadline_ns,
		.fetched_path = options->fetched_path,
		.opener = options->opener,
	};

	return symbols_new(&w->symbols, &symbols);
}

int writer_read_store(struct writer *w, uint64_t now_ns)
{
	int r;

	if (w->is_read)
		return 0;
	r = store_rescan(w->store);
	if (!r)
		r = rollup_recover(w->store, w->background_bytes);
	if (!r)
		r = epochs_init(&w->epochs, w->store, w->host_name, w->boot_s, now_ns / NS_PER_S);
	if (r)
		return r;
	steady_begin(&w->clock, now_ns, w->boot_ns, index_newest(&w->store->index));
	w->is_read = true;
	writer_apply_retention(w, now_ns, 0);
	return 0;
}

int writer_new(struct writer **ret, const struct output_options *options,
	       const struct writer_world *world, uint64_t now_ns)
{
	cleanup(writer_freep) struct writer *w = calloc(1, sizeof(*w));
	int proc_fd = -1, sys_fd = -1, r;

	if (!w)
		return error_origin(-ENOMEM);
	w->proc_fd = w->sys_fd = -1;
	writer_set_options(w, options);
	r = writer_get_dir("/proc", world->proc_fd, &w->proc_fd, &proc_fd);
	if (!r)
		r = writer_get_dir("/sys", world->sys_fd, &w->sys_fd, &sys_fd);
	if (!r)
		r = writer_read_host(w, world->host, proc_fd);
	if (!r)
		r = kernel_images_new(&w->kernel, proc_fd, sys_fd);
	if (!r)
		r = writer_open_symbols(w, options, world);
	if (!r)
		r = store_new_unread(&w->store, options->store_fd, options->store_path,
				     world->ops ? world->ops : &file_ops_system);
	if (!r)
		r = rollup_new(&w->rollup, w->store, options->background_bytes);
	if (r)
		return r;
	w->boot_s = (uint64_t)read_proc_number(proc_fd, "stat", "btime");
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
	store_free(w->store);
	symbols_free(w->symbols);
	kernel_images_free(w->kernel);
	closep(&w->proc_fd);
	closep(&w->sys_fd);
	free(w->host);
	free(w);
}

void writer_configure(struct writer *w, const struct output_options *options, uint64_t now_ns)
{
	writer_set_options(w, options);
	symbols_set_max(w->symbols, options->symbol_cache_bytes);
	symbols_set_fetched(w->symbols, options->fetched_path);
	w->conditions &= ~(unsigned)WRITER_NOT_COLLECTED;
	writer_apply_retention(w, now_ns, 0);
}

void writer_follow_clock(struct writer *w, uint64_t now_ns, uint64_t boot_ns)
{
	steady_follow(&w->clock, now_ns, boot_ns);
}

/* One attempt at all files. *ret_bytes: how much had been written when it failed. */
static struct batch_outcome writer_try_files(struct writing *g, struct output_result *result,
					     uint64_t *ret_bytes)
{
	cleanup(batch_freep) struct batch *batch = NULL;
	struct batch_outcome outcome = {0};
	int r = batch_new(&batch, g->w->store);

	*ret_bytes = 0;
	g->batch = batch;
	g->has_images = false;
	if (!r)
		r = writing_add_files(g);
	if (batch)
		*ret_bytes = batch_bytes(batch);
	if (r) {
		outcome.error = r;
		return outcome;
	}
	outcome = batch_commit(batch);
	if (!outcome.is_final)
		return outcome;
	r = batch_paths(batch, &result->paths, &result->n_files);
	if (!r && g->has_images)
		r = epochs_add_window(&g->w->epochs, g->snapshot->event, g->snapshot->period,
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
	return r || !revived ? r : rollup_recover(w->store, w->background_bytes);
}

static int writer_write_files(struct writer *w, struct snapshot *snapshot, uint64_t now_ns,
			      struct output_result *result, bool *ret_final)
{
	cleanup(view_freep) struct view *view = NULL;
	struct writing g = {.w = w, .snapshot = snapshot};
	struct batch_outcome outcome;
	uint64_t bytes;
	int r = writer_read_store(w, now_ns);

	if (!r)
		r = writer_check_store(w);
	if (!r)
		r = view_new(&view, snapshot);
	if (!r)
		r = kernel_images_refresh(w->kernel);
	if (r)
		return r;
	symbols_begin_window(w->symbols);
	g.view = view;
	g.context = (struct context){
		.symbols = w->symbols,
		.kernel = w->kernel,
		.host = w->host,
		.release = w->release,
	};
	outcome = writer_try_files(&g, result, &bytes);
	if (!outcome.is_final && is_disk_full(outcome.error)) {
		rollup_reset(w->rollup); /* what it has written by now */
		writer_apply_retention(w, now_ns, 2 * bytes + NEED_AT_LEAST);
		outcome = writer_try_files(&g, result, &bytes);
	}
	*ret_final = outcome.is_final;
	result->no_user_samples = g.no_user;
	result->legacy_dropped = g.legacy_dropped;
	return outcome.error;
}

static void writer_set_conditions(struct writer *w, int error, bool is_final)
{
	struct symbols_stats symbols;

	w->store->full = error && !is_final && is_disk_full(error);
	if (w->store->full)
		w->conditions |= WRITER_FULL;
	else if (error && !(w->conditions & WRITER_GONE))
		w->conditions |= is_final ? WRITER_INCOMPLETE : WRITER_FAILED;
	if (w->store->acl_refused)
		w->conditions |= WRITER_NO_ACL;
	if (!w->no_kernel && !kernel_images_main(w->kernel)->is_known)
		w->conditions |= WRITER_NO_KALLSYMS;
	symbols_get_stats(w->symbols, &symbols);
	if (symbols.trouble[0])
		w->conditions |= WRITER_NO_WORKER;
}

/* Somebody removed folders. */
static void writer_rescan(struct writer *w)
{
	rollup_reset(w->rollup); /* what it was going to remove must not be found again */
	if (!store_rescan(w->store))
		(void)rollup_recover(w->store, w->background_bytes);
}

void writer_write(struct writer *w, struct snapshot *snapshot, uint64_t now_ns,
		  struct output_result *result)
{
	bool is_final = false;
	int r;

	w->conditions &= WRITER_NOT_ROLLED_UP;
	w->store->acl_refused = false;
	w->error = 0;
	result->request = snapshot->request;
	r = writer_write_files(w, snapshot, now_ns, result, &is_final);
	kernel_images_release(w->kernel);
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
	result->paths = calloc(2, sizeof(*result->paths));
	if (result->paths)
		result->paths[0] = strdup(w->epochs.name);
	if (!result->paths || !result->paths[0])
		result->error = ENOMEM;
}

void writer_list(struct writer *w, const char *service, uint64_t since_ns, uint64_t until_ns,
		 struct output_result *result)
{
	int r = w->is_read ? listing_new(&result->listing, w->store, service, since_ns, until_ns)
			   : error_origin(-ENOMEM);

	if (r)
		result->error = -r;
}

unsigned writer_conditions(const struct writer *w)
{
	return w->conditions;
}

const char *writer_describe(struct writer *w, unsigned condition)
{
	const char *path = w->store->path;
	struct symbols_stats symbols;
	char *text = w->text;
	size_t size = sizeof(w->text);

	switch (condition) {
	case WRITER_FULL:
		snprintf(text, size, "%s: %s; the window stays open: make room or lower max_size",
			 path, error_describe(w->error));
		break;
	case WRITER_FAILED:
		snprintf(text, size, "%s: cannot write profiles, the window stays open: %s", path,
			 error_describe(w->error));
		break;
	case WRITER_GONE:
		snprintf(text, size,
			 "%s was removed and cannot be made again: %s; the window stays open until "
			 "it is there",
			 path, error_describe(w->error));
		break;
	case WRITER_REVIVED:
		snprintf(text, size, "%s was removed; profiles are written to a new one", path);
		break;
	case WRITER_INCOMPLETE:
		snprintf(text, size, "%s: some image profiles lack a window: %s", path,
			 error_describe(w->error));
		break;
	case WRITER_NEW_EPOCH:
		snprintf(text, size,
			 "%s: an image profile could not be added to (damaged, or a "
			 "count at its limit): began image epoch %s",
			 path, w->epochs.name);
		break;
	case WRITER_NO_ACL:
		snprintf(text, size,
			 "%s: no ACLs on this file system: only root and profd can "
			 "read the files of sessions",
			 path);
		break;
	case WRITER_NOT_COLLECTED:
		snprintf(text, size, "%s: cannot delete old profiles: check its permissions", path);
		break;
	case WRITER_NO_KALLSYMS:
		snprintf(text, size,
			 "kernel addresses have no names: /proc/kallsyms shows none; "
			 "give profd CAP_SYSLOG or lower kernel.kptr_restrict");
		break;
	case WRITER_NO_WORKER:
		symbols_get_stats(w->symbols, &symbols);
		snprintf(text, size,
			 "new addresses have no names: the image worker for symbols does not run: "
			 "%s; check that profd-image-worker is installed",
			 symbols.trouble);
		break;
	case WRITER_DAMAGED:
		snprintf(text, size, "%s/%s: cannot be read, is kept and not rolled up", path,
			 rollup_path(w->rollup));
		break;
	case WRITER_NOT_ROLLED_UP:
		snprintf(text, size, "%s/%s: windows cannot be rolled up, tried again later: %s",
			 path, rollup_path(w->rollup), error_describe(w->rollup_error));
		break;
	default:
		text[0] = '\0';
	}
	return text;
}

void writer_get_status(const struct writer *w, struct output_store_status *ret)
{
	*ret = (struct output_store_status){
		.bytes = w->store->index.blocks * INDEX_BLOCK,
		.n_files = w->store->index.n_files,
		.oldest_ns = index_oldest(&w->store->index) * NS_PER_S,
		.full = w->store->full,
	};
	memcpy(ret->epoch, w->epochs.name, sizeof(w->epochs.name));
}

void writer_get_symbols_stats(const struct writer *w, struct symbols_stats *ret)
{
	symbols_get_stats(w->symbols, ret);
}

void writer_get_wanted(const struct writer *w, struct symbols_wanted *ret)
{
	symbols_get_wanted(w->symbols, ret);
}

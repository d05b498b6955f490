/* SPDX-License-Identifier: MIT */
/* From one snapshot to the files of a batch: which there are, and where they go. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/profile/ledger_line.h"
#include "common/profile/pprof.h"
#include "common/store/names.h"
#include "daemon/output/cpuprofile.h"
#include "daemon/output/image_profile.h"
#include "daemon/output/pprof.h"
#include "daemon/output/writer_private.h"

#define GZIP_LEVEL     6
#define IMAGE_FILE_MAX ((size_t)1 << 30)
#define EPOCHS_TRIED   3

static uint64_t snapshot_start_s(const struct snapshot *s)
{
	return s->start_ns / NS_PER_S;
}

/* The folder of a group's windows. */
static void writing_window_dir(const struct writing *g, const struct view_group *group, char *ret,
			       size_t size)
{
	char name[NAMES_ESCAPED_MAX + 1], day[NAMES_DAY_SIZE];

	if (g->snapshot->session) {
		names_escape(g->snapshot->session_name ? g->snapshot->session_name : "session",
			     NAMES_ESCAPED_MAX, name);
		snprintf(ret, size, "sessions/%s", name);
		return;
	}
	names_escape(group->service, NAMES_ESCAPED_MAX, name);
	names_day(snapshot_start_s(g->snapshot), day);
	snprintf(ret, size, "services/%s/%s", name, day);
}

static int writing_add_window(struct writing *g, const char *folder, const char *tail,
			      uint64_t samples, const uint8_t *data, size_t length)
{
	const struct names_window window = {
		.start_s = snapshot_start_s(g->snapshot),
		.seconds = names_seconds(g->snapshot->duration_ns),
		.tail = tail,
	};
	char name[NAMES_ESCAPED_MAX];
	const struct batch_file file = {
		.folder = folder,
		.name = name,
		.samples = samples,
		.owner = g->snapshot->session ? g->snapshot->owner : STORE_NOBODY,
	};

	if (!names_window(&window, name, sizeof(name)))
		return error_origin(-ENAMETOOLONG);
	return batch_add(g->batch, &file, data, length);
}

static int writing_add_pprof(struct writing *g, const struct view_group *group, const char *folder)
{
	cleanup(profile_freep) struct profile *profile = NULL;
	cleanup(freep) uint8_t *data = NULL;
	size_t length;
	int r = output_pprof(&g->context, g->view, group, &profile);

	if (!r)
		r = pprof_write(profile, GZIP_LEVEL, &data, &length);
	if (r)
		return r;
	return writing_add_window(g, folder, "pb.gz", (uint64_t)profile_total(profile, 0), data,
				  length);
}

static int writing_add_legacy_part(struct writing *g, const struct legacy_part *part,
				   const char *folder)
{
	const struct snapshot_process *p = g->view->entries[part->first].process;
	char comm[64], tail[128];
	cleanup(freep) uint8_t *data = NULL;
	size_t length;
	int r = output_cpuprofile(&g->context, g->view, part, &data, &length);

	if (r)
		return r;
	names_escape(p->comm, sizeof(comm) - 1, comm);
	snprintf(tail, sizeof(tail), "%s-%d.prof", comm, (int)p->pid);
	return writing_add_window(g, folder, tail, part->samples, data, length);
}

static int writing_add_legacy(struct writing *g, const struct view_group *group, const char *folder)
{
	struct legacy_plan plan;
	int r = legacy_plan(g->view, group, g->w->legacy_max_processes, &plan);

	if (r)
		return r;
	g->no_user += plan.no_user;
	g->legacy_dropped += plan.dropped;
	for (size_t i = 0; i < plan.n_parts && !r; i++)
		r = writing_add_legacy_part(g, &plan.parts[i], folder);
	legacy_plan_deinit(&plan);
	return r;
}

/* The older version of an image's file, *ret NULL if there is none. IMAGE_PROFILE_E_* or errno. */
static int read_old_image_profile(int folder, const char *name, struct image_profile **ret)
{
	cleanup(freep) uint8_t *data = NULL;
	struct profile_message message;
	size_t length;
	int r;

	if (folder < 0)
		return 0;
	r = store_read(folder, name, IMAGE_FILE_MAX, &data, &length);
	if (r == -ENOENT)
		return 0;
	if (r == -EFBIG || r == -EINVAL || r == -ELOOP)
		return IMAGE_PROFILE_E_MALFORMED;
	if (r)
		return r;
	return image_profile_read(data, length, ret, &message);
}

static int writing_add_image(struct writing *g, const struct image_part *part, const char *path,
			     int folder, const char *ledger)
{
	const struct image_header header = {
		.epoch = g->w->epochs.name,
		.platform = g->w->host,
		.event = g->snapshot->event,
		.period = g->snapshot->period,
		.ledger = ledger,
		.cpuspeed_mhz = g->w->cpuspeed_mhz,
		.cpucount = g->w->cpucount,
	};
	const struct batch_file file = {
		.folder = path, .name = part->name, .owner = STORE_NOBODY, .replace = true};
	cleanup(image_profile_freep) struct image_profile *old = NULL;
	cleanup(freep) uint8_t *data = NULL;
	size_t length;
	int r = read_old_image_profile(folder, part->name, &old);

	if (!r)
		r = image_part_encode(part, &header, old, &data, &length);
	return r ? r : batch_add(g->batch, &file, data, length);
}

/* All images into the epoch in use. Positive: they do not go into it. */
static int writing_add_to_epoch(struct writing *g, const struct image_part *parts, size_t n)
{
	const struct epochs *epochs = &g->w->epochs;
	cleanup(freep) char *ledger = NULL;
	cleanup(closep) int folder = -1;
	char path[STORE_PATH_SIZE];
	int r = ledger_line_add(&ledger, epochs->ledger);

	if (!r)
		r = ledger_line_add(&ledger, g->snapshot->ledger);
	snprintf(path, sizeof(path), "images/%s/%s", epochs->name, g->w->host_name);
	if (store_enter(g->w->store, path, &folder) < 0)
		folder = -1; /* the epoch's first files */
	for (size_t i = 0; i < n && !r; i++)
		r = writing_add_image(g, &parts[i], path, folder, ledger);
	return r;
}

/*
 * All of a window's images go into one epoch. When one of them cannot be merged, those already in
 * the batch are taken back, and all go into the next epoch.
 */
static int writing_add_images(struct writing *g)
{
	cleanup(image_parts_freep) struct image_parts *parts = NULL;
	const struct snapshot *s = g->snapshot;
	size_t n, mark = batch_mark(g->batch);
	const struct image_part *all;
	int r = image_parts_new(&parts, &g->context, g->view);

	if (r) /* more than 2^32 samples in one window are no epoch's business */
		return r < 0 ? r : error_origin(-EOVERFLOW);
	all = image_parts_get(parts, &n);
	epochs_select(&g->w->epochs, snapshot_start_s(s), s->event, s->period);
	for (unsigned tries = 0; tries < EPOCHS_TRIED; tries++) {
		r = writing_add_to_epoch(g, all, n);
		if (r <= 0) {
			g->has_images = !r;
			return r;
		}
		batch_rewind(g->batch, mark);
		epochs_abandon(&g->w->epochs, snapshot_start_s(s));
		g->w->conditions |= WRITER_NEW_EPOCH;
	}
	return error_origin(-EIO);
}

int writing_add_files(struct writing *g)
{
	unsigned formats = g->snapshot->formats;
	int r = 0;

	g->no_user = g->legacy_dropped = 0;
	for (size_t i = 0; i < g->view->n_groups && !r; i++) {
		const struct view_group *group = &g->view->groups[i];
		char folder[STORE_PATH_SIZE];

		writing_window_dir(g, group, folder, sizeof(folder));
		if (formats & FORMAT_PPROF)
			r = writing_add_pprof(g, group, folder);
		if (!r && (formats & FORMAT_LEGACY))
			r = writing_add_legacy(g, group, folder);
	}
	if (!r && (formats & FORMAT_IMAGES) && g->snapshot->session == 0)
		r = writing_add_images(g);
	return r;
}

/* SPDX-License-Identifier: MIT */
/*
 * Windows are written service by service, image profiles once for the whole snapshot: into one file
 * an image, to which each window of an epoch is added.
 */
#include "daemon/output/encoders.h"

#include <errno.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/profile/pprof.h"
#include "common/profile/windows.h"
#include "daemon/output/cpuprofile.h"
#include "daemon/output/image_profile.h"
#include "daemon/output/peak.h"
#include "daemon/output/pprof.h"
#include "daemon/output/stored.h"

#define GZIP_LEVEL     6
#define IMAGE_FILE_MAX ((size_t)1 << 30)
#define EPOCHS_TRIED   3
#define TABLES_MAX     ((size_t)32 << 20) /* what samples refer to in a file that is counted */

static uint64_t snapshot_start_s(const struct snapshot *s)
{
	return s->start_ns / NS_PER_S;
}

/* The directory of a group's windows. */
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

int encoders_add_window(struct writing *g, const char *dir, enum contents_format format,
			const char *stem, struct index_counts counts, const uint8_t *data,
			size_t length)
{
	char name[NAMES_ESCAPED_MAX], tail[128];
	const struct names_window window = {
		.start_s = snapshot_start_s(g->snapshot),
		.seconds = (uint32_t)profile_window_seconds(g->snapshot->start_ns,
							    g->snapshot->duration_ns),
		.tail = tail,
	};
	const struct batch_file file = {
		.dir = dir,
		.name = name,
		.counts = counts,
		.events = counts.has_events ? g->events[g->group - g->view->groups] : NULL,
		.owner = g->snapshot->session ? g->snapshot->owner : STORE_NOBODY,
		.has_share = g->snapshot->has_share,
	};

	snprintf(tail, sizeof(tail), "%s%s%s", stem ? stem : "", stem ? "." : "",
		 contents_formats[format].suffix);
	if (!names_window(&window, name, sizeof(name)))
		return error_origin(-ENAMETOOLONG);
	return batch_add(g->batch, &file, data, length);
}

/* With the times as they were counted: they may be coarser in the file. */
static int writing_count(const struct writing *g, const struct view_group *group,
			 const struct profile *profile, struct index_counts *ret)
{
	*ret = stored_count_profile(profile);
	ret->has_events = g->events && g->events[group - g->view->groups];
	return peak_find(&ret->peak, profile, snapshot_start_s(g->snapshot),
			 (uint32_t)profile_window_seconds(g->snapshot->start_ns,
							  g->snapshot->duration_ns));
}

static int writing_add_pprof(struct writing *g, const struct view_group *group, const char *dir)
{
	cleanup(profile_freep) struct profile *profile = NULL;
	cleanup(freep) uint8_t *data = NULL;
	struct index_counts counts;
	size_t length;

	return output_pprof(g->context, g->view, group, g->snapshot->symbolize, &profile)
		?: writing_count(g, group, profile, &counts)
		?: times_budget_apply(&g->times, profile)
		?: pprof_write(profile, GZIP_LEVEL, &data, &length)
		?: encoders_add_window(g, dir, CONTENTS_PPROF, NULL, counts, data, length);
}

/* The older version of an image's file, *ret NULL if there is none. IMAGE_PROFILE_E_* or errno. */
static int read_old_image_profile(const struct store *store, const char *dir, const char *name,
				  struct image_profile **ret)
{
	cleanup(freep) uint8_t *data = NULL;
	struct profile_message message;
	char path[STORE_PATH_SIZE + NAME_MAX + 1];
	size_t length;
	int r;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	r = store_read(store->fd, path, IMAGE_FILE_MAX, &data, &length);
	if (r == ENOENT)
		return 0;
	/* What cannot be read now cannot be in the next window, and keeps nothing else waiting. */
	if (r)
		return r < 0 ? r : IMAGE_PROFILE_E_MALFORMED;
	return image_profile_read(data, length, ret, &message);
}

static int writing_add_image(struct writing *g, const struct image_part *part, const char *dir,
			     const char *ledger)
{
	const struct batch_file file = {
		.dir = dir, .name = part->name, .owner = STORE_NOBODY, .replace = true};
	cleanup(image_profile_freep) struct image_profile *old = NULL;
	cleanup(freep) uint8_t *data = NULL;
	size_t length;
	int r = read_old_image_profile(g->store, dir, part->name, &old)
			?: image_part_encode(part, g->epochs->name, ledger, old, &data, &length);

	return r ? r : batch_add(g->batch, &file, data, length);
}

/* All images into the epoch in use. Positive: they do not go into it. */
static int writing_add_to_epoch(struct writing *g, const struct image_parts *parts)
{
	const struct epochs *epochs = g->epochs;
	cleanup(freep) char *ledger = NULL;
	char dir[STORE_PATH_SIZE];
	int r = ledger_line_add(&ledger, epochs->ledger)
			?: ledger_line_add(&ledger, g->snapshot->ledger);

	snprintf(dir, sizeof(dir), "images/%s/%s", epochs->name, g->context->host_dir);
	for (const struct image_part *p = parts->files; p && !r; p = p->hh.next)
		r = writing_add_image(g, p, dir, ledger);
	return r;
}

/*
 * All of a window's images go into one epoch. When one of them cannot be merged, those already in
 * the batch are taken back, and all go into the next epoch.
 */
static int writing_add_images(struct writing *g, const struct view_group *group, const char *dir)
{
	cleanup(image_parts_freep) struct image_parts *parts = NULL;
	const struct snapshot *s = g->snapshot;
	size_t mark = batch_mark(g->batch);
	int r = image_parts_new(&parts, g->context, g->view);

	(void)group, (void)dir;
	if (r) /* more than 2^32 samples in one window are no epoch's business */
		return r < 0 ? r : error_origin(-EOVERFLOW);
	if (!parts->files) /* all of it are waits */
		return 0;
	epochs_select(g->epochs, snapshot_start_s(s), s->event, s->period);
	for (unsigned tries = 0; tries < EPOCHS_TRIED; tries++) {
		r = writing_add_to_epoch(g, parts);
		if (r <= 0) {
			g->has_images = !r;
			return r;
		}
		batch_rewind(g->batch, mark);
		epochs_abandon(g->epochs, snapshot_start_s(s));
		g->has_new_epoch = true;
	}
	return error_origin(-EIO);
}

/* --- reading them ----------------------------------------------------------------------------- */

static int count_pprof(struct store *store, const char *path, struct index_counts *ret)
{
	cleanup(stored_freep) struct stored *stored = NULL;
	int r = stored_open(&stored, store, path, TABLES_MAX);

	return r ? r : stored_count_samples(stored, ret);
}

/* --- which there are -------------------------------------------------------------------------- */

static const struct encoder {
	/* For each service; is_whole: once for a snapshot of the system session, @group is NULL. */
	int (*add)(struct writing *g, const struct view_group *group, const char *dir);
	bool is_whole;
	/* *ret is untouched on an error. Formats with windows. */
	int (*count)(struct store *store, const char *path, struct index_counts *ret);
} encoders[N_CONTENTS_FORMATS] = {
	[CONTENTS_PPROF] = {.add = writing_add_pprof, .count = count_pprof},
	[CONTENTS_LEGACY] = {.add = legacy_add, .count = legacy_count},
	[CONTENTS_IMAGES] = {.add = writing_add_images, .is_whole = true},
};

int encoders_count(struct store *store, const char *path, enum contents_format format,
		   struct index_counts *ret)
{
	int r;

	*ret = (struct index_counts){0};
	r = encoders[format].count(store, path, ret);
	return r < 0 ? r : 0;
}

static int encoders_add(struct writing *g, bool is_whole, const struct view_group *group,
			const char *dir)
{
	for (unsigned i = 0; i < N_CONTENTS_FORMATS; i++) {
		int r = 0;

		if (g->snapshot->formats & 1u << i && encoders[i].is_whole == is_whole)
			r = encoders[i].add(g, group, dir);
		if (r)
			return r;
	}
	return 0;
}

int encoders_add_files(struct writing *g)
{
	g->has_images = false;
	times_budget_init(&g->times, g->snapshot, g->context->cpucount, g->view->n_groups);
	for (size_t i = 0; i < g->view->n_groups; i++) {
		const struct view_group *group = &g->view->groups[i];
		char dir[STORE_PATH_SIZE];
		int r;

		g->group = group;
		writing_window_dir(g, group, dir, sizeof(dir));
		r = encoders_add(g, false, group, dir);
		if (r)
			return r;
	}
	return g->snapshot->session ? 0 : encoders_add(g, true, NULL, NULL);
}

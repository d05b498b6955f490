/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_ENCODERS_H
#define PROFD_OUTPUT_ENCODERS_H

/*
 * From one snapshot to the files of a batch: which there are, and where they go. A format is a row
 * of a table here and one of common/store/contents.h; what it writes is its own file's affair
 * (pprof.c, cpuprofile.c, image_profile.c).
 */
#include "daemon/output/batch.h"
#include "daemon/output/context.h"
#include "daemon/output/epochs.h"
#include "daemon/output/times_budget.h"
#include "daemon/output/view.h"

/* One snapshot on its way into files; all borrowed. */
struct writing {
	const struct context *context;
	const struct snapshot *snapshot;
	const struct view *view;
	struct store *store;
	struct epochs *epochs;
	struct batch *batch;
	struct times_budget times;
	const struct view_group *group; /* in work */
	char **events;                  /* of each group, window_events.h; NULL: none of any */
	/* What came of it. */
	bool has_images;
	bool has_new_epoch; /* the images did not go into the one in use */
};

/*
 * For formats: adds a file of a group's window to the batch, below @dir, the group's directory.
 * @stem: what precedes the format's suffix, or NULL. Returns 0 or negative errno.
 */
int encoders_add_window(struct writing *g, const char *dir, enum contents_format format,
			const char *stem, struct index_counts counts, const uint8_t *data,
			size_t length);

/* Adds all files of the snapshot to the batch. Returns 0 or negative errno. */
int encoders_add_files(struct writing *g);

/*
 * What the window's file at @path holds, by reading it; nothing if it is damaged or too large to be
 * read for that. Returns 0 or -ENOMEM.
 */
int encoders_count(struct store *store, const char *path, enum contents_format format,
		   struct index_counts *ret);

#endif

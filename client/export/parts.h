/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_EXPORT_PARTS_H
#define PROFD_CLIENT_EXPORT_PARTS_H

/*
 * A window as the files of profile.proto that servers of pprof's format take: each of one series,
 * within the server's bounds, all frames with names, samples without labels; waits (waits.h) are in
 * files of their own, behind the others. Added up they are the window.
 */
#include <stddef.h>
#include <stdint.h>

#include "client/export/labels.h"

struct export_scope;
struct profile;

/* What a kind of server takes. */
struct export_limits {
	const char *host_label; /* what it calls the machine */
	uint64_t max_bytes;     /* of a part, not compressed */
	uint64_t max_samples;   /* of a part */
};

struct export_part {
	struct export_labels labels; /* sorted */
	uint8_t *data;               /* .pb.gz; malloc'ed */
	size_t length;
};

/* All zero is empty. */
struct export_parts {
	struct export_part *all;
	size_t n, max;
};

void export_parts_deinit(struct export_parts *parts);
/* @window is used up. 0 or negative errno. */
int export_parts_make(struct profile *window, const struct export_scope *scope,
		      const struct export_limits *limits, struct export_parts *ret);

#endif

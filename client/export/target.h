/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_EXPORT_TARGET_H
#define PROFD_CLIENT_EXPORT_TARGET_H

/*
 * What profile servers accept: per kind of server, the bodies of requests that store one window of
 * one service, and what its answers mean. A kind is a file here and a row in target.c. Pure: no
 * connection, no file, no clock.
 *
 * A window becomes one or more bodies, its parts, each POSTed on its own. Servers add parts up and
 * do not detect repeats, so the client remembers which parts were stored; part K of a window is
 * therefore the same bytes for the same window and scope, also in another process.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct profile;

#define EXPORT_KIND_MAX 16u /* bytes of a kind's name, with its NUL */

/* What every part of a window has in common. All borrowed; NULL is "". */
struct export_scope {
	const char *service; /* whose window it is */
	const char *host;    /* the machine's name; "": not sent */
	const char *labels;  /* "NAME=VALUE,...", sent with every series or resource */
	/*
	 * Labels of samples that are kept, "thread,pid": samples that differ in them are of
	 * different series. Samples that differ in other labels only are added up. In OTLP labels
	 * are attributes of samples, and make no series: there "" keeps all of them.
	 */
	const char *keep;
	/* Unpacked bytes of a part's profile; 0, or more than the kind's own: that. */
	uint64_t max_part;
};

/* All zero is empty. */
struct export_body {
	uint8_t *data; /* malloc'ed */
	size_t length;
};

struct export_bodies {
	struct export_body *all; /* malloc'ed */
	size_t n, max;
};

static inline void export_bodies_deinit(struct export_bodies *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(b->all[i].data);
	free(b->all);
	*b = (struct export_bodies){0};
}

/* Appends @data, which is owned from here on, also if that fails. 0 or -ENOMEM. */
int export_bodies_add(struct export_bodies *b, uint8_t *data, size_t length);

enum export_verdict {
	EXPORT_STORED,
	/* Not stored; may be later: the server is busy, restarts, or is wrongly configured here. */
	EXPORT_LATER,
	EXPORT_REFUSED, /* not stored, and will not be */
	EXPORT_TOO_OLD, /* not stored, because the server takes no profile that old */
	/* A fault of the server, maybe over this very part: worth a bounded number of repeats. */
	EXPORT_UNKNOWN,
};

struct export_target {
	const char *name; /* in the configuration: `type` */
	const char *path; /* appended to the configured URL, from its slash on */
	const char *content_type;
	const char *content_encoding; /* NULL: none */
	/*
	 * Appends the parts of @window to *ret, at least one if it has samples that are not 0; none
	 * otherwise. @window is used up: its labels, names and samples change. 0, or negative
	 * errno, after which *ret may have some.
	 */
	int (*encode)(struct profile *window, const struct export_scope *scope,
		      struct export_bodies *ret);
	/*
	 * What an answer with this status of HTTP means. @body, @length bytes of any content, is as
	 * much of the answer's body as was read; it may have been cut.
	 */
	enum export_verdict (*judge)(unsigned status, const char *body, size_t length);
};

/* The kind of that name, or NULL. */
const struct export_target *export_find_target(const char *name);
/* The kind number @i, or NULL: there are no more. */
const struct export_target *export_target_at(size_t i);

#endif

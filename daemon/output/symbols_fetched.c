/* SPDX-License-Identifier: MIT */
/*
 * Debug files that somebody else fetches for us, from whoever has them: we say which ones we want
 * and look, a window at a time, whether they have come. They lie in one folder by build id, and are
 * as trusted as any other file: the image worker reads them, and they count if it finds the build
 * id in them.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "common/worker/debug_files.h"
#include "daemon/output/symbols_private.h"

/* Returns the fd, read-only, or -1. */
static int open_fetched_file(struct symbols *s, const uint8_t *id, size_t length)
{
	char path[sizeof(".build-id//.debug") + 2 * ELF_BUILD_ID_MAX];
	int at;

	if (s->fetched_fd < 0)
		s->fetched_fd = open(s->fetched_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->fetched_fd < 0)
		return -1;
	at = snprintf(path, sizeof(path), ".build-id/%02x/", id[0]);
	for (size_t i = 1; i < length; i++)
		at += snprintf(path + at, sizeof(path) - (size_t)at, "%02x", id[i]);
	snprintf(path + at, sizeof(path) - (size_t)at, ".debug");
	return debug_files_open(s->fetched_fd, false, path);
}

int symbols_open_fetched(struct symbols *s, struct symbols_entry *e, const uint8_t *id,
			 size_t length)
{
	int fd;

	if (!s->fetched_path || length < 2 || length > sizeof(e->wanted.bytes))
		return -1;
	fd = open_fetched_file(s, id, length);
	if (fd < 0) {
		e->wanted.length = (uint32_t)length;
		memcpy(e->wanted.bytes, id, length);
		e->asked_after = s->window;
	}
	return fd;
}

bool symbols_wanted_arrived(struct symbols *s, struct symbols_entry *e)
{
	cleanup(closep) int fd = -1;

	if (!e->wanted.length || !s->fetched_path || e->asked_after == s->window)
		return false;
	e->asked_after = s->window;
	fd = open_fetched_file(s, e->wanted.bytes, e->wanted.length);
	return fd >= 0;
}

static bool symbols_wanted_has(const struct symbols_wanted *list, const struct symbols_build_id *id)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (list->ids[i].length == id->length &&
		    memcmp(list->ids[i].bytes, id->bytes, id->length) == 0)
			return true;
	return false;
}

void symbols_get_wanted(const struct symbols *s, struct symbols_wanted *ret)
{
	const struct symbols_entry *e;

	ret->n = 0;
	if (!s->fetched_path || !s->entries)
		return;
	/* In order of use; the last is the newest. */
	e = ELMT_FROM_HH(s->entries->hh.tbl, s->entries->hh.tbl->tail);
	for (; e && ret->n < SYMBOLS_WANTED_MAX; e = e->hh.prev)
		if (e->wanted.length && !symbols_wanted_has(ret, &e->wanted))
			ret->ids[ret->n++] = e->wanted;
}

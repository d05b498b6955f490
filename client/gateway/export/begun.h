/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_EXPORT_BEGUN_H
#define PROFD_CLIENT_GATEWAY_EXPORT_BEGUN_H

/*
 * Requests of a window of which a target has some, and not all yet: kept as they were made, as the
 * window may be merged into a file of an hour, or evicted, before the rest is taken. A file each,
 * DIRECTORY/TARGET~HEX, beside the target's progress (progress.h).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct export_bodies;
struct progress;

#define BEGUN_FILE_MAX ((size_t)256 << 20)

/* 0 or negative errno: then there is no file. */
int begun_keep(const char *directory, const char *target, const char *window,
	       const struct export_bodies *bodies);
/* Those of @window, in *ret, which is empty before: all of them, or none (false). */
bool begun_read(const char *directory, const char *target, const char *window,
		struct export_bodies *ret);
/* All is there, or given up. */
void begun_forget(const char *directory, const char *target, const char *window);
/* Forgets those of windows that are not begun, by @progress, as after a crash. */
void begun_sweep(const char *directory, const char *target, const struct progress *progress);

/* What the @length bytes of such a file say of @window, as begun_read(). Pure. */
bool begun_parse(const uint8_t *data, size_t length, const char *window, struct export_bodies *ret);

#endif

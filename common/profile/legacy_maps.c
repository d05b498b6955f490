/* SPDX-License-Identifier: MIT */
/*
 * One pass over the text, a line at a time, each of one of four kinds. What is stored is the
 * profile's: mappings in the order of the text, as the first one is the program. The index by start
 * address is for looking up, and is made at the end.
 */
#include "common/profile/legacy_maps.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/maps.h"
#include "common/order.h"
#include "common/partition_point.h"
#include "common/profile/profile.h"

#define PATH_BYTES_MAX   16384             /* PATH_MAX, each byte escaped as the kernel does */
#define EXPANDED_MAX     ((size_t)1 << 24) /* bytes, and as many as the text has */
#define LEGACY_E_REFUSED 1

struct legacy_text {
	const char *at, *end;
};

struct legacy_maps_reader {
	struct profile *p;
	struct profile_message *message;
	char *path;                    /* PATH_BYTES_MAX, for expansion */
	size_t expanded, max_expanded; /* bytes that expansion has made so far */
	struct legacy_text build;      /* of the last such line */
};

static void legacy_maps_reader_deinit(struct legacy_maps_reader *r)
{
	free(r->path);
}

void legacy_maps_deinit(struct legacy_maps *maps)
{
	free(maps->mappings);
}

#define REFUSE(r, ...) profile_refuse((r)->message, LEGACY_E_REFUSED, __VA_ARGS__)

/*
 * Replaces "$build", where no word character follows, by the path of the last build line. Output
 * is bounded per line and, so that a small file cannot grow without end, as a whole.
 */
static int expand_build(struct legacy_maps_reader *r, struct legacy_text *path)
{
	static const char variable[] = "$build";
	const struct legacy_text *build = &r->build;
	const size_t n_variable = sizeof(variable) - 1, n_build = (size_t)(build->end - build->at);
	const char *at = path->at;
	size_t length = 0;

	if (!build->at || !memmem(at, (size_t)(path->end - at), variable, n_variable))
		return 0;
	if (!r->path && !(r->path = malloc(PATH_BYTES_MAX)))
		return error_origin(-ENOMEM);
	while (at < path->end) {
		size_t left = (size_t)(path->end - at);
		bool is_variable =
			left >= n_variable && !memcmp(at, variable, n_variable) &&
			(left == n_variable ||
			 (at[n_variable] != '_' && !isalnum((unsigned char)at[n_variable])));
		size_t n = is_variable ? n_build : 1;

		if (n > PATH_BYTES_MAX - length)
			return REFUSE(r, "a path with $build is longer than %d bytes",
				      PATH_BYTES_MAX);
		memcpy(r->path + length, is_variable ? build->at : at, n);
		length += n;
		at += is_variable ? n_variable : 1;
	}
	r->expanded += length;
	if (r->expanded > r->max_expanded)
		return REFUSE(r, "the paths with $build are out of all proportion");
	*path = (struct legacy_text){.at = r->path, .end = r->path + length};
	return 0;
}

/* Lines of mappings that can be executed; others are passed over. */
static int legacy_maps_read_map(struct legacy_maps_reader *r, struct legacy_text line)
{
	struct legacy_text path;
	struct profile_mapping m = {0};
	struct maps_line map;
	uint32_t index;

	if (!maps_parse(line.at, line.end, &map) || !(map.prot & PROT_EXEC))
		return 0;
	m.start = map.start;
	m.limit = map.end;
	m.offset = map.offset;
	path = (struct legacy_text){map.path, map.path + map.path_length};
	return expand_build(r, &path) ?:
	       profile_add_string(r->p, path.at, (size_t)(path.end - path.at), &m.path) ?:
	       profile_add_mapping(r->p, &m, &index);
}

static int legacy_maps_read_comment(struct legacy_maps_reader *r, struct legacy_text line)
{
	uint32_t string = 0;

	return profile_add_string(r->p, line.at, (size_t)(line.end - line.at), &string)
		       ?: profile_add_comment(r->p, profile_string(r->p, string));
}

static bool legacy_maps_starts(struct legacy_text line, const char *prefix)
{
	size_t n = strlen(prefix);

	return (size_t)(line.end - line.at) >= n && !memcmp(line.at, prefix, n);
}

static int legacy_maps_read_line(struct legacy_maps_reader *r, struct legacy_text line)
{
	struct legacy_text stripped = line;

	while (stripped.at < line.end && (*stripped.at == ' ' || *stripped.at == '\t'))
		stripped.at++;
	if (memchr(line.at, '\0', (size_t)(line.end - line.at)))
		return 0;
	if (legacy_maps_starts(line, "# profd"))
		return legacy_maps_read_comment(r, line);
	if (!legacy_maps_starts(stripped, "build="))
		return legacy_maps_read_map(r, line);
	r->build = (struct legacy_text){stripped.at + strlen("build="), stripped.end};
	return 0;
}

static int compare_mapping_starts(const void *a, const void *b, void *context)
{
	const struct profile *p = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return order_of(p->mappings[x].start, p->mappings[y].start) ?: order_of(x, y);
}

int legacy_maps_read(struct legacy_maps *maps, struct profile *p, const char *text, const char *end,
		     struct profile_message *message)
{
	cleanup(legacy_maps_reader_deinit) struct legacy_maps_reader r = {
		.p = p, .message = message, .max_expanded = EXPANDED_MAX + (size_t)(end - text)};
	int e = 0;

	for (const char *newline; text < end && !e; text = newline ? newline + 1 : end) {
		newline = memchr(text, '\n', (size_t)(end - text));
		e = legacy_maps_read_line(&r, (struct legacy_text){text, newline ? newline : end});
	}
	if (e)
		return e;
	maps->n_mappings = p->n_mappings;
	maps->mappings = malloc((maps->n_mappings + 1) * sizeof(*maps->mappings));
	if (!maps->mappings)
		return error_origin(-ENOMEM);
	for (uint32_t i = 0; i < maps->n_mappings; i++)
		maps->mappings[i] = i;
	qsort_r(maps->mappings, maps->n_mappings, sizeof(*maps->mappings), compare_mapping_starts,
		p);
	return 0;
}

uint32_t legacy_maps_find(const struct legacy_maps *maps, const struct profile *p, uint64_t address)
{
	const struct profile_mapping *all = p->mappings;
	size_t n = partition_point(maps->n_mappings, i, all[maps->mappings[i]].start <= address);

	if (n && address < all[maps->mappings[n - 1]].limit)
		return maps->mappings[n - 1];
	return PROFILE_NONE;
}

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
#include "common/span.h"

#define PATH_BYTES_MAX   16384             /* PATH_MAX, each byte escaped as the kernel does */
#define EXPANDED_MAX     ((size_t)1 << 24) /* bytes, and as many as the text has */
#define LEGACY_E_REFUSED 1

struct legacy_maps_reader {
	struct profile *p;
	struct profile_message *message;
	char *path;                    /* PATH_BYTES_MAX, for expansion */
	size_t expanded, max_expanded; /* bytes that expansion has made so far */
	struct span build;             /* of the last such line; empty: none */
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
static int expand_build(struct legacy_maps_reader *r, struct span *path)
{
	static const char variable[] = "$build";
	const size_t n_variable = sizeof(variable) - 1;
	const char *at = path->at, *end = at + path->length;
	size_t length = 0;

	if (!r->build.at || !memmem(at, path->length, variable, n_variable))
		return 0;
	if (!r->path && !(r->path = malloc(PATH_BYTES_MAX)))
		return error_origin(-ENOMEM);
	while (at < end) {
		size_t left = (size_t)(end - at);
		bool is_variable =
			left >= n_variable && !memcmp(at, variable, n_variable) &&
			(left == n_variable ||
			 (at[n_variable] != '_' && !isalnum((unsigned char)at[n_variable])));
		size_t n = is_variable ? r->build.length : 1;

		if (n > PATH_BYTES_MAX - length)
			return REFUSE(r, "a path with $build is longer than %d bytes",
				      PATH_BYTES_MAX);
		memcpy(r->path + length, is_variable ? r->build.at : at, n);
		length += n;
		at += is_variable ? n_variable : 1;
	}
	r->expanded += length;
	if (r->expanded > r->max_expanded)
		return REFUSE(r, "the paths with $build are out of all proportion");
	*path = (struct span){r->path, length};
	return 0;
}

/* Lines of mappings that can be executed; others are passed over. */
static int legacy_maps_read_map(struct legacy_maps_reader *r, struct span line)
{
	struct span path;
	struct profile_mapping m = {0};
	struct maps_line map;
	uint32_t index;

	if (!maps_parse(line.at, line.at + line.length, &map) || !(map.prot & PROT_EXEC))
		return 0;
	m.start = map.start;
	m.limit = map.end;
	m.offset = map.offset;
	path = (struct span){map.path, map.path_length};
	return expand_build(r, &path) ?:
	       profile_add_string(r->p, path.at, path.length, &m.path) ?:
	       profile_add_mapping(r->p, &m, &index);
}

static int legacy_maps_read_comment(struct legacy_maps_reader *r, struct span line)
{
	uint32_t string = 0;

	return profile_add_string(r->p, line.at, line.length, &string)
		       ?: profile_add_comment(r->p, profile_string(r->p, string));
}

static int legacy_maps_read_line(struct legacy_maps_reader *r, struct span line)
{
	static const char build[] = "build=";
	struct span stripped = line;

	for (; stripped.length && (*stripped.at == ' ' || *stripped.at == '\t'); stripped.length--)
		stripped.at++;
	if (memchr(line.at, '\0', line.length))
		return 0;
	if (span_starts(line, "# profd"))
		return legacy_maps_read_comment(r, line);
	if (!span_starts(stripped, build))
		return legacy_maps_read_map(r, line);
	r->build = (struct span){stripped.at + strlen(build), stripped.length - strlen(build)};
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
	struct span rest = {text, (size_t)(end - text)}, line;
	int e = 0;

	while (!e && span_cut(&rest, '\n', &line))
		e = legacy_maps_read_line(&r, line);
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

/* SPDX-License-Identifier: MIT */
/*
 * Three passes: over the records, to find where the text begins; over the text, for the mappings;
 * over the records again, now that their addresses can be put into mappings.
 *
 * Generous where a file is unusual but clear: more header slots than three, any padding, version 1
 * (what 32-bit Java agents wrote; its addresses were not shifted), a missing trailer at the very
 * end, records of count 0. Text lines that are none of those known are skipped, as the format
 * demands.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/bytes.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/maps.h"
#include "common/order.h"
#include "common/partition_point.h"
#include "common/profile/cpuprofile.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "common/profile/value_types.h"
#include "common/room.h"

#define HEADER_SLOTS_MAX 65535 /* as google-pprof */
#define PATH_BYTES_MAX   16384 /* PATH_MAX, each byte escaped as the kernel does */

struct cpuprofile_reader {
	struct profile *p;
	struct profile_message *message;
	const uint8_t *data;
	size_t length, n_slots;
	unsigned slot_bytes;
	bool big_endian, is_shifted;
	int64_t period_ns;
	size_t first_record, text; /* a slot; an offset in bytes */
	uint32_t *mappings;        /* by start address, then as in the file */
	size_t n_mappings;
	char *path;      /* PATH_BYTES_MAX, for expansion */
	size_t expanded; /* bytes that expansion has made so far */
	uint32_t *chain; /* of the record being read */
	size_t max_chain;
};

static void cpuprofile_reader_deinit(struct cpuprofile_reader *r)
{
	profile_free(r->p);
	free(r->mappings);
	free(r->path);
	free(r->chain);
}

#define REFUSE(r, ...) profile_refuse((r)->message, CPUPROFILE_E_MALFORMED, __VA_ARGS__)

static uint64_t cpuprofile_slot(const struct cpuprofile_reader *r, size_t index)
{
	return bytes_number(r->data + index * r->slot_bytes, r->slot_bytes, r->big_endian);
}

/* Size and order of the slots follow from the header's words: one of the four ways makes sense at
 * most. */
static int cpuprofile_read_header(struct cpuprofile_reader *r)
{
	uint64_t n_words, period;

	for (unsigned way = 0; way < 4; way++) {
		r->slot_bytes = way < 2 ? 8 : 4;
		r->big_endian = way & 1;
		r->n_slots = r->length / r->slot_bytes;
		if (r->n_slots < 5 || cpuprofile_slot(r, 0))
			continue;
		n_words = cpuprofile_slot(r, 1);
		if (n_words < 3 || n_words > HEADER_SLOTS_MAX || n_words + 2 > r->n_slots ||
		    cpuprofile_slot(r, 2) > 1)
			continue;
		r->is_shifted = cpuprofile_slot(r, 2) == 0;
		period = cpuprofile_slot(r, 3);
		r->period_ns = period > INT64_MAX / 1000 ? INT64_MAX : (int64_t)period * 1000;
		r->first_record = (size_t)n_words + 2;
		return 0;
	}
	return REFUSE(r, "not a legacy CPU profile: no header of slots 0, 3 or more, 0 or 1");
}

/* Finds the text. Checks every record, so that the other pass need not. */
static int skim_records(struct cpuprofile_reader *r)
{
	size_t i = r->first_record;
	uint64_t count, n;

	while (i < r->n_slots) {
		if (r->n_slots - i < 2)
			break;
		count = cpuprofile_slot(r, i);
		n = cpuprofile_slot(r, i + 1);
		if (n > r->n_slots - i - 2)
			return REFUSE(r,
				      "the record at byte %zu has %" PRIu64
				      " addresses, more than the file",
				      i * r->slot_bytes, n);
		if (!count && n == 1 && !cpuprofile_slot(r, i + 2)) {
			r->text = (i + 3) * r->slot_bytes;
			return 0;
		}
		i += 2 + (size_t)n;
	}
	r->text = i * r->slot_bytes;
	if (r->text != r->length)
		return REFUSE(r, "the file ends at byte %zu, in the middle of a record", r->length);
	return 0;
}

static const char *cpuprofile_skip_blanks(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	return at;
}

struct cpuprofile_read_text {
	const char *at, *end;
};

/*
 * Replaces "$build", where no word character follows, by the path of the last build line. Output
 * is bounded per line and, so that a small file cannot grow without end, as a whole.
 */
static int expand_build(struct cpuprofile_reader *r, struct cpuprofile_read_text *path,
			const struct cpuprofile_read_text *build)
{
	static const char variable[] = "$build";
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
	if (r->expanded > r->length + ((size_t)1 << 24))
		return REFUSE(r, "the paths with $build are out of all proportion");
	*path = (struct cpuprofile_read_text){.at = r->path, .end = r->path + length};
	return 0;
}

/* Lines of mappings that can be executed; others are passed over. */
static int read_map_line(struct cpuprofile_reader *r, struct cpuprofile_read_text line,
			 const struct cpuprofile_read_text *build)
{
	struct cpuprofile_read_text path;
	struct profile_mapping m = {0};
	struct maps_line map;
	uint32_t index;

	if (!maps_parse(line.at, line.end, &map) || !(map.prot & PROT_EXEC))
		return 0;
	m.start = map.start;
	m.limit = map.end;
	m.offset = map.offset;
	path = (struct cpuprofile_read_text){map.path, map.path + map.path_length};
	return expand_build(r, &path, build) ?:
	       profile_add_string(r->p, path.at, (size_t)(path.end - path.at), &m.path) ?:
	       profile_add_mapping(r->p, &m, &index);
}

static int read_comment_line(struct cpuprofile_reader *r, struct cpuprofile_read_text line)
{
	uint32_t string = 0;

	return profile_add_string(r->p, line.at, (size_t)(line.end - line.at), &string)
		       ?: profile_add_comment(r->p, profile_string(r->p, string));
}

static bool starts_with(struct cpuprofile_read_text line, const char *prefix)
{
	size_t n = strlen(prefix);

	return (size_t)(line.end - line.at) >= n && !memcmp(line.at, prefix, n);
}

static int cpuprofile_read_text(struct cpuprofile_reader *r)
{
	const char *at = (const char *)r->data + r->text;
	const char *end = (const char *)r->data + r->length;
	struct cpuprofile_read_text build = {0};
	int e = 0;

	while (at < end && !e) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		struct cpuprofile_read_text line = {.at = at, .end = newline ? newline : end};
		struct cpuprofile_read_text stripped = {
			.at = cpuprofile_skip_blanks(line.at, line.end), .end = line.end};

		at = newline ? newline + 1 : end;
		if (memchr(line.at, '\0', (size_t)(line.end - line.at)))
			continue;
		if (starts_with(stripped, "build="))
			build = (struct cpuprofile_read_text){.at = stripped.at + 6,
							      .end = stripped.end};
		else if (starts_with(line, "# profd"))
			e = read_comment_line(r, line);
		else
			e = read_map_line(r, line, &build);
	}
	return e;
}

static int compare_mapping_starts(const void *a, const void *b, void *context)
{
	const struct profile *p = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return order_of(p->mappings[x].start, p->mappings[y].start) ?: order_of(x, y);
}

static int sort_mappings(struct cpuprofile_reader *r)
{
	r->n_mappings = r->p->n_mappings;
	r->mappings = malloc((r->n_mappings + 1) * sizeof(*r->mappings));
	if (!r->mappings)
		return error_origin(-ENOMEM);
	for (uint32_t i = 0; i < r->n_mappings; i++)
		r->mappings[i] = i;
	qsort_r(r->mappings, r->n_mappings, sizeof(*r->mappings), compare_mapping_starts, r->p);
	return 0;
}

static uint32_t cpuprofile_find_mapping(const struct cpuprofile_reader *r, uint64_t address)
{
	size_t n = partition_point(r->n_mappings, i,
				   r->p->mappings[r->mappings[i]].start <= address);

	if (n && address < r->p->mappings[r->mappings[n - 1]].limit)
		return r->mappings[n - 1];
	return PROFILE_NONE;
}

static int read_record(struct cpuprofile_reader *r, uint64_t count, size_t first, uint32_t n)
{
	int64_t values[2];
	uint64_t address;
	int e = room_make(&r->chain, &r->max_chain, n, sizeof(*r->chain));

	if (e)
		return e;
	for (uint32_t i = 0; i < n; i++) {
		address = cpuprofile_slot(r, first + i);
		if (i && r->is_shifted && address)
			address--;
		e = profile_add_location(r->p, cpuprofile_find_mapping(r, address), address, NULL,
					 0, &r->chain[i]);
		if (e)
			return e;
	}
	values[0] = count > INT64_MAX ? INT64_MAX : (int64_t)count;
	if (__builtin_mul_overflow(values[0], r->period_ns, &values[1]))
		values[1] = INT64_MAX;
	return profile_add_sample(r->p, r->chain, n, values, NULL, 0);
}

static int cpuprofile_read_records(struct cpuprofile_reader *r)
{
	size_t i = r->first_record;
	uint64_t count, n;
	int e;

	while ((i + 2) * r->slot_bytes <= r->text) {
		count = cpuprofile_slot(r, i);
		n = cpuprofile_slot(r, i + 1);
		i += 2;
		if (n >= PROFILE_NONE)
			return error_origin(-E2BIG);
		if (count) {
			e = read_record(r, count, i, (uint32_t)n);
			if (e)
				return e;
		}
		i += (size_t)n;
	}
	return 0;
}

static int cpuprofile_read_all(struct cpuprofile_reader *r)
{
	int e = cpuprofile_read_header(r) ?:
		skim_records(r) ?:
		profile_new(&r->p) ?:
		value_types_add(r->p, "cpu-clock");

	if (e)
		return e;
	r->p->period = r->period_ns;
	return cpuprofile_read_text(r) ?: sort_mappings(r) ?: cpuprofile_read_records(r);
}

int cpuprofile_read(const uint8_t *data, size_t length, struct profile **ret,
		    struct profile_message *message)
{
	cleanup(cpuprofile_reader_deinit) struct cpuprofile_reader r = {.message = message,
									.data = data,
									.length = length};
	int e = cpuprofile_read_all(&r);

	if (e == -E2BIG)
		return REFUSE(&r, "more entries of a kind than can be numbered");
	if (!e)
		*ret = steal_ptr(&r.p);
	return e;
}

/* SPDX-License-Identifier: MIT */
/*
 * A legacy profile has one address space, of one process, and user frames only. A profile.proto of
 * one process is nearly that, but what was merged from several windows or processes is laid over
 * the layout that was seen first, image by image: mappings may overlap. Then the later one moves to
 * where nothing is, and its addresses with it. Names are not taken over: readers look them up.
 */
#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clamped.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/memory_text.h"
#include "common/order.h"
#include "common/profile/cpuprofile.h"
#include "common/profile/profile.h"

#define PAGE UINT64_C(0x1000)
/* What cpuprofile_write() takes, and of lines less. */
#define ADDRESSES_MAX     65536u
#define PATH_BYTES_MAX    16384u /* what cpuprofile_read() takes */
#define COMMENT_BYTES_MAX 65000u

struct cpuprofile_from_chains {
	struct cpuprofile_record *records;
	uint64_t *addresses;
	size_t n_records;
	uint64_t without_user, samples;
};

static void cpuprofile_chains_deinit(struct cpuprofile_from_chains *c)
{
	free(c->records);
	free(c->addresses);
}

/* A mapping of the process, [start, limit), and where it comes to lie. */
struct cpuprofile_from_place {
	uint64_t start, limit, moved;
};

/* Of a mapping of the whole address space: what there is in it, in pages. */
static void shrink_places(const struct profile *p, struct cpuprofile_from_place *places)
{
	for (size_t i = 0; i < p->n_mappings; i++)
		if (profile_is_whole_mapping(&p->mappings[i]))
			places[i] = (struct cpuprofile_from_place){.start = UINT64_MAX};
	for (size_t i = 0; i < p->n_locations; i++) {
		const struct profile_location *l = &p->locations[i];
		uint64_t page = l->address & ~(PAGE - 1);
		struct cpuprofile_from_place *place = l->mapping == PROFILE_NONE
							      ? NULL
							      : &places[l->mapping];

		if (!place || !profile_is_whole_mapping(&p->mappings[l->mapping]) ||
		    l->address >= PROFILE_KERNEL_HALF)
			continue;
		place->start = page < place->start ? page : place->start;
		place->limit = page + PAGE > place->limit ? page + PAGE : place->limit;
	}
}

/* Those that overlap are equal: of such, a tree by this order holds one. */
DEFINE_ORDER(cpuprofile_compare_place, struct cpuprofile_from_place,
	     x->limit <= y->start ? -1 : y->limit <= x->start)

static void place_skip_free(void *place)
{
	(void)place; /* it is lay_out_mappings()'s */
}

static bool is_user_place(const struct cpuprofile_from_place *place)
{
	return place->start < place->limit && place->limit <= PROFILE_KERNEL_HALF;
}

/* Above all mappings; where there is no room left, it stays. */
static void move_place_above(struct cpuprofile_from_place *place, uint64_t *top)
{
	const uint64_t start = ((*top + PAGE - 1) & ~(PAGE - 1)) + PAGE;

	if (start > PROFILE_KERNEL_HALF ||
	    place->limit - place->start > PROFILE_KERNEL_HALF - start)
		return;
	*top = start + (place->limit - place->start);
	place->moved = start;
}

static int move_places(struct cpuprofile_from_place *places, size_t n)
{
	uint64_t top = 0;
	void *in_place = NULL;
	int r = 0;

	for (size_t i = 0; i < n; i++)
		if (is_user_place(&places[i]) && places[i].limit > top)
			top = places[i].limit;
	for (size_t i = 0; i < n && !r; i++) {
		void *const *found;

		places[i].moved = places[i].start;
		if (!is_user_place(&places[i]))
			continue;
		found = tsearch(&places[i], &in_place, cpuprofile_compare_place);
		if (!found)
			r = error_origin(-ENOMEM);
		else if (*found != &places[i])
			move_place_above(&places[i], &top);
	}
	tdestroy(in_place, place_skip_free);
	return r;
}

/* Where the mappings come to lie, by index. */
static int lay_out_mappings(const struct profile *p, struct cpuprofile_from_place **ret)
{
	struct cpuprofile_from_place *places = calloc(p->n_mappings + 1, sizeof(*places));

	if (!places)
		return error_origin(-ENOMEM);
	*ret = places;
	for (size_t i = 0; i < p->n_mappings; i++)
		places[i] = (struct cpuprofile_from_place){.start = p->mappings[i].start,
							   .limit = p->mappings[i].limit};
	shrink_places(p, places);
	return move_places(places, p->n_mappings);
}

static int cpuprofile_compare_chains(const void *a, const void *b)
{
	const struct cpuprofile_record *x = a, *y = b;
	uint32_t n = x->n_addresses < y->n_addresses ? x->n_addresses : y->n_addresses;

	for (uint32_t i = 0; i < n; i++)
		if (x->addresses[i] != y->addresses[i])
			return order_of(x->addresses[i], y->addresses[i]);
	return order_of(x->n_addresses, y->n_addresses);
}

size_t cpuprofile_unify(struct cpuprofile_record *records, size_t n)
{
	size_t kept = 0;

	if (!n)
		return 0;
	qsort(records, n, sizeof(*records), cpuprofile_compare_chains);
	for (size_t i = 1; i < n; i++) {
		uint64_t *count = &records[kept].count;

		if (cpuprofile_compare_chains(&records[kept], &records[i]))
			records[++kept] = records[i];
		else if (__builtin_add_overflow(*count, records[i].count, count) ||
			 *count > INT64_MAX)
			*count = INT64_MAX;
	}
	return kept + 1;
}

/* Legacy profiles have CPU samples only. */
static bool cpuprofile_is_wait(const struct profile *p, size_t sample)
{
	const int64_t *values = &p->sample_values[sample * p->n_sample_types];
	unsigned off, cpu;

	return profile_find_type(p, "off_cpu", &off) && values[off] &&
	       !(profile_find_type(p, "cpu", &cpu) && values[cpu]);
}

static int collect_chains(const struct profile *p, const struct cpuprofile_from_place *places,
			  struct cpuprofile_from_chains *ret)
{
	size_t at = 0;

	ret->records = calloc(p->n_samples + 1, sizeof(*ret->records));
	ret->addresses = calloc(p->n_sample_locations + 1, sizeof(*ret->addresses));
	if (!ret->records || !ret->addresses)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < p->n_samples && p->n_sample_types; i++) {
		const struct profile_sample *s = &p->samples[i];
		int64_t value = p->sample_values[i * p->n_sample_types];
		struct cpuprofile_record record = {.addresses = ret->addresses + at};
		uint64_t *sum;

		if (value <= 0 || cpuprofile_is_wait(p, i))
			continue;
		record.count = (uint64_t)value;
		for (uint32_t j = 0; j < s->n_locations && record.n_addresses < ADDRESSES_MAX;
		     j++) {
			const struct profile_location *l =
				&p->locations[p->sample_locations[s->first_location + j]];
			uint64_t moved = 0;

			if (!l->address || profile_is_kernel_location(p, l))
				continue;
			if (l->mapping != PROFILE_NONE)
				moved = places[l->mapping].moved - places[l->mapping].start;
			ret->addresses[at++] = l->address + moved;
			record.n_addresses++;
		}
		if (record.n_addresses)
			ret->records[ret->n_records++] = record;
		sum = record.n_addresses ? &ret->samples : &ret->without_user;
		*sum = clamped_add_unsigned(*sum, record.count);
	}
	ret->n_records = cpuprofile_unify(ret->records, ret->n_records);
	return 0;
}

/* Paths come from strangers: a newline in one would be another line, and lines have a limit. */
static void cpuprofile_put_path(FILE *out, const char *path)
{
	for (size_t n = 0; *path && n < PATH_BYTES_MAX; path++, n++)
		fputc((unsigned char)*path < 0x20 ? '?' : *path, out);
}

static int print_maps(const struct profile *p, const struct cpuprofile_from_place *places,
		      struct memory_text *ret)
{
	int r = memory_text_open(ret);

	if (r)
		return r;
	for (size_t i = 0; i < p->n_mappings; i++) {
		const struct profile_mapping *m = &p->mappings[i];
		const char *path = profile_string(p, m->path);
		const struct cpuprofile_from_place *place = &places[i];

		if (!is_user_place(place))
			continue;
		/* Of a whole one the file's offset is not known: mostly it is as the address. */
		fprintf(ret->out, "%" PRIx64 "-%" PRIx64 " r-xp %08" PRIx64 " 00:00 0 ",
			place->moved, place->moved + (place->limit - place->start),
			profile_is_whole_mapping(m) ? place->start : m->offset);
		cpuprofile_put_path(ret->out, *path ? path : "[anon]");
		fputc('\n', ret->out);
	}
	return memory_text_close(ret);
}

static int print_comments(const struct profile *p, const struct cpuprofile_from_chains *chains,
			  struct memory_text *ret)
{
	static const char prefix[] = "# profd ";
	int r = memory_text_open(ret);

	if (r)
		return r;
	for (size_t i = 0; i < p->n_comments; i++) {
		const char *comment = profile_string(p, p->comments[i]);

		if (strncmp(comment, prefix, strlen(prefix)) == 0 && !strchr(comment, '\n') &&
		    strlen(comment) <= COMMENT_BYTES_MAX)
			fprintf(ret->out, "%s\n", comment);
	}
	fprintf(ret->out, "%sprocess: samples=%" PRIu64 " without_user_frames=%" PRIu64 "\n",
		prefix, chains->samples, chains->without_user);
	return memory_text_close(ret);
}

/* Microseconds between samples: from their values if the period is not of time. */
static uint64_t cpuprofile_period_us(const struct profile *p)
{
	bool is_time = strcmp(profile_string(p, p->period_type.unit), "nanoseconds") == 0;

	return is_time && p->period > 0 ? ((uint64_t)p->period + 500) / 1000 : 1;
}

int cpuprofile_from_profile(const struct profile *p, unsigned slot_bytes, uint8_t **ret,
			    size_t *ret_length)
{
	cleanup(cpuprofile_chains_deinit) struct cpuprofile_from_chains chains = {0};
	cleanup(memory_text_deinit) struct memory_text maps = {0}, comments = {0};
	cleanup(freep) struct cpuprofile_from_place *places = NULL;
	struct cpuprofile c = {.slot_bytes = slot_bytes, .period_us = cpuprofile_period_us(p)};
	int r = lay_out_mappings(p, &places) ?:
		collect_chains(p, places, &chains) ?:
		print_maps(p, places, &maps) ?:
		print_comments(p, &chains, &comments);

	if (r)
		return r;
	c.records = chains.records;
	c.n_records = chains.n_records;
	c.maps = maps.text;
	c.comments = comments.text;
	return cpuprofile_write(&c, ret, ret_length);
}

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_PROFILE_MERGE_FIXTURE_H
#define PROFD_TESTS_UNIT_PROFILE_MERGE_FIXTURE_H

/*
 * Random profiles as profd writes them: a few programs at a base of their own in each, so that
 * merging must move addresses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/profile/merge.h"
#include "tests/unit/profile/merge_words.h"
#include "tests/unit/profile/text.h"

#define NS      INT64_C(1000000000)
#define T0      INT64_C(1795251600)
#define KERNEL  UINT64_C(0xffffffff81000000)
#define N_PARTS 6

static inline uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static inline struct profile *empty_profile(int64_t start_s, int64_t seconds, const char *ledger)
{
	struct profile *p = NULL;
	char line[200];

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	p->period_type = p->sample_types[1];
	p->period = 10000000;
	p->time_ns = start_s * NS;
	p->duration_ns = seconds * NS;
	assert_int_equal(profile_add_comment(p, "# profd host: h"), 0);
	if (ledger) {
		snprintf(line, sizeof(line), "# profd ledger: %s", ledger);
		assert_int_equal(profile_add_comment(p, line), 0);
	}
	return p;
}

/* @image's mapping in a profile where everything lies @slide further. */
static inline uint32_t map_image(struct profile *p, unsigned image, uint64_t slide)
{
	char path[32], id[16];
	struct profile_mapping m = {.start = 0x400000 + image * 0x100000 + slide, .offset = 0x1000};
	uint32_t ret;

	snprintf(path, sizeof(path), "/usr/bin/p%u", image);
	snprintf(id, sizeof(id), "b1d%u", image);
	m.limit = m.start + 0x8000;
	m.path = text(p, image == 9 ? "[kernel.kallsyms]" : path);
	m.build_id = image % 2 ? text(p, id) : 0;
	if (image == 9)
		m.start = KERNEL + slide, m.limit = m.start + 0x8000;
	assert_int_equal(profile_add_mapping(p, &m, &ret), 0);
	return ret;
}

static inline uint32_t locate(struct profile *p, uint32_t mapping, unsigned offset)
{
	struct profile_function f = {0};
	struct profile_line line = {.line = offset};
	char name[64];
	uint32_t ret;

	snprintf(name, sizeof(name), "f%u", offset / 16);
	f.name = f.system_name = text(p, name);
	assert_int_equal(profile_add_function(p, &f, &line.function), 0);
	assert_int_equal(profile_add_location(p, mapping, p->mappings[mapping].start + offset,
					      &line, offset % 3 != 0, &ret),
			 0);
	return ret;
}

static inline void add_sample(struct profile *p, const uint32_t *chain, uint32_t n, int64_t count,
			      int64_t pid, const char *comm)
{
	const struct profile_label labels[] = {
		{.key = text(p, "pid"), .num = pid},
		{.key = text(p, "comm"), .str = text(p, comm)},
	};
	const int64_t values[] = {count, count * 10000000};

	assert_int_equal(profile_add_sample(p, chain, n, values, labels, 2), 0);
}

/* One minute; what @whole is given, too, is the same but for the places of things. */
static inline struct profile *make_minute(unsigned minute, struct profile *whole)
{
	char ledger[64];
	struct profile *p, *targets[2];
	uint32_t seed = minute + 1;

	snprintf(ledger, sizeof(ledger), "expected=%u seen=%u source=x", 100 + minute, 90 + minute);
	p = empty_profile(T0 + minute * 60, 60, ledger);
	targets[0] = p;
	targets[1] = whole;
	for (unsigned i = 0; i < 200; i++) {
		unsigned n = 1 + next_random(&seed) % 6, image[6], offset[6];
		unsigned count = 1 + next_random(&seed) % 5, pid = 7 + next_random(&seed) % 3;

		for (unsigned j = 0; j < n; j++) {
			image[j] = j ? next_random(&seed) % 4 : next_random(&seed) % 10;
			offset[j] = next_random(&seed) % 40;
		}
		for (unsigned t = 0; t < 2 && targets[t]; t++) {
			uint64_t slide = t ? 0 : (uint64_t)minute * 0x10000000;
			uint32_t chain[6];

			for (unsigned j = 0; j < n; j++)
				chain[j] = locate(targets[t],
						  map_image(targets[t], image[j], slide),
						  offset[j]);
			add_sample(targets[t], chain, n, count, pid, pid % 2 ? "odd" : "even");
		}
	}
	return p;
}

struct parts {
	struct profile *minutes[N_PARTS], *whole;
};

static inline int setup(void **state)
{
	struct parts *parts = calloc(1, sizeof(*parts));

	assert_non_null(parts);
	parts->whole = empty_profile(T0, N_PARTS * 60, NULL);
	for (unsigned i = 0; i < N_PARTS; i++)
		parts->minutes[i] = make_minute(i, parts->whole);
	*state = parts;
	return 0;
}

static inline int teardown(void **state)
{
	struct parts *parts = *state;

	for (unsigned i = 0; i < N_PARTS; i++)
		profile_free(parts->minutes[i]);
	profile_free(parts->whole);
	free(parts);
	return 0;
}

static inline struct profile *merge_in_order(struct parts *parts, const unsigned *order, unsigned n,
					     enum merge_windows mode,
					     const struct merge_select *select)
{
	cleanup(merge_freep) struct merge *m = NULL;
	struct profile_message message;
	int64_t total = 0;

	assert_int_equal(merge_new(&m, mode), 0);
	for (unsigned i = 0; i < n; i++) {
		int64_t samples = 0;

		assert_int_equal(merge_add(m, parts->minutes[order[i]], select, &samples, &message),
				 0);
		total += samples;
	}
	assert_int_equal(merge_finish(m), 0);
	assert_int_equal(total, profile_total(merge_profile(m), 0));
	return merge_steal_profile(m);
}

static const unsigned forward[] = {0, 1, 2, 3, 4, 5};

#endif

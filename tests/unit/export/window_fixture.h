/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_EXPORT_WINDOW_FIXTURE_H
#define PROFD_TESTS_UNIT_EXPORT_WINDOW_FIXTURE_H

/* Windows as profd stores them, and what a server has of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/export/target.h"
#include "tests/support/random.h"
#include "tests/support/sent.h"
#include "tests/unit/profile/text.h"

#define WINDOW_NS INT64_C(1795251600000000000)

/* One sample; NULL: no such label, no such function. */
struct use {
	const char *callers[3]; /* leaf first */
	const char *thread;
	int64_t pid, samples;
};

static inline struct profile *window_new(const char *event, const char *unit)
{
	struct profile *p = NULL;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, event, unit), 0);
	assert_int_equal(profile_add_comment(p, "# profd ledger: expected=5940 seen=5940"), 0);
	p->period_type = p->sample_types[1];
	p->period = 10101010;
	p->time_ns = WINDOW_NS;
	p->duration_ns = 60000000000;
	return p;
}

static inline uint32_t window_place(struct profile *p, const char *name, uint64_t address)
{
	struct profile_mapping m = {.start = 0x400000, .limit = 0x500000, .offset = 0x1000};
	struct profile_function f = {0};
	struct profile_line line = {.line = 7};
	uint32_t mapping, ret;

	m.path = text(p, "/usr/bin/program");
	m.build_id = text(p, "0123456789abcdef0123456789abcdef01234567");
	assert_int_equal(profile_add_mapping(p, &m, &mapping), 0);
	if (name) {
		f.name = f.system_name = text(p, name);
		f.filename = text(p, "program.c");
		assert_int_equal(profile_add_function(p, &f, &line.function), 0);
	}
	assert_int_equal(profile_add_location(p, mapping, address, &line, name != NULL, &ret), 0);
	return ret;
}

/* @version: NULL for none. */
static inline void window_add_as(struct profile *p, const uint32_t *places, uint32_t n,
				 const struct use *use, const char *version)
{
	const int64_t values[] = {use->samples, use->samples * 10101010};
	struct profile_label labels[4] = {{.num = use->pid}};
	uint32_t n_labels = 1;

	labels[0].key = text(p, "pid");
	if (use->thread) {
		labels[1].key = text(p, "thread");
		labels[1].str = text(p, use->thread);
		n_labels++;
	}
	if (version)
		labels[n_labels++] = (struct profile_label){.key = text(p, "version"),
							    .str = text(p, version)};
	assert_int_equal(profile_add_sample(p, places, n, values, labels, n_labels), 0);
}

static inline void window_add(struct profile *p, const uint32_t *places, uint32_t n,
			      const struct use *use)
{
	window_add_as(p, places, n, use, NULL);
}

static inline void window_add_release(struct profile *p, const struct use *use, const char *version)
{
	uint32_t places[3], n = 0;

	for (; n < ARRAY_SIZE(places) && use->callers[n]; n++)
		places[n] = window_place(p, use->callers[n], 0x400000 + strlen(use->callers[n]));
	window_add_as(p, places, n, use, version);
}

static inline void window_add_use(struct profile *p, const struct use *use)
{
	window_add_release(p, use, NULL);
}

/* Of two programs of each version; NULL ends them, "" is none. */
static inline struct profile *window_of_releases(const char *const *versions)
{
	struct profile *p = window_new("cpu", "nanoseconds");

	for (size_t i = 0; versions[i]; i++) {
		const struct use a = {{"leaf", "main"}, "a", 1, 3}, b = {{"main"}, "b", 2, 4};

		window_add_release(p, &a, *versions[i] ? versions[i] : NULL);
		window_add_release(p, &b, *versions[i] ? versions[i] : NULL);
	}
	return p;
}

static inline struct profile *window_of(const struct use *uses, size_t n)
{
	struct profile *p = window_new("cpu", "nanoseconds");

	for (size_t i = 0; i < n; i++)
		window_add_use(p, &uses[i]);
	return p;
}

/* @n stacks of 30 frames of @n_functions, whose names have some @length characters. */
static inline struct profile *window_random(size_t n, unsigned n_functions, unsigned length,
					    unsigned n_threads)
{
	struct profile *p = window_new("cpu", "nanoseconds");
	uint32_t *places = calloc(n_functions, sizeof(*places)), stack[30];
	char *name = malloc(length + 32), thread[32];
	uint64_t seed = 1;

	assert_true(places && name);
	for (unsigned i = 0; i < n_functions; i++) {
		memset(name, 'x', length);
		snprintf(name + length, 32, "_%u", i);
		places[i] = window_place(p, i % 7 ? name : NULL, 0x400000 + 16 * i);
	}
	for (size_t i = 0; i < n; i++) {
		struct use use = {.thread = thread,
				  .pid = 1 + (int64_t)i % 3,
				  .samples = 1 + (int64_t)i % 5};

		for (size_t j = 0; j < ARRAY_SIZE(stack); j++)
			stack[j] = places[random_next(&seed) % n_functions];
		snprintf(thread, sizeof(thread), "worker-%u", random_next(&seed) % n_threads);
		window_add(p, stack, ARRAY_SIZE(stack), &use);
	}
	free(places);
	free(name);
	return p;
}

/* @p is used up and freed. */
static inline void window_send(const char *kind, struct profile *p,
			       const struct export_scope *scope, struct sent *ret)
{
	cleanup(export_bodies_deinit) struct export_bodies bodies = {0};
	const struct export_target *target = export_find_target(kind);

	assert_non_null(target);
	assert_int_equal(target->encode(p, scope, &bodies), 0);
	sent_read(target, &bodies, ret);
	profile_free(p);
}

static inline void assert_label(const struct sent_part *part, const char *name, const char *value)
{
	const char *is = sent_label(part, name);

	if (value) {
		assert_non_null(is);
		assert_string_equal(is, value);
	} else {
		assert_null(is);
	}
}

/* What samples whose leaf is @function count, in all parts. */
static inline int64_t sent_flat(const struct sent *s, const char *function)
{
	int64_t sum = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct profile *p = s->all[i].p;

		for (size_t j = 0; j < p->n_samples; j++) {
			uint32_t leaf = p->sample_locations[p->samples[j].first_location];
			const struct profile_line *line = &p->lines[p->locations[leaf].first_line];
			const char *name = profile_string(p, p->functions[line->function].name);

			if (strcmp(name, function) == 0)
				sum += p->sample_values[j * p->n_sample_types];
		}
	}
	return sum;
}

#endif

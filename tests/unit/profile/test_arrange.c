/* SPDX-License-Identifier: MIT */
/* Whatever the order, it is the same profile: and what is alike lies together, so it is smaller. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "tests/support/random.h"

#define N_SAMPLES 5000u
#define DEPTH     30u

/* Stacks that come again and again, in windows of 100 samples. */
static struct profile *make_profile(void)
{
	struct profile_mapping mapping = {.start = 0x1000, .limit = 0x100000};
	struct profile_label label = {0};
	struct profile *p = NULL;
	uint64_t random = 1;
	uint32_t index;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	assert_int_equal(profile_add_mapping(p, &mapping, &index), 0);
	assert_int_equal(profile_add_text(p, "window", &label.key), 0);
	for (unsigned i = 0; i < N_SAMPLES; i++) {
		uint32_t chain[DEPTH], n = random_next(&random) % (DEPTH + 1);
		const int64_t values[] = {1 + i % 3, i};

		label.num = 60 * (i / 100);
		for (uint32_t j = 0; j < n; j++) {
			uint32_t f = 100 * (n - j) + random_next(&random) % (j % 4 ? 1 : 4);
			struct profile_function function = {0};
			struct profile_line line = {.line = j};
			char name[16];

			snprintf(name, sizeof(name), "f%u", f);
			assert_int_equal(profile_add_text(p, name, &function.name), 0);
			assert_int_equal(profile_add_function(p, &function, &line.function), 0);
			line.line = f;
			assert_int_equal(profile_add_location(p, 0, 0x1000 + 16 * f, &line, 1,
							      &chain[j]),
					 0);
		}
		assert_int_equal(profile_append_sample(p, chain, n, values, &label, 1), 0);
	}
	return p;
}

/* A sample with all that it refers to, as a text; its second value is its name. */
static void describe(const struct profile *p, size_t index, char text[2048])
{
	const struct profile_sample *s = &p->samples[index];
	int at = snprintf(text, 2048, "%ld %ld", (long)p->sample_values[2 * index],
			  (long)p->sample_labels[s->first_label].num);

	for (uint32_t i = 0; i < s->n_locations; i++) {
		const struct profile_location *l =
			&p->locations[p->sample_locations[s->first_location + i]];
		const struct profile_line *line = &p->lines[l->first_line];

		at += snprintf(text + at, (size_t)(2048 - at), " %lx %s:%ld", (long)l->address,
			       profile_string(p, p->functions[line->function].name),
			       (long)line->line);
	}
}

static size_t written_bytes(const struct profile *p)
{
	uint8_t *data;
	size_t length;

	assert_int_equal(pprof_write(p, 6, &data, &length), 0);
	free(data);
	return length;
}

static void test_same_and_smaller(void **state)
{
	cleanup(profile_freep) struct profile *before = make_profile();
	cleanup(profile_freep) struct profile *p = make_profile();
	char have[2048], wanted[2048];
	bool seen[N_SAMPLES] = {0};

	(void)state;
	assert_int_equal(profile_arrange(p), 0);
	assert_int_equal(p->n_samples, N_SAMPLES);
	assert_int_equal(p->n_locations, before->n_locations);
	for (size_t i = 1; i < p->n_locations; i++)
		assert_true(p->locations[i - 1].address < p->locations[i].address);
	for (size_t i = 0; i < N_SAMPLES; i++) {
		size_t original = (size_t)p->sample_values[2 * i + 1];

		assert_false(seen[original]);
		seen[original] = true;
		describe(p, i, have);
		describe(before, original, wanted);
		assert_string_equal(have, wanted);
	}
	assert_true(written_bytes(p) < written_bytes(before));
}

/* What is there is found, and not added again. */
static void test_it_can_be_added_to(void **state)
{
	cleanup(profile_freep) struct profile *p = make_profile();
	const size_t n_functions = p->n_functions, n_locations = p->n_locations;
	struct profile_line line;
	uint32_t index;

	(void)state;
	assert_int_equal(profile_arrange(p), 0);
	for (uint32_t i = 0; i < n_locations; i++) {
		line = p->lines[p->locations[i].first_line];
		assert_int_equal(
			profile_add_location(p, 0, p->locations[i].address, &line, 1, &index), 0);
		assert_int_equal(index, i);
		assert_int_equal(
			profile_add_function(p, &p->functions[line.function], &line.function), 0);
	}
	assert_int_equal(p->n_functions, n_functions);
	assert_int_equal(p->n_locations, n_locations);
}

/* Nothing at all, and samples without anything. */
static void test_little(void **state)
{
	cleanup(profile_freep) struct profile *p = NULL;

	(void)state;
	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_arrange(p), 0);
	assert_int_equal(profile_append_sample(p, NULL, 0, NULL, NULL, 0), 0);
	assert_int_equal(profile_append_sample(p, NULL, 0, NULL, NULL, 0), 0);
	assert_int_equal(profile_arrange(p), 0);
	assert_int_equal(p->n_samples, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_and_smaller),
		cmocka_unit_test(test_it_can_be_added_to),
		cmocka_unit_test(test_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

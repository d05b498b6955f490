/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/profile/profile.h"
#include "common/utf8.h"

static struct profile *new_profile(void)
{
	struct profile *p = NULL;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	return p;
}

static void test_strings_are_interned(void **state)
{
	cleanup(profile_freep) struct profile *p = new_profile();
	cleanup(freep) char *big = calloc(1, 100001);
	uint32_t a, b, c;
	const char *kept;

	(void)state;
	assert_string_equal(profile_string(p, 0), "");
	assert_int_equal(profile_add_text(p, "", &a), 0);
	assert_int_equal(a, 0);
	assert_int_equal(profile_add_text(p, "main", &a), 0);
	assert_int_equal(profile_add_string(p, "main.c", 4, &b), 0);
	assert_int_equal(a, b);
	assert_int_equal(profile_add_string(p, "main.c", 6, &b), 0);
	assert_int_not_equal(a, b);
	kept = profile_string(p, a);
	memset(big, 'x', 100000);
	assert_int_equal(profile_add_text(p, big, &c), 0);
	for (unsigned i = 0; i < 50000; i++) {
		char text[16];

		snprintf(text, sizeof(text), "f%u", i);
		assert_int_equal(profile_add_text(p, text, &b), 0);
	}
	assert_ptr_equal(kept, profile_string(p, a));
	assert_string_equal(kept, "main");
	assert_string_equal(profile_string(p, c), big);
	assert_int_equal(profile_n_strings(p), 1 + 4 + 3 + 50000);
}

static void test_things_are_interned(void **state)
{
	cleanup(profile_freep) struct profile *p = new_profile();
	struct profile_mapping m = {.start = 0x1000, .limit = 0x2000, .path = 1};
	struct profile_function f = {.name = 1, .system_name = 1, .start_line = 7};
	struct profile_line lines[2] = {{.function = 0, .line = 10}, {.function = 1, .line = 20}};
	uint32_t a, b, location, other;

	(void)state;
	assert_int_equal(profile_add_mapping(p, &m, &a), 0);
	m.has_functions = true;
	assert_int_equal(profile_add_mapping(p, &m, &b), 0);
	assert_int_equal(a, b);
	m.offset = 1;
	assert_int_equal(profile_add_mapping(p, &m, &b), 0);
	assert_int_equal(b, 1);
	assert_int_equal(profile_append_mapping(p, &m, &b), 0);
	assert_int_equal(b, 2);
	assert_int_equal(profile_add_mapping(p, &m, &b), 0);
	assert_int_equal(b, 1);
	assert_int_equal(profile_add_function(p, &f, &a), 0);
	assert_int_equal(profile_add_function(p, &f, &b), 0);
	assert_int_equal(a, b);
	f.start_line = 8;
	assert_int_equal(profile_add_function(p, &f, &b), 0);
	assert_int_equal(b, 1);
	assert_int_equal(profile_add_location(p, 0, 5, lines, 2, &location), 0);
	assert_int_equal(profile_add_location(p, 0, 5, lines, 2, &other), 0);
	assert_int_equal(location, other);
	assert_int_equal(profile_add_location(p, 1, 5, lines, 2, &other), 0);
	assert_int_equal(other, 1);
	lines[1].line = 21;
	assert_int_equal(profile_add_location(p, 0, 5, lines, 2, &other), 0);
	assert_int_equal(other, 2);
	assert_int_equal(profile_add_location(p, PROFILE_NONE, 5, NULL, 0, &other), 0);
	assert_int_equal(other, 3);
	assert_int_equal(p->n_lines, 6);
	assert_int_equal(profile_add_comment(p, "# one"), 0);
	assert_int_equal(profile_add_comment(p, "# two"), 0);
	assert_int_equal(profile_add_comment(p, "# one"), 0);
	assert_int_equal(p->n_comments, 2);
}

static void test_strings(void **state)
{
	cleanup(profile_freep) struct profile *p = new_profile();
	uint32_t a, b;

	(void)state;
	assert_int_equal(profile_add_string(p, "a\0b\0", 4, &a), 0);
	assert_string_equal(profile_string(p, a), "a" UTF8_REPLACEMENT "b" UTF8_REPLACEMENT);
	assert_int_equal(profile_add_string(p, "a\0b\0", 4, &b), 0);
	assert_int_equal(a, b);
	assert_int_equal(profile_add_string(p, "\xff", 1, &a), 0);
	assert_string_equal(profile_string(p, a), "\xff");
}

/* A name that is made of an address is none, and a mapping that has one has not all functions. */
static void test_names_of_addresses(void **state)
{
	static const struct {
		const char *name;
		bool has_file, is_name;
	} cases[] = {
		{"gzip+0x4290", false, false}, {"a+b+0x0", false, false},
		{"gzip+0x4290", true, true},   {"gzip+0x", false, true},
		{"gzip+0x42g", false, true},   {"gzip+4290", false, true},
		{"+0x4290", false, true},      {"operator+", false, true},
		{"main", false, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup(profile_freep) struct profile *p = new_profile();
		const struct profile_mapping m = {.start = 0x1000, .limit = 0x2000};
		struct profile_line lines[2] = {{.line = 0}};
		struct profile_function f = {0};
		uint32_t index, none, one, two;

		assert_int_equal(profile_add_text(p, cases[i].name, &f.name), 0);
		f.filename = cases[i].has_file ? f.name : 0;
		assert_int_equal(profile_add_function(p, &f, &index), 0);
		assert_int_equal(profile_add_mapping(p, &m, &index), 0);
		assert_int_equal(profile_add_location(p, 0, 0x1001, lines, 1, &one), 0);
		profile_mark_mappings(p, NULL);
		assert_int_equal(p->mappings[0].has_functions, cases[i].is_name);
		assert_int_equal(profile_location_has_name(p, &p->locations[one]),
				 cases[i].is_name);
		assert_int_equal(profile_add_location(p, 0, 0x1002, lines, 2, &two), 0);
		assert_true(profile_location_has_name(p, &p->locations[two]));
		assert_int_equal(profile_add_location(p, 0, 0x1003, NULL, 0, &none), 0);
		assert_false(profile_location_has_name(p, &p->locations[none]));
	}
}

/* What was forgotten is found again, whatever is asked for first. */
static void test_settled(void **state)
{
	(void)state;
	for (unsigned first = 0; first < 4; first++) {
		cleanup(profile_freep) struct profile *p = new_profile();
		struct profile_line line = {.line = 3};
		const int64_t values[] = {1, 2};
		uint32_t text, index, location = 0;

		for (unsigned round = 0; round < 3; round++) {
			for (unsigned i = 0; i < 800; i++) {
				unsigned n = i / 4, what = (i + first) % 4;
				struct profile_mapping m = {.start = n};
				struct profile_function f = {.start_line = n};
				char name[16];

				snprintf(name, sizeof(name), "name %u", n);
				if (what == 0)
					assert_int_equal(profile_add_text(p, name, &text), 0);
				else if (what == 1)
					assert_int_equal(profile_add_mapping(p, &m, &index), 0);
				else if (what == 2)
					assert_int_equal(profile_add_function(p, &f, &index), 0);
				else
					assert_int_equal(profile_add_location(p, PROFILE_NONE, n,
									      &line, 1, &location),
							 0);
			}
			assert_string_equal(profile_string(p, text), "name 199");
			assert_int_equal(index, 199);
			assert_int_equal(location, 199);
			assert_int_equal(profile_add_sample(p, &location, 1, values, NULL, 0), 0);
			profile_settle(p);
		}
		assert_int_equal(profile_n_strings(p), 1 + 4 + 200);
		assert_int_equal(p->n_mappings, 200);
		assert_int_equal(p->n_functions, 200);
		assert_int_equal(p->n_locations, 200);
		assert_int_equal(p->n_samples, 1);
		assert_int_equal(profile_total(p, 0), 3);
	}
}

static void test_comments(void **state)
{
	cleanup(profile_freep) struct profile *p = new_profile();

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(profile_add_comment(p, "one"), 0);
		assert_int_equal(profile_add_comment(p, "two"), 0);
		assert_int_equal(profile_add_comment(p, "one"), 0);
		assert_int_equal(p->n_comments, 2);
		assert_string_equal(profile_string(p, p->comments[1]), "two");
		profile_clear_comments(p);
		assert_int_equal(p->n_comments, 0);
	}
}

static void test_equal_samples_add_up(void **state)
{
	cleanup(profile_freep) struct profile *p = new_profile();
	struct profile_label labels[2] = {{.key = 1, .str = 2}, {.key = 3, .num = 4}};
	const int64_t one[] = {1, 10}, huge[] = {INT64_MAX, INT64_MIN};
	uint32_t chain[3];

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(profile_add_location(p, PROFILE_NONE, i, NULL, 0, &chain[i]), 0);
	assert_int_equal(profile_add_sample(p, chain, 3, one, labels, 2), 0);
	assert_int_equal(profile_add_sample(p, chain, 3, one, labels, 2), 0);
	assert_int_equal(p->n_samples, 1);
	assert_int_equal(p->sample_values[0], 2);
	assert_int_equal(p->sample_values[1], 20);
	assert_int_equal(profile_add_sample(p, chain, 2, one, labels, 2), 0);
	assert_int_equal(profile_add_sample(p, chain, 3, one, labels, 1), 0);
	labels[1].num = 5;
	assert_int_equal(profile_add_sample(p, chain, 3, one, labels, 2), 0);
	assert_int_equal(profile_add_sample(p, NULL, 0, one, NULL, 0), 0);
	assert_int_equal(p->n_samples, 5);
	assert_int_equal(profile_total(p, 0), 6);
	assert_int_equal(profile_total(p, 1), 60);
	assert_int_equal(profile_add_sample(p, chain, 3, huge, labels, 2), 0);
	assert_int_equal(profile_add_sample(p, chain, 3, huge, labels, 2), 0);
	assert_true(p->sample_values[3 * 2] == INT64_MAX);
	assert_true(p->sample_values[3 * 2 + 1] == INT64_MIN);
	assert_true(profile_total(p, 0) == INT64_MAX);
	assert_int_equal(profile_add_sample_type(p, "late", "count"), -EINVAL);
}

/* Many samples that differ in one frame only: each must find itself again, and no other. */
static void test_many_samples(void **state)
{
	cleanup(profile_freep) struct profile *p = new_profile();
	const int64_t one[] = {1, 1};
	uint32_t chain[30], n = 20000;

	(void)state;
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < n; i++) {
			for (uint32_t k = 0; k < 30; k++)
				assert_int_equal(profile_add_location(p, PROFILE_NONE,
								      k == i % 30 ? i : k, NULL, 0,
								      &chain[k]),
						 0);
			assert_int_equal(profile_add_sample(p, chain, 30, one, NULL, 0), 0);
		}
	}
	/* i < 30 changes nothing: these are one sample. */
	assert_int_equal(p->n_samples, n - 29);
	assert_int_equal(p->sample_values[0], 60);
	for (size_t i = 1; i < p->n_samples; i++)
		assert_int_equal(p->sample_values[i * 2], 2);
}

static void test_main_mapping(void **state)
{
	cleanup(profile_freep) struct profile *p = new_profile();
	struct profile_mapping m = {.limit = 1};
	uint32_t mapping, location[4], again;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		m.start = i;
		assert_int_equal(profile_add_mapping(p, &m, &mapping), 0);
		assert_int_equal(profile_add_location(p, i, 9, NULL, 0, &location[i]), 0);
	}
	assert_int_equal(profile_add_location(p, PROFILE_NONE, 9, NULL, 0, &location[3]), 0);
	profile_set_main_mapping(p, 2);
	assert_int_equal(p->mappings[0].start, 2);
	assert_int_equal(p->mappings[2].start, 0);
	assert_int_equal(p->locations[location[0]].mapping, 2);
	assert_int_equal(p->locations[location[1]].mapping, 1);
	assert_int_equal(p->locations[location[2]].mapping, 0);
	assert_int_equal(p->locations[location[3]].mapping, PROFILE_NONE);
	/* The look-up side has followed. */
	m.start = 2;
	assert_int_equal(profile_add_mapping(p, &m, &mapping), 0);
	assert_int_equal(mapping, 0);
	assert_int_equal(profile_add_location(p, 0, 9, NULL, 0, &again), 0);
	assert_int_equal(again, location[2]);
	assert_int_equal(p->n_locations, 4);
	profile_set_main_mapping(p, 7);
	assert_int_equal(p->mappings[0].start, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings_are_interned),
		cmocka_unit_test(test_things_are_interned),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_names_of_addresses),
		cmocka_unit_test(test_settled),
		cmocka_unit_test(test_comments),
		cmocka_unit_test(test_equal_samples_add_up),
		cmocka_unit_test(test_many_samples),
		cmocka_unit_test(test_main_mapping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

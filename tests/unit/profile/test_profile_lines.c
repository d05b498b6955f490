/* SPDX-License-Identifier: MIT */
/* Lines that are replaced, and functions that nothing names any more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/profile/profile.h"

#define N_LOCATIONS 100u

static uint32_t add_function(struct profile *p, const char *name)
{
	struct profile_function f = {0};
	uint32_t function;

	assert_int_equal(profile_add_text(p, name, &f.name), 0);
	assert_int_equal(profile_add_function(p, &f, &function), 0);
	return function;
}

static const char *name_of(const struct profile *p, uint32_t location, uint32_t line)
{
	const struct profile_location *l = &p->locations[location];

	assert_true(line < l->n_lines);
	return profile_string(p, p->functions[p->lines[l->first_line + line].function].name);
}

static void test_set_lines(void **state)
{
	cleanup(profile_freep) struct profile *p = NULL;
	struct profile_line lines[3] = {0};
	uint32_t first, second, again, other;

	(void)state;
	assert_int_equal(profile_new(&p), 0);
	for (unsigned i = 0; i < 3; i++) {
		char name[8];

		snprintf(name, sizeof(name), "f%u", i);
		lines[i] = (struct profile_line){.function = add_function(p, name), .line = i + 1};
	}
	assert_int_equal(profile_add_location(p, PROFILE_NONE, 16, NULL, 0, &first), 0);
	assert_int_equal(profile_add_location(p, PROFILE_NONE, 32, lines, 1, &second), 0);
	/* More than there were, as many, fewer. */
	assert_int_equal(profile_set_lines(p, first, lines, 2), 0);
	assert_int_equal(profile_set_lines(p, second, lines + 2, 1), 0);
	assert_string_equal(name_of(p, first, 0), "f0");
	assert_string_equal(name_of(p, first, 1), "f1");
	assert_string_equal(name_of(p, second, 0), "f2");
	assert_int_equal(p->n_locations, 2);
	/* What is equal is found as it is now, and no more as it was. */
	assert_int_equal(profile_add_location(p, PROFILE_NONE, 16, lines, 2, &again), 0);
	assert_int_equal(again, first);
	assert_int_equal(profile_add_location(p, PROFILE_NONE, 32, lines, 1, &other), 0);
	assert_int_equal(other, 2);
	assert_int_equal(profile_set_lines(p, first, NULL, 0), 0);
	assert_int_equal(p->locations[first].n_lines, 0);
	assert_int_equal(profile_add_location(p, PROFILE_NONE, 16, NULL, 0, &again), 0);
	assert_int_equal(again, first);
}

static void test_drop_unused_functions(void **state)
{
	cleanup(profile_freep) struct profile *p = NULL;
	uint32_t locations[N_LOCATIONS], function;

	(void)state;
	assert_int_equal(profile_new(&p), 0);
	for (unsigned i = 0; i < N_LOCATIONS; i++) {
		char name[8];
		struct profile_line line = {0};

		snprintf(name, sizeof(name), "f%u", i);
		line.function = add_function(p, name);
		assert_int_equal(profile_add_location(p, PROFILE_NONE, i, &line, 1, &locations[i]),
				 0);
	}
	for (unsigned i = 0; i < N_LOCATIONS; i += 2)
		assert_int_equal(profile_set_lines(p, locations[i], NULL, 0), 0);
	assert_int_equal(profile_drop_unused_functions(p), 0);
	assert_int_equal(p->n_functions, N_LOCATIONS / 2);
	for (unsigned i = 1; i < N_LOCATIONS; i += 2) {
		char name[8];
		uint32_t again;

		snprintf(name, sizeof(name), "f%u", i);
		assert_string_equal(name_of(p, locations[i], 0), name);
		/* The tables know the new indices. */
		assert_int_equal(add_function(p, name), i / 2);
		assert_int_equal(profile_add_location(p, PROFILE_NONE, i,
						      &p->lines[p->locations[i].first_line], 1,
						      &again),
				 0);
		assert_int_equal(again, locations[i]);
	}
	function = add_function(p, "f0");
	assert_int_equal(function, N_LOCATIONS / 2);
	assert_int_equal(profile_drop_unused_functions(p), 0);
	assert_int_equal(p->n_functions, N_LOCATIONS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set_lines),
		cmocka_unit_test(test_drop_unused_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

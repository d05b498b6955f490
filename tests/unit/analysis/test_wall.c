/* SPDX-License-Identifier: MIT */
/* The sum of CPU time and waiting time, made for those who look and taken off again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/analysis/wall.h"
#include "tests/unit/analysis/waits_fixture.h"

static const char *type_of(const struct profile *p, uint32_t i)
{
	return profile_string(p, p->sample_types[i].type);
}

static void test_sum(void **state)
{
	struct profile *p = waits_profile();
	struct profile_message message;

	(void)state;
	for (int i = 0; i < 1000; i++)
		waits_add(p, &(struct waiting){.stack = "f;main", .cpu = i, .off = 2 * i});
	waits_add(p, &(struct waiting){.stack = "f;main", .cpu = INT64_MAX, .off = 7});
	waits_add(p, &(struct waiting){.stack = "f;main", .cpu = -5, .off = -7});
	assert_true(wall_is_possible(p));
	assert_int_equal(wall_add(p, &message), WALL_E_OK);
	assert_int_equal(p->n_sample_types, 4);
	assert_string_equal(type_of(p, 3), "wall");
	assert_string_equal(profile_string(p, p->sample_types[3].unit), "nanoseconds");
	for (size_t i = 0; i < 1000; i++) {
		const int64_t n = (int64_t)i, expected[] = {1, n, 2 * n, 3 * n};

		assert_memory_equal(&p->sample_values[4 * i], expected, sizeof(expected));
	}
	assert_true(p->sample_values[4003] == INT64_MAX);
	assert_int_equal(p->sample_values[4007], -12);
	/* It is there once. */
	assert_false(wall_is_possible(p));

	wall_remove(p);
	assert_int_equal(p->n_sample_types, 3);
	assert_string_equal(type_of(p, 2), "off_cpu");
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(p->sample_values[3 * i + 2], 2 * i);
	assert_true(wall_is_possible(p));
	/* Samples that are added afterwards are of the types that are left. */
	waits_add(p, &(struct waiting){.stack = "g", .cpu = 8, .off = 9});
	assert_int_equal(p->sample_values[3 * 1002 + 1], 8);
	profile_free(p);
}

static void refuse(const char *const *types, const char *why)
{
	struct profile *p = waits_profile_of(types);
	struct profile_message message;

	assert_false(wall_is_possible(p));
	assert_int_equal(wall_add(p, &message), WALL_E_MISSING);
	if (!strstr(message.text, why))
		fail_msg("%s", message.text);
	assert_null(strchr(message.text, '\n'));
	assert_int_equal(wall_add(p, NULL), WALL_E_MISSING);
	profile_free(p);
}

static void test_without(void **state)
{
	static const char *const cpu[] = {"samples", "cpu", NULL};
	static const char *const off[] = {"samples", "off_cpu", NULL};
	static const char *const own[] = {"cpu", "off_cpu", "wall", NULL};

	(void)state;
	refuse(cpu, "samples/count, cpu/nanoseconds");
	refuse(off, "samples/count, off_cpu/nanoseconds");
	/* A profile's own type is what it says. */
	refuse(own, "wall/nanoseconds");
}

static void test_units(void **state)
{
	struct profile *p;

	(void)state;
	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "microseconds"), 0);
	assert_int_equal(profile_add_sample_type(p, "off_cpu", "nanoseconds"), 0);
	assert_false(wall_is_possible(p));
	profile_free(p);
}

static void test_room(void **state)
{
	struct profile *p = waits_profile();

	(void)state;
	while (p->n_sample_types < PROFILE_TYPES_MAX)
		assert_int_equal(profile_add_sample_type(p, "more", "count"), 0);
	assert_false(wall_is_possible(p));
	assert_int_equal(wall_add(p, NULL), WALL_E_MISSING);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sum),
		cmocka_unit_test(test_without),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Two things are never merged because their hashes are equal. With the random numbers all 0, a
 * hash is no more than the exclusive or of its words: things with two words exchanged collide.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include <cmocka.h>

#include "common/profile/profile.h"
#include "common/profile/profile_table.h"

ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
	(void)flags;
	memset(buffer, 0, length);
	return (ssize_t)length;
}

static struct profile *new_profile(void)
{
	struct profile *p = NULL;
	uint32_t string;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	for (char text[] = "a"; *text < 'k'; (*text)++)
		assert_int_equal(profile_add_text(p, text, &string), 0);
	return p;
}

static void test_premise(void **state)
{
	static const uint64_t a[] = {1, 2, 3}, b[] = {3, 2, 1}, c[] = {3, 2, 2};
	struct profile_hash_key key;

	(void)state;
	profile_hash_key_init(&key);
	assert_int_equal(profile_hash(&key, a, sizeof(a)), profile_hash(&key, b, sizeof(b)));
	assert_int_not_equal(profile_hash(&key, a, sizeof(a)), profile_hash(&key, c, sizeof(c)));
}

static void test_strings(void **state)
{
	cleanup(profile_freep) struct profile *p = new_profile();
	uint32_t a, b, again;

	(void)state;
	assert_int_equal(profile_add_text(p, "12345678abcdefgh", &a), 0);
	assert_int_equal(profile_add_text(p, "abcdefgh12345678", &b), 0);
	assert_int_not_equal(a, b);
	assert_int_equal(profile_add_text(p, "12345678abcdefgh", &again), 0);
	assert_int_equal(a, again);
}

static void test_mappings_and_functions(void **state)
{
	const struct profile_mapping mappings[] = {
		{.start = 1, .limit = 2, .offset = 3, .path = 4, .build_id = 5},
		{.start = 2, .limit = 1, .offset = 3, .path = 4, .build_id = 5},
		{.start = 1, .limit = 3, .offset = 2, .path = 4, .build_id = 5},
		{.start = 1, .limit = 2, .offset = 4, .path = 3, .build_id = 5},
		{.start = 1, .limit = 2, .offset = 3, .path = 5, .build_id = 4},
		{.start = 5, .limit = 2, .offset = 3, .path = 4, .build_id = 1},
	};
	const struct profile_function functions[] = {
		{1, 2, 3, 4}, {2, 1, 3, 4}, {1, 3, 2, 4}, {1, 2, 4, 3}, {4, 2, 3, 1},
	};
	cleanup(profile_freep) struct profile *p = new_profile();
	uint32_t index;

	(void)state;
	for (unsigned round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 6; i++) {
			assert_int_equal(profile_add_mapping(p, &mappings[i], &index), 0);
			assert_int_equal(index, i);
		}
		for (uint32_t i = 0; i < 5; i++) {
			assert_int_equal(profile_add_function(p, &functions[i], &index), 0);
			assert_int_equal(index, i);
		}
	}
}

static void test_locations(void **state)
{
	const struct profile_line lines[] = {{.function = 1, .line = 2},
					     {.function = 2, .line = 1},
					     {.function = 3, .line = 4}};
	cleanup(profile_freep) struct profile *p = new_profile();
	uint32_t index;

	(void)state;
	for (unsigned round = 0; round < 2; round++) {
		assert_int_equal(profile_add_location(p, 5, 7, NULL, 0, &index), 0);
		assert_int_equal(index, 0);
		assert_int_equal(profile_add_location(p, 7, 5, NULL, 0, &index), 0);
		assert_int_equal(index, 1);
		assert_int_equal(profile_add_location(p, 5, 7, &lines[0], 1, &index), 0);
		assert_int_equal(index, 2);
		assert_int_equal(profile_add_location(p, 5, 7, &lines[1], 1, &index), 0);
		assert_int_equal(index, 3);
		assert_int_equal(profile_add_location(p, 5, 7, &lines[0], 3, &index), 0);
		assert_int_equal(index, 4);
	}
}

static void test_samples(void **state)
{
	const uint32_t chains[][4] = {{0, 1, 2, 3}, {2, 3, 0, 1}};
	const struct profile_label labels[] = {{.key = 1, .str = 2, .num_unit = 3, .num = 4},
					       {.key = 2, .str = 1, .num_unit = 3, .num = 4},
					       {.key = 1, .str = 3, .num_unit = 2, .num = 4},
					       {.key = 1, .str = 2, .num_unit = 4, .num = 3}};
	cleanup(profile_freep) struct profile *p = new_profile();
	const int64_t one[] = {1};
	uint32_t index;

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(profile_add_location(p, PROFILE_NONE, i, NULL, 0, &index), 0);
	for (unsigned round = 0; round < 2; round++) {
		assert_int_equal(profile_add_sample(p, chains[0], 4, one, NULL, 0), 0);
		assert_int_equal(profile_add_sample(p, chains[1], 4, one, NULL, 0), 0);
		for (uint32_t i = 0; i < 4; i++)
			assert_int_equal(profile_add_sample(p, chains[0], 4, one, &labels[i], 1),
					 0);
	}
	assert_int_equal(p->n_samples, 6);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(p->sample_values[i], 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_premise),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_mappings_and_functions),
		cmocka_unit_test(test_locations),
		cmocka_unit_test(test_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

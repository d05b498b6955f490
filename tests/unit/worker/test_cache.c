/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "daemon/worker/sources.h"

/* A thing is a number of bytes, and counts in *living. */
struct thing {
	size_t bytes;
	unsigned *living;
};

static void thing_free(void *thing)
{
	--*((struct thing *)thing)->living;
	free(thing);
}

static size_t thing_bytes(const void *thing)
{
	return ((const struct thing *)thing)->bytes;
}

static const struct cache_class class = {.free = thing_free, .bytes = thing_bytes};

static struct thing *put(struct cache *c, const struct cache_key *key, size_t bytes,
			 unsigned *living)
{
	struct thing *thing = malloc(sizeof(*thing));

	assert_non_null(thing);
	*thing = (struct thing){.bytes = bytes, .living = living};
	++*living;
	cache_put(c, key, &class, thing);
	return thing;
}

static struct cache *new_cache(void)
{
	struct cache *c = NULL;

	assert_int_equal(cache_new(&c, 100), 0);
	return c;
}

static void test_keys(void **state)
{
	const struct cache_key key = {.key = 1, .type = 2, .made_of = 3};
	struct cache *c = new_cache();
	struct cache_key other;
	unsigned living = 0;
	struct thing *thing;

	(void)state;
	assert_null(cache_get(c, &key));
	thing = put(c, &key, 10, &living);
	cache_settle(c);
	assert_ptr_equal(cache_get(c, &key), thing);
	for (unsigned i = 0; i < 3; i++) {
		other = key;
		other.key += i == 0;
		other.type += i == 1;
		other.made_of += i == 2;
		assert_null(cache_get(c, &other));
	}
	cache_free(c);
	assert_int_equal(living, 0);
}

static void test_not_kept(void **state)
{
	const struct cache_key none = {.type = 1};
	struct cache *c = new_cache();
	unsigned living = 0;

	(void)state;
	put(c, &none, 10, &living);
	assert_null(cache_get(c, &none));
	assert_int_equal(living, 1);
	cache_settle(c);
	assert_int_equal(living, 0);
	cache_free(c);
}

static void test_oldest_goes(void **state)
{
	struct cache_key keys[4] = {{.key = 1}, {.key = 2}, {.key = 3}, {.key = 4}};
	struct cache *c = new_cache();
	unsigned living = 0;
	struct thing *grows;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		put(c, &keys[i], 30, &living);
		cache_settle(c);
	}
	assert_non_null(cache_get(c, &keys[0]));
	cache_settle(c);
	grows = put(c, &keys[3], 30, &living);
	assert_int_equal(cache_bytes(c), 90);
	assert_null(cache_get(c, &keys[1]));
	assert_non_null(cache_get(c, &keys[0]));
	assert_non_null(cache_get(c, &keys[2]));
	cache_settle(c);
	/* One that grew while it was used. */
	assert_ptr_equal(cache_get(c, &keys[3]), grows);
	grows->bytes = 80;
	cache_settle(c);
	assert_non_null(cache_get(c, &keys[3]));
	assert_int_equal(cache_bytes(c), 80);
	assert_int_equal(living, 1);
	cache_free(c);
}

/* What a request uses stays until it is over, however large; then it is too large to be kept. */
static void test_borrowed_stays(void **state)
{
	struct cache_key keys[2] = {{.key = 1}, {.key = 2}};
	struct cache *c = new_cache();
	unsigned living = 0;

	(void)state;
	put(c, &keys[0], 90, &living);
	put(c, &keys[1], 900, &living);
	assert_int_equal(living, 2);
	cache_settle(c);
	assert_int_equal(living, 0);
	cache_free(c);
}

static void test_many(void **state)
{
	struct cache *c = new_cache();
	unsigned living = 0;

	(void)state;
	for (uint64_t i = 1; i <= 10 * CACHE_ENTRIES_MAX; i++) {
		const struct cache_key key = {.key = i};

		put(c, &key, 0, &living);
		assert_non_null(cache_get(c, &key));
		cache_settle(c);
		assert_true(living <= CACHE_ENTRIES_MAX);
	}
	assert_int_equal(living, CACHE_ENTRIES_MAX);
	cache_clear(c);
	assert_int_equal(living, 0);
	cache_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),        cmocka_unit_test(test_not_kept),
		cmocka_unit_test(test_oldest_goes), cmocka_unit_test(test_borrowed_stays),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

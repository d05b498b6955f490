/* SPDX-License-Identifier: MIT */
#include "client/gateway/api/profile_cache.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"

#define NOW (UINT64_C(1795262400) * NS_PER_S)

static const struct profile_key old = {"a", 0, NOW - 7200 * NS_PER_S, NOW - 3600 * NS_PER_S};

static void add_profile(struct profile_cache *c, const struct profile_key *key, uint64_t bytes)
{
	Profd__Control__Collected collected = PROFD__CONTROL__COLLECTED__INIT;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	collected.bytes = bytes;
	collected.windows = bytes + 1;
	profile_cache_add(c, key, fd, &collected, NOW);
	close(fd);
}

static bool has(struct profile_cache *c, const struct profile_key *key, uint64_t now_ns)
{
	uint64_t n = 0;
	int fd = profile_cache_find(c, key, now_ns, &n);

	assert_true(fd < 0 || (fcntl(fd, F_GETFD) >= 0 && n > 0));
	return fd >= 0;
}

static void test_keys(void **state)
{
	struct profile_key other = old;
	struct profile_cache *c;

	(void)state;
	assert_int_equal(profile_cache_new(&c, 100), 0);
	add_profile(c, &old, 10);
	assert_true(has(c, &old, NOW));
	other.service = "b";
	assert_false(has(c, &other, NOW));
	other = old;
	other.pid = 7;
	assert_false(has(c, &other, NOW));
	other = old;
	other.until_ns++;
	assert_false(has(c, &other, NOW));
	profile_cache_free(c);
}

static void test_ages(void **state)
{
	const struct profile_key present = {"a", 0, NOW - 7200 * NS_PER_S, NOW};
	struct profile_cache *c;

	(void)state;
	assert_int_equal(profile_cache_new(&c, 100), 0);
	add_profile(c, &old, 10);
	add_profile(c, &present, 10);
	assert_true(has(c, &present, NOW + NS_PER_S));
	assert_false(has(c, &present, NOW + 3 * NS_PER_S));
	assert_true(has(c, &old, NOW + 3 * NS_PER_S));
	assert_false(has(c, &old, NOW + 61 * NS_PER_S));
	assert_int_equal(profile_cache_bytes(c), 0);
	profile_cache_free(c);
}

static void test_bound(void **state)
{
	struct profile_key keys[4] = {old, old, old, old};
	struct profile_cache *c;

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		keys[i].pid = i + 1;
	assert_int_equal(profile_cache_new(&c, 100), 0);
	for (unsigned i = 0; i < 3; i++)
		add_profile(c, &keys[i], 30);
	assert_true(has(c, &keys[0], NOW));
	add_profile(c, &keys[3], 40);
	assert_int_equal(profile_cache_bytes(c), 100);
	assert_true(has(c, &keys[0], NOW));
	assert_false(has(c, &keys[1], NOW));
	add_profile(c, &old, 101);
	assert_false(has(c, &old, NOW));
	add_profile(c, &old, 100);
	assert_true(has(c, &old, NOW));
	assert_false(has(c, &keys[0], NOW));
	for (unsigned i = 0; i < 1000; i++) {
		keys[0].since_ns++;
		add_profile(c, &keys[0], 0);
	}
	profile_cache_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_ages),
		cmocka_unit_test(test_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

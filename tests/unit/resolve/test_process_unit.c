/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/resolve/process.h"

static struct process_unit *make(const char *service, const char *cgroup, const char *container)
{
	struct process_unit *unit = NULL;

	assert_int_equal(process_unit_new(&unit, service, cgroup, container), 0);
	return unit;
}

static void test_texts_are_kept(void **state)
{
	cleanup(process_unit_unrefp) struct process_unit *all = make("a.service", "/a", "c0ffee");
	cleanup(process_unit_unrefp) struct process_unit *bare = make("other", "", "");

	(void)state;
	assert_string_equal(all->service, "a.service");
	assert_string_equal(all->cgroup, "/a");
	assert_string_equal(all->container, "c0ffee");
	assert_string_equal(bare->service, "other");
	assert_null(bare->cgroup);
	assert_null(bare->container);
}

static void test_each_text_makes_another_one(void **state)
{
	cleanup(process_unit_unrefp) struct process_unit *all = make("a.service", "/a", "c0ffee");
	cleanup(process_unit_unrefp) struct process_unit *bare = make("a.service", "", "");

	(void)state;
	assert_true(process_unit_is(all, "a.service", "/a", "c0ffee"));
	assert_false(process_unit_is(all, "b.service", "/a", "c0ffee"));
	assert_false(process_unit_is(all, "a.service", "/b", "c0ffee"));
	assert_false(process_unit_is(all, "a.service", "/a", "c0ffe0"));
	assert_false(process_unit_is(all, "a.service", "", "c0ffee"));
	assert_false(process_unit_is(all, "a.service", "/a", ""));
	assert_true(process_unit_is(bare, "a.service", "", ""));
	assert_false(process_unit_is(bare, "a.service", "/a", ""));
	assert_false(process_unit_is(bare, "a.service", "", "c0ffee"));
}

static void test_the_last_one_frees(void **state)
{
	struct process_unit *unit = make("a.service", "/a", "");
	struct process_unit *same = process_unit_ref(unit);

	(void)state;
	assert_ptr_equal(same, unit);
	process_unit_unref(unit);
	assert_true(process_unit_is(same, "a.service", "/a", ""));
	process_unit_unref(same);
	process_unit_unref(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts_are_kept),
		cmocka_unit_test(test_each_text_makes_another_one),
		cmocka_unit_test(test_the_last_one_frees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "client/gateway/function_cpu.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/gateway/view/flat.h"
#include "common/memory_text.h"

struct use {
	const char *service, *function;
	uint64_t ns;
};

static int add_uses(struct function_cpu *f, const struct use *uses, size_t n)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};

	assert_int_equal(memory_text_open(&text), 0);
	for (size_t i = 0; i < n; i++)
		fprintf(text.out, "%" PRIu64 " %s\t%s\n", uses[i].ns, uses[i].service,
			uses[i].function);
	assert_int_equal(memory_text_close(&text), 0);
	return function_cpu_add(f, text.text);
}

#define ADD(f, ...)                                                                 \
	assert_int_equal(add_uses(f, (const struct use[]){__VA_ARGS__},             \
				  ARRAY_SIZE(((const struct use[]){__VA_ARGS__}))), \
			 0)

/* -1: it is not kept. */
static int64_t shown(const struct function_cpu *f, const char *service, const char *name)
{
	const struct function_cpu_entry *e = NULL;
	int64_t found = -1;

	while ((e = function_cpu_next(f, e))) {
		if (strcmp(function_cpu_service(e), service) || strcmp(function_cpu_name(e), name))
			continue;
		assert_int_equal(found, -1);
		found = (int64_t)function_cpu_ns(e);
	}
	return found;
}

static size_t n_shown(const struct function_cpu *f)
{
	const struct function_cpu_entry *e = NULL;
	size_t n = 0;

	while ((e = function_cpu_next(f, e)))
		n++;
	return n;
}

static void test_adds_up(void **state)
{
	struct function_cpu *f;

	(void)state;
	assert_int_equal(function_cpu_new(&f, 8), 0);
	ADD(f, {"a", "run", 5}, {"b", "run", 7}, {"a", "run", 2}, {"a", "[stripped]", 3});
	assert_int_equal(shown(f, "a", "run"), 7);
	assert_int_equal(shown(f, "b", "run"), 7);
	assert_int_equal(shown(f, "a", "[stripped]"), 3);
	ADD(f, {"a", "run", 10}, {"a", "walk", 1});
	assert_int_equal(shown(f, "a", "run"), 17);
	assert_int_equal(shown(f, "a", "walk"), 1);
	assert_int_equal(shown(f, "b", "run"), 7);
	assert_int_equal(n_shown(f), 4);
	function_cpu_reset(f);
	assert_int_equal(n_shown(f), 0);
	function_cpu_free(f);
}

/* The largest are kept; one that uses a little more does not take another one's place. */
static void test_keeps_what_it_has(void **state)
{
	struct function_cpu *f;

	(void)state;
	assert_int_equal(function_cpu_new(&f, 2), 0);
	ADD(f, {"s", "a", 100}, {"s", "b", 50}, {"s", "c", 40}, {"s", "d", 1});
	assert_int_equal(n_shown(f), 2);
	assert_int_equal(shown(f, "s", "a"), 100);
	assert_int_equal(shown(f, "s", "b"), 50);
	for (int i = 0; i < 20; i++)
		ADD(f, {"s", "a", 100}, {"s", "b", 50}, {"s", "c", 60});
	assert_int_equal(shown(f, "s", "b"), 1050);
	assert_int_equal(shown(f, "s", "c"), -1);
	for (int i = 0; i < 20; i++)
		ADD(f, {"s", "a", 100}, {"s", "b", 50}, {"s", "c", 200});
	assert_int_equal(n_shown(f), 2);
	assert_int_equal(shown(f, "s", "b"), -1);
	assert_true(shown(f, "s", "c") > 0);
	assert_int_equal(shown(f, "s", "a"), 4100);
	function_cpu_free(f);
}

/* One that is not used any more makes room, and no counter falls on the way. */
static void test_fades(void **state)
{
	struct function_cpu *f;
	int64_t last = 0;

	(void)state;
	assert_int_equal(function_cpu_new(&f, 1), 0);
	ADD(f, {"s", "old", 1000});
	for (int i = 0; i < 100; i++) {
		ADD(f, {"s", "new", 10});
		if (shown(f, "s", "old") >= 0)
			assert_int_equal(shown(f, "s", "old"), 1000);
		if (shown(f, "s", "new") >= 0)
			assert_true(shown(f, "s", "new") > last);
		last = shown(f, "s", "new");
	}
	assert_int_equal(shown(f, "s", "old"), -1);
	assert_true(last > 0);
	function_cpu_free(f);
}

/* What no viewer writes. What was before it counts. */
static void test_malformed(void **state)
{
	static const char *const bad[] = {"x s\tf\n",    "1\n",     "1 s\n",
					  "1 s\t\n",     "1 \tf\n", "-1 s\tf\n",
					  "1 s\t\xff\n", " s\tf\n", "18446744073709551616 s\tf\n"};
	char text[600], name[400];
	struct function_cpu *f;

	(void)state;
	assert_int_equal(function_cpu_new(&f, 8), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(text, sizeof(text), "5 s\tgood\n%s7 s\tgood\n", bad[i]);
		assert_int_equal(function_cpu_add(f, text), FUNCTION_CPU_E_MALFORMED);
		assert_int_equal(shown(f, "s", "good"), 5 * (i + 1));
	}
	memset(name, 'x', sizeof(name));
	name[FLAT_NAME_MAX + 1] = '\0';
	snprintf(text, sizeof(text), "1 s\t%s\n", name);
	assert_int_equal(function_cpu_add(f, text), FUNCTION_CPU_E_MALFORMED);
	assert_int_equal(n_shown(f), 1);
	text[0] = '\0';
	assert_int_equal(function_cpu_add(f, text), 0);
	function_cpu_free(f);
}

/* Memory is bounded: most of many functions that come and go are forgotten. */
static void test_many(void **state)
{
	struct function_cpu *f;
	char names[500][16];
	struct use uses[500];

	(void)state;
	assert_int_equal(function_cpu_new(&f, 10), 0);
	for (unsigned round = 0; round < 50; round++) {
		for (unsigned i = 0; i < 500; i++) {
			snprintf(names[i], sizeof(names[i]), "f%u", round * 500 + i);
			uses[i] = (struct use){"s", names[i], 1 + i};
		}
		uses[0] = (struct use){"s", "always", 400};
		assert_int_equal(add_uses(f, uses, 500), 0);
		assert_int_equal(n_shown(f), 10);
	}
	assert_true(shown(f, "s", "always") >= 40 * 400);
	function_cpu_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adds_up), cmocka_unit_test(test_keeps_what_it_has),
		cmocka_unit_test(test_fades),   cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

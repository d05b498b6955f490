/* SPDX-License-Identifier: MIT */
/* Profiles of intervals become functions' costs. */
#include "client/top/functions.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/analysis/waits_fixture.h"

/* "leaf;caller;root value ..." with a location a name; a name that begins with / is a mapping's. */
static struct profile *make(const char *text)
{
	struct profile *p;
	char copy[512], *rest = NULL;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	snprintf(copy, sizeof(copy), "%s", text);
	for (char *chain = strtok_r(copy, " ", &rest); chain; chain = strtok_r(NULL, " ", &rest)) {
		const int64_t ns = strtoll(strtok_r(NULL, " ", &rest), NULL, 10);
		const int64_t values[] = {1, ns};
		uint32_t locations[16], n = 0, string;
		char *names = NULL;

		for (char *name = strtok_r(chain, ";", &names); name;
		     name = strtok_r(NULL, ";", &names)) {
			struct profile_mapping mapping = {.start = 0x1000, .limit = 0x2000};
			struct profile_function function = {0};
			struct profile_line line = {0};
			uint32_t m = PROFILE_NONE;

			assert_int_equal(profile_add_text(p, name, &string), 0);
			if (*name == '/') {
				mapping.path = string;
				assert_int_equal(profile_add_mapping(p, &mapping, &m), 0);
				assert_int_equal(profile_add_location(p, m, 0x1234, NULL, 0,
								      &locations[n++]),
						 0);
				continue;
			}
			function.name = function.system_name = string;
			assert_int_equal(profile_add_function(p, &function, &line.function), 0);
			assert_int_equal(
				profile_add_location(p, m, string, &line, 1, &locations[n++]), 0);
		}
		assert_int_equal(profile_add_sample(p, locations, n, values, NULL, 0), 0);
	}
	return p;
}

static void next(struct top_functions *f, const char *text)
{
	struct profile *p = make(text);

	top_functions_next(f);
	assert_int_equal(top_functions_add(f, p), 0);
	profile_free(p);
}

/* "name flat cum all_flat all_cum" a function, in order. */
static void expect(struct top_functions *f, enum top_order order, const char *filter,
		   const char *text)
{
	const struct top_function *const *functions;
	char got[512] = "";
	size_t n, length = 0;

	assert_int_equal(top_functions_sort(f, order, filter, &functions, &n), 0);
	for (size_t i = 0; i < n; i++)
		length += (size_t)snprintf(got + length, sizeof(got) - length, "%s%s %d %d %d %d",
					   i ? "; " : "", functions[i]->name,
					   (int)functions[i]->interval.flat,
					   (int)functions[i]->interval.cum,
					   (int)functions[i]->all.flat, (int)functions[i]->all.cum);
	assert_string_equal(got, text);
}

/* "samples value all_samples all_value" */
static void expect_sums(struct top_functions *f, const char *text)
{
	struct top_sums sums;
	char got[128];

	top_functions_sums(f, &sums);
	snprintf(got, sizeof(got), "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64, sums.samples,
		 sums.value, sums.all_samples, sums.all_value);
	assert_string_equal(got, text);
}

static void test_intervals_add_up(void **state)
{
	struct top_functions *f;

	(void)state;
	assert_int_equal(top_functions_new(&f, &(struct top_what){0}), 0);
	expect(f, TOP_BY_FLAT, "", "");
	next(f, "a;main 10 b;a;main 5");
	expect(f, TOP_BY_FLAT, "", "a 10 15 10 15; b 5 5 5 5; main 0 15 0 15");
	expect(f, TOP_BY_CUM, "", "a 10 15 10 15; main 0 15 0 15; b 5 5 5 5");
	next(f, "b;main 3");
	expect(f, TOP_BY_FLAT, "", "b 3 3 8 8; main 0 3 0 18; a 0 0 10 15");
	expect_sums(f, "1 3 3 18");
	top_functions_next(f);
	expect(f, TOP_BY_FLAT, "", "a 0 0 10 15; b 0 0 8 8; main 0 0 0 18");
	expect(f, TOP_BY_FLAT, "ai", "main 0 0 0 18");
	expect(f, TOP_BY_CUM, "none", "");
	top_functions_free(f);
	top_functions_free(NULL);
}

/* Windows that were taken together are one interval. */
static void test_windows_of_an_interval(void **state)
{
	struct profile *more = make("a;main 4 c;main 1"), *empty;
	struct top_functions *f;

	(void)state;
	assert_int_equal(profile_new(&empty), 0);
	assert_int_equal(top_functions_new(&f, &(struct top_what){0}), 0);
	next(f, "a;main 1");
	next(f, "a;main 2");
	assert_int_equal(top_functions_add(f, more), 0);
	assert_int_equal(top_functions_add(f, empty), 0);
	expect(f, TOP_BY_FLAT, "", "a 6 6 7 7; c 1 1 1 1; main 0 7 0 8");
	expect_sums(f, "3 7 4 8");
	top_functions_free(f);
	profile_free(more);
	profile_free(empty);
}

/* Recursion counts once a stack; what has no name is its file's. */
static void test_stacks(void **state)
{
	struct top_functions *f;

	(void)state;
	assert_int_equal(top_functions_new(&f, &(struct top_what){0}), 0);
	next(f, "r;r;x;r;main 7");
	expect(f, TOP_BY_FLAT, "", "r 7 7 7 7; main 0 7 0 7; x 0 7 0 7");
	next(f, "/usr/bin/dash;main 2");
	expect(f, TOP_BY_FLAT, "[", "[dash] 2 2 2 2");
	top_functions_free(f);
}

/* The value is the one that reports show: the profile says which. */
static void test_default_value(void **state)
{
	struct top_functions *f;
	struct profile *p = make("a;main 10 a;main 10 b;main 50");

	(void)state;
	assert_int_equal(profile_add_text(p, "samples", &p->default_sample_type), 0);
	assert_int_equal(top_functions_new(&f, &(struct top_what){0}), 0);
	top_functions_next(f);
	assert_int_equal(top_functions_add(f, p), 0);
	expect(f, TOP_BY_FLAT, "", "a 2 2 2 2; b 1 1 1 1; main 0 3 0 3");
	top_functions_free(f);
	profile_free(p);
}

/* Sums stay where they can be shown. */
static void test_large_values(void **state)
{
	struct top_functions *f;
	struct profile *p = make("a;main 9223372036854775807 b;main 9223372036854775807");
	struct top_sums sums;
	const struct top_function *const *functions;
	size_t n;

	(void)state;
	assert_int_equal(top_functions_new(&f, &(struct top_what){0}), 0);
	top_functions_next(f);
	assert_int_equal(top_functions_add(f, p), 0);
	assert_int_equal(top_functions_add(f, p), 0);
	assert_int_equal(top_functions_sort(f, TOP_BY_CUM, "main", &functions, &n), 0);
	assert_int_equal(n, 1);
	assert_true(functions[0]->interval.cum == INT64_MAX && functions[0]->all.cum == INT64_MAX);
	assert_int_equal(top_functions_sort(f, TOP_BY_FLAT, "a", &functions, &n), 0);
	assert_true(functions[0]->interval.flat == INT64_MAX &&
		    functions[0]->all.flat == INT64_MAX);
	top_functions_sums(f, &sums);
	assert_true(sums.value == INT64_MAX && sums.all_value == INT64_MAX);
	assert_int_equal(sums.samples, 4);
	top_functions_free(f);
	profile_free(p);
}

static void test_forgets_the_cheapest(void **state)
{
	const struct top_function *const *functions;
	struct top_functions *f;
	struct top_sums sums;
	size_t n;

	(void)state;
	assert_int_equal(top_functions_new(&f, &(struct top_what){0}), 0);
	next(f, "dear 1000");
	for (unsigned i = 0; i < TOP_FUNCTIONS_MAX / 25 + 2; i++) {
		char text[512] = "";
		size_t length = 0;

		for (unsigned k = 0; k < 25; k++)
			length += (size_t)snprintf(text + length, sizeof(text) - length, "f%u 5 ",
						   i * 25 + k);
		next(f, text);
	}
	top_functions_sums(f, &sums);
	assert_int_equal(sums.n_forgotten, 51);
	assert_int_equal(top_functions_sort(f, TOP_BY_FLAT, "", &functions, &n), 0);
	assert_int_equal(n, TOP_FUNCTIONS_MAX);
	/* The last interval's come first, then what was dear once. */
	assert_string_equal(functions[25]->name, "dear");
	top_functions_free(f);
}

/* A sample in the function f of @path, of a process that is labelled so. */
static void add_placed(struct top_functions *f, const char *path, const char *service,
		       const char *comm, int64_t ns)
{
	struct profile_mapping mapping = {.start = 0x1000, .limit = 0x2000};
	struct profile_function function = {0};
	struct profile_label labels[2] = {0};
	struct profile_line line = {0};
	struct profile *p = NULL;
	const int64_t values[] = {1, ns};
	uint32_t m, location;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	assert_int_equal(profile_add_text(p, path, &mapping.path), 0);
	assert_int_equal(profile_add_mapping(p, &mapping, &m), 0);
	assert_int_equal(profile_add_text(p, "f", &function.name), 0);
	assert_int_equal(profile_add_function(p, &function, &line.function), 0);
	assert_int_equal(profile_add_location(p, m, 0x1234, &line, 1, &location), 0);
	assert_int_equal(profile_add_text(p, "service", &labels[0].key), 0);
	assert_int_equal(profile_add_text(p, service, &labels[0].str), 0);
	assert_int_equal(profile_add_text(p, "comm", &labels[1].key), 0);
	assert_int_equal(profile_add_text(p, comm, &labels[1].str), 0);
	assert_int_equal(profile_add_sample(p, &location, 1, values, labels, 2), 0);
	assert_int_equal(top_functions_add(f, p), 0);
	profile_free(p);
}

/* "module who+ flat" of each, the dearest first. */
static void expect_places(struct top_functions *f, const char *text)
{
	const struct top_function *const *all;
	char got[512] = "";
	size_t n;

	assert_int_equal(top_functions_sort(f, TOP_BY_FLAT, "", &all, &n), 0);
	for (size_t i = 0; i < n; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s %s%s %" PRId64,
			 i ? "; " : "", all[i]->module, all[i]->who, all[i]->has_others ? "+" : "",
			 all[i]->interval.flat);
	assert_string_equal(got, text);
}

static void test_modules_and_processes(void **state)
{
	struct top_functions *f;

	(void)state;
	assert_int_equal(top_functions_new(&f, &(struct top_what){0}), 0);
	add_placed(f, "/usr/lib/libc.so.6", "a.service", "x", 5);
	add_placed(f, "/lib/libc.so.6", "b.service", "y", 7);
	add_placed(f, "/usr/bin/f", "user-1000", "f", 2);
	add_placed(f, "[kernel.kallsyms]", "other", "z", 1);
	expect_places(f, "libc.so.6 b.service+ 12; f f 2; kernel z 1");
	/* Another interval, another one. */
	top_functions_next(f);
	add_placed(f, "/lib/libc.so.6", "a.service", "x", 1);
	expect_places(f, "libc.so.6 a.service+ 1; f f 0; kernel z 0");
	top_functions_next(f);
	add_placed(f, "/lib/libc.so.6", "a.service", "x", 1);
	expect_places(f, "libc.so.6 a.service 1; f f 0; kernel z 0");
	top_functions_free(f);
	/* Of one service, its processes differ by their commands. */
	assert_int_equal(top_functions_new(&f, &(struct top_what){.of_one = true}), 0);
	add_placed(f, "/usr/bin/f", "a.service", "x", 5);
	expect_places(f, "f x 5");
	top_functions_free(f);
}

static void add_waits(struct top_functions *f)
{
	static const struct waiting all[] = {
		{"work;main", 30, 0, "a", NULL, NULL, 1, 2},
		{"k:futex_do_wait;lock;work;main", 0, 50, "a", "sleep", "futex", 1, 2},
		{"k:futex_do_wait;lock;main", 0, 10, "a", "runnable", NULL, 1, 2},
		{"k:ep_poll;epoll_wait;loop;main", 0, 900, "b", "sleep", "epoll_wait", 1, 3},
	};
	struct profile *p = waits_profile();

	for (size_t i = 0; i < 4; i++)
		waits_add(p, &all[i]);
	assert_int_equal(profile_add_text(p, "cpu", &p->default_sample_type), 0);
	top_functions_next(f);
	assert_int_equal(top_functions_add(f, p), 0);
	profile_free(p);
}

static const struct top_function *named(struct top_functions *f, const char *name)
{
	const struct top_function *const *all;
	size_t n;

	assert_int_equal(top_functions_sort(f, TOP_BY_WAIT, name, &all, &n), 0);
	return n ? all[0] : NULL;
}

static void test_wall(void **state)
{
	struct top_functions *f;
	struct top_sums sums;

	(void)state;
	assert_int_equal(top_functions_new(&f, &(struct top_what){.wall = true}), 0);
	for (int i = 1; i <= 2; i++) {
		add_waits(f);
		top_functions_sums(f, &sums);
		assert_int_equal(sums.value, 90);
		assert_int_equal(sums.wait, 60);
		assert_int_equal(sums.all_value, i * 90);
		assert_int_equal(sums.all_wait, i * 60);
		assert_int_equal(sums.idle, 900);
		assert_int_equal(sums.n_idle, 1);
	}
	assert_null(named(f, "epoll_wait"));
	assert_int_equal(named(f, "work")->interval.cum, 80);
	assert_int_equal(named(f, "work")->interval.flat, 30);
	assert_int_equal(named(f, "work")->interval.wait, 50);
	assert_int_equal(named(f, "work")->all.wait, 100);
	assert_int_equal(named(f, "lock")->interval.wait, 60);
	/* By what waits, before what costs more. */
	assert_int_equal(named(f, "o")->interval.wait, 60);
	top_functions_next(f);
	top_functions_sums(f, &sums);
	assert_true(!sums.wait && !sums.idle && !sums.n_idle && sums.all_wait == 120);
	top_functions_free(f);

	assert_int_equal(top_functions_new(&f, &(struct top_what){.wall = true, .idle = true}), 0);
	add_waits(f);
	top_functions_sums(f, &sums);
	assert_true(sums.value == 990 && sums.wait == 960 && !sums.n_idle);
	top_functions_free(f);
	/* Who does not ask for it sees what runs. */
	assert_int_equal(top_functions_new(&f, &(struct top_what){0}), 0);
	add_waits(f);
	top_functions_sums(f, &sums);
	assert_true(sums.value == 30 && !sums.wait && !sums.n_idle);
	top_functions_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_intervals_add_up),
		cmocka_unit_test(test_windows_of_an_interval),
		cmocka_unit_test(test_modules_and_processes),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_default_value),
		cmocka_unit_test(test_large_values),
		cmocka_unit_test(test_forgets_the_cheapest),
		cmocka_unit_test(test_wall),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

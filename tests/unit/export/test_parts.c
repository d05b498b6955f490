/* SPDX-License-Identifier: MIT */
/* What a server of pprof's format has of a window, of either kind. */
#include "common/profile/value_types.h"
#include "tests/unit/export/window_fixture.h"

static const struct export_scope plain = {.service = "a.service", .host = "machine"};
static const char *const kinds[] = {"pyroscope", "parca"};

static void test_one(void **state)
{
	static const struct use uses[] = {
		{{"leaf", "main"}, "a", 1, 3},
		{{"leaf", "main"}, "b", 2, 4},
		{{"other", "main"}, NULL, 2, 5},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		cleanup(sent_deinit) struct sent s = {0};
		const struct profile *p;

		window_send(kinds[i], window_of(uses, ARRAY_SIZE(uses)), &plain, &s);
		assert_int_equal(s.n, 1);
		p = s.all[0].p;
		/* Threads and processes are one. */
		assert_int_equal(p->n_samples, 2);
		assert_int_equal(sent_flat(&s, "leaf"), 7);
		assert_int_equal(sent_flat(&s, "other"), 5);
		assert_int_equal(sent_total(&s, 1), 12 * 10101010);
		assert_int_equal(p->time_ns, WINDOW_NS);
		assert_int_equal(p->duration_ns, 60000000000);
		assert_int_equal(p->period, 10101010);
		assert_string_equal(profile_string(p, p->period_type.type), "cpu");
		assert_int_equal(p->n_comments, 0);
		assert_string_equal(profile_string(p, p->mappings[0].path), "/usr/bin/program");
		assert_label(&s.all[0], "__name__", "process_cpu");
		assert_label(&s.all[0], "service_name", "a.service");
		assert_label(&s.all[0], i ? "node" : "hostname", "machine");
	}
}

static void test_kept(void **state)
{
	static const struct use uses[] = {
		{{"leaf", "main"}, "b", 1, 3},  {{"leaf", "main"}, "a", 2, 4},
		{{"other", "main"}, "b", 2, 5}, {{"other", "main"}, NULL, 2, 6},
		{{"leaf", "main"}, "b", 2, 1},
	};
	static const int64_t samples[] = {6, 3 + 5 + 1, 4}, of_pid[] = {3, 4, 5 + 1, 6};
	static const char *const threads[] = {NULL, "b", "a"};
	struct export_scope scope = plain;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		cleanup(sent_deinit) struct sent s = {0}, of_pids = {0};

		scope.keep = "thread";
		window_send(kinds[i], window_of(uses, ARRAY_SIZE(uses)), &scope, &s);
		assert_int_equal(s.n, ARRAY_SIZE(samples));
		for (size_t j = 0; j < s.n; j++) {
			assert_label(&s.all[j], "thread", threads[j]);
			assert_label(&s.all[j], "pid", NULL);
			assert_int_equal(profile_total(s.all[j].p, 0), samples[j]);
		}
		/* Parca has them in one request; Pyroscope stores the good ones of a bad one. */
		assert_int_equal(s.all[2].body, i ? 0 : 2);
		scope.keep = " pid , none,thread";
		window_send(kinds[i], window_of(uses, ARRAY_SIZE(uses)), &scope, &of_pids);
		assert_int_equal(of_pids.n, ARRAY_SIZE(of_pid));
		for (size_t j = 0; j < of_pids.n; j++)
			assert_int_equal(profile_total(of_pids.all[j].p, 0), of_pid[j]);
		assert_label(&of_pids.all[0], "pid", "1");
		assert_label(&of_pids.all[1], "thread", "a");
	}
}

/* The version is one of the series where the window has no other; else it is folded, or kept. */
static void test_versions(void **state)
{
	static const struct {
		const char *versions[4];
		const char *keep, *labels, *version;
		size_t n_series;
	} rows[] = {
		{{"1.4"}, "", "", "1.4", 1},
		{{"1.4"}, "thread", "", "1.4", 2},
		{{"1.4"}, "", "version=mine", "mine", 1},
		{{"1.4", "1.4"}, "", "", "1.4", 1},
		{{"1.4", "1.5"}, "", "", NULL, 1},
		{{"1.4", ""}, "", "", NULL, 1},
		{{"", "1.4", "1.5"}, "version", "", NULL, 3},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds) * ARRAY_SIZE(rows); i++) {
		const size_t row = i / ARRAY_SIZE(kinds);
		struct export_scope scope = plain;
		cleanup(sent_deinit) struct sent s = {0};

		scope.keep = rows[row].keep;
		scope.labels = rows[row].labels;
		window_send(kinds[i % ARRAY_SIZE(kinds)], window_of_releases(rows[row].versions),
			    &scope, &s);
		assert_int_equal(s.n, rows[row].n_series);
		assert_label(&s.all[0], "version", rows[row].version);
		if (rows[row].n_series == 3)
			assert_label(&s.all[1], "version", "1.4");
	}
}

/* More threads than there may be series: the others' samples are not lost. */
static void test_many_series(void **state)
{
	const size_t n = 2000;
	struct export_scope scope = plain;

	(void)state;
	scope.keep = "thread";
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		cleanup(sent_deinit) struct sent s = {0};

		window_send(kinds[i], window_random(n, 20, 5, 500), &scope, &s);
		assert_int_equal(s.n, 256);
		assert_label(&s.all[0], "thread", NULL);
		assert_non_null(sent_label(&s.all[1], "thread"));
		assert_int_equal(sent_total(&s, 0), n * 3);
	}
}

/* Past 16,000 samples, and past 2 MiB: as few parts as it takes, nearly. */
static void test_large(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		cleanup(sent_deinit) struct sent many = {0}, large = {0};

		window_send(kinds[i], window_random(40000, 50, 5, 1), &plain, &many);
		assert_int_equal(many.n, i ? 1 : 3);
		assert_int_equal(sent_total(&many, 0), 40000 * 3);
		window_send(kinds[i], window_random(5000, 3000, 3000, 1), &plain, &large);
		assert_int_equal(sent_total(&large, 0), 5000 * 3);
		assert_true(large.n > 1);
		for (size_t j = 0; j + 1 < large.n; j++)
			assert_true(large.all[j].unpacked > ((size_t)(i ? 15 : 3) << 19));
	}
}

/* A part may be asked to be smaller, but not too small for a frame. */
static void test_max_part(void **state)
{
	struct export_scope scope = plain;
	cleanup(sent_deinit) struct sent s = {0};

	(void)state;
	scope.max_part = 1;
	window_send("parca", window_random(3000, 1000, 3000, 1), &scope, &s);
	assert_int_equal(sent_total(&s, 0), 3000 * 3);
	for (size_t i = 0; i < s.n; i++)
		assert_true(s.all[i].unpacked <= (size_t)1 << 20);
	assert_true(s.all[0].unpacked > (size_t)3 << 18);
}

static void test_nothing(void **state)
{
	static const struct use zero = {{"leaf"}, NULL, 1, 0};
	struct profile *p = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		cleanup(sent_deinit) struct sent s = {0};

		window_send(kinds[i], window_of(NULL, 0), &plain, &s);
		window_send(kinds[i], window_of(&zero, 1), &plain, &s);
		assert_int_equal(profile_new(&p), 0);
		window_send(kinds[i], p, &plain, &s);
		assert_int_equal(s.n, 0);
	}
}

/* Events that are not CPU time: words that a query can be made of. */
static void test_events(void **state)
{
	static const struct use use = {{"leaf"}, NULL, 1, 3};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		cleanup(sent_deinit) struct sent s = {0};
		struct profile *p = window_new("sched:sched-switch", "count");

		window_add_use(p, &use);
		window_send(kinds[i], p, &plain, &s);
		assert_label(&s.all[0], "__name__", "sched_sched_switch");
		p = s.all[0].p;
		assert_string_equal(profile_string(p, p->sample_types[1].type),
				    "sched_sched_switch");
		assert_string_equal(profile_string(p, p->period_type.type), "sched_sched_switch");
	}
}

/* Waits are a profile of their own, and CPU time is as if there were none. */
static void test_waits(void **state)
{
	static const struct use use = {{"leaf", "main"}, NULL, 1, 3};
	const int64_t wait[] = {1, 0, 700};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		cleanup(sent_deinit) struct sent s = {0};
		struct profile *p = window_new("cpu", "nanoseconds");
		uint32_t place;

		window_add_use(p, &use);
		place = window_place(p, "read", 0x400500);
		assert_int_equal(value_types_add_waits(p), 0);
		assert_int_equal(profile_add_sample(p, &place, 1, wait, NULL, 0), 0);
		window_send(kinds[i], p, &plain, &s);
		assert_int_equal(s.n, 2);
		assert_label(&s.all[0], "__name__", "process_cpu");
		assert_int_equal(profile_total(s.all[0].p, 0), 3);
		assert_int_equal(profile_total(s.all[0].p, 1), 3 * 10101010);
		assert_label(&s.all[1], "__name__", "off_cpu");
		assert_int_equal(profile_total(s.all[1].p, 0), 1);
		assert_int_equal(profile_total(s.all[1].p, 1), 700);
		for (size_t k = 0; k < s.n; k++) {
			assert_int_equal(s.all[k].p->n_sample_types, 2);
			assert_int_equal(s.all[k].p->period_type.type,
					 s.all[k].p->sample_types[1].type);
		}
	}
}

/* A queue is resumed at part K by another process, whose tables are of another order. */
static void test_same_again(void **state)
{
	struct export_scope scope = plain;

	(void)state;
	scope.keep = "thread,pid";
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		cleanup(export_bodies_deinit) struct export_bodies a = {0}, b = {0};
		const struct export_target *target = export_find_target(kinds[i]);
		cleanup(profile_freep) struct profile *x = window_random(3000, 60, 2500, 5),
						      *y = window_random(3000, 60, 2500, 5);

		assert_int_equal(target->encode(x, &scope, &a), 0);
		assert_int_equal(target->encode(y, &scope, &b), 0);
		assert_int_equal(a.n, b.n);
		for (size_t j = 0; j < a.n; j++) {
			assert_int_equal(a.all[j].length, b.all[j].length);
			assert_memory_equal(a.all[j].data, b.all[j].data, a.all[j].length);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one),        cmocka_unit_test(test_kept),
		cmocka_unit_test(test_versions),   cmocka_unit_test(test_many_series),
		cmocka_unit_test(test_large),      cmocka_unit_test(test_max_part),
		cmocka_unit_test(test_nothing),    cmocka_unit_test(test_events),
		cmocka_unit_test(test_same_again), cmocka_unit_test(test_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Windows of time in what was merged: cut out of it, counted once, listed. */
#include "common/profile/windows.h"
#include "tests/unit/profile/merge_fixture.h"

/* Merged by the hour and then cut: what the minutes give that lie there. */
static void test_hours_can_be_cut(void **state)
{
	struct parts *parts = *state;
	cleanup(profile_freep) struct profile *hour = merge_in_order(parts, forward, N_PARTS,
								     MERGE_WINDOWS_SET, NULL);
	struct profile *minutes[N_PARTS];
	size_t n_labels = 0;

	assert_int_equal(profile_total(hour, 0), profile_total(parts->whole, 0));
	for (size_t i = 0; i < hour->n_sample_labels; i++)
		n_labels += strcmp(profile_string(hour, hour->sample_labels[i].key), "window") == 0;
	assert_int_equal(n_labels, hour->n_samples);
	memcpy(minutes, parts->minutes, sizeof(minutes));
	for (unsigned first = 0; first < N_PARTS; first++) {
		for (unsigned n = 1; first + n <= N_PARTS; n++) {
			const struct merge_select select = {
				.since_ns = (uint64_t)((T0 + first * 60) * NS + 1),
				.until_ns = (uint64_t)((T0 + (first + n) * 60) * NS),
			};
			cleanup(profile_freep) struct profile *expected = merge_in_order(
				parts, forward + first, n, MERGE_WINDOWS_DROPPED, NULL);
			cleanup(profile_freep) struct profile *cut = NULL;

			parts->minutes[0] = hour;
			cut = merge_in_order(parts, forward, 1, MERGE_WINDOWS_DROPPED, &select);
			parts->minutes[0] = minutes[0];
			assert_same(cut, expected, true);
			assert_int_equal(cut->time_ns, expected->time_ns);
			assert_int_equal(cut->duration_ns, expected->duration_ns);
			assert_int_equal(cut->n_comments, expected->n_comments);
			assert_string_equal(profile_string(cut, cut->comments[1]),
					    profile_string(expected, expected->comments[1]));
		}
	}
}

static void test_a_window_counts_once(void **state)
{
	struct parts *parts = *state;
	static const unsigned twice[] = {2, 2};
	cleanup(profile_freep) struct profile *a = merge_in_order(parts, twice, 2,
								  MERGE_WINDOWS_DROPPED, NULL);

	/* As two services of one window: the samples add up, time and ledger do not. */
	assert_int_equal(profile_total(a, 0), 2 * profile_total(parts->minutes[2], 0));
	assert_int_equal(a->duration_ns, 60 * NS);
	assert_true(has_comment(a, "# profd ledger: expected=102 seen=92 source=x"));
}

/* Which do not tell when they begin: three of two windows, two of them of one. */
static void test_legacy_windows(void **state)
{
	cleanup(merge_freep) struct merge *m = NULL;
	static const char *const ledgers[] = {"expected=10 lost.ring=1", "expected=20 lost.ring=2",
					      "expected=10 lost.ring=1"};
	struct profile_message message;

	(void)state;
	assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
	for (size_t i = 0; i < ARRAY_SIZE(ledgers); i++) {
		cleanup(profile_freep) struct profile *p = empty_profile(0, 0, ledgers[i]);

		assert_int_equal(merge_add(m, p, NULL, NULL, &message), MERGE_E_OK);
	}
	assert_int_equal(merge_n_windows(m), 2);
	assert_int_equal(merge_finish(m), 0);
	assert_true(has_comment(merge_profile(m), "# profd ledger: expected=30 lost.ring=3"));
}

/* Of windows that leave some time out, when the last one ended is kept, however they are merged. */
static void test_until(void **state)
{
	cleanup(profile_freep) struct profile *merged = NULL,
					      *last = empty_profile(T0 + 30, 5, "a=2");
	struct profile_message message;

	(void)state;
	for (int64_t i = 0; i < 3; i++) {
		cleanup(merge_freep) struct merge *m = NULL;
		cleanup(profile_freep) struct profile *p = empty_profile(T0 + i * 10, 5, "a=1");

		assert_int_equal(merge_new(&m, MERGE_WINDOWS_DROPPED), 0);
		assert_int_equal(merge_add(m, merged ? merged : last, NULL, NULL, &message), 0);
		assert_int_equal(merge_add(m, p, NULL, NULL, &message), 0);
		assert_int_equal(merge_finish(m), 0);
		profile_free(merged);
		merged = merge_steal_profile(m);
		assert_int_equal(merged->time_ns, T0 * NS);
		assert_int_equal(merged->duration_ns, (10 + 5 * i) * NS);
		assert_int_equal(profile_until_ns(merged), (T0 + 35) * NS);
	}
	/* Where nothing is left out, nothing is told. */
	assert_int_equal(profile_set_until(last, (T0 + 35) * NS), 0);
	assert_int_equal(last->n_comments, 2);
}

/* Two files of another tool, of one time: their durations add up, and end no later. */
static void test_until_overlap(void **state)
{
	cleanup(merge_freep) struct merge *m = NULL;
	struct profile_message message;

	(void)state;
	assert_int_equal(merge_new(&m, MERGE_WINDOWS_DROPPED), 0);
	merge_note_overlap(m);
	for (int64_t i = 0; i < 2; i++) {
		cleanup(profile_freep) struct profile *p = empty_profile(T0 + i * 10, 60, NULL);

		assert_int_equal(merge_add(m, p, NULL, NULL, &message), MERGE_E_OK);
	}
	assert_int_equal(merge_finish(m), 0);
	assert_int_equal(merge_profile(m)->time_ns, T0 * NS);
	assert_int_equal(merge_profile(m)->duration_ns, 120 * NS);
	assert_int_equal(profile_until_ns(merge_profile(m)), (T0 + 70) * NS);
}

static void test_window_lines(void **state)
{
	cleanup(profile_windows_deinit) struct profile_windows w = {0};
	cleanup(profile_freep) struct profile *p = empty_profile(T0, 60, "a=1");
	struct profile_window listed[] = {{2, 9, (char *)""},
					  {4, 1, (char *)"c=3"},
					  {5, 3, (char *)"b=2"}};
	const struct profile_windows others = {.all = listed, .n = 3};
	struct profile_window alone = {3, 1, NULL};
	const struct profile_windows strange = {.all = &alone, .n = 1};

	(void)state;
	assert_int_equal(profile_windows_of(p, &w), 0);
	assert_int_equal(w.n, 1);
	assert_false(w.is_listed);
	assert_string_equal(w.all[0].ledger, "a=1");
	profile_windows_deinit(&w);
	for (unsigned i = 0; i < 2; i++) {
		bool which[] = {true, false, true};

		assert_int_equal(profile_windows_merge(&w, &others, which), 0);
		assert_int_equal(which[0], !i);
		assert_int_equal(which[2], !i);
	}
	assert_int_equal(w.n, 2);
	/* Without a ledger, each is a window of its own. */
	assert_int_equal(profile_windows_merge(&w, &strange, &(bool){true}), 0);
	assert_int_equal(profile_windows_merge(&w, &strange, &(bool){true}), 0);
	assert_int_equal(w.n, 4);
	assert_int_equal(w.all[0].time_ns, 2);
	assert_int_equal(w.all[1].time_ns, 3);
	assert_int_equal(w.all[2].time_ns, 3);
	assert_int_equal(w.all[3].time_ns, 5);
	profile_windows_deinit(&w);
	assert_int_equal(profile_windows_merge(&w, &others, (bool[]){true, false, true}), 0);
	assert_int_equal(profile_windows_list(&w, p), 0);
	assert_true(has_comment(p, "# profd window: 2+9"));
	assert_true(has_comment(p, "# profd window: 5+3 b=2"));
	/* What is damaged is no window. */
	assert_int_equal(profile_add_comment(p, "# profd window: x"), 0);
	assert_int_equal(profile_add_comment(p, "# profd window: 1+"), 0);
	assert_int_equal(profile_add_comment(p, "# profd window: 99999999999999999999+1 a=1"), 0);
	assert_int_equal(profile_windows_of(p, &w), 0);
	assert_true(w.is_listed);
	assert_int_equal(w.n, 2);
	assert_int_equal(w.all[0].time_ns, 2);
	assert_string_equal(w.all[1].ledger, "b=2");
}

static void test_seconds_of_a_window(void **state)
{
	const uint64_t second = UINT64_C(1000000000);

	(void)state;
	assert_int_equal(profile_window_seconds(0, 60 * second), 60);
	assert_int_equal(profile_window_seconds(7 * second + 2, 60 * second - 1), 60);
	assert_int_equal(profile_window_seconds(second, 0), 1);
	/* From 0.95 to 2.35: a second that is asked for, the one from 1 to 2, is in it. */
	assert_int_equal(profile_window_seconds(second * 19 / 20, second * 14 / 10), 2);
	assert_int_equal(profile_window_seconds(second * 9 / 10, second * 8 / 10), 2);
	assert_int_equal(profile_window_seconds(second * 9 / 10, second * 59), 60);
	assert_int_equal(profile_window_seconds(UINT64_MAX, UINT64_MAX), 18446744074);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seconds_of_a_window),
		cmocka_unit_test_setup_teardown(test_hours_can_be_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_window_counts_once, setup, teardown),
		cmocka_unit_test(test_legacy_windows),
		cmocka_unit_test(test_until),
		cmocka_unit_test(test_until_overlap),
		cmocka_unit_test(test_window_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

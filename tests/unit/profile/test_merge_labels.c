/* SPDX-License-Identifier: MIT */
/* Labels tell samples apart, and windows and processes. */
#include "tests/unit/profile/merge_fixture.h"

/* Labels of the keys that tell windows and processes, but with texts, tell neither. */
static void test_labels_of_texts(void **state)
{
	cleanup(profile_freep) struct profile *p = empty_profile(T0, 60, "x=1");
	const struct profile_label texts[] = {{.key = text(p, "pid"), .str = text(p, "x")},
					      {.key = text(p, "window"), .str = text(p, "y")}};
	const struct profile_label number = {.key = text(p, "window"), .num = T0};
	const struct merge_select pid_0 = {.has_pid = true};
	const int64_t values[] = {1, 1};
	struct profile_message message;
	uint32_t chain = locate(p, map_image(p, 1, 0), 5);
	char line[80];

	(void)state;
	snprintf(line, sizeof(line), "# profd window: %" PRId64 "+60000000000 x=1", T0 * NS);
	assert_int_equal(profile_add_comment(p, line), 0);
	/* Another one of this second. */
	snprintf(line, sizeof(line), "# profd window: %" PRId64 "+70000000000 x=1", T0 * NS);
	assert_int_equal(profile_add_comment(p, line), 0);
	assert_int_equal(profile_add_sample(p, &chain, 1, values, texts, 2), 0);
	assert_int_equal(profile_add_sample(p, &chain, 1, values, &number, 1), 0);
	for (unsigned by_pid = 0; by_pid < 2; by_pid++) {
		cleanup(merge_freep) struct merge *m = NULL;

		assert_int_equal(merge_new(&m, MERGE_WINDOWS_SET), 0);
		assert_int_equal(merge_add(m, p, by_pid ? &pid_0 : NULL, NULL, &message), 0);
		assert_int_equal(merge_n_windows(m), 2);
		assert_int_equal(merge_profile(m)->n_samples, by_pid ? 0 : 2);
		/* What has such a label gets no other one. */
		assert_int_equal(merge_profile(m)->n_sample_labels, by_pid ? 0 : 3);
	}
}

/* Whatever the order in the file: by key, and equal keys in theirs. */
static void test_order_of_labels(void **state)
{
	enum { N = 101 };
	cleanup(merge_freep) struct merge *m = NULL;
	cleanup(profile_freep) struct profile *up = empty_profile(T0, 60, NULL);
	cleanup(profile_freep) struct profile *down = empty_profile(T0, 60, NULL);
	struct profile_label labels[N], reversed[N];
	const int64_t values[] = {1, 2};
	struct profile_message message;
	const struct profile *p;
	char key[16];

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		snprintf(key, sizeof(key), "k%u", i / 2);
		labels[i] = (struct profile_label){.key = text(up, key), .num = i};
	}
	for (unsigned i = 0; i < N; i++) {
		reversed[i] = labels[N - 1 - i];
		reversed[i].num ^= i > 0; /* the two of a key in the same order as there */
		snprintf(key, sizeof(key), "k%u", (N - 1 - i) / 2);
		reversed[i].key = text(down, key);
	}
	assert_int_equal(profile_add_sample(up, NULL, 0, values, labels, N), 0);
	assert_int_equal(profile_add_sample(down, NULL, 0, values, reversed, N), 0);
	assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
	assert_int_equal(merge_add(m, up, NULL, NULL, &message), 0);
	assert_int_equal(merge_add(m, down, NULL, NULL, &message), 0);
	p = merge_profile(m);
	assert_int_equal(p->n_samples, 1);
	assert_int_equal(p->samples[0].n_labels, N);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(p->sample_labels[i].num, i);
	assert_int_equal(profile_total(p, 1), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_labels_of_texts),
		cmocka_unit_test(test_order_of_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Which values add up, and in which unit. */
#include "tests/unit/profile/merge_fixture.h"

static void test_mismatch(void **state)
{
	cleanup(merge_freep) struct merge *m = NULL;
	cleanup(profile_freep) struct profile *a = empty_profile(T0, 60, "x=1"), *b = NULL;
	struct profile_message message;
	uint32_t chain = locate(a, map_image(a, 1, 0), 5);

	(void)state;
	add_sample(a, &chain, 1, 3, 1, "x");
	assert_int_equal(profile_new(&b), 0);
	assert_int_equal(profile_add_sample_type(b, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(b, "cache-misses", "count"), 0);
	assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
	assert_int_equal(merge_add(m, a, NULL, NULL, &message), 0);
	assert_int_equal(merge_add(m, b, NULL, NULL, &message), MERGE_E_MISMATCH);
	assert_string_equal(message.text, "sample types differ: samples/count cpu/nanoseconds and "
					  "samples/count cache-misses/count");
	b->sample_types[1] = b->sample_types[0];
	b->sample_types[1].type = text(b, "cpu");
	b->sample_types[1].unit = text(b, "nanoseconds");
	b->sample_types[0].unit = text(b, "bytes");
	assert_int_equal(merge_add(m, b, NULL, NULL, &message), MERGE_E_MISMATCH);
	assert_non_null(strstr(message.text, "sample types differ"));
	b->n_sample_types = 0;
	assert_int_equal(merge_add(m, b, NULL, NULL, &message), MERGE_E_MISMATCH);
	assert_string_equal(message.text,
			    "sample types differ: samples/count cpu/nanoseconds and none");
	b->n_sample_types = 2;
	a->period_type.unit = 0;
	assert_int_equal(merge_add(m, a, NULL, NULL, &message), MERGE_E_MISMATCH);
	assert_non_null(strstr(message.text, "period types differ"));
	assert_int_equal(profile_total(merge_profile(m), 0), 3);
}

/* A profile of one sample, whose time and period are in @unit. */
static struct profile *in_unit(const char *unit, int64_t time, int64_t period)
{
	const int64_t values[] = {1, time};
	struct profile *p = NULL;
	uint32_t chain;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", unit), 0);
	p->period_type = p->sample_types[1];
	p->period = period;
	chain = locate(p, map_image(p, 1, 0), 5);
	assert_int_equal(profile_add_sample(p, &chain, 1, values, NULL, 0), 0);
	return p;
}

/* Values of one kind add up in the finest unit, whichever comes first. */
static void test_units(void **state)
{
	static const struct {
		const char *units[3], *unit;
		int64_t times[3], total, period;
	} cases[] = {
		{{"milliseconds", "nanoseconds", "seconds"},
		 "nanoseconds",
		 {3, 500, 2},
		 2003000500,
		 INT64_C(7000000000)},
		{{"nanoseconds", "seconds", "ms"},
		 "nanoseconds",
		 {500, 2, 3},
		 2003000500,
		 INT64_C(7000000000)},
		{{"seconds", "ms", "us"}, "us", {2, 3, -5}, 2002995, 7000000},
		/* What has no place is as much as has. */
		{{"nanoseconds", "hours", "ns"},
		 "nanoseconds",
		 {0, INT64_MAX / 2, 0},
		 INT64_MAX,
		 INT64_C(25200000000000)},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup(merge_freep) struct merge *m = NULL;
		struct profile_message message;
		const struct profile *p;

		assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
		for (size_t j = 0; j < 3; j++) {
			cleanup(profile_freep) struct profile *from = in_unit(cases[i].units[j],
									      cases[i].times[j], 7);

			assert_int_equal(merge_add(m, from, NULL, NULL, &message), 0);
		}
		p = merge_profile(m);
		assert_int_equal(p->n_samples, 1);
		assert_int_equal(p->sample_values[0], 3);
		assert_int_equal(p->sample_values[1], cases[i].total);
		assert_string_equal(profile_string(p, p->sample_types[1].unit), cases[i].unit);
		assert_string_equal(profile_string(p, p->period_type.unit), cases[i].unit);
		assert_int_equal(p->period, cases[i].period);
	}
}

/* Times and bytes do not; nothing has changed then. */
static void test_units_of_other_kinds(void **state)
{
	cleanup(profile_freep) struct profile *a = in_unit("ms", 3, 7), *b = in_unit("kb", 3, 7);
	cleanup(profile_freep) struct profile *c = in_unit("ns", 3, 7);
	cleanup(merge_freep) struct merge *m = NULL;
	struct profile_message message;

	(void)state;
	c->period_type.unit = text(c, "kb");
	assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
	assert_int_equal(merge_add(m, a, NULL, NULL, &message), 0);
	assert_int_equal(merge_add(m, b, NULL, NULL, &message), MERGE_E_MISMATCH);
	assert_string_equal(message.text,
			    "sample types differ: samples/count cpu/ms and samples/count cpu/kb");
	assert_int_equal(merge_add(m, c, NULL, NULL, &message), MERGE_E_MISMATCH);
	assert_string_equal(message.text, "period types differ: cpu/ms and cpu/kb");
	assert_int_equal(profile_total(merge_profile(m), 1), 3);
}

/* Of types that not all have, none is taken; the others stay in the first one's order. */
static void test_types_in_common(void **state)
{
	static const int64_t values[] = {7, 30, 5};
	cleanup(profile_freep) struct profile *a = in_unit("ms", 3, 7), *b = NULL, *none = NULL;
	cleanup(merge_freep) struct merge *m = NULL;
	struct profile_message message;
	struct profile *p;

	(void)state;
	assert_int_equal(profile_new(&b), 0);
	assert_int_equal(profile_add_sample_type(b, "other", "count"), 0);
	assert_int_equal(profile_add_sample_type(b, "cpu", "us"), 0);
	assert_int_equal(profile_add_sample_type(b, "samples", "count"), 0);
	b->period_type = (struct profile_value_type){text(b, "cpu"), text(b, "us")};
	b->default_sample_type = text(b, "other");
	assert_int_equal(profile_add_sample(b, NULL, 0, values, NULL, 0), 0);
	assert_int_equal(profile_new(&none), 0);
	assert_int_equal(profile_add_sample_type(none, "other", "count"), 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
		merge_use_common_types(m);
		assert_int_equal(merge_add(m, i ? a : b, NULL, NULL, &message), 0);
		assert_int_equal(merge_add(m, i ? b : a, NULL, NULL, &message), 0);
		assert_int_equal(merge_add(m, none, NULL, NULL, &message), MERGE_E_MISMATCH);
		p = merge_profile(m);
		assert_int_equal(p->n_sample_types, 2);
		assert_string_equal(profile_string(p, p->sample_types[i ? 0 : 1].type), "samples");
		assert_string_equal(profile_string(p, p->sample_types[i ? 1 : 0].unit), "us");
		assert_string_equal(profile_string(p, p->default_sample_type),
				    i ? "samples" : "cpu");
		assert_int_equal(profile_total(p, i ? 0 : 1), 5 + profile_total(a, 0));
		assert_int_equal(profile_total(p, i ? 1 : 0), 3030);
		merge_free(m);
		m = NULL;
	}
	assert_int_equal(b->n_sample_types, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mismatch),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_units_of_other_kinds),
		cmocka_unit_test(test_types_in_common),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

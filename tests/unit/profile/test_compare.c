/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/profile/merge.h"
#include "common/profile/value_types.h"
#include "tests/unit/profile/text.h"

static struct profile *begin(const char *time_unit)
{
	struct profile *p = NULL;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", time_unit), 0);
	p->period_type.type = text(p, "cpu");
	p->period_type.unit = text(p, time_unit);
	p->period = 10;
	return p;
}

static void sample(struct profile *p, const char *name, int64_t samples, int64_t cpu,
		   const struct profile_label *labels, uint32_t n_labels)
{
	const int64_t values[] = {samples, cpu};
	struct profile_function f = {.name = text(p, name)};
	struct profile_line line = {.line = 1};
	uint32_t location;

	assert_int_equal(profile_add_function(p, &f, &line.function), 0);
	assert_int_equal(profile_add_location(p, PROFILE_NONE, 0, &line, 1, &location), 0);
	assert_int_equal(profile_add_sample(p, &location, 1, values, labels, n_labels), 0);
}

static void check_values(const struct profile *p, size_t i, int64_t samples, int64_t cpu)
{
	assert_true(i < p->n_samples);
	assert_int_equal(p->sample_values[2 * i], samples);
	assert_int_equal(p->sample_values[2 * i + 1], cpu);
}

static void test_scale(void **state)
{
	cleanup(profile_freep) struct profile *p = begin("ms");

	(void)state;
	sample(p, "a", 3, 100, NULL, 0);
	sample(p, "b", INT64_MAX, INT64_MIN, NULL, 0);
	sample(p, "c", 1, 1, NULL, 0);
	compare_scale(p, (const double[]){.5, -1});
	check_values(p, 0, 2, -100); /* 1.5 is rounded away from zero */
	check_values(p, 1, INT64_C(1) << 62, INT64_MAX);
	check_values(p, 2, 1, -1);
	compare_scale(p, (const double[]){-8, 1e300});
	check_values(p, 0, -16, INT64_MIN);
	check_values(p, 1, INT64_MIN, INT64_MAX);
	check_values(p, 2, -8, INT64_MIN);
	compare_scale(p, (const double[]){1, 0});
	check_values(p, 0, -16, 0);
}

static void test_normalize(void **state)
{
	cleanup(profile_freep) struct profile *source = begin("ns"), *base = begin("ns"),
					      *nothing = begin("ns");
	double ratios[2];

	(void)state;
	sample(source, "a", 10, -4, NULL, 0);
	sample(base, "a", 5, 8, NULL, 0);
	compare_normalize(source, base, ratios);
	assert_true(ratios[0] == .5 && ratios[1] == -2);
	compare_normalize(nothing, base, ratios);
	assert_true(ratios[0] == 0 && ratios[1] == 0);
}

/* Both get the finer one, whichever has it. */
static void test_units_are_shared(void **state)
{
	struct profile_message message;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		cleanup(profile_freep) struct profile *a = begin("ms"), *b = begin("ns");

		sample(a, "a", 1, 2, NULL, 0);
		sample(b, "a", 1, 3, NULL, 0);
		assert_int_equal(value_types_share(i ? b : a, i ? a : b, &message),
				 VALUE_TYPES_E_OK);
		check_values(a, 0, 1, 2000000);
		check_values(b, 0, 1, 3);
		assert_string_equal(profile_string(a, a->sample_types[1].unit), "ns");
		assert_string_equal(profile_string(a, a->period_type.unit), "ns");
		assert_string_equal(profile_string(b, b->sample_types[1].unit), "ns");
		assert_int_equal(a->period, 10000000);
		assert_int_equal(b->period, 10);
	}
}

static void test_types_that_differ(void **state)
{
	cleanup(profile_freep) struct profile *a = begin("ms"), *b = begin("bytes"), *c = NULL;
	struct profile_message message;

	(void)state;
	assert_int_equal(value_types_share(a, b, &message), VALUE_TYPES_E_MISMATCH);
	assert_string_equal(message.text, "sample types differ: samples/count cpu/ms and "
					  "samples/count cpu/bytes");
	assert_int_equal(profile_new(&c), 0);
	assert_int_equal(profile_add_sample_type(c, "wall", "ms"), 0);
	assert_int_equal(value_types_share(a, c, &message), VALUE_TYPES_E_MISMATCH);
	assert_string_equal(message.text, "the two have no type of values in common");
}

/* Of an event that no row has, its own name: a new row is enough to change that. */
static void test_events(void **state)
{
	cleanup(profile_freep) struct profile *p = NULL, *q = NULL;

	(void)state;
	assert_string_equal(value_type_of_event("cpu-clock:u")->name, "cpu");
	assert_string_equal(value_type_of_event("task-clock")->name, "cpu");
	assert_null(value_type_of_event("cpu-clocks"));
	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(value_types_add(p, "cpu-clock"), 0);
	assert_string_equal(profile_string(p, p->period_type.type), "cpu");
	assert_string_equal(profile_string(p, p->sample_types[1].unit), "nanoseconds");
	assert_int_equal(profile_new(&q), 0);
	assert_int_equal(value_types_add(q, "cache-misses"), 0);
	assert_string_equal(profile_string(q, q->sample_types[1].type), "cache-misses");
	assert_string_equal(profile_string(q, q->sample_types[1].unit), "count");
}

static void test_label(void **state)
{
	cleanup(profile_freep) struct profile *p = begin("ns");
	struct profile_label labels[2] = {{.key = text(p, "k"), .str = text(p, "v")},
					  {.key = text(p, COMPARE_LABEL), .str = text(p, "x")}};

	(void)state;
	sample(p, "a", 1, 10, labels, 1);
	sample(p, "a", 2, 20, labels, 2); /* becomes the same */
	sample(p, "b", 4, 40, NULL, 0);
	assert_int_equal(compare_label_base(p), 0);
	assert_int_equal(p->n_samples, 2);
	check_values(p, 0, 3, 30);
	check_values(p, 1, 4, 40);
	for (size_t i = 0; i < 2; i++) {
		const struct profile_sample *s = &p->samples[i];
		const struct profile_label *last;

		assert_int_equal(s->n_labels, i ? 1 : 2);
		last = &p->sample_labels[s->first_label + s->n_labels - 1];
		assert_string_equal(profile_string(p, last->key), "pprof::base");
		assert_string_equal(profile_string(p, last->str), "true");
	}
	/* The profile is one to add to. */
	sample(p, "b", 8, 80, NULL, 0);
	assert_int_equal(p->n_samples, 3);
}

/* The base's label with another value is somebody else's. */
static void test_label_of_others(void **state)
{
	cleanup(profile_freep) struct profile *p = begin("ns");
	const struct profile_label label = {.key = text(p, COMPARE_LABEL), .str = text(p, "x")};
	struct compare_total total = {0};

	(void)state;
	sample(p, "a", 1, 10, &label, 1);
	sample(p, "b", 1, 20, NULL, 0);
	for (size_t i = 0; i < p->n_samples; i++)
		compare_total_add(&total, p, i, 1, false);
	assert_int_equal(compare_total(&total), 30);
}

/* A profile less itself, and what percentages are of. */
static void test_difference(void **state)
{
	for (int labelled = 0; labelled < 2; labelled++) {
		cleanup(profile_freep) struct profile *source = begin("ns"), *base = begin("ns"),
						      *p = NULL;
		cleanup(merge_freep) struct merge *m = NULL;
		struct compare_total total = {0}, mean = {0};
		struct profile_message message;

		(void)state;
		sample(source, "a", 5, 50, NULL, 0);
		sample(source, "b", 2, 20, NULL, 0);
		sample(base, "b", 3, 30, NULL, 0);
		sample(base, "c", 4, 40, NULL, 0);
		if (labelled)
			assert_int_equal(compare_label_base(base), 0);
		compare_scale(base, (const double[]){-1, -1});
		assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
		assert_int_equal(merge_add(m, source, NULL, NULL, &message), 0);
		assert_int_equal(merge_add(m, base, NULL, NULL, &message), 0);
		p = merge_steal_profile(m);
		assert_int_equal(p->n_samples, labelled ? 4 : 3);
		for (size_t i = 0; i < p->n_samples; i++) {
			compare_total_add(&total, p, i, 1, false);
			compare_total_add(&mean, p, i, 1, true);
		}
		/* |50| + |20 - 30| + |-40|; of the base: |-30| + |-40|. */
		assert_int_equal(compare_total(&total), labelled ? 70 : 100);
		/* By 5 + (2 - 3) - 4; by -3 - 4. */
		assert_int_equal(compare_total(&mean), labelled ? -10 : 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scale),
		cmocka_unit_test(test_normalize),
		cmocka_unit_test(test_units_are_shared),
		cmocka_unit_test(test_types_that_differ),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_label),
		cmocka_unit_test(test_label_of_others),
		cmocka_unit_test(test_difference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

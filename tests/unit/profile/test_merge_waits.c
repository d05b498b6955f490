/* SPDX-License-Identifier: MIT */
/* Profiles of profd with waits and without become one with waits; those of others do not. */
#include "common/profile/value_types.h"
#include "tests/unit/profile/merge_fixture.h"

/* One sample for each type but the first: of 1, and 10 times its number, in a stack of its own. */
static struct profile *profile_of(const char *const *types, const char *unit)
{
	struct profile *p = NULL;
	uint32_t mapping;

	assert_int_equal(profile_new(&p), 0);
	for (unsigned i = 0; types[i]; i++)
		assert_int_equal(profile_add_sample_type(p, types[i], i ? unit : "count"), 0);
	p->period_type = p->sample_types[1];
	if (p->n_sample_types > 2)
		p->default_sample_type = p->sample_types[1].type;
	p->period = 10;
	p->time_ns = T0 * NS;
	mapping = map_image(p, 1, 0);
	for (unsigned i = 1; types[i]; i++) {
		int64_t values[PROFILE_TYPES_MAX] = {1};
		uint32_t chain = locate(p, mapping, i);

		values[i] = 10 * i;
		assert_int_equal(profile_add_sample(p, &chain, 1, values, NULL, 0), 0);
	}
	return p;
}

static int64_t total_of(const struct profile *p, const char *type)
{
	for (uint32_t i = 0; i < p->n_sample_types; i++)
		if (strcmp(profile_string(p, p->sample_types[i].type), type) == 0)
			return profile_total(p, i);
	return -1;
}

static void assert_types(const struct profile *p, const char *const *types)
{
	uint32_t n = 0;

	for (; types[n]; n++) {
		assert_true(n < p->n_sample_types);
		assert_string_equal(profile_string(p, p->sample_types[n].type), types[n]);
	}
	assert_int_equal(p->n_sample_types, n);
}

static const char *const plain[] = {"samples", "cpu", NULL};
static const char *const wall[] = {"samples", "cpu", "off_cpu", NULL};
static const char *const latency[] = {"samples", "cpu", "latency", NULL};
static const char *const both[] = {"samples", "cpu", "latency", "off_cpu", NULL};
static const char *const foreseen[] = {"samples", "cpu", "off_cpu", "latency", NULL};
static const char *const off_cpu[] = {"samples", "off_cpu", NULL};
static const char *const faults[] = {"samples", "page-faults", NULL};
static const char *const faulty_wall[] = {"samples", "page-faults", "off_cpu", NULL};
static const char *const alloc[] = {"alloc_objects", "alloc_space", NULL};

/* Whatever comes first; the second is what it is of, the third: @common, what both have. */
static void test_pairs(void **state)
{
	static const char *const samples[] = {"samples", NULL};
	static const struct {
		const char *const *a, *const *b, *const *together, *const *common;
	} cases[] = {
		{plain, wall, wall, wall},
		{off_cpu, wall, wall, wall},
		{off_cpu, plain, wall, wall},
		{wall, wall, wall, wall},
		{plain, latency, latency, latency},
		{plain, both, both, both},
		{latency, both, both, both},
		{latency, faults, NULL, samples},
		{faults, faulty_wall, faulty_wall, faulty_wall},
		{off_cpu, faulty_wall, NULL, NULL}, /* faults are none of ours */
		{plain, faults, NULL, samples},
		{wall, faults, NULL, samples},
	};

	(void)state;
	for (size_t i = 0; i < 4 * sizeof(cases) / sizeof(*cases); i++) {
		const char *const *a = i & 1 ? cases[i / 4].b : cases[i / 4].a;
		const char *const *b = i & 1 ? cases[i / 4].a : cases[i / 4].b;
		const char *const *wanted = i & 2 ? cases[i / 4].common : cases[i / 4].together;
		cleanup(profile_freep) struct profile *x = profile_of(a, "nanoseconds");
		cleanup(profile_freep) struct profile *y = profile_of(b, "nanoseconds");
		cleanup(merge_freep) struct merge *m = NULL;
		struct profile_message message;
		struct profile *p;
		int r;

		/* With types that both have, their periods differ all the same. */
		if (i & 2 && cases[i / 4].common == samples)
			y->period_type = x->period_type = (struct profile_value_type){0};
		assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
		if (i & 2)
			merge_use_common_types(m);
		assert_int_equal(merge_add(m, x, NULL, NULL, &message), 0);
		r = merge_add(m, y, NULL, NULL, &message);
		if (!wanted) {
			assert_int_equal(r, MERGE_E_MISMATCH);
			continue;
		}
		assert_int_equal(r, 0);
		p = merge_profile(m);
		assert_types(p, wanted);
		for (uint32_t t = 0; wanted[t]; t++) {
			const int64_t of_x = total_of(x, wanted[t]), of_y = total_of(y, wanted[t]);

			assert_int_equal(total_of(p, wanted[t]),
					 (of_x > 0 ? of_x : 0) + (of_y > 0 ? of_y : 0));
		}
		if (wanted != wall)
			continue;
		assert_int_equal(profile_default_type(p), 1);
		assert_string_equal(profile_string(p, p->period_type.type), "cpu");
	}
}

/* What others measure is left out, or refused, as before. */
static void test_others(void **state)
{
	cleanup(profile_freep) struct profile *x = profile_of(alloc, "bytes");
	cleanup(profile_freep) struct profile *y = profile_of(wall, "nanoseconds");
	cleanup(merge_freep) struct merge *m = NULL;
	struct profile_message message;

	(void)state;
	assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
	merge_use_common_types(m);
	assert_int_equal(merge_add(m, x, NULL, NULL, &message), 0);
	assert_int_equal(merge_add(m, y, NULL, NULL, &message), MERGE_E_MISMATCH);
	assert_types(merge_profile(m), alloc);
}

/* Units are those of the finer ones, for what is added, too. */
static void test_units_of_waits(void **state)
{
	cleanup(profile_freep) struct profile *x = profile_of(plain, "milliseconds");
	cleanup(profile_freep) struct profile *y = profile_of(wall, "microseconds");
	cleanup(merge_freep) struct merge *m = NULL;
	struct profile_message message;

	(void)state;
	assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
	assert_int_equal(merge_add(m, x, NULL, NULL, &message), 0);
	assert_int_equal(merge_add(m, y, NULL, NULL, &message), 0);
	assert_int_equal(profile_total(merge_profile(m), 1), 10010); /* us */
	assert_int_equal(profile_total(merge_profile(m), 2), 20000); /* ns */
}

/* One has waits and the other latency: what comes later is behind. */
static void test_waits_and_latency(void **state)
{
	cleanup(profile_freep) struct profile *x = profile_of(latency, "nanoseconds");
	cleanup(profile_freep) struct profile *y = profile_of(wall, "nanoseconds");
	struct profile_message message;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		cleanup(merge_freep) struct merge *m = NULL;

		assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
		assert_int_equal(merge_add(m, i ? y : x, NULL, NULL, &message), 0);
		assert_int_equal(merge_add(m, i ? x : y, NULL, NULL, &message), 0);
		assert_types(merge_profile(m), i ? foreseen : both);
		assert_int_equal(total_of(merge_profile(m), "cpu"), 20);
		assert_int_equal(total_of(merge_profile(m), "latency"), 20);
		assert_int_equal(total_of(merge_profile(m), "off_cpu"), 20);
		assert_int_equal(profile_default_type(merge_profile(m)), 1);
	}
}

/* Types that were added later have another place in some profiles than in others. */
static void test_other_orders(void **state)
{
	static const char *const *const all[][3] = {{wall, both, both},
						    {both, foreseen, both},
						    {foreseen, both, wall},
						    {latency, wall, both}};
	static const char *const names[] = {"cpu", "latency", "off_cpu"};
	struct profile_message message;

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		cleanup(merge_freep) struct merge *m = NULL;
		int64_t wanted[3] = {0};

		assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
		for (unsigned k = 0; k < 3; k++) {
			cleanup(profile_freep) struct profile *p = profile_of(all[i][k],
									      "nanoseconds");

			assert_int_equal(merge_add(m, p, NULL, NULL, &message), 0);
			if (k == 1)
				merge_fix_types(m);
			for (unsigned t = 0; t < 3; t++) {
				const int64_t more = total_of(p, names[t]);

				wanted[t] += more > 0 ? more : 0;
			}
		}
		for (unsigned t = 0; t < 3; t++)
			assert_int_equal(total_of(merge_profile(m), names[t]), wanted[t]);
		assert_int_equal(merge_profile(m)->n_sample_types, 4);
		assert_int_equal(profile_default_type(merge_profile(m)), 1);
	}
}

/* Once types are fixed, waits are one more, which is refused, and none less. */
static void test_fixed_types(void **state)
{
	cleanup(profile_freep) struct profile *x = profile_of(plain, "nanoseconds");
	cleanup(profile_freep) struct profile *y = profile_of(wall, "nanoseconds");
	struct profile_message message;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		cleanup(merge_freep) struct merge *m = NULL;

		assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
		assert_int_equal(merge_add(m, i ? y : x, NULL, NULL, &message), 0);
		merge_fix_types(m);
		assert_int_equal(merge_add(m, i ? x : y, NULL, NULL, &message),
				 i ? 0 : MERGE_E_MISMATCH);
		assert_types(merge_profile(m), i ? wall : plain);
		assert_int_equal(merge_add(m, i ? y : x, NULL, NULL, &message), 0);
	}
}

/* Also in the middle of a profile that has none. */
static void test_waits_are_foreseen(void **state)
{
	cleanup(profile_freep) struct profile *x = profile_of(plain, "milliseconds");
	cleanup(profile_freep) struct profile *y = profile_of(wall, "nanoseconds");
	cleanup(profile_freep) struct profile *z = profile_of(both, "nanoseconds");
	const int64_t values[] = {1, 7};
	const uint32_t chain = locate(x, 0, 99);
	cleanup(merge_freep) struct merge *m = NULL;
	struct profile_message message;

	(void)state;
	assert_int_equal(profile_add_sample(x, &chain, 1, values, NULL, 0), 0);
	assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
	assert_int_equal(merge_begin(m, x, NULL, &message), 0);
	assert_int_equal(merge_samples(m, 0, 1, NULL), 0);
	assert_int_equal(merge_add_optional_types(m), 0);
	assert_int_equal(merge_add_optional_types(m), 0);
	merge_fix_types(m);
	assert_int_equal(merge_samples(m, 1, 1, NULL), 0);
	assert_int_equal(merge_end(m), 0);
	assert_int_equal(merge_profile(m)->period, 10);
	assert_int_equal(merge_add(m, y, NULL, NULL, &message), 0);
	assert_int_equal(merge_add(m, z, NULL, NULL, &message), 0);
	assert_types(merge_profile(m), foreseen);
	assert_int_equal(total_of(merge_profile(m), "latency"), 20);
	assert_int_equal(profile_total(merge_profile(m), 0), 7);
	assert_int_equal(profile_total(merge_profile(m), 1), 17 * 1000000 + 20);
	assert_int_equal(profile_total(merge_profile(m), 2), 20 + 30);
	assert_int_equal(profile_default_type(merge_profile(m)), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_units_of_waits),
		cmocka_unit_test(test_waits_and_latency),
		cmocka_unit_test(test_other_orders),
		cmocka_unit_test(test_fixed_types),
		cmocka_unit_test(test_waits_are_foreseen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

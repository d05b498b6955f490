/* SPDX-License-Identifier: MIT */
/* Merged parts are the whole: what is one, what stands, what is left out. */
#include "tests/unit/profile/merge_fixture.h"

static const unsigned backward[] = {5, 4, 3, 2, 1, 0};

static void test_parts_are_the_whole(void **state)
{
	struct parts *parts = *state;
	cleanup(profile_freep) struct profile *a = merge_in_order(parts, forward, N_PARTS,
								  MERGE_WINDOWS_DROPPED, NULL);
	cleanup(profile_freep) struct profile *b = merge_in_order(parts, backward, N_PARTS,
								  MERGE_WINDOWS_KEPT, NULL);

	assert_same(a, parts->whole, false);
	assert_same(b, parts->whole, false);
	assert_int_equal(a->n_mappings, parts->whole->n_mappings);
	assert_int_equal(a->time_ns, T0 * NS);
	assert_int_equal(a->duration_ns, N_PARTS * 60 * NS);
	assert_int_equal(b->time_ns, T0 * NS);
	assert_int_equal(b->duration_ns, N_PARTS * 60 * NS);
	assert_int_equal(a->period, 10000000);
	assert_true(has_comment(a, "# profd host: h"));
	assert_true(has_comment(a, "# profd ledger: expected=615 seen=555 source=x"));
	assert_int_equal(a->n_comments, 2);
}

static void test_what_others_wrote(void **state)
{
	cleanup(merge_freep) struct merge *m = NULL;
	cleanup(profile_freep) struct profile *p = empty_profile(0, 5, NULL);
	struct profile_message message;
	uint32_t chain = locate(p, map_image(p, 1, 0), 5);

	(void)state;
	add_sample(p, &chain, 1, 3, 1, "x");
	assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(merge_add(m, p, NULL, NULL, &message), 0);
	assert_int_equal(merge_finish(m), 0);
	assert_int_equal(merge_profile(m)->duration_ns, 15 * NS);
	assert_int_equal(merge_profile(m)->time_ns, 0);
	assert_int_equal(merge_profile(m)->n_samples, 1);
	assert_int_equal(profile_total(merge_profile(m), 0), 9);
}

static void test_one_pid_without_the_kernel(void **state)
{
	struct parts *parts = *state;
	int64_t sum = 0;

	for (int64_t pid = 6; pid < 11; pid++) {
		const struct merge_select select = {.has_pid = true,
						    .pid = pid,
						    .is_restricted = true};
		cleanup(profile_freep) struct profile *p =
			merge_in_order(parts, forward, N_PARTS, MERGE_WINDOWS_DROPPED, &select);

		sum += profile_total(p, 0);
		assert_int_equal(p->n_samples > 0, pid >= 7 && pid < 10);
		for (size_t i = 0; i < p->n_mappings; i++)
			assert_true(p->mappings[i].start < KERNEL);
		for (size_t i = 0; i < p->n_locations; i++)
			assert_true(p->locations[i].address < KERNEL);
		for (size_t i = 0; i < p->n_samples; i++)
			assert_true(p->samples[i].n_locations > 0);
	}
	assert_int_equal(sum, profile_total(parts->whole, 0));
}

/* What makes two mappings one: build id, else path; offset; size but for the last page. */
static void test_equal_mappings(void **state)
{
	static const struct {
		const char *path, *build_id;
		uint64_t start, size, offset;
		bool same;
	} others[] = {
		{"/a", "id", 0x5000, 0x2000, 0, true},
		{"/elsewhere", "id", 0x5000, 0x2000, 0, true},
		{"/a", "other", 0x5000, 0x2000, 0, false},
		{"/a", "", 0x5000, 0x2000, 0, false},
		{"/a", "id", 0x5000, 0x1001, 0, true},
		{"/a", "id", 0x5000, 0x1000, 0, false},
		{"/a", "id", 0x5000, 0x2001, 0, false},
		{"/a", "id", 0x5000, 0x2000, 0x1000, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		cleanup(profile_freep) struct profile *a = empty_profile(T0, 60, NULL),
						      *b = empty_profile(T0, 60, NULL);
		const struct profile_mapping of_a = {.start = 0x1000,
						     .limit = 0x3000,
						     .path = text(a, "/a"),
						     .build_id = text(a, "id")},
					     of_b = {.start = others[i].start,
						     .limit = others[i].start + others[i].size,
						     .offset = others[i].offset,
						     .path = text(b, others[i].path),
						     .build_id = text(b, others[i].build_id)};
		cleanup(merge_freep) struct merge *m = NULL;
		struct profile_message message;
		uint32_t mapping, chain[2];

		assert_int_equal(profile_add_mapping(a, &of_a, &mapping), 0);
		chain[0] = locate(a, mapping, 0x10);
		add_sample(a, chain, 1, 1, 1, "x");
		assert_int_equal(profile_add_mapping(b, &of_b, &mapping), 0);
		chain[0] = locate(b, mapping, 0x10);
		b->locations[chain[0]].is_folded = true;
		/* No address is none wherever the mapping lies. */
		assert_int_equal(profile_add_location(b, mapping, 0, NULL, 0, &chain[1]), 0);
		add_sample(b, chain, 2, 1, 1, "x");
		assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
		assert_int_equal(merge_add(m, b, NULL, NULL, &message), 0);
		assert_int_equal(merge_add(m, a, NULL, NULL, &message), 0);
		assert_int_equal(merge_profile(m)->n_mappings, others[i].same ? 1 : 2);
		assert_int_equal(merge_profile(m)->n_locations, others[i].same ? 2 : 3);
		assert_int_equal(merge_profile(m)->locations[0].address, others[i].start + 0x10);
		assert_true(merge_profile(m)->locations[0].is_folded);
		merge_free(m);
		m = NULL;
		assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
		assert_int_equal(merge_add(m, a, NULL, NULL, &message), 0);
		assert_int_equal(merge_add(m, b, NULL, NULL, &message), 0);
		assert_int_equal(
			merge_profile(m)->locations[merge_profile(m)->n_locations - 1].address, 0);
	}
}

/* What the first profile says stands, and its program is the first mapping though nothing ran. */
static void test_first_says(void **state)
{
	cleanup(profile_freep) struct profile *a = empty_profile(T0, 60, NULL),
					      *b = empty_profile(T0 + 60, 60, NULL);
	const struct merge_select of_pid = {.has_pid = true, .pid = 1};
	struct profile_message message;
	uint32_t main_mapping = map_image(a, 1, 0), chain;

	(void)state;
	chain = locate(a, map_image(a, 3, 0), 0x10);
	add_sample(a, &chain, 1, 1, 1, "x");
	assert_int_equal(profile_add_sample(a, NULL, 0, (const int64_t[]){5, 5}, NULL, 0), 0);
	a->default_sample_type = text(a, "cpu");
	b->default_sample_type = text(b, "samples");
	b->doc_url = text(b, "http://b");
	for (unsigned by_pid = 0; by_pid < 2; by_pid++) {
		cleanup(merge_freep) struct merge *m = NULL;
		struct profile *p;

		assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
		assert_int_equal(merge_add(m, a, by_pid ? &of_pid : NULL, NULL, &message), 0);
		assert_int_equal(merge_add(m, b, by_pid ? &of_pid : NULL, NULL, &message), 0);
		p = merge_profile(m);
		assert_string_equal(profile_string(p, p->default_sample_type), "cpu");
		assert_string_equal(profile_string(p, p->doc_url), "http://b");
		assert_int_equal(p->n_mappings, by_pid ? 1 : 2);
		assert_string_equal(profile_string(p, p->mappings[0].path),
				    profile_string(a, a->mappings[by_pid ? 1 : main_mapping].path));
		/* A sample of no stack stays one. */
		assert_int_equal(p->n_samples, by_pid ? 1 : 2);
		assert_int_equal(p->samples[p->n_samples - 1].n_locations, by_pid ? 1 : 0);
	}
}

/* An address of 0 is none; its mapping tells that it is the kernel's. */
static void test_kernel_without_addresses(void **state)
{
	const struct merge_select select = {.is_restricted = true};
	cleanup(profile_freep) struct profile *p = empty_profile(T0, 60, NULL);
	cleanup(merge_freep) struct merge *m = NULL;
	struct profile_message message;
	uint32_t chain[2];

	(void)state;
	assert_int_equal(profile_add_location(p, map_image(p, 9, 0), 0, NULL, 0, &chain[0]), 0);
	chain[1] = locate(p, map_image(p, 1, 0), 5);
	add_sample(p, chain, 2, 1, 1, "x");
	assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
	assert_int_equal(merge_add(m, p, &select, NULL, &message), 0);
	assert_int_equal(merge_profile(m)->samples[0].n_locations, 1);
}

/* Who may see one process has nothing of what woke it, which is others'. */
static void test_one_pid_without_wakers(void **state)
{
	(void)state;
	for (unsigned restricted = 0; restricted < 2; restricted++) {
		const struct merge_select select = {.is_restricted = restricted};
		cleanup(profile_freep) struct profile *p = empty_profile(T0, 60, NULL);
		cleanup(merge_freep) struct merge *m = NULL;
		struct profile_label labels[2] = {{0}};
		struct profile_message message;
		uint32_t chain = locate(p, map_image(p, 1, 0), 5);
		const int64_t values[] = {1, 1};

		assert_int_equal(profile_add_text(p, "waker", &labels[0].key), 0);
		assert_int_equal(profile_add_text(p, "other in secret", &labels[0].str), 0);
		assert_int_equal(profile_add_text(p, "state", &labels[1].key), 0);
		assert_int_equal(profile_add_text(p, "sleep", &labels[1].str), 0);
		assert_int_equal(profile_add_sample(p, &chain, 1, values, labels, 2), 0);
		assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
		assert_int_equal(merge_add(m, p, &select, NULL, &message), 0);
		assert_int_equal(merge_profile(m)->samples[0].n_labels, restricted ? 1 : 2);
		assert_int_equal(profile_find_text(merge_profile(m), "other in secret") !=
					 PROFILE_NONE,
				 !restricted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_parts_are_the_whole, setup, teardown),
		cmocka_unit_test(test_what_others_wrote),
		cmocka_unit_test_setup_teardown(test_one_pid_without_the_kernel, setup, teardown),
		cmocka_unit_test(test_equal_mappings),
		cmocka_unit_test(test_first_says),
		cmocka_unit_test(test_kernel_without_addresses),
		cmocka_unit_test(test_one_pid_without_wakers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

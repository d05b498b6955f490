/* SPDX-License-Identifier: MIT */
/* The same merge by other ways: in pieces, written in between, continued, of one profile. */
#include "common/profile/pprof.h"
#include "tests/unit/profile/merge_fixture.h"

/* Samples can be written and forgotten in between: the file is the same profile. */
static void test_spilt_samples(void **state)
{
	struct parts *parts = *state;
	cleanup(profile_freep) struct profile *expected =
		merge_in_order(parts, forward, N_PARTS, MERGE_WINDOWS_DROPPED, NULL);
	cleanup(merge_freep) struct merge *m = NULL;
	cleanup(pprof_writer_freep) struct pprof_writer *w = NULL;
	cleanup(profile_freep) struct profile *read = NULL;
	cleanup(freep) uint8_t *file = NULL;
	struct profile_message message;
	size_t length = 0;
	bool done;

	assert_int_equal(merge_new(&m, MERGE_WINDOWS_DROPPED), 0);
	assert_int_equal(pprof_writer_new(&w, 6), 0);
	for (unsigned i = 0; i < N_PARTS; i++) {
		cleanup(freep) uint8_t *piece = NULL;
		size_t n, before = merge_bytes(m);

		assert_int_equal(merge_add(m, parts->minutes[i], NULL, NULL, &message), 0);
		assert_true(merge_bytes(m) > before);
		if (i == N_PARTS - 1)
			assert_int_equal(merge_finish(m), 0);
		assert_int_equal(pprof_writer_samples(w, merge_profile(m), 0, SIZE_MAX), 0);
		profile_clear_samples(merge_profile(m));
		if (i == N_PARTS - 1)
			assert_int_equal(pprof_writer_step(w, merge_profile(m), SIZE_MAX, &done),
					 0);
		assert_int_equal(pprof_writer_steal(w, &piece, &n), 0);
		file = realloc(file, length + n + 1);
		memcpy(file + length, piece, n);
		length += n;
	}
	assert_int_equal(pprof_read(file, length, 64 << 20, &read, &message), 0);
	/* Equal samples of several pieces are several in the file. */
	assert_true(read->n_samples > expected->n_samples);
	assert_int_equal(profile_repack_samples(read), 0);
	assert_same(read, expected, true);
	assert_int_equal(read->duration_ns, expected->duration_ns);
}

/* A profile whose samples come three by three. */
static void test_in_pieces(void **state)
{
	struct parts *parts = *state;
	cleanup(profile_freep) struct profile *expected = merge_in_order(parts, forward, N_PARTS,
									 MERGE_WINDOWS_SET, NULL);
	const struct merge_select late = {.since_ns = UINT64_MAX / 2};
	cleanup(merge_freep) struct merge *m = NULL;
	struct profile_message message;
	int64_t samples, sum = 0;

	assert_int_equal(merge_new(&m, MERGE_WINDOWS_SET), 0);
	for (unsigned i = 0; i < N_PARTS; i++) {
		const struct profile *part = parts->minutes[i];

		assert_int_equal(merge_begin(m, part, &late, &message), MERGE_E_NOTHING);
		assert_int_equal(merge_begin(m, part, NULL, &message), 0);
		for (size_t j = 0; j < part->n_samples; j += 3) {
			assert_int_equal(merge_samples(m, j, 3, &samples), 0);
			sum += samples;
		}
		assert_int_equal(merge_end(m), 0);
		assert_int_equal(merge_n_windows(m), i + 1);
	}
	assert_int_equal(merge_finish(m), 0);
	assert_int_equal(sum, profile_total(expected, 0));
	assert_same(merge_profile(m), expected, true);
}

/* What stands for the merge of one profile says what the merge says. */
static void test_alone(void **state)
{
	(void)state;
	for (unsigned listed = 0; listed < 2; listed++) {
		cleanup(profile_freep) struct profile *p = make_minute(3, NULL);
		cleanup(merge_freep) struct merge *m = NULL;
		struct profile_message message;

		if (listed) {
			assert_int_equal(profile_add_comment(p, "# profd window: 5+3 b=2"), 0);
			assert_int_equal(profile_add_comment(p, "# profd window: 2+9 b=3"), 0);
			p->period = -4;
		}
		assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
		assert_int_equal(merge_add(m, p, NULL, NULL, &message), 0);
		assert_int_equal(merge_finish(m), 0);
		assert_int_equal(merge_single_profile(p), 0);
		assert_same(p, merge_profile(m), true);
		assert_same_rest(p, merge_profile(m));
	}
}

/* Two mappings of one program, equal samples and those of 0: a merge would take them for one. */
static void test_alone_as_it_is(void **state)
{
	cleanup(profile_freep) struct profile *p = make_minute(3, NULL);
	const struct profile_sample s = p->samples[0];
	size_t n = p->n_samples, n_mappings = p->n_mappings;
	const int64_t zeroes[PROFILE_TYPES_MAX] = {0};

	(void)state;
	map_image(p, 1, 0x7000000);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(profile_append_sample(p, &(uint32_t){0}, 1, zeroes, NULL, 0), 0);
	assert_int_equal(merge_single_profile(p), 0);
	assert_int_equal(p->n_samples, n + 2);
	assert_int_equal(p->n_mappings, n_mappings + 1);
	assert_memory_equal(&p->samples[0], &s, sizeof(s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_spilt_samples, setup, teardown),
		cmocka_unit_test_setup_teardown(test_in_pieces, setup, teardown),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_alone_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

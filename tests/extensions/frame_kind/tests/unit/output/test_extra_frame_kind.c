/* SPDX-License-Identifier: MIT */
/* Frames of a kind that was added have their names in every format that has names. */
#include "tests/unit/output/fixture.h"

#include "common/frame.h"

#define SCRIPT(number) ((uint64_t)FRAME_SCRIPT << 60 | (number))

static void test_another_kind(void **state)
{
	static const struct script script[] = {
		{.process = 1, .count = 7, .user = {PROGRAM_AT + 0x100, SCRIPT(1), SCRIPT(0)}},
		{.process = 1, .count = 2, .user = {SCRIPT(1)}},
	};
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	cleanup(profile_freep) struct profile *p = NULL;
	unsigned n = 0;

	write_quietly(w, make_snapshot(f, T0, script, ARRAY_SIZE(script)), T0 + 60);
	p = read_pprof(path_of(f, DAY_A "20261121T090000Z-60s.pb.gz"));
	assert_int_equal(profile_total(p, 0), 9);
	for (size_t i = 0; i < p->n_functions; i++)
		n += !strncmp(profile_string(p, p->functions[i].name), "script_", 7);
	assert_int_equal(n, 2);
	/* What has no address is in no legacy profile, and its callers are. */
	assert_int_equal(read_legacy(path_of(f, DAY_A "20261121T090000Z-60s.worker-100.prof")), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_another_kind, fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

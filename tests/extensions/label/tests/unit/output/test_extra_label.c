/* SPDX-License-Identifier: MIT */
/* A label that was added says in profiles what it is taken from, when it is switched on. */
#include "tests/unit/output/fixture.h"

static unsigned count_programs(struct fixture *f, unsigned labels, uint64_t start_s)
{
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, start_s);
	cleanup(profile_freep) struct profile *p = NULL;
	struct snapshot *s = everything_at(f, start_s);
	unsigned n = 0;

	s->labels = labels;
	write_quietly(w, s, start_s + 60);
	p = read_pprof(path_of(f, start_s == T0 ? DAY_A "20261121T090000Z-60s.pb.gz"
						: DAY_A "20261121T090100Z-60s.pb.gz"));
	for (size_t i = 0; i < p->n_sample_labels; i++) {
		if (strcmp(profile_string(p, p->sample_labels[i].key), "program") != 0)
			continue;
		assert_true(profile_string(p, p->sample_labels[i].str)[0] == '/');
		n++;
	}
	return n;
}

static void test_another_label(void **state)
{
	assert_true(count_programs(*state, LABEL_PROGRAM, T0) > 0);
	assert_int_equal(count_programs(*state, ~(unsigned)LABEL_PROGRAM, T0 + 60), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_another_label, fixture_setup,
						fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

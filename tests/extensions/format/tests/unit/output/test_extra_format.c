/* SPDX-License-Identifier: MIT */
/* A format that was added is written, indexed, counted, and goes when it is old, as others do. */
#include "tests/unit/output/fixture.h"

#include <inttypes.h>

#define COUNTS DAY_A "20261121T090000Z-60s.counts"

static void test_another_format(void **state)
{
	struct fixture *f = *state;
	struct output_options options = default_options(f);
	cleanup(writer_freep) struct writer *w = open_writer(f, &options, NULL, T0);
	struct snapshot *s = everything_at(f, T0);
	cleanup(freep) char *data = NULL, *text = NULL;
	struct output_result result = {0};
	uint64_t sum = 0, count;
	size_t length, n = 0;

	assert_int_equal(contents_find("counts", strlen("counts")), CONTENTS_COUNTS);
	s->formats = FORMAT_COUNTS | FORMAT_PPROF;
	write_quietly(w, s, T0 + 60);
	data = slurp(path_of(f, COUNTS), &length);
	text = strndup(data, length);
	assert_non_null(text);
	for (char *rest, *line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		assert_int_equal(sscanf(line, "%*d %" SCNu64, &count), 1);
		sum += count;
	}
	assert_int_equal(sum, 66);
	writer_free(w);
	/* Who finds it there knows what it is, and how old. */
	w = open_writer(f, &options, NULL, T0 + 120);
	writer_list(w, &(struct listing_options){.service = "a.service"}, &result);
	for (size_t i = 0; i < result.listing->n_rows; i++) {
		if (strcmp(result.listing->rows[i]->format, "counts") != 0)
			continue;
		assert_int_equal(result.listing->rows[i]->samples, 66);
		n++;
	}
	assert_int_equal(n, 1);
	listing_free(result.listing);
	writer_vacuum(w, &(struct output_request){.max_age_s = 60}, (T0 + 10 * 86400) * NS,
		      &result);
	assert_false(exists(f, COUNTS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_another_format, fixture_setup,
						fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

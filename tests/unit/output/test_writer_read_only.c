/* SPDX-License-Identifier: MIT */
/* A store that is only read: whatever would be deleted, made or merged in it stays as it is. */
#include "tests/unit/output/fixture.h"

static struct output_options read_only_options(const struct fixture *f)
{
	struct output_options options = default_options(f);

	options.read_only = true;
	options.limits.max_age_s = 1;
	options.limits.max_size = 1;
	options.limits.rollup_after_s = 1;
	return options;
}

static void make_file(const struct fixture *f, const char *path)
{
	int fd = openat(f->store_fd, path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static void test_nothing_changes(void **state)
{
	struct fixture *f = *state;
	struct output_options options = read_only_options(f);
	struct output_result result = {0};
	struct writer *w = open_writer(f, NULL, NULL, T0);

	write_quietly(w, everything_at(f, T0), T0 + 60);
	write_quietly(w, everything_at(f, T0 + 60), T0 + 120);
	writer_free(w);
	make_file(f, DAY_A NAMES_TEMPORARY "1");
	assert_int_equal(mkdirat(f->store_fd, "services/empty.service", 0700), 0);
	assert_int_equal(unlinkat(f->store_fd, "sessions", AT_REMOVEDIR), 0);

	w = open_writer(f, &options, NULL, T0 + 10 * DAY);
	writer_follow_clock(w, (T0 + 10 * DAY) * NS, 10 * DAY * NS);
	assert_false(writer_background(w, (T0 + 10 * DAY) * NS));
	writer_configure(w, &options, (T0 + 20 * DAY) * NS);
	writer_list(w, &(struct listing_options){0}, &result);
	assert_int_equal(result.error, 0);
	assert_int_equal(result.listing->n_rows, 3);
	listing_free(result.listing);
	writer_free(w);

	assert_int_equal(take_census(f).pprof, 2 * EVERYTHING);
	assert_true(exists(f, DAY_A NAMES_TEMPORARY "1"));
	assert_true(exists(f, "services/empty.service"));
	assert_false(exists(f, "sessions"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_changes, fixture_setup,
						fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

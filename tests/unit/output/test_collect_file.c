/* SPDX-License-Identifier: MIT */
/*
 * Stored windows one by one, as the exporter reads them: the windows that are listed, each
 * collected by its path, have every sample once; a window is the same when it has become part of an
 * hour's file; and a path that is none of the store's windows opens nothing.
 */
#include "tests/unit/output/collect_fixture.h"

static Profd__Control__Listing *list_windows(struct writer *w, const char *services,
					     uint64_t since_ns, uint64_t until_ns)
{
	const struct listing_options options = {
		.service = services, .since_ns = since_ns, .until_ns = until_ns, .windows = true};
	struct output_result result = {0};

	writer_list(w, &options, &result);
	assert_int_equal(result.error, 0);
	return result.listing;
}

static void test_all_windows(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_store(f);
	cleanup(listing_freep) Profd__Control__Listing *rows = NULL;
	struct snapshot *legacy = minute_at(f, N_MINUTES);
	uint64_t all, samples, sum = 0;

	free(say(w, &(struct collect_options){0}, &all));
	legacy->formats = FORMAT_LEGACY;
	write_quietly(w, legacy, T0 + HOUR);
	rows = list_windows(w, NULL, 0, 0);
	assert_int_equal(rows->n_rows, 3 * N_MINUTES);
	for (size_t i = 0; i < rows->n_rows; i++) {
		const struct collect_options o = {.file = rows->rows[i]->file};

		assert_string_equal(rows->rows[i]->format, "pprof");
		assert_int_equal(rows->rows[i]->start_ns, (T0 + i / 3 * 60) * NS);
		free(say(w, &o, &samples));
		assert_int_equal(samples, rows->rows[i]->samples);
		sum += samples;
	}
	assert_int_equal(sum, all);
}

static void test_which_windows(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_store(f);
	static const struct {
		const char *services;
		unsigned first, end, n; /* minutes, windows */
	} cases[] = {
		{NULL, 3, 5, 6},       {"a.service", 0, 1, 1}, {"a.*,b/x", 2, 4, 4},
		{"nobody*", 0, 99, 0}, {"*", 11, 12, 3},       {"b/x", 12, 99, 0},
		{"kernel", 0, 99, 12},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup(listing_freep) Profd__Control__Listing *rows =
			list_windows(w, cases[i].services, (T0 + cases[i].first * 60) * NS,
				     (T0 + cases[i].end * 60) * NS);

		assert_int_equal(rows->n_rows, cases[i].n);
		for (size_t k = 0; k < rows->n_rows; k++)
			assert_true(
				!cases[i].services ||
				names_select_service(cases[i].services, rows->rows[k]->service));
	}
}

/* The same words of a window in a file of its own, and in that of its hour. */
static void test_part_of_an_hour(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_store(f);
	cleanup(listing_freep) Profd__Control__Listing *rows = list_windows(w, "a.service", 0, 0);
	cleanup(listing_freep) Profd__Control__Listing *hours = NULL;
	char *before[N_MINUTES];
	uint64_t samples;

	assert_int_equal(rows->n_rows, N_MINUTES);
	for (size_t i = 0; i < N_MINUTES; i++)
		before[i] = say(w, &(struct collect_options){.file = rows->rows[i]->file},
				&samples);
	while (writer_background(w, (T0 + 2 * HOUR) * NS))
		;
	hours = list_windows(w, "a.service", 0, 0);
	assert_int_equal(hours->n_rows, 1);
	for (size_t i = 0; i < N_MINUTES; i++) {
		const struct collect_options gone = {.file = rows->rows[i]->file};
		const struct collect_options part = {
			.file = hours->rows[0]->file,
			.select = {.not_before_s = T0 + i * 60, .until_ns = (T0 + i * 60 + 1) * NS},
		};
		const struct collect_options later = {.file = gone.file,
						      .select.not_before_s = T0 + i * 60 + 1};
		char *text = say(w, &part, &samples);

		assert_string_equal(text, before[i]);
		assert_int_equal(samples, 66 + i + 1);
		free(text);
		/* By the path that it had before, too. */
		text = say(w, &gone, &samples);
		assert_string_equal(text, before[i]);
		free(text);
		free(before[i]);
		assert_null(say(w, &later, &samples));
	}
	assert_null(say(w, &(struct collect_options){.file = DAY_A "20261121T091200Z-60s.pb.gz"},
			&samples));
	assert_null(say(w, &(struct collect_options){.file = DAY_A "20261121T090000Z-60s.pb.gz.1"},
			&samples));
	assert_null(say(w,
			&(struct collect_options){
				.file = "services/a.service/20261122/20261121T090000Z-60s.pb.gz"},
			&samples));
	free(say(w,
		 &(struct collect_options){.file = hours->rows[0]->file,
					   .select.not_before_s = T0 + 10 * 60},
		 &samples));
	assert_int_equal(samples, 2 * 66 + 11 + 12);
}

static void test_other_paths(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_store(f);
	static const char *const paths[] = {
		"",
		"/",
		"/etc/passwd",
		"../secret.pb.gz",
		"20261121T090000Z-60s.pb.gz",
		"services/20261121T090000Z-60s.pb.gz",
		"services/a.service/20261121T090000Z-60s.pb.gz",
		"services/a.service/20261122/20261121T090000Z-60s.pb.gz",
		"services/nobody/20261121/20261121T090000Z-60s.pb.gz",
		"services/a.service/20261121/20261121T090000Z-61s.pb.gz",
		"services/a.service/20261121/20261121T090000Z-60s.pb.gz/",
		"services/a.service/20261121/20261121T090000Z-60s.sh-12.prof",
		"services//a.service/20261121/20261121T090000Z-60s.pb.gz",
		"./services/a.service/20261121/20261121T090000Z-60s.pb.gz",
		"/services/a.service/20261121/20261121T090000Z-60s.pb.gz",
		"services/a.service/../a.service/20261121/20261121T090000Z-60s.pb.gz",
		"services/a.service/20261121/../20261121/20261121T090000Z-60s.pb.gz",
		/* It is there, and a window, but the store has not written it. */
		DAY_A "20261121T095900Z-60s.pb.gz",
		"sessions/../services/a.service/20261121/20261121T090000Z-60s.pb.gz",
	};
	uint64_t samples;

	assert_int_equal(linkat(f->store_fd, DAY_A "20261121T090000Z-60s.pb.gz", f->store_fd,
				DAY_A "20261121T095900Z-60s.pb.gz", 0),
			 0);
	assert_int_equal(linkat(f->store_fd, DAY_A "20261121T090000Z-60s.pb.gz", f->store_fd,
				"20261121T090000Z-60s.pb.gz", 0),
			 0);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		assert_null(say(w, &(struct collect_options){.file = paths[i]}, &samples));
	free(say(w, &(struct collect_options){.file = DAY_A "20261121T090000Z-60s.pb.gz"},
		 &samples));
	assert_int_equal(samples, 67);
}

static void test_damaged(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_store(f);
	const struct collect_options o = {.file = DAY_A "20261121T090000Z-60s.pb.gz"};
	cleanup(collected_freep) struct collected *c = NULL, *again = NULL;

	write_text(f->store_fd, o.file, "rubbish");
	assert_int_equal(run(w, &o, NULL, &c), COLLECT_E_DONE);
	assert_true(c->fd < 0 && c->n_unreadable == 1);
	unlinkat(f->store_fd, o.file, 0);
	assert_int_equal(run(w, &o, NULL, &again), COLLECT_E_DONE);
	assert_true(again->fd < 0 && again->n_unreadable == 0);
}

/* A file of a session has a path, too. */
static void test_session(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_store(f);
	struct snapshot *s = minute_at(f, 1);
	cleanup(listing_freep) Profd__Control__Listing *rows = NULL;
	uint64_t samples;

	s->session = 7;
	s->session_name = strdup("s7-x");
	write_quietly(w, s, T0 + HOUR);
	free(say(w, &(struct collect_options){.file = "sessions/s7-x/20261121T090100Z-60s.pb.gz"},
		 &samples));
	assert_int_equal(samples, EVERYTHING + 2);
	rows = list_windows(w, NULL, 0, 0);
	assert_int_equal(rows->n_rows, 3 * N_MINUTES);
}

/* However many there are, the answer is bounded. */
static void test_too_many(void **state)
{
	const struct index_counts counts = {.samples = 1};
	struct store store = {.fd = -1};
	Profd__Control__Listing *rows;

	(void)state;
	for (unsigned i = 0; i < LISTING_ROWS_MAX / 2 + 100; i++) {
		char dir[64] = "services/a/", day[NAMES_DAY_SIZE], start[NAMES_START_SIZE],
		     name[64];

		names_day(T0 + i * 60, day);
		names_start(T0 + i * 60, start);
		snprintf(name, sizeof(name), "%s-60s.pb.gz", start);
		for (; dir[9] <= 'b'; dir[9]++) {
			strcpy(dir + 11, day);
			assert_int_equal(index_add(&store.index, dir, name, 1, counts), 0);
		}
	}
	assert_int_equal(listing_new(&rows, &store, &(struct listing_options){.windows = true}), 0);
	assert_int_equal(rows->n_rows, LISTING_ROWS_MAX + 1);
	listing_free(rows);
	assert_int_equal(listing_new(&rows, &store,
				     &(struct listing_options){.service = "a", .windows = true}),
			 0);
	assert_int_equal(rows->n_rows, LISTING_ROWS_MAX / 2 + 100);
	listing_free(rows);
	index_deinit(&store.index);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_all_windows),
		TEST(test_which_windows),
		TEST(test_part_of_an_hour),
		TEST(test_other_paths),
		TEST(test_damaged),
		TEST(test_session),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests_name("collect_file", tests, NULL, NULL);
}

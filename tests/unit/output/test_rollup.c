/* SPDX-License-Identifier: MIT */
/* Roll-up over a fake clock: what the minutes held the hour holds. */
#include <sys/xattr.h>

#include "common/profile/windows.h"
#include "tests/unit/output/rollup_fixture.h"

static void test_an_hour(void **state)
{
	struct fixture *f = *state;
	const struct output_options o = rolling(f);
	cleanup(writer_freep) struct writer *w = open_writer(f, &o, NULL, T0);
	cleanup(profile_freep) struct profile *p = NULL;
	cleanup(profile_windows_deinit) struct profile_windows windows = {0};
	struct census before, after;
	size_t n_windows = 0, n_rows;
	uint64_t samples;

	write_minutes(f, w, 0, N_MINUTES);
	write_minutes(f, w, 60, 2); /* of the next hour */
	before = take_census(f);
	samples = listed(w, "a.service", &n_rows);
	assert_int_equal(n_rows, N_MINUTES + 2);
	assert_int_equal(roll(w, T0 + 2 * HOUR - 1), 0);
	assert_true(roll(w, T0 + 2 * HOUR) > N_MINUTES);
	after = take_census(f);
	assert_int_equal(after.pprof, before.pprof);
	assert_int_equal(after.n_pprof, 3 * 3);
	assert_int_equal(after.n_temporary + after.n_other, 0);
	assert_int_equal(listed(w, "a.service", &n_rows), samples);
	assert_int_equal(n_rows, 3);
	assert_int_equal(mode_of(f, HOUR_FILE), 0640);

	p = read_pprof(path_of(f, HOUR_FILE));
	assert_int_equal(p->time_ns, T0 * NS);
	assert_int_equal(p->duration_ns, N_MINUTES * 60 * NS);
	for (size_t i = 0; i < p->n_sample_labels; i++) {
		const struct profile_label *l = &p->sample_labels[i];

		if (strcmp(profile_string(p, l->key), "window") != 0)
			continue;
		assert_string_equal(profile_string(p, l->num_unit), "seconds");
		assert_true(l->num >= (int64_t)T0 && l->num % 60 == 0);
		n_windows++;
	}
	assert_int_equal(n_windows, p->n_samples);
	assert_int_equal(profile_windows_of(p, &windows), 0);
	assert_int_equal(windows.n, N_MINUTES);
	/* The hour after it, in its time. */
	assert_true(roll(w, T0 + 3 * HOUR) > 0);
	assert_int_equal(take_census(f).n_pprof, 2 * 3);
	assert_int_equal(take_census(f).pprof, before.pprof);
	assert_int_equal(roll(w, T0 + 9 * HOUR), 0);
}

static void test_off(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);

	write_minutes(f, w, 0, 2);
	assert_int_equal(roll(w, T0 + 100 * HOUR), 0);
}

/* Killed after the hour was there and before (some of) its minutes were gone. */
static void test_minutes_left_over(void **state)
{
	struct fixture *f = *state;
	const struct output_options o = rolling(f);
	struct writer *w = open_writer(f, &o, NULL, T0);
	struct census before;

	write_minutes(f, w, 0, N_MINUTES);
	before = take_census(f);
	for (unsigned i = 0; i < N_MINUTES; i += 3) {
		char to[64];

		snprintf(to, sizeof(to), "kept-%u", i);
		copy(f, minute_name(DAY_A, i), to);
	}
	roll(w, T0 + 2 * HOUR);
	assert_int_equal(take_census(f).pprof, before.pprof);
	writer_free(w);
	for (unsigned i = 0; i < N_MINUTES; i += 3) {
		char from[64];

		snprintf(from, sizeof(from), "kept-%u", i);
		copy(f, from, minute_name(DAY_A, i));
		unlinkat(f->store_fd, from, 0);
	}
	assert_true(take_census(f).pprof > before.pprof);
	w = open_writer(f, &o, NULL, T0 + 2 * HOUR);
	assert_int_equal(take_census(f).pprof, before.pprof);
	assert_int_equal(take_census(f).n_pprof, 3);

	/* What came later than the roll-up stays, and is rolled up once it has company. */
	write_minutes(f, w, 20, 1);
	writer_free(w);
	w = open_writer(f, &o, NULL, T0 + 2 * HOUR);
	assert_true(exists(f, minute_name(DAY_A, 20)));
	assert_int_equal(roll(w, T0 + 2 * HOUR), 0);
	write_minutes(f, w, 21, 2);
	roll(w, T0 + 2 * HOUR);
	assert_true(exists(f, HOUR_FILE ".1"));
	assert_int_equal(take_census(f).n_pprof, 2 * 3);
	assert_int_equal(take_census(f).pprof, before.pprof / N_MINUTES * (N_MINUTES + 3));
	writer_free(w);
}

static void test_damage(void **state)
{
	struct fixture *f = *state;
	const struct output_options o = rolling(f);
	cleanup(writer_freep) struct writer *w = open_writer(f, &o, NULL, T0);
	unsigned n_said = 0;
	size_t n_rows;

	write_minutes(f, w, 0, 5);
	write_text(f->store_fd, minute_name(DAY_A, 1), "rubbish");
	unlinkat(f->store_fd, minute_name(DAY_A, 2), 0);
	while (writer_background(w, (T0 + 2 * HOUR) * NS)) {
		if (!(writer_conditions(w) & WRITER_DAMAGED))
			continue;
		n_said++;
		assert_non_null(strstr(writer_describe(w, WRITER_DAMAGED),
				       "a.service/20261121/20261121T090100Z-60s.pb.gz"));
	}
	assert_int_equal(n_said, 1);
	assert_true(exists(f, minute_name(DAY_A, 1)));
	assert_true(exists(f, HOUR_FILE));
	assert_false(exists(f, minute_name(DAY_A, 0)));
	assert_false(exists(f, minute_name(DAY_A, 4)));
	assert_int_equal(roll(w, T0 + 5 * HOUR), 0);
	listed(w, "a.service", &n_rows);
}

/* What is known to be damaged when some of it is in the hour already is not in it, either. */
static void test_damaged_sample(void **state)
{
	struct fixture *f = *state;
	cleanup(store_freep) struct store *store = NULL;
	cleanup(rollup_freep) struct rollup *r = NULL;
	unsigned n_damaged = 0;
	int e;

	for (unsigned i = 0; i < 3; i++) {
		cleanup(profile_freep) struct profile *p = make_window(T0 + i * 60, 20000, 0, 10);

		if (i == 1)
			p->sample_locations[p->n_sample_locations - 1] = 1000;
		put_window(f, T0 + i * 60, p);
	}
	assert_int_equal(store_new(&store, f->store_fd, f->store_path, &file_ops_system), 0);
	assert_int_equal(store_rescan(store), 0);
	assert_int_equal(rollup_new(&r, store, 8 << 20), 0);
	while ((e = rollup_step(r, T0 + 2 * HOUR, T0 + 3 * HOUR)) != ROLLUP_E_IDLE) {
		assert_true(e >= 0);
		n_damaged += e == ROLLUP_E_DAMAGED;
	}
	assert_int_equal(n_damaged, 1);
	assert_true(exists(f, minute_name(BIG_DIR, 1)));
	assert_int_equal(store->index.n_files, 2);
	unlinkat(f->store_fd, minute_name(BIG_DIR, 1), 0);
	assert_int_equal(take_census(f).pprof, 2 * 20000);
}

/* Hours, and a minute that was alone in its hour, become a day; all their windows are known. */
static void test_a_day(void **state)
{
	struct fixture *f = *state;
	const struct output_options o = rolling(f);
	cleanup(writer_freep) struct writer *w = open_writer(f, &o, NULL, T0);
	cleanup(profile_freep) struct profile *p = NULL;
	cleanup(profile_windows_deinit) struct profile_windows windows = {0};
	const uint64_t midnight = T0 - T0 % DAY + DAY;
	Profd__Control__ListingRow hour, part;
	struct census before;
	size_t n_rows;

	write_minutes(f, w, 0, 3);
	write_minutes(f, w, 60, 3);
	write_minutes(f, w, 180, 1);
	write_minutes(f, w, 15 * 60, 3); /* of the next day */
	before = take_census(f);
	roll(w, midnight + HOUR - 1);
	assert_int_equal(take_census(f).n_pprof, 3 * (3 + 3));
	hour = listed_between(w, T0 + HOUR + 60, T0 + HOUR + 120);
	assert_true(hour.samples > 0 && hour.cpu_ns > 0);
	assert_true(roll(w, midnight + HOUR) > 3);
	assert_int_equal(take_census(f).n_pprof, 3 * (1 + 3));
	assert_int_equal(take_census(f).pprof, before.pprof);
	assert_int_equal(take_census(f).n_temporary, 0);
	assert_true(exists(f, DAY_FILE));
	assert_int_equal(mode_of(f, DAY_FILE), 0640);
	listed(w, "a.service", &n_rows);
	assert_int_equal(n_rows, 4);
	/* As when that hour had a file. */
	part = listed_between(w, T0 + HOUR + 60, T0 + HOUR + 120);
	assert_int_equal(part.samples, hour.samples);
	assert_int_equal(part.cpu_ns, hour.cpu_ns);
	assert_int_equal(part.start_ns, hour.start_ns);
	assert_int_equal(part.end_ns, hour.end_ns);
	part = listed_between(w, T0 + 4 * HOUR, T0 + 5 * HOUR);
	assert_int_equal(part.samples, 0);
	removexattr(path_of(f, DAY_FILE), STORE_HOURS_ATTRIBUTE);
	assert_true(listed_between(w, T0 + 4 * HOUR, T0 + 5 * HOUR).samples > hour.samples);

	p = read_pprof(path_of(f, DAY_FILE));
	assert_int_equal(p->time_ns, T0 * NS);
	assert_int_equal(p->duration_ns, 7 * 60 * NS);
	assert_int_equal(profile_windows_of(p, &windows), 0);
	assert_int_equal(windows.n, 7);
	assert_true(windows.is_listed);
	assert_int_equal(windows.all[6].time_ns, (T0 + 180 * 60) * NS);
	assert_non_null(windows.all[6].ledger);
	/* An hour alone in its day stays one. */
	roll(w, midnight + 2 * DAY);
	assert_int_equal(take_census(f).n_pprof, 3 * 2);
	assert_int_equal(roll(w, midnight + 3 * DAY), 0);
}

/* Killed after the day was there and before (some of) its hours were gone. */
static void test_hours_left_over(void **state)
{
	struct fixture *f = *state;
	const struct output_options o = rolling(f);
	cleanup(store_freep) struct store *store = NULL;
	cleanup(rollup_freep) struct rollup *r = NULL;
	struct writer *w = open_writer(f, &o, NULL, T0);
	struct census before;

	write_minutes(f, w, 0, 3);
	write_minutes(f, w, 60, 3);
	copy(f, minute_name(DAY_A, 0), "kept-minute");
	roll(w, T0 + 5 * HOUR);
	before = take_census(f);
	copy(f, HOUR_FILE, "kept");
	roll(w, T0 + 2 * DAY);
	assert_int_equal(take_census(f).n_pprof, 3);
	writer_free(w);
	copy(f, "kept", HOUR_FILE);
	unlinkat(f->store_fd, "kept", 0);
	w = open_writer(f, &o, NULL, T0 + 2 * DAY);
	assert_false(exists(f, HOUR_FILE));
	assert_int_equal(take_census(f).pprof, before.pprof);

	/* An hour with a window that the day lacks stays. */
	write_minutes(f, w, 20, 1);
	writer_free(w);
	copy(f, "kept-minute", minute_name(DAY_A, 0));
	unlinkat(f->store_fd, "kept-minute", 0);
	assert_int_equal(store_new(&store, f->store_fd, f->store_path, &file_ops_system), 0);
	assert_int_equal(store_rescan(store), 0);
	assert_int_equal(rollup_new(&r, store, 8 << 20), 0);
	while (rollup_step(r, T0 + HOUR, T0 + 2 * DAY) == ROLLUP_E_OK)
		;
	assert_true(exists(f, HOUR_FILE));
	assert_false(exists(f, minute_name(DAY_A, 0)));
	assert_int_equal(rollup_recover(store, 8 << 20), 0);
	assert_true(exists(f, HOUR_FILE));
}

/* Hours that are big beside the memory are not read for a day. */
static void test_big_hours(void **state)
{
	static const size_t budgets[] = {8 << 20, 256 << 10, 8 << 20};
	struct fixture *f = *state;
	cleanup(store_freep) struct store *store = NULL;

	for (unsigned i = 0; i < 4; i++) {
		cleanup(profile_freep) struct profile *p = make_window(T0 + i * 1800, 5000,
								       i * 2000, (i + 1) * 2000);

		put_window(f, T0 + i * 1800, p);
	}
	assert_int_equal(store_new(&store, f->store_fd, f->store_path, &file_ops_system), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(budgets); i++) {
		cleanup(rollup_freep) struct rollup *r = NULL;
		const uint64_t until_s = T0 + (i ? DAY : 2 * HOUR);
		int e;

		assert_int_equal(store_rescan(store), 0);
		assert_int_equal(rollup_new(&r, store, budgets[i]), 0);
		do {
			e = rollup_step(r, until_s, until_s);
			assert_true(e == ROLLUP_E_OK || e == ROLLUP_E_IDLE);
			assert_true(i != 1 || rollup_bytes(r) < budgets[i] / 4);
		} while (e != ROLLUP_E_IDLE);
		assert_int_equal(store->index.n_files, i < 2 ? 2 : 1);
		assert_int_equal(take_census(f).pprof, 4 * 5000);
	}
}

/* Samples of two events have no sum: each event gets a file. */
static void test_two_events(void **state)
{
	struct fixture *f = *state;
	const struct output_options o = rolling(f);
	cleanup(writer_freep) struct writer *w = open_writer(f, &o, NULL, T0);
	struct census before;

	for (unsigned i = 0; i < 5; i++) {
		struct snapshot *s = everything_at(f, T0 + i * 60);

		s->formats = FORMAT_PPROF;
		if (i % 2) {
			snprintf(s->event, sizeof(s->event), "page-faults");
			s->is_clock = false;
		}
		write_quietly(w, s, T0 + i * 60 + 60);
	}
	before = take_census(f);
	assert_true(roll(w, T0 + 2 * HOUR) < 600);
	assert_int_equal(take_census(f).pprof, before.pprof);
	assert_true(exists(f, HOUR_FILE));
	assert_true(exists(f, HOUR_FILE ".1"));
	assert_int_equal(take_census(f).n_pprof, 2 * 3);
	/* One alone of its kind is not tried for ever. */
	write_minutes(f, w, 9, 1);
	assert_true(roll(w, T0 + 2 * HOUR) < 60);
	assert_int_equal(take_census(f).n_pprof, 3 * 3);
}

/* However many samples there are, an hour becomes one file, and little memory is enough. */
static void test_many_samples(void **state)
{
	struct fixture *f = *state;
	cleanup(store_freep) struct store *store = NULL;
	cleanup(rollup_freep) struct rollup *r = NULL;
	size_t bytes = 0, more, window = 0;
	struct census census;
	int e;

	for (unsigned i = 0; i < 60; i++) {
		cleanup(profile_freep) struct profile *p = make_window(T0 + i * 60, 2000 + i, 100,
								       150);

		window = profile_bytes(p);
		put_window(f, T0 + i * 60, p);
	}
	assert_int_equal(store_new(&store, f->store_fd, f->store_path, &file_ops_system), 0);
	assert_int_equal(store_rescan(store), 0);
	assert_int_equal(rollup_new(&r, store, 256 << 10), 0);
	do {
		e = rollup_step(r, T0 + 2 * HOUR, T0 + 3 * HOUR);
		assert_true(e >= 0 && e != ROLLUP_E_DAMAGED);
		more = rollup_bytes(r);
		bytes = more > bytes ? more : bytes;
	} while (e != ROLLUP_E_IDLE);
	census = take_census(f);
	assert_int_equal(census.n_pprof, 1);
	assert_int_equal(census.pprof, 60 * 2000 + 59 * 60 / 2);
	assert_int_equal(census.n_temporary, 0);
	/* A window on its way takes more than it did when its size was known. */
	assert_in_range(bytes, window / 2, 2 * window + (512 << 10));
}

/* An hour whose names do not fit into the memory is cut into files whose names do. */
static void test_many_names(void **state)
{
	struct fixture *f = *state;
	const struct output_options o = rolling(f);
	struct output_options little = o;
	struct census census;
	struct writer *w;

	little.background_bytes = 800 << 10;
	for (unsigned i = 0; i < 30; i++) {
		cleanup(profile_freep) struct profile *p = make_window(T0 + i * 60, 600, i * 500,
								       (i + 1) * 500);

		put_window(f, T0 + i * 60, p);
	}
	w = open_writer(f, &little, NULL, T0);
	roll(w, T0 + 2 * HOUR);
	assert_int_equal(writer_conditions(w), 0);
	writer_free(w);
	census = take_census(f);
	assert_int_equal(census.pprof, 30 * 600);
	assert_in_range(census.n_pprof, 2, 10);
	/* None of them is taken for what is left of a killed roll-up. */
	w = open_writer(f, &o, NULL, T0 + 2 * HOUR);
	writer_free(w);
	assert_int_equal(take_census(f).pprof, census.pprof);
	assert_int_equal(take_census(f).n_pprof, census.n_pprof);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_an_hour),        TEST(test_off),        TEST(test_minutes_left_over),
		TEST(test_damage),         TEST(test_two_events), TEST(test_many_samples),
		TEST(test_many_names),     TEST(test_a_day),      TEST(test_hours_left_over),
		TEST(test_damaged_sample), TEST(test_big_hours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

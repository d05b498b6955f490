/* SPDX-License-Identifier: MIT */
/* Roll-up over a fake clock: what the minutes held the hour holds, whatever happens meanwhile. */
#include "tests/unit/output/fixture.h"

#include "common/profile/merge.h"
#include "common/profile/windows.h"
#include "daemon/output/listing.h"

#define HOUR      3600u
#define N_MINUTES 10
#define HOUR_FILE DAY_A "20261121T090000Z-3600s.pb.gz"

static struct output_options rolling(const struct fixture *f)
{
	struct output_options o = default_options(f);

	o.rollup_after_s = HOUR;
	o.background_bytes = 8 << 20;
	return o;
}

static unsigned roll(struct writer *w, uint64_t now_s)
{
	unsigned n = 0;

	while (writer_rollup(w, now_s * NS))
		n++;
	return n;
}

/* Windows of services a.service, b/x and kernel, from T0 on; their samples differ by their start.
 */
static void write_minutes(const struct fixture *f, struct writer *w, unsigned first, unsigned n)
{
	for (unsigned i = first; i < first + n; i++) {
		struct snapshot *s = everything_at(f, T0 + i * 60);

		s->formats = FORMAT_PPROF;
		write_quietly(w, s, T0 + i * 60 + 60);
	}
}

static char *minute_name(const char *folder, unsigned i)
{
	static char name[256];
	char start[NAMES_START_SIZE];

	names_start(T0 + i * 60, start);
	snprintf(name, sizeof(name), "%s%s-60s.pb.gz", folder, start);
	return name;
}

static void copy(const struct fixture *f, const char *from, const char *to)
{
	size_t length;
	cleanup(freep) void *data = slurp(path_of(f, from), &length);
	FILE *out = fopen(path_of(f, to), "w");

	assert_non_null(out);
	assert_int_equal(fwrite(data, 1, length, out), length);
	fclose(out);
}

/* Samples of service a in the windows that the listing names. */
static uint64_t listed(struct writer *w, const char *service, size_t *ret_n)
{
	struct output_result result = {0};
	uint64_t sum = 0;

	writer_list(w, service, 0, 0, &result);
	assert_int_equal(result.error, 0);
	for (size_t i = 0; i < result.listing->n_rows; i++)
		sum += result.listing->rows[i].samples;
	*ret_n = result.listing->n_rows;
	listing_free(result.listing);
	return sum;
}

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
	while (writer_rollup(w, (T0 + 2 * HOUR) * NS)) {
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
	assert_true(roll(w, T0 + 2 * HOUR) < 60);
	assert_int_equal(take_census(f).pprof, before.pprof);
	assert_true(exists(f, HOUR_FILE));
	assert_true(exists(f, HOUR_FILE ".1"));
	assert_int_equal(take_census(f).n_pprof, 2 * 3);
	/* One alone of its kind is not tried for ever. */
	write_minutes(f, w, 9, 1);
	assert_true(roll(w, T0 + 2 * HOUR) < 10);
	assert_int_equal(take_census(f).n_pprof, 3 * 3);
}

/* An hour that does not fit into the memory is cut into files that do. */
static void test_little_memory(void **state)
{
	struct fixture *f = *state;
	struct output_options o = rolling(f);
	struct writer *w;
	struct census before, after;

	o.background_bytes = 100 << 10;
	w = open_writer(f, &o, NULL, T0);
	write_minutes(f, w, 0, 60);
	before = take_census(f);
	roll(w, T0 + 2 * HOUR);
	after = take_census(f);
	assert_int_equal(after.pprof, before.pprof);
	assert_true(after.n_pprof > 3 && after.n_pprof < 60);
	writer_free(w);
	w = open_writer(f, &o, NULL, T0 + 2 * HOUR);
	assert_int_equal(take_census(f).pprof, before.pprof);
	assert_int_equal(take_census(f).n_pprof, after.n_pprof);
	writer_free(w);
}

/* What retention deletes while an hour is in work does not come back with it. */
static void test_collected_meanwhile(void **state)
{
	struct fixture *f = *state;
	struct output_options o = rolling(f);
	cleanup(writer_freep) struct writer *w = open_writer(f, &o, NULL, T0);

	write_minutes(f, w, 0, 8);
	for (unsigned i = 0; i < 4; i++)
		assert_true(writer_rollup(w, (T0 + 2 * HOUR) * NS));
	o.max_age_s = HOUR;
	writer_configure(w, &o, (T0 + HOUR + 400) * NS);
	assert_int_equal(take_census(f).n_pprof, 3 * 3);
	roll(w, T0 + 2 * HOUR);
	assert_int_equal(take_census(f).n_pprof, 3);
	assert_int_equal(take_census(f).pprof, 3 * EVERYTHING);
}

static int failing_sync(int fd)
{
	(void)fd;
	errno = EIO;
	return -1;
}

static void test_disk_error(void **state)
{
	struct fixture *f = *state;
	const struct output_options o = rolling(f);
	struct file_ops ops = file_ops_system;
	cleanup(writer_freep) struct writer *w = NULL;
	struct census before;

	w = open_writer(f, &o, &ops, T0);
	write_minutes(f, w, 0, 4);
	before = take_census(f);
	ops.sync = failing_sync;
	roll(w, T0 + 2 * HOUR);
	assert_true(writer_conditions(w) & WRITER_NOT_ROLLED_UP);
	assert_int_equal(take_census(f).n_pprof, before.n_pprof);
	assert_int_equal(take_census(f).n_temporary, 0);
	ops = file_ops_system;
	assert_int_equal(roll(w, T0 + 2 * HOUR + 1), 0); /* not at once */
	roll(w, T0 + 2 * HOUR + 601);
	assert_int_equal(take_census(f).n_pprof, 3);
	assert_int_equal(take_census(f).pprof, before.pprof);
	assert_false(writer_conditions(w) & WRITER_NOT_ROLLED_UP);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_an_hour),
		TEST(test_off),
		TEST(test_minutes_left_over),
		TEST(test_damage),
		TEST(test_two_events),
		TEST(test_little_memory),
		TEST(test_collected_meanwhile),
		TEST(test_disk_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

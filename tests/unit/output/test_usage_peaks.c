/* SPDX-License-Identifier: MIT */
#include <sys/xattr.h>

#include "daemon/output/usage.h"
#include "daemon/output/usage_peaks.h"
#include "tests/unit/output/rollup_fixture.h"

#define MINUTE_A DAY_A "20261121T090000Z-60s.pb.gz"

/* @n samples of 10 ms of a process, each 100 ms from @at_ns on @each of them. */
static void burst(struct snapshot *s, uint64_t process, uint64_t at_ns, unsigned n, unsigned each)
{
	const uint64_t frames[] = {PROGRAM_AT + 0x100};

	for (unsigned i = 0; i < n; i++) {
		const struct aggregate_key key = {
			.process = process,
			.time_ns = at_ns + i / each * (NS / 10),
			.thread_name = "main",
			.stack = {.frames = frames, .n_frames = 1},
		};

		assert_int_equal(aggregate_add(s->aggregate, &key, 1, 10000000), 0);
	}
}

/* A minute of a.service, which takes a hundredth of a CPU, and of b/x, a third of its last second.
 */
static struct snapshot *quiet_minute(const struct fixture *f, uint64_t start_s)
{
	struct snapshot *s = make_snapshot(f, start_s, NULL, 0);

	s->formats = FORMAT_PPROF;
	burst(s, 1, start_s * NS, 60, 1);
	burst(s, 3, (start_s + 59) * NS, 30, 3);
	return s;
}

/* Ten of them, of which a.service takes two CPUs for five seconds in the @nth. */
static void write_ten(const struct fixture *f, struct writer *w, uint64_t start_s, unsigned nth)
{
	for (unsigned i = 0; i < 10; i++) {
		struct snapshot *s = quiet_minute(f, start_s + i * 60);

		if (i == nth)
			burst(s, 1, (start_s + i * 60 + 17) * NS + NS / 5, 1000, 20);
		write_quietly(w, s, start_s + i * 60 + 60);
	}
}

static Profd__Control__UsageTable *ask(struct writer *w, uint64_t since_s, uint64_t until_s,
				       uint32_t steps, uint32_t limit, struct output_result *result)
{
	const struct output_request request = {
		.task = OUTPUT_USAGE,
		.what.select = {.since_ns = since_s * NS, .until_ns = until_s * NS},
		.steps = steps,
		.limit = limit,
	};

	usage_free(steal_ptr(&result->usage));
	writer_usage(w, &request, until_s * NS, result);
	assert_int_equal(result->error, 0);
	return result->usage;
}

static const Profd__Control__UsageRow *row(const Profd__Control__UsageTable *t, const char *service)
{
	for (size_t i = 0; i < t->n_rows; i++)
		if (strcmp(t->rows[i]->service, service) == 0)
			return t->rows[i];
	fail_msg("%s is not listed", service);
	return NULL;
}

/* Two CPUs but what a.service takes anyway. */
static void assert_event(const Profd__Control__UsageTable *t, uint64_t minute_s)
{
	const Profd__Control__UsagePeak *peak;

	assert_true(t->n_peaks > 0);
	peak = t->peaks[0];
	assert_string_equal(peak->service, "a.service");
	assert_in_range(peak->cpu_ns, 2 * NS, 2 * NS + NS / 10);
	assert_in_range(peak->at_ns, (minute_s + 17) * NS, (minute_s + 22) * NS);
}

/* In ten minutes, in steps of two. */
static void test_steps(void **state)
{
	struct fixture *f = *state;
	struct output_result r = {0};
	struct writer *w = open_writer(f, NULL, NULL, T0);
	const Profd__Control__UsageRow *a, *b;
	Profd__Control__UsageTable *t;

	write_ten(f, w, T0, 5);
	for (unsigned again = 0; again < 2; again++) {
		t = ask(w, T0, T0 + 600, 5, 60, &r);
		assert_event(t, T0 + 300);
		assert_int_equal(t->n_peaks, 1);
		assert_in_range(t->peaks[0]->usual_ns, NS / 100, NS / 10);
		a = row(t, "a.service");
		b = row(t, "b/x");
		assert_int_equal(a->n_peak_ns, 5);
		assert_int_equal(a->peak_ns[2], t->peaks[0]->cpu_ns);
		assert_int_equal(a->peak_at_ns[2], t->peaks[0]->at_ns);
		for (size_t i = 0; i < 5; i++) {
			assert_int_equal(b->peak_ns[i], NS * 3 / 10);
			assert_int_equal(b->peak_at_ns[i], (T0 + i * 120 + 59) * NS);
			assert_true(i == 2 || a->peak_ns[i] < NS / 5);
		}
		/* The next one reads it from the files. */
		writer_free(w);
		w = open_writer(f, NULL, NULL, T0 + 600);
	}
	/* Also of what is not listed by its name. */
	t = ask(w, T0, T0 + 600, 5, 1, &r);
	assert_event(t, T0 + 300);
	assert_int_equal(t->others->peak_ns[1], NS * 3 / 10);
	usage_free(r.usage);
	writer_free(w);
}

/* It is in one of 168 hours, which become hours and days. */
static void test_week(void **state)
{
	struct fixture *f = *state;
	const struct output_options options = rolling(f);
	struct output_result r = {0};
	struct writer *w = open_writer(f, &options, NULL, T0);
	const uint64_t until_s = T0 + 7 * DAY;

	for (unsigned hour = 0; hour < 168; hour += 2) {
		struct snapshot *s = quiet_minute(f, T0 + hour * HOUR + 60);

		write_quietly(w, quiet_minute(f, T0 + hour * HOUR), T0 + hour * HOUR + 60);
		if (hour == 76)
			burst(s, 1, (T0 + hour * HOUR + 77) * NS, 1000, 20);
		write_quietly(w, s, T0 + hour * HOUR + 120);
	}
	assert_event(ask(w, T0, until_s, 600, 60, &r), T0 + 76 * HOUR + 60);
	writer_free(w);
	/* Rolled up by one that has not read what the files hold. */
	w = open_writer(f, &options, NULL, until_s);
	assert_true(roll(w, until_s) > 0);
	assert_true(exists(f, DAY_FILE));
	assert_event(ask(w, T0, until_s, 600, 60, &r), T0 + 76 * HOUR + 60);
	assert_event(ask(w, T0 + 76 * HOUR, T0 + 77 * HOUR, 10, 60, &r), T0 + 76 * HOUR + 60);
	assert_int_equal(ask(w, T0 + 78 * HOUR, until_s, 600, 60, &r)->n_peaks, 0);
	writer_free(w);
	w = open_writer(f, &options, NULL, until_s);
	assert_event(ask(w, T0, until_s, 600, 60, &r), T0 + 76 * HOUR + 60);
	usage_free(r.usage);
	writer_free(w);
}

/* Files of a profd that did not keep it: its CPU time is known, and when it was not. */
static void test_not_kept(void **state)
{
	struct fixture *f = *state;
	struct output_result r = {0};
	struct writer *w = open_writer(f, NULL, NULL, T0);
	const Profd__Control__UsageTable *t;
	const char *path;

	write_ten(f, w, T0, 0);
	writer_free(w);
	path = path_of(f, MINUTE_A);
	assert_int_equal(removexattr(path, STORE_COUNTS_ATTRIBUTE), 0);
	assert_int_equal(setxattr(path, STORE_SAMPLES_ATTRIBUTE, "1060", 4, 0), 0);
	assert_int_equal(setxattr(path, STORE_CPU_ATTRIBUTE, "10600000000", 11, 0), 0);
	w = open_writer(f, NULL, NULL, T0 + 600);
	t = ask(w, T0, T0 + 600, 10, 60, &r);
	assert_int_equal(t->n_peaks, 0);
	assert_int_equal(row(t, "a.service")->peak_ns[0], 0);
	assert_true(row(t, "a.service")->peak_ns[1] > 0);
	assert_in_range(row(t, "a.service")->step_ns[0], 10 * NS, 11 * NS);
	usage_free(r.usage);
	writer_free(w);
}

/* What a service does again and again does not stand out; what two do once, both times. */
static void test_standouts(void **state)
{
	struct usage_peaks p;

	(void)state;
	assert_int_equal(usage_peaks_init(&p, T0 * NS, 60e9, 100), 0);
	for (unsigned i = 0; i < 100; i++)
		usage_peaks_add(&p, (struct index_peak){3000 + i % 7 * 100, 5}, T0 + i * 60);
	usage_peaks_end_service(&p, "hourly", 0);
	assert_int_equal(p.n, 0);
	usage_peaks_add(&p, (struct index_peak){900, 5}, T0 + 60);
	usage_peaks_add(&p, (struct index_peak){1900, 5}, T0 + 120);
	usage_peaks_end_service(&p, "twice", 0);
	assert_int_equal(p.n, 1);
	for (unsigned i = 0; i < 100; i += 2)
		usage_peaks_add(&p, (struct index_peak){i == 50 ? 4000 : 100 + i, 5}, T0 + i * 60);
	usage_peaks_end_service(&p, "once", 0);
	assert_int_equal(p.n, 2);
	assert_string_equal(p.standouts[0].service, "once");
	assert_int_equal(p.standouts[0].peak.at_ns, (T0 + 50 * 60) * NS + NS / 2);
	assert_string_equal(p.standouts[1].service, "twice");
	assert_int_equal(p.standouts[1].peak.cpu_ns, 1900000000);
	/* The largest stay. */
	for (unsigned i = 0; i < 30; i++) {
		usage_peaks_add(&p, (struct index_peak){1000 + i * 100, 0}, T0);
		usage_peaks_end_service(&p, "many", 0);
	}
	assert_int_equal(p.n, USAGE_PEAKS_MAX);
	for (size_t i = 1; i < p.n; i++)
		assert_true(p.standouts[i - 1].peak.cpu_ns - p.standouts[i - 1].usual_ns >=
			    p.standouts[i].peak.cpu_ns - p.standouts[i].usual_ns);
	assert_int_equal(p.standouts[0].peak.cpu_ns, 3900000000);
	/* A second of what lasts is none. */
	usage_peaks_add(&p, (struct index_peak){8000, 0}, T0);
	usage_peaks_end_service(&p, "lasting", 7800000000);
	assert_int_equal(p.standouts[0].peak.cpu_ns, 3900000000);
	/* Outside of the range. */
	usage_peaks_add(&p, (struct index_peak){9000, 0}, T0 - 1);
	usage_peaks_add(&p, (struct index_peak){9000, 0}, T0 + 6000);
	usage_peaks_end_service(&p, "outside", 0);
	assert_int_equal(p.standouts[0].peak.cpu_ns, 3900000000);
	usage_peaks_deinit(&p);
}

#define T(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_steps),
		T(test_week),
		T(test_not_kept),
		cmocka_unit_test(test_standouts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Collecting over a store of several services: every range gives the sum of its windows, and the
 * same after a roll-up, text by text.
 */
#include "tests/unit/output/collect_fixture.h"

static void test_ranges(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_store(f);
	static const char *const services[] = {"a.service", "b/x", NULL};
	char *before[3][N_MINUTES][N_MINUTES + 1] = {0};
	uint64_t samples, expected;

	/* Minutes, their hour, and, with those of another one, a day. */
	for (unsigned rolled = 0; rolled < 3; rolled++) {
		for (unsigned s = 0; s < 3; s++) {
			for (unsigned i = 0; i < N_MINUTES; i++) {
				for (unsigned j = i + 1; j <= N_MINUTES; j++) {
					const struct collect_options o = range(services[s], i, j);
					char *text = say(w, &o, &samples);

					expected = s == 1 ? 13 * (j - i) : 0;
					for (unsigned k = i; k < j && s != 1; k++)
						expected += (s ? EVERYTHING : 66) + k + 1;
					assert_int_equal(samples, expected);
					if (!rolled) {
						before[s][i][j] = text;
						continue;
					}
					assert_string_equal(text, before[s][i][j]);
					free(text);
					if (rolled == 2)
						free(before[s][i][j]);
				}
			}
		}
		if (rolled == 1)
			write_quietly(w, everything_at(f, T0 + 2 * HOUR), T0 + 2 * HOUR + 60);
		while (writer_background(w, (T0 + (rolled ? 24 : 2) * HOUR) * NS))
			;
		assert_int_equal(take_census(f).n_pprof, 3);
	}
}

static void test_bounds(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_store(f);
	struct collect_options o = {.service = "a.service"};
	uint64_t all, samples;
	char *text;

	free(say(w, &o, &all));
	assert_int_equal(all, 66 * N_MINUTES + N_MINUTES * (N_MINUTES + 1) / 2);
	/* One nanosecond of a window is enough. */
	o.select = (struct merge_select){.since_ns = T0 * NS + 59 * NS + 999999999,
					 .until_ns = T0 * NS + 60 * NS};
	free(say(w, &o, &samples));
	assert_int_equal(samples, 67);
	o.select.since_ns = (T0 + N_MINUTES * 60) * NS;
	o.select.until_ns = 0;
	text = say(w, &o, &samples);
	assert_null(text);
	o = (struct collect_options){.service = "a.servic"};
	assert_null(say(w, &o, &samples));
	o = (struct collect_options){.service = "a.*,nothing"};
	free(say(w, &o, &samples));
	assert_int_equal(samples, all);
	o = (struct collect_options){.service = "?/x,a"};
	free(say(w, &o, &samples));
	assert_int_equal(samples, all + 13 * N_MINUTES);
	o = (struct collect_options){.service = "a.service", .open_only = true};
	assert_null(say(w, &o, &samples));
	o = (struct collect_options){.service = "a.service", .select = {.not_before_s = T0 + 61}};
	free(say(w, &o, &samples));
	assert_int_equal(samples, all - 67 - 68);
	/* Process 100 is in one service: what it has of the whole is what it has of that. */
	o = (struct collect_options){.select = {.has_pid = true, .pid = 100}};
	free(say(w, &o, &samples));
	assert_int_equal(samples, 47 * N_MINUTES + N_MINUTES * (N_MINUTES + 1) / 2);
}

/* Too little memory for all samples: they are spilt, and none is lost. */
static void test_pieces(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_store(f);
	struct collect_options o = {.max_bytes = 90 << 10};
	cleanup(collected_freep) struct collected *whole = NULL, *pieces = NULL;
	cleanup(profile_freep) struct profile *a = NULL, *b = NULL;
	cleanup(freep) char *x = NULL, *y = NULL;
	size_t length;
	int r = COLLECT_E_REFUSED;

	assert_int_equal(run(w, &(struct collect_options){0}, NULL, &whole), COLLECT_E_DONE);
	assert_false(whole->in_pieces);
	/* Somewhere between too little for the names and enough for all. */
	for (o.max_bytes = 16 << 10; r != COLLECT_E_DONE; o.max_bytes += 1 << 10) {
		collected_free(pieces);
		pieces = NULL;
		r = run(w, &o, NULL, &pieces);
		if (r == COLLECT_E_REFUSED)
			assert_non_null(strstr(pieces->message.text, "narrow the range"));
	}
	assert_true(pieces->in_pieces);
	a = read_collected(whole);
	b = read_collected(pieces);
	assert_int_equal(collapsed_write(a, &x, &length), 0);
	assert_int_equal(collapsed_write(b, &y, &length), 0);
	assert_string_equal(x, y);
	assert_int_equal(a->duration_ns, b->duration_ns);
	collected_free(pieces);
	pieces = NULL;
	o = (struct collect_options){.max_result = 100};
	assert_int_equal(run(w, &o, NULL, &pieces), COLLECT_E_REFUSED);
	assert_non_null(strstr(pieces->message.text, "too big"));
}

static void test_open_window(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_store(f);
	struct snapshot *open = minute_at(f, N_MINUTES);
	struct collect_options o = {0};
	cleanup(collected_freep) struct collected *c = NULL, *other = NULL;
	cleanup(profile_freep) struct profile *p = NULL;

	assert_int_equal(run(w, &o, open, &c), COLLECT_E_DONE);
	assert_int_equal(c->samples,
			 (N_MINUTES + 1) * EVERYTHING + (N_MINUTES + 1) * (N_MINUTES + 2) / 2);
	assert_int_equal(c->n_windows, N_MINUTES + 1);
	p = read_collected(c);
	assert_int_equal(p->duration_ns, (N_MINUTES + 1) * 60 * NS);
	o.select.until_ns = (T0 + N_MINUTES * 60) * NS;
	assert_int_equal(run(w, &o, open, &other), COLLECT_E_DONE);
	assert_int_equal(other->n_windows, N_MINUTES);
	/* Nothing was written. */
	assert_int_equal(take_census(f).n_pprof, 3 * N_MINUTES);
	snapshot_free(open);
}

static void test_sessions(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_store(f);
	struct collect_options o = {.session = 1};
	uint64_t samples, all;

	free(say(w, &(struct collect_options){0}, &all));
	for (unsigned i = 0; i < 3; i++) {
		struct snapshot *s = minute_at(f, i);

		s->session = i ? 1 : 12;
		s->session_name = strdup(i ? "s1-x" : "s12-x");
		write_quietly(w, s, T0 + HOUR);
	}
	free(say(w, &o, &samples));
	assert_int_equal(samples, 2 * EVERYTHING + 2 + 3);
	o.session = 12;
	free(say(w, &o, &samples));
	assert_int_equal(samples, EVERYTHING + 1);
	o.session = 2;
	assert_null(say(w, &o, &samples));
	/* And no session is of the machine's profile. */
	free(say(w, &(struct collect_options){0}, &samples));
	assert_int_equal(samples, all);
}

static void test_damage_and_mismatch(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_store(f);
	cleanup(collected_freep) struct collected *c = NULL;
	struct collect_options o = {.service = "a.service"};
	struct snapshot *s = minute_at(f, 30);

	write_text(f->store_fd, DAY_A "20261121T090000Z-60s.pb.gz", "rubbish");
	unlinkat(f->store_fd, DAY_A "20261121T090100Z-60s.pb.gz", 0);
	assert_int_equal(run(w, &o, NULL, &c), COLLECT_E_DONE);
	assert_int_equal(c->n_unreadable, 1);
	assert_int_equal(c->n_windows, N_MINUTES - 2);
	collected_free(c);
	c = NULL;
	snprintf(s->event, sizeof(s->event), "page-faults");
	s->is_clock = false;
	write_quietly(w, s, T0 + HOUR);
	assert_int_equal(run(w, &o, NULL, &c), COLLECT_E_REFUSED);
	assert_non_null(strstr(c->message.text, "page-faults/count"));
}

/* Two windows that began in one second cannot be told apart later, and are not before. */
static void test_one_second(void **state)
{
	struct fixture *f = *state;
	const struct output_options options = rolling(f);
	cleanup(writer_freep) struct writer *w = open_writer(f, &options, NULL, T0);
	struct collect_options o = range("a.service", 0, 5);
	uint64_t samples;

	for (unsigned i = 0; i < 3; i++) {
		struct snapshot *s = minute_at(f, i == 2 ? 3 : 0);

		s->start_ns += i * 300000000;
		s->duration_ns = i == 1 ? 300000000 : 59 * NS;
		write_quietly(w, s, T0 + 200);
	}
	o.select.since_ns = (T0 + 30) * NS;
	for (unsigned rolled = 0; rolled < 2; rolled++) {
		free(say(w, &o, &samples));
		assert_int_equal(samples, 3 * 66 + 1 + 1 + 4);
		while (writer_background(w, (T0 + 2 * HOUR) * NS))
			;
	}
	assert_int_equal(take_census(f).n_pprof, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_ranges),      TEST(test_bounds),   TEST(test_pieces),
		TEST(test_open_window), TEST(test_sessions), TEST(test_damage_and_mismatch),
		TEST(test_one_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Sessions over a scripted source, with the real output thread and a store in a temporary folder:
 * what is routed arrives in files, and both ledgers close at every point.
 */
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "daemon/control/reply.h"
#include "daemon/control/session_rate.h"
#include "daemon/control/session_set.h"
#include "daemon/ingest/sources.h"
#include "daemon/resolve/proc.h"
#include "tests/support/temp_folder.h"

struct world {
	struct temp_folder store;
	struct source_sink sink;
	struct source_options options;
	struct source *source;
	struct process_table *processes;
	struct output *output;
	struct session_set *set;
	/* As if somebody between source and set made samples wait. */
	bool holds;
	struct sample held[8];
	unsigned n_held, n_settled, n_settled_last;
};

static void on_sample(void *userdata, const struct sample *sample)
{
	struct world *w = userdata;

	if (w->holds) {
		assert_true(w->n_held < ARRAY_SIZE(w->held));
		w->held[w->n_held] = *sample;
		w->held[w->n_held++].n_frames = 0;
		return;
	}
	assert_int_equal(session_set_route(w->set, sample), 0);
}

static int settle(void *userdata, unsigned sampler, bool is_last)
{
	struct world *w = userdata;

	(void)sampler;
	w->n_settled++;
	w->n_settled_last += is_last;
	for (unsigned i = 0; i < w->n_held; i++)
		assert_int_equal(session_set_route(w->set, &w->held[i]), 0);
	w->n_held = 0;
	return 0;
}

static void on_event(void *userdata, const struct process_event *event)
{
	struct world *w = userdata;

	assert_int_equal(process_table_apply(w->processes, event), 0);
}

static struct session_defaults make_defaults(uint64_t memory_bytes)
{
	struct session_defaults d = {
		.interval_ns = 60000000000u,
		.formats = FORMAT_PPROF | FORMAT_LEGACY,
		.labels = LABEL_PID | LABEL_COMM,
		.frequency = 100,
		.max_depth = 64,
		.max_sessions = 4,
		.memory_bytes = memory_bytes,
	};

	strcpy(d.event.name, "cpu-clock");
	d.event.is_clock = true;
	return d;
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct output_options output;
	struct session_defaults defaults = make_defaults(64 << 20);

	temp_folder_make(&w->store);
	w->sink =
		(struct source_sink){.sample = on_sample, .process_event = on_event, .userdata = w};
	w->options = (struct source_options){.sink = &w->sink};
	assert_int_equal(source_scripted_new(&w->source, &w->options), 0);
	assert_int_equal(process_table_new(&w->processes, -1, 1 << 20), 0);
	output = (struct output_options){.store_fd = w->store.fd,
					 .store_path = w->store.path,
					 .max_size = UINT64_C(1) << 40,
					 .max_age_s = 86400,
					 .legacy_keep_s = 3600,
					 .keep_windows = 3,
					 .legacy_max_processes = 64,
					 .symbol_cache_bytes = 1 << 20};
	assert_int_equal(output_new(&w->output, &output), 0);
	assert_int_equal(session_set_new(&w->set, w->source, w->processes, w->output, -1, 1), 0);
	session_set_configure(w->set, &defaults);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	source_free(w->source);
	output_free(w->output);
	session_set_free(w->set);
	process_table_free(w->processes);
	temp_folder_remove(&w->store);
	free(w);
	return 0;
}

static void exec_of(struct world *w, pid_t pid, const char *comm)
{
	struct process_event event = {.kind = PROCESS_EVENT_EXEC, .pid = pid, .tid = pid};

	snprintf(event.comm, sizeof(event.comm), "%s", comm);
	assert_int_equal(source_scripted_add_event(w->source, &event), 0);
}

static void samples_of(struct world *w, unsigned sampler, pid_t pid, unsigned n, unsigned stacks)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t frames[] = {0x1000 + i % stacks, 0x2000};
		struct sample sample = {.time_ns = 1000 + i,
					.weight = 10000000,
					.pid = pid,
					.tid = pid,
					.sampler = (uint16_t)sampler,
					.n_frames = 2,
					.frames = frames,
					.comm = "x"};

		assert_int_equal(source_scripted_add_sample(w->source, &sample), 0);
	}
}

/* Lets the output thread finish what was handed to it. */
static void wait_for_output(struct world *w, unsigned n_results)
{
	while (n_results) {
		struct pollfd fd = {.fd = output_fd(w->output), .events = POLLIN};
		struct output_result *result;

		assert_int_equal(poll(&fd, 1, 10000), 1);
		while ((result = output_take(w->output))) {
			assert_int_equal(result->error, 0);
			assert_int_equal(session_set_take_result(w->set, result), 0);
			n_results--;
		}
	}
}

static void check_ledgers(struct world *w)
{
	struct source_stats stats;
	struct ledger ledger;

	assert_int_equal(samplers_total(session_set_samplers(w->set), &ledger, &stats), 0);
	assert_true(ledger_closes(&ledger));
	for (size_t i = 0; i < session_set_count(w->set); i++) {
		const struct session *s = session_set_get(w->set, i);

		assert_int_equal(s->routed, s->counted + s->filtered + s->dropped[DROPPED_MEMORY] +
						    s->dropped[DROPPED_UNWRITTEN]);
	}
}

static uint64_t written; /* samples in the .pb.gz files below a folder */

static int add_total(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	cleanup(profile_freep) struct profile *p = NULL;
	cleanup(freep) uint8_t *data = NULL;
	struct profile_message message;
	cleanup(fclosep) FILE *f = NULL;

	(void)ftw;
	assert_null(strstr(path, ".tmp-"));
	if (flag != FTW_F || !strstr(path, ".pb.gz")) /* a second one of a name ends in .1 */
		return 0;
	f = fopen(path, "re");
	data = malloc((size_t)st->st_size);
	assert_int_equal(fread(data, 1, (size_t)st->st_size, f), st->st_size);
	assert_int_equal(pprof_read(data, (size_t)st->st_size, 1 << 28, &p, &message), 0);
	written += (uint64_t)profile_total(p, 0);
	return 0;
}

static uint64_t samples_written(struct world *w, const char *folder)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", w->store.path, folder);
	written = 0;
	nftw(path, add_total, 16, FTW_PHYS);
	return written;
}

static void test_windows_hold_what_was_routed(void **state)
{
	struct world *w = *state;
	struct source_message message;

	assert_int_equal(session_set_start_system(w->set, &message), 0);
	exec_of(w, 10, "a");
	samples_of(w, 0, 10, 300, 7);
	assert_int_equal(session_set_flush(w->set, NULL, NULL), 0);
	wait_for_output(w, 1);
	check_ledgers(w);
	assert_int_equal(samples_written(w, "services"), 300);
	samples_of(w, 0, 10, 50, 3);
	assert_int_equal(session_set_stop_system(w->set), 0);
	wait_for_output(w, 1);
	check_ledgers(w);
	assert_int_equal(samples_written(w, "services"), 350);
	assert_int_equal(session_set_get(w->set, 0)->windows_written, 2);
}

/* A session at another rate has a sampler of its own; its files lie in its own folder. */
static void test_sessions_take_their_sampler_and_their_target(void **state)
{
	const struct peer root = {.privileged = true};
	const struct session_request request = {
		.target = TARGET_PID, .number = 10, .rate = 999, .pidfd = -1};
	struct source_message message;
	struct world *w = *state;
	struct session *s;

	exec_of(w, 10, "a");
	exec_of(w, 11, "b");
	assert_int_equal(session_set_start_system(w->set, &message), 0);
	assert_int_equal(session_set_start(w->set, &root, &request, &s, &message), 0);
	assert_int_not_equal(s->sampler, session_set_get(w->set, 0)->sampler);
	samples_of(w, s->sampler, 10, 40, 2);
	samples_of(w, s->sampler, 11, 30, 2);
	samples_of(w, session_set_get(w->set, 0)->sampler, 11, 20, 2);
	assert_int_equal(session_set_stop(w->set, s, NULL), 0);
	assert_int_equal(s->state, SESSION_STOPPING);
	assert_int_equal(s->counted, 40);
	assert_int_equal(s->filtered, 30);
	wait_for_output(w, 1);
	assert_int_equal(s->state, SESSION_ENDED);
	check_ledgers(w);
	assert_int_equal(samples_written(w, "sessions"), 40);
	session_set_remove(w->set, s);
	assert_null(session_set_find(w->set, 1));
}

static void test_refusals(void **state)
{
	const struct peer root = {.privileged = true};
	struct session_request request = {.target = TARGET_PID, .number = 77, .pidfd = -1};
	struct source_message message;
	struct world *w = *state;
	struct session *s;

	assert_int_equal(session_set_start(w->set, &root, &request, &s, &message),
			 SESSION_START_E_REFUSED);
	assert_non_null(strstr(message.text, "77"));
	request = (struct session_request){.target = TARGET_CPUS, .text = "3-1", .pidfd = -1};
	assert_int_equal(session_set_start(w->set, &root, &request, &s, &message),
			 SESSION_START_E_REFUSED);
	request = (struct session_request){.target = TARGET_ALL, .pidfd = -1};
	for (int i = 0; i < 4; i++)
		assert_int_equal(session_set_start(w->set, &root, &request, &s, &message), 0);
	assert_int_equal(session_set_start(w->set, &root, &request, &s, &message),
			 SESSION_START_E_REFUSED);
	assert_non_null(strstr(message.text, "max_sessions"));
	assert_int_equal(s->id, 4);
}

/* Near the limit windows close early; no sample is lost as long as the output keeps up. */
static void test_full_windows_close_early(void **state)
{
	struct session_defaults defaults = make_defaults(2 << 20);
	struct source_message message;
	struct world *w = *state;
	struct session *s;
	uint64_t total = 0;

	session_set_configure(w->set, &defaults);
	assert_int_equal(session_set_start_system(w->set, &message), 0);
	s = session_set_get(w->set, 0);
	exec_of(w, 10, "a");
	while (s->early_closes < 3) {
		samples_of(w, 0, 10, 500, 100000);
		for (uint64_t i = 0; i < 500; i++) {
			uint64_t frames[] = {0x100000 + total + i};
			struct sample sample = {.pid = 10,
						.tid = 10,
						.frames = frames,
						.n_frames = 1,
						.weight = 1,
						.time_ns = 2000};

			assert_int_equal(source_scripted_add_sample(w->source, &sample), 0);
		}
		total += 1000;
		assert_true(source_drain(w->source, UINT32_MAX) >= 0);
		assert_true(session_set_bytes(w->set) < 2 << 20);
		if (s->n_in_flight)
			wait_for_output(w, 1);
		check_ledgers(w);
	}
	assert_int_equal(session_set_stop_system(w->set), 0);
	wait_for_output(w, s->n_in_flight);
	assert_int_equal(s->counted + s->dropped[DROPPED_MEMORY], total);
	assert_int_equal(samples_written(w, "services"), s->counted);
}

/* As after reloads that switch it off and on; what is stopped can neither be paused nor resumed. */
static void test_the_system_session_comes_back(void **state)
{
	struct source_message message;
	struct world *w = *state;
	struct session *s;

	assert_int_equal(session_set_pause(w->set, true), SESSION_PAUSE_E_OFF);
	assert_int_equal(session_set_start_system(w->set, &message), 0);
	s = session_set_get(w->set, 0);
	exec_of(w, 10, "a");
	for (unsigned i = 0; i < 2; i++) {
		samples_of(w, 0, 10, 10, 1);
		assert_int_equal(session_set_stop_system(w->set), 0);
		assert_int_equal(session_set_pause(w->set, true), SESSION_PAUSE_E_OFF);
		assert_int_equal(session_set_pause(w->set, false), SESSION_PAUSE_E_OFF);
		/* The first time its last window is still being written. */
		if (i)
			wait_for_output(w, 2);
		assert_int_equal(session_set_start_system(w->set, &message), 0);
		assert_ptr_equal(session_set_find(w->set, 0), s);
		assert_int_equal(s->state, SESSION_RUNNING);
	}
	samples_of(w, 0, 10, 5, 1);
	assert_int_equal(session_set_flush(w->set, NULL, NULL), 0);
	wait_for_output(w, 1);
	assert_int_equal(s->counted, 25);
	assert_int_equal(s->windows_written, 3);
	assert_int_equal(samples_written(w, "services"), 25);
	check_ledgers(w);
}

static void test_a_paused_system_session_counts_nothing(void **state)
{
	struct source_message message;
	struct world *w = *state;
	struct session *s;

	assert_int_equal(session_set_start_system(w->set, &message), 0);
	s = session_set_get(w->set, 0);
	exec_of(w, 10, "a");
	samples_of(w, 0, 10, 10, 1);
	assert_false(session_set_is_paused(w->set));
	assert_int_equal(session_set_pause(w->set, true), 0);
	assert_true(session_set_is_paused(w->set));
	wait_for_output(w, 1);
	assert_int_equal(s->counted, 10);
	assert_int_equal(s->sampler, SESSION_NO_SAMPLER);
	assert_int_equal(session_set_pause(w->set, false), 0);
	assert_false(session_set_is_paused(w->set));
	assert_int_equal(s->sampler, 0);
	samples_of(w, 0, 10, 5, 1);
	assert_int_equal(session_set_flush(w->set, NULL, NULL), 0);
	wait_for_output(w, 1);
	assert_int_equal(s->counted, 15);
	assert_int_equal(samples_written(w, "services"), 15);
	check_ledgers(w);
}

static uint64_t in_flight(struct world *w)
{
	struct source_stats stats;
	struct ledger ledger;

	assert_int_equal(samplers_total(session_set_samplers(w->set), &ledger, &stats), 0);
	return ledger.in_flight;
}

/* What waits is in flight; the end of a window passes it over, the end of a session does not. */
static void test_samples_that_wait(void **state)
{
	const struct peer root = {.privileged = true};
	const struct session_request request = {.target = TARGET_PID, .number = 10, .pidfd = -1};
	struct source_message message;
	struct world *w = *state;
	struct session *s, *system;

	session_set_settle_by(w->set, settle, w);
	exec_of(w, 10, "a");
	assert_int_equal(session_set_start_system(w->set, &message), 0);
	assert_int_equal(session_set_start(w->set, &root, &request, &s, &message), 0);
	system = session_set_get(w->set, 0);
	assert_int_equal(s->sampler, system->sampler);
	samples_of(w, 0, 10, 5, 1);
	assert_int_equal(session_set_flush(w->set, NULL, NULL), 0);
	wait_for_output(w, 2);
	w->holds = true;
	samples_of(w, 0, 10, 4, 1);
	assert_int_equal(session_set_flush(w->set, NULL, NULL), 0);
	assert_int_equal(w->n_settled, 0);
	assert_int_equal(in_flight(w), 4);
	assert_int_equal(s->counted, 5);
	check_ledgers(w);

	/* One of two on this sampler, then the last one. */
	assert_int_equal(session_set_stop(w->set, s, NULL), 0);
	assert_int_equal(w->n_settled, 1);
	assert_int_equal(w->n_settled_last, 0);
	assert_int_equal(s->counted, 9);
	assert_int_equal(system->counted, 9);
	assert_int_equal(in_flight(w), 0);
	wait_for_output(w, 1);
	samples_of(w, 0, 10, 3, 1);
	assert_int_equal(session_set_stop_system(w->set), 0);
	assert_int_equal(w->n_settled, 2);
	assert_int_equal(w->n_settled_last, 1);
	assert_int_equal(system->counted, 12);
	assert_int_equal(in_flight(w), 0);
	wait_for_output(w, 1);
	check_ledgers(w);
	assert_int_equal(samples_written(w, "services"), 12);
	assert_int_equal(samples_written(w, "sessions"), 9);
}

/* Each window has one rate, none is lost, and what starts later is slow, too. */
static void test_slower_and_back(void **state)
{
	const struct peer root = {.privileged = true};
	const struct session_request request = {
		.target = TARGET_PID, .number = 10, .rate = 999, .pidfd = -1};
	struct source_message message;
	struct world *w = *state;
	struct session *s, *system;

	exec_of(w, 10, "a");
	assert_int_equal(session_set_start_system(w->set, &message), 0);
	system = session_set_get(w->set, 0);
	samples_of(w, system->sampler, 10, 40, 3);
	assert_true(session_set_can_slow_down(w->set));
	assert_int_equal(session_set_slow_down(w->set, 2), 0);
	assert_int_equal(system->spec.rate, 25);
	assert_int_equal(session_set_start(w->set, &root, &request, &s, &message), 0);
	assert_int_equal(s->spec.rate, 249);
	samples_of(w, system->sampler, 10, 10, 3);
	samples_of(w, s->sampler, 10, 20, 3);
	assert_int_equal(session_set_slow_down(w->set, 0), 0);
	assert_int_equal(system->spec.rate, 100);
	assert_int_equal(s->spec.rate, 999);
	samples_of(w, system->sampler, 10, 30, 3);
	assert_int_equal(session_set_flush(w->set, NULL, NULL), 0);
	wait_for_output(w, 4);
	assert_int_equal(system->counted, 80);
	assert_int_equal(system->windows_written, 3);
	assert_int_equal(samples_written(w, "services"), 80);
	assert_int_equal(samples_written(w, "sessions"), 20);
	check_ledgers(w);

	/* A paused one has its rate when it goes on. */
	assert_int_equal(session_set_pause(w->set, true), 0);
	assert_int_equal(session_set_stop(w->set, s, NULL), 0);
	assert_false(session_set_can_slow_down(w->set));
	assert_int_equal(session_set_slow_down(w->set, 4), 0);
	assert_int_equal(session_set_pause(w->set, false), 0);
	assert_int_equal(system->spec.rate, SESSION_HZ_FLOOR);
	assert_false(session_set_can_slow_down(w->set));
	check_ledgers(w);
}

static int refuse_sampler(struct source *source, const struct sampler_spec *spec, unsigned *ret,
			  struct source_message *message)
{
	(void)source, (void)spec, (void)ret;
	strcpy(message->text, "no more perf events");
	return SOURCE_E_DENIED;
}

/* A host that refuses from one moment to the next: that is said, and tried again. */
static void test_refused_later(void **state)
{
	const uint64_t minute_ns = 61 * UINT64_C(1000000000);
	struct source_message message;
	struct world *w = *state;
	const struct source_ops *before = w->source->ops;
	struct source_ops refusing = *before;
	uint64_t now_ns = proc_now_ns();
	struct session *system;

	refusing.add_sampler = refuse_sampler;
	exec_of(w, 10, "a");
	assert_int_equal(session_set_start_system(w->set, &message), 0);
	assert_null(session_set_trouble(w->set));
	system = session_set_get(w->set, 0);
	samples_of(w, system->sampler, 10, 7, 3);
	w->source->ops = &refusing;
	assert_int_equal(session_set_slow_down(w->set, 1), 0);
	assert_string_equal(session_set_trouble(w->set), "no more perf events");
	wait_for_output(w, 1);
	assert_int_equal(system->state, SESSION_ENDED);
	assert_int_equal(session_set_tick(w->set, now_ns + minute_ns), 0);
	assert_non_null(session_set_trouble(w->set));
	w->source->ops = before;
	assert_int_equal(session_set_tick(w->set, now_ns), 0); /* not yet */
	assert_int_equal(system->state, SESSION_ENDED);
	assert_int_equal(session_set_tick(w->set, now_ns + 2 * minute_ns), 0);
	assert_int_equal(system->state, SESSION_RUNNING);
	assert_null(session_set_trouble(w->set));
	assert_int_equal(system->spec.rate, 50);
	samples_of(w, system->sampler, 10, 5, 3);
	assert_int_equal(session_set_flush(w->set, NULL, NULL), 0);
	wait_for_output(w, 1);
	assert_int_equal(samples_written(w, "services"), 12);
	check_ledgers(w);

	/* Who is told to stop is not tried again. */
	w->source->ops = &refusing;
	assert_int_equal(session_set_slow_down(w->set, 2), 0);
	assert_int_equal(session_set_stop_system(w->set), 0);
	w->source->ops = before;
	assert_null(session_set_trouble(w->set));
	assert_int_equal(session_set_tick(w->set, now_ns + 9 * minute_ns), 0);
	assert_int_equal(system->state, SESSION_ENDED);
}

static uint64_t take(struct world *w, struct session *s)
{
	struct snapshot *snapshot;
	struct stack_counts counts;
	uint64_t n;

	assert_int_equal(session_set_take_window(w->set, s, &snapshot), 0);
	if (!snapshot)
		return 0;
	window_stack_counts(snapshot->aggregate, &counts);
	n = stack_counts_total(&counts);
	snapshot_free(snapshot);
	return n;
}

/* Each sample is taken once or dropped when nobody takes it in time; none becomes a file. */
static void test_live_sessions_write_nothing(void **state)
{
	const struct session_request request = {.target = TARGET_ALL, .live = true, .pidfd = -1};
	struct session_defaults defaults = make_defaults(2 << 20);
	const struct peer root = {.privileged = true};
	struct source_message message;
	struct world *w = *state;
	struct session *s;
	uint64_t taken;

	session_set_configure(w->set, &defaults);
	exec_of(w, 10, "a");
	assert_int_equal(session_set_start(w->set, &root, &request, &s, &message), 0);
	samples_of(w, s->sampler, 10, 40, 2);
	assert_int_equal(session_set_flush(w->set, NULL, NULL), 0);
	assert_int_equal(session_set_close_windows(w->set), 0);
	assert_int_equal(take(w, s), 40);
	assert_int_equal(take(w, s), 0);
	samples_of(w, s->sampler, 10, 30, 3);
	assert_int_equal(take(w, s), 30);
	check_ledgers(w);
	/* Ten thousand stacks. */
	samples_of(w, s->sampler, 10, 10000, 10000);
	taken = take(w, s);
	assert_true(taken > 0 && s->dropped[DROPPED_MEMORY] > 0);
	assert_int_equal(s->early_closes, 0);
	assert_int_equal(taken + s->dropped[DROPPED_MEMORY], 10000);
	samples_of(w, s->sampler, 10, 5, 1);
	assert_int_equal(session_set_slow_down(w->set, 1), 0);
	assert_int_equal(take(w, s), 0);
	assert_int_equal(session_set_stop(w->set, s, NULL), 0);
	assert_int_equal(s->state, SESSION_ENDED);
	assert_int_equal(samples_written(w, "sessions"), 0);
	/* It has no files to tell of. */
	assert_int_equal(session_set_tick(w->set, proc_now_ns()), 0);
	assert_null(session_set_find(w->set, 1));
}

/* A reply to nobody, or, until it is taken away again, to somebody. */
static struct reply *make_reply(bool is_abandoned)
{
	struct reply *reply = calloc(1, sizeof(*reply));

	assert_non_null(reply);
	reply->connection = is_abandoned ? NULL : (struct connection *)reply;
	return reply;
}

static void test_held_sessions_end_without_a_holder(void **state)
{
	struct session_request request = {.target = TARGET_ALL, .held = true, .pidfd = -1};
	const uint64_t now_ns = proc_now_ns();
	const struct peer root = {.privileged = true};
	struct source_message message;
	struct world *w = *state;
	struct session *held, *never, *plain;

	assert_int_equal(session_set_start(w->set, &root, &request, &held, &message), 0);
	assert_int_equal(session_set_start(w->set, &root, &request, &never, &message), 0);
	request.held = false;
	assert_int_equal(session_set_start(w->set, &root, &request, &plain, &message), 0);
	held->holder = make_reply(false);
	plain->holder = make_reply(true);
	assert_int_equal(session_set_tick(w->set, now_ns + 1), 0);
	assert_int_equal(never->state, SESSION_RUNNING);
	assert_int_equal(session_set_tick(w->set, now_ns + 2 * SESSION_UNHELD_NS), 0);
	assert_int_equal(held->state, SESSION_RUNNING);
	assert_int_equal(never->state, SESSION_ENDED);
	assert_int_equal(plain->state, SESSION_RUNNING);
	assert_null(plain->holder);
	held->holder->connection = NULL;
	assert_int_equal(session_set_tick(w->set, now_ns + 2 * SESSION_UNHELD_NS), 0);
	assert_int_equal(held->state, SESSION_ENDED);
	assert_int_equal(plain->state, SESSION_RUNNING);
}

#define WORLD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD(test_windows_hold_what_was_routed),
		WORLD(test_sessions_take_their_sampler_and_their_target),
		WORLD(test_refusals),
		WORLD(test_samples_that_wait),
		WORLD(test_full_windows_close_early),
		WORLD(test_a_paused_system_session_counts_nothing),
		WORLD(test_the_system_session_comes_back),
		WORLD(test_slower_and_back),
		WORLD(test_refused_later),
		WORLD(test_live_sessions_write_nothing),
		WORLD(test_held_sessions_end_without_a_holder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_SESSION_SESSION_SET_FIXTURE_H
#define PROFD_TESTS_UNIT_SESSION_SESSION_SET_FIXTURE_H

/*
 * Sessions over a scripted source, with the real output thread and a store in a temporary
 * directory.
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
#include "daemon/session/session_set.h"
#include "tests/support/ledger_closes.h"
#include "tests/support/source_scripted.h"
#include "tests/support/temp_dir.h"

struct world {
	struct temp_dir store;
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

static inline void on_sample(void *userdata, const struct sample *sample)
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

static inline int settle(void *userdata, unsigned sampler, bool is_last)
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

static inline void on_event(void *userdata, const struct process_event *event)
{
	struct world *w = userdata;

	assert_int_equal(process_table_apply(w->processes, event), 0);
}

static inline struct session_defaults make_defaults(uint64_t memory_bytes)
{
	struct session_defaults d = {
		.interval_ns = 60000000000u,
		.writing = {.formats = FORMAT_PPROF | FORMAT_LEGACY,
			    .labels = LABEL_PID | LABEL_COMM},
		.frequency = 100,
		.max_depth = 64,
		.max_sessions = 4,
		.memory_bytes = memory_bytes,
	};

	strcpy(d.event.name, "cpu-clock");
	d.event.is_clock = true;
	return d;
}

static inline int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct output_options output;
	struct session_defaults defaults = make_defaults(64 << 20);

	temp_dir_make(&w->store);
	w->sink =
		(struct source_sink){.sample = on_sample, .process_event = on_event, .userdata = w};
	w->options = (struct source_options){.sink = &w->sink};
	assert_int_equal(source_scripted_new(&w->source, &w->options), 0);
	assert_int_equal(process_table_new(&w->processes, -1, 1 << 20), 0);
	output = (struct output_options){.store_fd = w->store.fd,
					 .store_path = w->store.path,
					 .limits = {.max_size = UINT64_C(1) << 40,
						    .max_age_s = 86400,
						    .legacy_keep_s = 3600,
						    .keep_windows = 3},
					 .legacy_max_processes = 64,
					 .symbol_cache_bytes = 1 << 20};
	assert_int_equal(output_new(&w->output, &output), 0);
	assert_int_equal(session_set_new(&w->set, w->source, w->processes, w->output, -1, 1), 0);
	w->set->defaults = defaults;
	*state = w;
	return 0;
}

static inline int teardown(void **state)
{
	struct world *w = *state;

	source_free(w->source);
	output_free(w->output);
	session_set_free(w->set);
	process_table_free(w->processes);
	temp_dir_remove(&w->store);
	free(w);
	return 0;
}

static inline void exec_of(struct world *w, pid_t pid, const char *comm)
{
	struct process_event event = {.kind = PROCESS_EVENT_EXEC, .pid = pid, .tid = pid};

	snprintf(event.comm, sizeof(event.comm), "%s", comm);
	assert_int_equal(source_scripted_add_event(w->source, &event), 0);
}

static inline void samples_of(struct world *w, unsigned sampler, pid_t pid, unsigned n,
			      unsigned stacks)
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

/* A stack each, the first of them number @from; they arrive. */
static inline void distinct_samples_of(struct world *w, unsigned sampler, pid_t pid, unsigned n,
				       uint64_t from)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t frames[] = {0x100000 + from + i};
		struct sample sample = {.pid = pid,
					.tid = pid,
					.sampler = (uint16_t)sampler,
					.frames = frames,
					.n_frames = 1,
					.weight = 1,
					.time_ns = 2000};

		assert_int_equal(source_scripted_add_sample(w->source, &sample), 0);
	}
	assert_true(source_drain(w->source, UINT32_MAX) >= 0);
}

/* Lets the output thread finish what was handed to it: that many at least. */
static inline void wait_for_output(struct world *w, unsigned n_results)
{
	while (n_results) {
		struct pollfd fd = {.fd = output_fd(w->output), .events = POLLIN};
		struct output_result *result;

		assert_int_equal(poll(&fd, 1, 10000), 1);
		while ((result = output_take_result(w->output))) {
			assert_int_equal(result->error, 0);
			assert_int_equal(session_set_take_result(result), 0);
			n_results -= n_results > 0; /* of several sessions */
		}
	}
}

/* Sessions that share a sampler have windows that end together. */
static inline void await_all(struct world *w)
{
	for (size_t i = 0; i < w->set->n_sessions; i++)
		while (w->set->sessions[i]->n_in_flight)
			wait_for_output(w, 1);
}

static inline void check_ledgers(struct world *w)
{
	struct source_stats stats;
	struct ledger ledger;

	assert_int_equal(session_set_total(w->set, &ledger, &stats), 0);
	assert_true(ledger_closes(&ledger));
	for (size_t i = 0; i < w->set->n_sessions; i++) {
		const struct session *s = w->set->sessions[i];

		assert_int_equal(s->counts.routed, s->counts.counted + s->counts.filtered +
							   s->counts.dropped[DROPPED_MEMORY] +
							   s->counts.dropped[DROPPED_UNWRITTEN]);
	}
}

static uint64_t written; /* samples in the .pb.gz files below a directory */

static inline int add_total(const char *path, const struct stat *st, int flag, struct FTW *ftw)
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

static inline uint64_t samples_written(struct world *w, const char *dir)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", w->store.path, dir);
	written = 0;
	nftw(path, add_total, 16, FTW_PHYS);
	return written;
}

static inline int slow_down(struct world *w, unsigned users, unsigned system)
{
	const unsigned halvings[N_TIERS] = {[TIER_USERS] = users, [TIER_SYSTEM] = system};

	return session_set_slow_down(w->set, halvings);
}

#define WORLD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

#endif

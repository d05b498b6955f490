/* SPDX-License-Identifier: MIT */
/*
 * wide_week DIR END [SERVICES [STACKS [MINUTES]]]: the store of a busy machine's week that ends at
 * END, in Unix seconds, in DIR, which is empty, as roll-up leaves it: a file for each day that is
 * over, then for each hour, and for each minute of the last hour; days alone, if it ends at
 * midnight. With MINUTES, that many windows of a minute, before END. SERVICES (1000) services have
 * STACKS (100) distinct stacks each, and busiest seconds.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "daemon/output/batch.h"
#include "daemon/output/store.h"
#include "tests/support/must.h"
#include "tests/support/random.h"

#define DAY_S     UINT64_C(86400)
#define HOUR_S    UINT64_C(3600)
#define MINUTE_S  UINT64_C(60)
#define WEEK_S    (7 * DAY_S)
#define TICK_NS   10000000
#define DEPTH     24u
#define BRANCHES  3u   /* functions that a function calls */
#define FUNCTIONS 300u /* of a program */

struct week {
	struct store *store;
	uint64_t end_s, n_minutes, random; /* 0 minutes: a week */
	unsigned n_stacks;
};

struct wide_service {
	char name[32];
	uint64_t seed;
	struct profile *profile;
	uint32_t locations[FUNCTIONS];
};

static void add_functions(struct wide_service *s)
{
	struct profile *p = s->profile;
	struct profile_mapping mapping = {.start = 0x555500000000, .limit = 0x555500100000};
	uint32_t index;
	char name[64];

	snprintf(name, sizeof(name), "/usr/bin/program-%" PRIu64, s->seed % 50);
	must(profile_add_text(p, name, &mapping.path), "path");
	must(profile_add_mapping(p, &mapping, &index), "mapping");
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		struct profile_function function = {0};
		struct profile_line line = {0};

		snprintf(name, sizeof(name), "program_%" PRIu64 "_function_%" PRIu32, s->seed % 50,
			 i);
		must(profile_add_text(p, name, &function.name), "name");
		function.system_name = function.name;
		must(profile_add_function(p, &function, &line.function), "function");
		must(profile_add_location(p, index, 0x555500000000 + i * 256, &line, 1,
					  &s->locations[i]),
		     "location");
	}
}

/* Of BRANCHES, most calls take the first one. */
static uint32_t turn(uint32_t random)
{
	return random % 4 ? 0 : random / 4 % BRANCHES;
}

/* Walks of a graph, from main() on. */
static void add_stacks(struct wide_service *s, unsigned n)
{
	uint64_t random = s->seed + 1;

	for (unsigned i = 0; i < n; i++) {
		uint32_t chain[DEPTH], at = 0;
		const int64_t values[] = {1, TICK_NS};

		for (unsigned k = 0; k < DEPTH; k++) {
			chain[DEPTH - 1 - k] = s->locations[at];
			at = (at * BRANCHES + 1 + turn(random_next(&random))) % FUNCTIONS;
		}
		must(profile_add_sample(s->profile, chain, DEPTH, values, NULL, 0), "sample");
	}
}

static void start_service(struct wide_service *s, unsigned number, unsigned n_stacks)
{
	struct profile *p = NULL;

	*s = (struct wide_service){.seed = number};
	snprintf(s->name, sizeof(s->name), "service-%u.service", number);
	must(profile_new(&p), "profile");
	s->profile = p;
	must(profile_add_sample_type(p, "samples", "count"), "type");
	must(profile_add_sample_type(p, "cpu", "nanoseconds"), "type");
	p->period_type = p->sample_types[1];
	p->period = TICK_NS;
	must(profile_add_comment(p, "# profd cpus: 16"), "comment");
	must(profile_add_comment(p, "# profd ledger: expected=6000 seen=6000"), "comment");
	add_functions(s);
	add_stacks(s, n_stacks);
}

/* In an hour, some stacks' ticks; what it adds up to. */
static struct index_counts set_values(struct week *w, struct wide_service *s, uint64_t seconds)
{
	struct index_counts counts = {0};

	for (size_t i = 0; i < s->profile->n_samples; i++) {
		int64_t n = 1 + (int64_t)(random_next(&w->random) % 8 * seconds / 600);

		s->profile->sample_values[2 * i] = n;
		s->profile->sample_values[2 * i + 1] = n * TICK_NS;
		counts.samples += (uint64_t)n;
	}
	counts.cpu_ns = counts.samples * TICK_NS;
	counts.peak.cpu_ms = (uint32_t)(counts.cpu_ns / seconds * 2 / 1000000 + 10);
	counts.peak.at = (uint32_t)(random_next(&w->random) % (seconds * 10));
	return counts;
}

static void put(struct week *w, struct batch *batch, struct wide_service *s, uint64_t start_s,
		uint64_t seconds)
{
	const struct names_window window = {.start_s = start_s,
					    .seconds = (uint32_t)seconds,
					    .tail = "pb.gz"};
	struct index_counts counts = set_values(w, s, seconds), hours[STORE_HOURS];
	cleanup(freep) uint8_t *data = NULL;
	char dir[64], day[NAMES_DAY_SIZE], name[200];
	const struct batch_file file = {.dir = dir, .name = name, .owner = STORE_NOBODY};
	size_t length;

	s->profile->time_ns = (int64_t)start_s * 1000000000;
	s->profile->duration_ns = (int64_t)seconds * 1000000000;
	names_day(start_s, day);
	snprintf(dir, sizeof(dir), "services/%s/%s", s->name, day);
	if (!names_window(&window, name, sizeof(name)))
		must(-EINVAL, "name");
	must(pprof_write(s->profile, 1, &data, &length), "encode");
	must(batch_begin(batch, &file), "begin");
	must(batch_write(batch, data, length), "write");
	for (unsigned i = 0; i < STORE_HOURS; i++) {
		hours[i] = counts;
		hours[i].samples /= STORE_HOURS;
		hours[i].cpu_ns /= STORE_HOURS;
		hours[i].peak.at %= 10 * HOUR_S;
	}
	if (seconds == DAY_S)
		batch_note_hours(batch, hours);
	must(batch_end(batch, counts), "end");
}

static void make_service(struct week *w, unsigned number)
{
	const uint64_t hours_s = w->n_minutes ? 0 : w->end_s / DAY_S * DAY_S;
	const uint64_t minutes_s = w->n_minutes || w->end_s == hours_s ? hours_s
								       : w->end_s - HOUR_S;
	cleanup(batch_freep) struct batch *batch = NULL;
	uint64_t at_s = w->n_minutes ? w->end_s - w->n_minutes * MINUTE_S
				     : (w->end_s - WEEK_S) / DAY_S * DAY_S;
	struct wide_service s;

	start_service(&s, number, w->n_stacks);
	must(batch_new(&batch, w->store), "batch");
	for (; at_s < hours_s; at_s += DAY_S)
		put(w, batch, &s, at_s, DAY_S);
	for (; at_s < minutes_s; at_s += HOUR_S)
		put(w, batch, &s, at_s, HOUR_S);
	for (; at_s < w->end_s; at_s += MINUTE_S)
		put(w, batch, &s, at_s, MINUTE_S);
	must(batch_commit(batch).error, "commit");
	profile_free(s.profile);
}

static int no_sync(int fd)
{
	(void)fd;
	return 0;
}

int main(int argc, char **argv)
{
	cleanup(store_freep) struct store *store = NULL;
	cleanup(closep) int fd = argc > 2 ? open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	const unsigned n_services = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 1000;
	struct file_ops ops = file_ops_system;
	struct week w = {.random = 1, .n_stacks = 100};

	if (fd < 0) {
		fprintf(stderr, "usage: wide_week DIR END [SERVICES [STACKS [MINUTES]]]\n");
		return EXIT_FAILURE;
	}
	w.end_s = strtoull(argv[2], NULL, 10);
	if (argc > 4)
		w.n_stacks = (unsigned)strtoul(argv[4], NULL, 10);
	if (argc > 5)
		w.n_minutes = strtoull(argv[5], NULL, 10);
	else
		w.end_s -= w.end_s % HOUR_S;
	ops.sync = ops.sync_file = ops.sync_dir = no_sync;
	must(store_new(&store, fd, argv[1], &ops), "store");
	must(store_rescan(store), "scan");
	w.store = store;
	for (unsigned i = 0; i < n_services; i++)
		make_service(&w, i);
	return EXIT_SUCCESS;
}

/* SPDX-License-Identifier: MIT */
/*
 * event_week DIR END: the store of a week that ends at END, in Unix seconds, in DIR, which is
 * empty: two services that are busy all the time, a third that does little every ten minutes, and
 * the event: for five seconds, 3 days, 5 hours and some seconds after the week's begin, the third
 * one runs event_work() on two CPUs. Prints when it begins, in milliseconds.
 * What happens besides is in `happenings`; after six days, nothing is recorded for two hours.
 *
 * event_week DIR: rolls up what is there, to hours and those days that are over.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "common/profile/sample_times.h"
#include "daemon/output/batch.h"
#include "daemon/output/peak.h"
#include "daemon/output/rollup.h"
#include "daemon/output/store.h"
#include "daemon/output/stored.h"
#include "tests/support/must.h"
#include "tests/support/random.h"

#define WEEK_S    (UINT64_C(7) * 86400)
#define EVENT_S   (UINT64_C(3) * 86400 + 5 * 3600 + 17 * 60 + 23)
#define EVENT_LEN 5u
#define GAP_S     (UINT64_C(6) * 86400)
#define GAP_END_S (GAP_S + 7200)
#define TICK_NS   10000000
#define PER_S     (UINT64_C(1000000000) / PROFILE_BUCKET_NS)
#define MAX_BYTES ((size_t)8 << 20)

/* Seconds after the week's begin; window_events.h */
static const struct happening {
	const char *service;
	uint64_t after_s;
	const char *events;
} happenings[] = {
	{"web.service", UINT64_C(2) * 86400,
	 "0 restarted\n0 build 1a2b3c4d5e6f /usr/bin/service\n"},
	{"web.service", UINT64_C(4) * 86400, "0 started\n"},
	{"database.service", UINT64_C(5) * 86400, "0 lost 1204 6000\n"},
	{"database.service", UINT64_C(5) * 86400 + 7200, "0 lost 300 6000\n"},
	{"database.service", UINT64_C(5) * 86400 + 14400, "0 lost 302 6000\n"},
	{"database.service", GAP_END_S, "0 booted\n"},
};

static uint64_t random_state = 1;

/* The only stack of its kind: main() calls @name. */
static uint32_t add_stack(struct profile *p, const char *name)
{
	static const char *const callers[] = {"main"};
	const char *names[] = {name, callers[0]};
	struct profile_mapping mapping = {.start = 0x555500000000, .limit = 0x555500100000};
	uint32_t chain[2], index;
	int64_t values[2] = {0};

	must(profile_add_text(p, "/usr/bin/service", &mapping.path), "path");
	must(profile_add_mapping(p, &mapping, &index), "mapping");
	for (unsigned i = 0; i < 2; i++) {
		struct profile_function function = {0};
		struct profile_line line = {0};

		must(profile_add_text(p, names[i], &function.name), "name");
		function.system_name = function.name;
		must(profile_add_function(p, &function, &line.function), "function");
		must(profile_add_location(p, index, 0x555500000000 + line.function * 256, &line, 1,
					  &chain[i]),
		     "location");
	}
	must(profile_add_sample(p, chain, 2, values, NULL, 0), "sample");
	return profile_last_sample(p);
}

/* @n ticks of @sample in each 100 ms of @seconds from @at_s on; or, below 1, in some of them. */
static void tick(struct profile *p, uint32_t sample, uint64_t at_s, unsigned seconds, double n)
{
	int64_t *values = &p->sample_values[(size_t)sample * 2];

	for (uint64_t i = 0; i < seconds * PER_S; i++) {
		uint32_t count = (uint32_t)(n + random_next(&random_state) % 1000 / 1000.0);

		if (!count)
			continue;
		must(profile_add_time(p, sample, at_s * PER_S + i, 0, count), "time");
		values[0] += count;
		values[1] += (int64_t)count * TICK_NS;
	}
}

static struct profile *new_minute(uint64_t start_s)
{
	struct profile *p = NULL;

	must(profile_new(&p), "profile");
	must(profile_add_sample_type(p, "samples", "count"), "type");
	must(profile_add_sample_type(p, "cpu", "nanoseconds"), "type");
	p->period_type = p->sample_types[1];
	p->period = TICK_NS;
	p->time_ns = (int64_t)start_s * 1000000000;
	p->duration_ns = INT64_C(60000000000);
	must(profile_add_comment(p, "# profd cpus: 4"), "comment");
	return p;
}

static const char *find_events(const char *service, uint64_t after_s)
{
	for (size_t i = 0; i < sizeof(happenings) / sizeof(*happenings); i++)
		if (happenings[i].after_s == after_s && strcmp(happenings[i].service, service) == 0)
			return happenings[i].events;
	return NULL;
}

static void put_minute(struct batch *batch, const char *service, uint64_t start_s,
		       struct profile *given, const char *events)
{
	const struct names_window window = {.start_s = start_s, .seconds = 60, .tail = "pb.gz"};
	cleanup(profile_freep) struct profile *p = given;
	cleanup(freep) uint8_t *data = NULL;
	char dir[128], day[NAMES_DAY_SIZE], name[200];
	struct batch_file file = {
		.dir = dir, .name = name, .events = events, .owner = STORE_NOBODY};
	size_t length;

	names_day(start_s, day);
	snprintf(dir, sizeof(dir), "services/%s/%s", service, day);
	if (!names_window(&window, name, sizeof(name)))
		must(-EINVAL, "name");
	file.counts = stored_count_profile(p);
	file.counts.has_events = events;
	must(peak_find(&file.counts.peak, p, start_s, 60), "peak");
	must(pprof_write(p, 1, &data, &length), "encode");
	must(batch_add(batch, &file, data, length), "add");
}

static void make_minute(struct batch *batch, uint64_t start_s, uint64_t since_begin_s)
{
	const unsigned hour = (unsigned)(since_begin_s / 3600 % 24);
	struct profile *p = new_minute(start_s);

	tick(p, add_stack(p, "serve"), start_s, 60, 2 + (hour > 12 ? 24 - hour : hour) / 3.0);
	put_minute(batch, "web.service", start_s, p, find_events("web.service", since_begin_s));
	p = new_minute(start_s);
	tick(p, add_stack(p, "scan"), start_s, 60, 1.5);
	put_minute(batch, "database.service", start_s, p,
		   find_events("database.service", since_begin_s));
}

static void make_job(struct batch *batch, uint64_t start_s, uint64_t event_s)
{
	struct profile *p = new_minute(start_s);

	tick(p, add_stack(p, "look_around"), start_s, 60, 0.1);
	if (event_s >= start_s && event_s < start_s + 60)
		tick(p, add_stack(p, "event_work"), event_s, EVENT_LEN, 20);
	put_minute(batch, "job.service", start_s, p, NULL);
}

/* A batch an hour: the store's directories are entered once for each file. */
static void make_week(struct store *store, uint64_t begin_s)
{
	for (uint64_t hour = 0; hour < WEEK_S / 3600; hour++) {
		cleanup(batch_freep) struct batch *batch = NULL;

		if (hour * 3600 >= GAP_S && hour * 3600 < GAP_END_S)
			continue;
		must(batch_new(&batch, store), "batch");
		for (uint64_t at_s = hour * 3600; at_s < (hour + 1) * 3600; at_s += 60) {
			make_minute(batch, begin_s + at_s, at_s);
			if (at_s % 600 == EVENT_S % 600 / 60 * 60)
				make_job(batch, begin_s + at_s, begin_s + EVENT_S);
		}
		must(batch_commit(batch).error, "commit");
	}
}

static void roll_up(struct store *store)
{
	cleanup(rollup_freep) struct rollup *rollup = NULL;
	uint64_t oldest_s, newest_s;
	int r = ROLLUP_E_OK;

	index_span(&store->index, &oldest_s, &newest_s);
	must(rollup_new(&rollup, store, MAX_BYTES), "roll-up");
	while (r != ROLLUP_E_IDLE) {
		r = rollup_step(rollup, newest_s, newest_s);
		must(r, "step");
	}
}

static int no_sync(int fd)
{
	(void)fd;
	return 0;
}

int main(int argc, char **argv)
{
	cleanup(store_freep) struct store *store = NULL;
	cleanup(closep) int fd = argc > 1 ? open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	uint64_t end_s = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	struct file_ops ops = file_ops_system;

	if (fd < 0) {
		fprintf(stderr, "usage: event_week FOLDER [END]\n");
		return EXIT_FAILURE;
	}
	ops.sync = ops.sync_file = ops.sync_dir = no_sync;
	must(store_new(&store, fd, argv[1], &ops), "store");
	must(store_rescan(store), "scan");
	if (end_s)
		make_week(store, end_s - WEEK_S);
	else
		roll_up(store);
	printf("%" PRIu64 "\n", (end_s - WEEK_S + EVENT_S) * 1000);
	return EXIT_SUCCESS;
}

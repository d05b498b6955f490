/* SPDX-License-Identifier: MIT */
/*
 * bench_rollup DIR [WINDOWS [STACKS [LOAD]]]: the store of a busy service is made in DIR,
 * which is empty, WINDOWS minutes (180) of STACKS distinct stacks each (4000), and rolled up to
 * hours, and to days that are over; with 0 WINDOWS, what is there is rolled up: the copy of a real
 * store, say. What it prints: how many files became how many, the time of all steps together, of
 * the longest (a flush that comes meanwhile waits for as long) and of the hundredth part that took
 * longest; and how much memory it took. With LOAD, a thread writes that many MiB in between, again
 * and again, to the same file system.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "daemon/output/batch.h"
#include "daemon/output/rollup.h"
#include "daemon/output/store.h"
#include "tests/support/must.h"
#include "tests/support/random.h"

#define BEGIN_S   UINT64_C(1795219200) /* 2026-11-21T00:00:00Z */
#define END_S     (BEGIN_S + 36500 * UINT64_C(86400))
#define MAX_BYTES ((size_t)8 << 20) /* profd's at the default budget */
#define DEPTH     24u
#define BRANCHES  3u /* functions that a function calls */
#define FUNCTIONS 6000u
#define STEPS_MAX 1000000u

struct bench {
	struct store *store;
	struct rollup *rollup;
	uint64_t random;
	uint64_t n_bytes; /* of the minutes */
	uint32_t *times;  /* of steps, us */
	size_t n_steps;
	double cpu_max; /* of a step, seconds */
	atomic_bool is_done;
	int load_dir;
	unsigned load_mib;
};

static double seconds(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static uint32_t chance(struct bench *b, uint32_t n)
{
	return random_next(&b->random) % n;
}

/* A call into function @f, somewhere in it. */
static uint32_t location(struct profile *p, uint32_t mapping, uint32_t f, uint32_t where)
{
	struct profile_function function = {0};
	struct profile_line line = {0};
	char name[64];
	uint32_t ret;

	snprintf(name, sizeof(name), "service::module_%u::function_%u(int, char const*)", f % 97,
		 f);
	must(profile_add_text(p, name, &function.name), "name");
	function.system_name = function.name;
	must(profile_add_function(p, &function, &line.function), "function");
	must(profile_add_location(p, mapping, 0x555500000000 + (uint64_t)f * 256 + where * 8, &line,
				  1, &ret),
	     "location");
	return ret;
}

/* Down a tree of calls, in which some ways are taken more often than others. */
static void add_stack(struct bench *b, struct profile *p, uint32_t mapping, const uint32_t keys[3])
{
	uint32_t chain[DEPTH], depth = 12 + chance(b, DEPTH - 12), f = 0;
	const struct profile_label labels[] = {
		{.key = keys[0], .num = 1000 + chance(b, 2)},
		{.key = keys[1], .str = keys[2]},
	};
	int64_t values[2] = {1 + chance(b, 3), 0};

	for (uint32_t i = 0; i < depth; i++) {
		uint32_t way = chance(b, 16) < 15 ? 0 : 1 + chance(b, BRANCHES - 1);

		chain[depth - 1 - i] = location(p, mapping, f, i + 1 < depth ? way : chance(b, 3));
		f = (f * BRANCHES + way * 7 + i + 1) % FUNCTIONS;
	}
	values[1] = values[0] * 10000000;
	must(profile_add_sample(p, chain, depth, values, labels, ARRAY_SIZE(labels)), "sample");
}

static struct profile *make_minute(struct bench *b, uint64_t start_s, unsigned n_stacks)
{
	struct profile_mapping mapping = {.start = 0x555500000000, .limit = 0x555501000000};
	uint32_t keys[3], index;
	struct profile *p = NULL;
	char ledger[96];

	must(profile_new(&p), "profile");
	must(profile_add_sample_type(p, "samples", "count"), "type");
	must(profile_add_sample_type(p, "cpu", "nanoseconds"), "type");
	p->period_type = p->sample_types[1];
	p->period = 10000000;
	p->time_ns = (int64_t)start_s * 1000000000;
	p->duration_ns = INT64_C(60000000000);
	must(profile_add_text(p, "/usr/bin/service", &mapping.path), "path");
	must(profile_add_mapping(p, &mapping, &index), "mapping");
	must(profile_add_text(p, "pid", &keys[0]), "key");
	must(profile_add_text(p, "comm", &keys[1]), "key");
	must(profile_add_text(p, "service", &keys[2]), "comm");
	while (p->n_samples < n_stacks)
		add_stack(b, p, index, keys);
	snprintf(ledger, sizeof(ledger), "# profd ledger: expected=%u seen=%u", 5940u, 5940u);
	must(profile_add_comment(p, ledger), "ledger");
	return p;
}

static void make_store(struct bench *b, unsigned n_windows, unsigned n_stacks)
{
	cleanup(batch_freep) struct batch *batch = NULL;

	must(batch_new(&batch, b->store), "batch");
	for (unsigned i = 0; i < n_windows; i++) {
		uint64_t start_s = BEGIN_S + i * 60;
		const struct names_window window = {.start_s = start_s,
						    .seconds = 60,
						    .tail = "pb.gz"};
		cleanup(profile_freep) struct profile *p = make_minute(b, start_s, n_stacks);
		cleanup(freep) uint8_t *data = NULL;
		char dir[64], day[NAMES_DAY_SIZE], name[200];
		const struct batch_file file = {.dir = dir,
						.name = name,
						.counts.samples = (uint64_t)profile_total(p, 0),
						.owner = STORE_NOBODY};
		size_t length;

		names_day(start_s, day);
		snprintf(dir, sizeof(dir), "services/busy.service/%s", day);
		if (!names_window(&window, name, sizeof(name)))
			must(-EINVAL, "name");
		must(pprof_write(p, 6, &data, &length), "encode");
		must(batch_add(batch, &file, data, length), "add");
		b->n_bytes += length;
	}
	must(batch_commit(batch).error, "commit");
}

/* Writes and does not sync: what a syncfs() would have to wait for. */
static void *load(void *userdata)
{
	static char data[1 << 20];
	struct bench *b = userdata;

	while (!b->is_done) {
		int fd = openat(b->load_dir, "load", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
				0600);

		must(fd < 0 ? -errno : 0, "load");
		for (unsigned i = 0; i < b->load_mib && !b->is_done; i++) {
			memset(data, (int)i, sizeof(data));
			if (write(fd, data, sizeof(data)) < 0)
				must(-errno, "load");
		}
		close(fd);
	}
	(void)unlinkat(b->load_dir, "load", 0);
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static double roll_up(struct bench *b, uint64_t until_s)
{
	double all = 0, begin, end = seconds(CLOCK_MONOTONIC), cpu;
	int r = ROLLUP_E_OK;

	while (r != ROLLUP_E_IDLE && b->n_steps < STEPS_MAX) {
		begin = end;
		cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
		r = rollup_step(b->rollup, until_s, until_s);
		must(r, "step");
		end = seconds(CLOCK_MONOTONIC);
		cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
		b->cpu_max = cpu > b->cpu_max ? cpu : b->cpu_max;
		b->times[b->n_steps++] = (uint32_t)((end - begin) * 1e6);
		all += end - begin;
	}
	return all;
}

static long rss_max_kib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

int main(int argc, char **argv)
{
	struct bench b = {.random = 1, .times = calloc(STEPS_MAX, sizeof(*b.times))};
	unsigned n_windows = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 180;
	unsigned n_stacks = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 4000;
	int fd = argc > 1 ? open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	pthread_t thread;
	double all;
	long before;

	b.load_dir = fd;
	b.load_mib = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;
	if (fd < 0 || !b.times) {
		fprintf(stderr, "usage: bench_rollup FOLDER [WINDOWS [STACKS [LOAD]]]\n");
		return EXIT_FAILURE;
	}
	must(store_new(&b.store, fd, argv[1], &file_ops_system), "store");
	must(store_rescan(b.store), "scan");
	if (n_windows)
		make_store(&b, n_windows, n_stacks);
	else
		b.n_bytes = b.store->index.blocks * INDEX_BLOCK;
	must(rollup_new(&b.rollup, b.store, MAX_BYTES), "roll-up");
	before = rss_max_kib();
	if (b.load_mib)
		must(-pthread_create(&thread, NULL, load, &b), "thread");
	printf("%" PRIu64 " files, %.1f KiB", b.store->index.n_files, (double)b.n_bytes / 1024);
	all = roll_up(&b, n_windows ? BEGIN_S + (uint64_t)n_windows * 60 + 3600 : END_S);
	b.is_done = true;
	if (b.load_mib)
		pthread_join(thread, NULL);
	qsort(b.times, b.n_steps, sizeof(*b.times), by_size);
	printf(" -> %" PRIu64 " files, %.1f KiB\n", b.store->index.n_files,
	       (double)b.store->index.blocks * INDEX_BLOCK / 1024);
	printf("%zu steps, %.2f s in all, 99 %% of them < %.1f ms, the longest %.1f ms (of CPU "
	       "%.1f); %ld KiB more at the most\n",
	       b.n_steps, all, b.times[b.n_steps * 99 / 100] / 1e3, b.times[b.n_steps - 1] / 1e3,
	       1e3 * b.cpu_max, rss_max_kib() - before);
	rollup_free(b.rollup);
	store_free(b.store);
	free(b.times);
	close(fd);
	return EXIT_SUCCESS;
}

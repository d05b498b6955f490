/* SPDX-License-Identifier: MIT */
/*
 * simulated_week DIR: the store of 200 services after 7 days, as roll-up leaves it before it makes
 * days (minutes for 6 hours, hours before, legacy profiles for an hour), made in DIR. How many
 * files and how big it is, how long a start and a listing take, and that retention works without
 * looking at the tree.
 *
 * Prints "ok NAME" and "not ok NAME: why" lines.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "daemon/output/batch.h"
#include "daemon/output/listing.h"
#include "daemon/output/retention.h"
#include "daemon/output/store.h"
#include "tests/support/must.h"

#define N_SERVICES 200u
#define HOUR_S     3600u
#define NOW_S      (UINT64_C(1795251600) + 7 * 86400)
#define FILES_MAX  150000u
#define BYTES_MAX  (UINT64_C(2) << 30)
/* An ordinary minute of an ordinary service; busy ones are five times as big. */
#define MINUTE_BYTES 8000u
#define HOUR_BYTES   24000u
#define LEGACY_BYTES 4000u

/* Calls that read directories or ask for a file's attributes, counted while somebody looks. */
static unsigned n_looks;

static int looking_open(int dir, const char *name, int flags, mode_t mode)
{
	n_looks++;
	return file_ops_system.open(dir, name, flags, mode);
}

/* Interposed: whoever walks a tree calls it. */
DIR *fdopendir(int fd)
{
	DIR *(*next)(int) = (DIR * (*)(int)) dlsym(RTLD_NEXT, "fdopendir");

	n_looks++;
	return next(fd);
}

static unsigned n_failed;

static void check(bool good, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void check(bool good, const char *name, const char *format, ...)
{
	va_list args;

	n_failed += !good;
	printf("%sok %s: ", good ? "" : "not ", name);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void put(struct batch *batch, unsigned service, uint64_t start_s, uint32_t length_s,
		const char *tail, const uint8_t *data, size_t size)
{
	const struct names_window window = {.start_s = start_s, .seconds = length_s, .tail = tail};
	char dir[64], day[NAMES_DAY_SIZE], name[200];
	const struct batch_file file = {
		.dir = dir, .name = name, .counts.samples = 100, .owner = STORE_NOBODY};

	names_day(start_s, day);
	snprintf(dir, sizeof(dir), "services/service-%u/%s", service, day);
	if (!names_window(&window, name, sizeof(name)))
		must(-EINVAL, "name");
	must(batch_add(batch, &file, data, size), "add");
}

/* One service's week, in one batch: names that are made in a row. */
static void make_service(struct store *store, unsigned i, const uint8_t *data)
{
	cleanup(batch_freep) struct batch *batch = NULL;
	uint64_t minutes_s = NOW_S - 6 * HOUR_S, t;

	must(batch_new(&batch, store), "batch");
	for (t = NOW_S - 7 * 86400; t < minutes_s; t += HOUR_S)
		put(batch, i, t, HOUR_S, "pb.gz", data, HOUR_BYTES);
	for (; t < NOW_S; t += 60)
		put(batch, i, t, 60, "pb.gz", data, MINUTE_BYTES);
	for (t = NOW_S - HOUR_S; t < NOW_S; t += 60) {
		put(batch, i, t, 60, "server-1000.prof", data, LEGACY_BYTES);
		put(batch, i, t, 60, "helper-1001.prof", data, LEGACY_BYTES);
	}
	must(batch_commit(batch).error, "commit");
}

static int no_sync(int fd)
{
	(void)fd;
	return 0;
}

static double time_list(struct store *store, const char *service, size_t *ret_rows)
{
	cleanup(listing_freep) Profd__Control__Listing *listing = NULL;
	double begin = seconds();

	must(listing_new(&listing, store, &(struct listing_options){.service = service}), "list");
	*ret_rows = listing->n_rows;
	return seconds() - begin;
}

static void judge_lists(struct store *store)
{
	size_t rows;
	double s = time_list(store, NULL, &rows);

	check(rows == N_SERVICES, "list of the services", "%zu in %.1f ms", rows, 1e3 * s);
	s = time_list(store, "service-7", &rows);
	check(rows > 500, "list of one for the first time", "%zu windows in %.1f ms", rows,
	      1e3 * s);
	s = time_list(store, "service-7", &rows);
	check(rows > 500, "and again", "%zu windows in %.1f ms", rows, 1e3 * s);
}

/* A minute later: the oldest hour and the oldest legacy minute of each service go. */
static void judge_retention(struct store *store)
{
	const struct retention_limits limits = {.max_size = BYTES_MAX,
						.max_age_s = 7 * 86400,
						.legacy_keep_s = HOUR_S,
						.keep_windows = 3};
	uint64_t n = 0;
	double begin;

	n_looks = 0;
	begin = seconds();
	must(retention_run(store, &limits, NOW_S + HOUR_S / 60 + 1, 0, &n), "retention");
	check(n == 2 * N_SERVICES && !n_looks, "retention never looks at the tree",
	      "%" PRIu64 " files deleted in %.1f ms, %u looks", n, 1e3 * (seconds() - begin),
	      n_looks);
	begin = seconds();
	must(retention_run(store, &limits, NOW_S + HOUR_S / 60 + 1, 0, &n), "retention");
	check(n == 0 && !n_looks, "and takes nothing when there is nothing to do",
	      "%.2f ms, %u looks", 1e3 * (seconds() - begin), n_looks);
}

int main(int argc, char **argv)
{
	static uint8_t data[HOUR_BYTES];
	struct file_ops ops = file_ops_system;
	struct store *store = NULL;
	uint64_t n_files, bytes;
	double begin;
	int fd;

	fd = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd < 0) {
		fprintf(stderr, "usage: simulated_week FOLDER\n");
		return EXIT_FAILURE;
	}
	ops.sync = ops.sync_dir = no_sync;
	ops.open = looking_open;
	must(store_new(&store, fd, argv[1], &ops), "open");
	must(store_rescan(store), "scan");
	for (unsigned i = 0; i < N_SERVICES; i++)
		make_service(store, i, data);
	n_files = store->index.n_files;
	bytes = store->index.blocks * INDEX_BLOCK;
	check(n_files < FILES_MAX, "files", "%" PRIu64 " of %u", n_files, FILES_MAX);
	check(bytes < BYTES_MAX, "size", "%.2f GiB of 2", (double)bytes / 1073741824);
	store_free(store);

	begin = seconds();
	must(store_new(&store, fd, argv[1], &ops), "open again");
	must(store_rescan(store), "scan again");
	printf("  a start reads the store in %.0f ms\n", 1e3 * (seconds() - begin));
	check(store->index.n_files == n_files && store->index.blocks * INDEX_BLOCK == bytes,
	      "the same after a restart", "%" PRIu64 " files", store->index.n_files);
	judge_lists(store);
	judge_retention(store);
	store_free(store);
	close(fd);
	return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

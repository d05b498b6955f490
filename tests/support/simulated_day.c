/* SPDX-License-Identifier: MIT */
/*
 * simulated_day DIR [HOURS]: a day of profd's life at full speed, in DIR, which is empty.
 *
 * 200 services whose processes come and go, windows of a minute: sessions, process table, output
 * thread and store are the real ones; the source is scripted, /proc is a directory, and the clock
 * is ours: clock_gettime() is defined here, so that all of profd asks us. The clock is set back by
 * an hour, forward by a day and back again, and the machine sleeps for two hours.
 *
 * Prints "ok NAME" and "not ok NAME: why" lines.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/store/names.h"
#include "daemon/session/session_set.h"
#include "tests/support/ledger_closes.h"
#include "tests/support/must.h"
#include "tests/support/random.h"
#include "tests/support/source_scripted.h"

#define NS         UINT64_C(1000000000)
#define MINUTE     (60 * NS)
#define HOUR       (60 * MINUTE)
#define DAY        (24 * HOUR)
#define BEGIN      (UINT64_C(1795251600) * NS) /* 2026-11-21T09:00:00Z */
#define N_SERVICES 200u
#define MAX_SIZE   (UINT64_C(24) << 20) /* reached within the first two hours */
#define SLACK      (UINT64_C(2) << 20)  /* of a flush */
/*
 * Caches fill up and the heap gets its holes in the first half of a day; a leak of a kilobyte a
 * window, or of one a process, would be more than RSS_SLACK_LATE in the second.
 */
#define RSS_SLACK      (UINT64_C(3) << 19)
#define RSS_SLACK_LATE (UINT64_C(1) << 19)
#define NAMES_MAX      (1u << 20)

/* The only state that clock_gettime() can see. */
static struct {
	atomic_uint_least64_t wall, monotonic, boot;
} sim_clock;

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	uint64_t ns;

	if (clock == CLOCK_REALTIME)
		ns = sim_clock.wall;
	else if (clock == CLOCK_MONOTONIC)
		ns = sim_clock.monotonic;
	else if (clock == CLOCK_BOOTTIME)
		ns = sim_clock.boot;
	else
		return (int)syscall(SYS_clock_gettime, clock, ret);
	*ret = (struct timespec){.tv_sec = (time_t)(ns / NS), .tv_nsec = (long)(ns % NS)};
	return 0;
}

struct service {
	pid_t pid; /* 0: it does not run */
	uint64_t until_ns;
};

struct day {
	const char *path;
	int proc_fd, store_fd;
	struct source_sink sink;
	struct source *source;
	struct process_table *processes;
	struct output *output;
	struct session_set *set;
	struct session *system;
	struct service services[N_SERVICES];
	pid_t last_pid;
	uint64_t random;
	/* What was seen. */
	uint64_t n_sent, n_files, *names;
	uint64_t rss_2h, rss_12h, rss_max, files_max, bytes_max;
	unsigned fds_2h, n_failed, n_twice, n_odd, n_unclosed, n_jumped;
};

static void check(struct day *d, bool good, const char *name, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static void check(struct day *d, bool good, const char *name, const char *format, ...)
{
	va_list args;

	d->n_failed += !good;
	printf("%sok %s: ", good ? "" : "not ", name);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

/* The same day each time. */
static uint64_t chance(struct day *d, uint64_t n)
{
	return random_next(&d->random) % n;
}

static int dir_at(int parent, const char *name)
{
	int fd;

	if (mkdirat(parent, name, 0755) < 0 && errno != EEXIST)
		must(-errno, name);
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(fd < 0 ? -errno : 0, name);
	return fd;
}

static void write_file(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		must(-errno, name);
	close(fd);
}

static const char *const proc_files[] = {"cgroup", "status", "stat", "maps"};

static void enter_proc(struct day *d, pid_t pid, unsigned service)
{
	char name[16], text[128];
	int fd;

	snprintf(name, sizeof(name), "%d", pid);
	fd = dir_at(d->proc_fd, name);
	snprintf(text, sizeof(text), "0::/system.slice/service-%u.service\n", service);
	write_file(fd, "cgroup", text);
	write_file(fd, "status", "Name:\tx\nUid:\t0\t0\t0\t0\n");
	snprintf(text, sizeof(text), "%d (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 0 0 1 0 %d\n", pid,
		 pid);
	write_file(fd, "stat", text);
	write_file(fd, "maps", "");
	close(fd);
}

static void leave_proc(struct day *d, pid_t pid)
{
	char path[64];

	for (size_t i = 0; i < ARRAY_SIZE(proc_files); i++) {
		snprintf(path, sizeof(path), "%d/%s", pid, proc_files[i]);
		unlinkat(d->proc_fd, path, 0);
	}
	snprintf(path, sizeof(path), "%d", pid);
	unlinkat(d->proc_fd, path, AT_REMOVEDIR);
}

static void send_event(struct day *d, struct process_event event)
{
	event.time_ns = sim_clock.monotonic;
	event.tid = event.pid;
	must(source_scripted_add_event(d->source, &event), "event");
}

static void start_service(struct day *d, unsigned i)
{
	struct process_event map = {.kind = PROCESS_EVENT_MMAP};
	struct process_event exec = {.kind = PROCESS_EVENT_EXEC};
	char path[32];

	d->services[i].pid = map.pid = exec.pid = ++d->last_pid;
	d->services[i].until_ns = sim_clock.monotonic + (10 + chance(d, 170)) * MINUTE;
	enter_proc(d, exec.pid, i);
	snprintf(exec.comm, sizeof(exec.comm), "service-%u", i);
	send_event(d, exec);
	snprintf(path, sizeof(path), "/usr/bin/service-%u", i);
	map.map.start = 0x400000;
	map.map.length = 0x100000;
	map.map.inode = 1000 + i;
	map.map.device_major = 8;
	map.map.path = path;
	send_event(d, map);
}

static void end_service(struct day *d, unsigned i)
{
	send_event(d,
		   (struct process_event){.kind = PROCESS_EVENT_EXIT, .pid = d->services[i].pid});
	leave_proc(d, d->services[i].pid);
	d->services[i].pid = 0;
}

/* Some stacks of a service, a different part of its code as time goes by. */
static void work(struct day *d, unsigned i)
{
	unsigned n = 10 + (unsigned)chance(d, 30);
	uint64_t place = 0x400000 + (sim_clock.monotonic / HOUR * 64 + chance(d, 64)) % 0xf000 * 16;

	for (unsigned j = 0; j < n; j++) {
		uint64_t frames[] = {place + j % 8 * 16, 0x400100, 0x400200 + i, 0x400010};
		struct sample sample = {.time_ns = sim_clock.monotonic,
					.weight = NS / 99,
					.pid = d->services[i].pid,
					.tid = d->services[i].pid,
					.sampler = (uint16_t)d->system->samplings[0].sampler,
					.n_frames = ARRAY_SIZE(frames),
					.frames = frames,
					.comm = "x"};

		must(source_scripted_add_sample(d->source, &sample), "sample");
	}
	d->n_sent += n;
}

/* Services run for hours, have some quiet and some busy minutes, and rest for a while. */
static void live_a_minute(struct day *d)
{
	for (unsigned i = 0; i < N_SERVICES; i++) {
		struct service *s = &d->services[i];

		if (!s->pid && chance(d, 40) == 0)
			start_service(d, i);
		else if (s->pid && sim_clock.monotonic > s->until_ns)
			end_service(d, i);
		if (s->pid && chance(d, 3) == 0)
			work(d, i);
	}
	must(source_drain(d->source, UINT32_MAX), "drain");
}

static uint64_t hash_of(const char *text)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * UINT64_C(1099511628211);
	return hash ? hash : 1;
}

/* Whether @path is new; the table has room for all of a day. */
static bool remember(struct day *d, const char *path)
{
	uint64_t hash = hash_of(path), *slot;

	for (size_t i = hash % NAMES_MAX;; i = (i + 1) % NAMES_MAX) {
		slot = &d->names[i];
		if (*slot == hash)
			return false;
		if (*slot)
			continue;
		*slot = hash;
		return true;
	}
}

/* A window is a minute long and begins with one, but where the clock was set. */
static void look_at_file(struct day *d, const char *path)
{
	struct names_window window;

	if (strstr(path, "/images/"))
		return;
	d->n_files++;
	d->n_twice += !remember(d, path);
	if (!names_parse_window(strrchr(path, '/') + 1, &window) || !window.seconds ||
	    window.seconds > 2 * MINUTE / NS)
		d->n_odd++;
	else if (window.start_s % 60 || window.seconds != 60)
		d->n_jumped++;
}

static void take_results(struct day *d, unsigned n)
{
	while (n) {
		struct pollfd fd = {.fd = output_fd(d->output), .events = POLLIN};
		struct output_result *result;

		must(poll(&fd, 1, 60000) == 1 ? 0 : -ETIMEDOUT, "output");
		for (; (result = output_take_result(d->output)); n--) {
			must(-result->error, "write");
			for (char **path = result->paths.all; path && *path; path++)
				look_at_file(d, *path);
			must(session_set_take_result(result), "result");
		}
	}
}

static uint64_t rss_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (!f || fscanf(f, "%*s %lu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static unsigned n_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static void larger(uint64_t *to, uint64_t value)
{
	if (value > *to)
		*to = value;
}

static bool is_closed(struct day *d)
{
	const struct session *s = d->system;
	struct source_stats stats;
	struct ledger ledger;

	must(session_set_total(d->set, &ledger, &stats), "totals");
	return ledger_closes(&ledger) && !ledger.in_flight && s->counts.routed == d->n_sent &&
	       s->counts.counted == d->n_sent;
}

static void observe(struct day *d, uint64_t minutes)
{
	struct output_state output;

	output_get_state(d->output, &output);
	larger(&d->bytes_max, output.store.bytes);
	larger(&d->files_max, output.store.n_files);
	d->n_unclosed += !is_closed(d);
	if (minutes == 120) {
		d->rss_2h = rss_bytes();
		d->fds_2h = n_fds();
	}
	if (minutes == 720)
		d->rss_12h = rss_bytes();
	if (minutes > 120)
		larger(&d->rss_max, rss_bytes());
	if (minutes % 180 == 0)
		printf("  %2" PRIu64 " h: RSS %.1f MiB, %u fds, store %" PRIu64
		       " files, %.1f MiB; %" PRIu64 " samples in %" PRIu64 " files\n",
		       minutes / 60, (double)rss_bytes() / 1048576, n_fds(), output.store.n_files,
		       (double)output.store.bytes / 1048576, d->n_sent, d->n_files);
}

static void set_wall(int64_t by_ns)
{
	sim_clock.wall += (uint64_t)by_ns;
}

/* What happens to clocks on this day. */
static void disturb(uint64_t minutes)
{
	switch (minutes) {
	case 6 * 60:
		set_wall(-(int64_t)(HOUR + 7 * NS));
		return;
	case 12 * 60:
		set_wall((int64_t)(DAY - 13 * NS));
		return;
	case 12 * 60 + 10:
		set_wall(-(int64_t)(DAY - 20 * NS));
		return;
	case 18 * 60: /* asleep */
		sim_clock.wall += 2 * HOUR + 11 * NS;
		sim_clock.boot += 2 * HOUR + 11 * NS;
		return;
	}
}

static void advance(uint64_t ns)
{
	sim_clock.wall += ns;
	sim_clock.monotonic += ns;
	sim_clock.boot += ns;
}

/* From one window's end to the next, as daemon.c's timers have it. */
static void run_window(struct day *d, uint64_t minutes)
{
	uint64_t end = session_set_next_boundary(d->set);

	advance((end - sim_clock.wall) / 2);
	live_a_minute(d);
	disturb(minutes);
	must(session_set_tick(d->set, sim_clock.monotonic), "tick");
	process_table_sweep(d->processes, sim_clock.monotonic);
	end = session_set_next_boundary(d->set);
	advance(end - sim_clock.wall);
	must(session_set_close_windows(d->set), "close");
	take_results(d, d->system->n_in_flight);
}

static void on_sample(void *userdata, const struct sample *sample)
{
	struct day *d = userdata;

	must(session_set_route(d->set, sample), "route");
}

static void on_event(void *userdata, const struct process_event *event)
{
	struct day *d = userdata;

	must(process_table_apply(d->processes, event), "apply");
}

static void set_up(struct day *d, const char *path)
{
	const struct source_options source = {.sink = &d->sink};
	struct output_options output = {.limits = {.max_size = MAX_SIZE,
						   .max_age_s = 7 * 86400,
						   .legacy_keep_s = 3600,
						   .keep_windows = 3},
					.legacy_max_processes = 64,
					.symbol_cache_bytes = 64 << 10};
	struct session_defaults defaults = {
		.interval_ns = MINUTE,
		.writing.formats = FORMAT_PPROF | FORMAT_LEGACY | FORMAT_IMAGES,
		.writing.labels = LABEL_PID | LABEL_COMM | LABEL_SERVICE,
		.event = {.name = "cpu-clock", .is_clock = true},
		.frequency = 99,
		.max_depth = 64,
		.max_sessions = 4,
		.memory_bytes = 32 << 20};
	struct source_message message;
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	must(dir < 0 ? -errno : 0, path);
	d->proc_fd = dir_at(dir, "proc");
	d->store_fd = output.store_fd = dir_at(dir, "store");
	close(dir);
	output.store_path = d->path = path;
	d->names = calloc(NAMES_MAX, sizeof(*d->names));
	if (!d->names)
		must(-ENOMEM, "names");
	memset(d->names, 0, NAMES_MAX * sizeof(*d->names)); /* resident from the beginning */
	d->sink = (struct source_sink){on_sample, on_event, d};
	must(source_scripted_new(&d->source, &source), "source");
	must(process_table_new(&d->processes, d->proc_fd, 8 << 20), "processes");
	must(output_new(&d->output, &output), "output");
	must(session_set_new(&d->set, d->source, d->processes, d->output, d->proc_fd, 1), "set");
	d->set->defaults = defaults;
	must(session_set_start_system(d->set, &message), "system");
	d->system = d->set->sessions[0];
}

static void judge(struct day *d)
{
	uint64_t written = d->system->counts.windows_written;

	bool is_flat = d->rss_max <= d->rss_2h + RSS_SLACK &&
		       (!d->rss_12h || rss_bytes() <= d->rss_12h + RSS_SLACK_LATE);

	check(d, d->rss_2h && is_flat, "memory is flat",
	      "%.2f MiB after 2 h, %.2f after 12, %.2f in the end", (double)d->rss_2h / 1048576,
	      (double)d->rss_12h / 1048576, (double)rss_bytes() / 1048576);
	check(d, d->fds_2h == n_fds(), "file descriptors are flat", "%u and %u", d->fds_2h,
	      n_fds());
	check(d, d->bytes_max <= MAX_SIZE + SLACK, "the store keeps its limit",
	      "up to %.1f MiB in %" PRIu64 " files, of %.1f MiB", (double)d->bytes_max / 1048576,
	      d->files_max, (double)MAX_SIZE / 1048576);
	check(d, d->n_sent && !d->n_unclosed, "the ledger closes after each window",
	      "%u times not, of %" PRIu64 " windows with %" PRIu64 " samples", d->n_unclosed,
	      written, d->n_sent);
	check(d, d->n_files && !d->n_twice, "no name is used twice", "%u of %" PRIu64, d->n_twice,
	      d->n_files);
	check(d, !d->n_odd, "no window is longer than two minutes", "%u are not", d->n_odd);
	check(d, d->n_jumped && d->n_jumped < d->n_files / 100,
	      "they begin with a minute, but where the clock was set", "%u of %" PRIu64,
	      d->n_jumped, d->n_files);
}

int main(int argc, char **argv)
{
	struct day *d = calloc(1, sizeof(*d));
	uint64_t hours = argc > 2 ? strtoull(argv[2], NULL, 10) : 24;
	int failed;

	if (argc < 2 || !d) {
		fprintf(stderr, "usage: simulated_day FOLDER [HOURS]\n");
		return EXIT_FAILURE;
	}
	sim_clock.wall = BEGIN;
	sim_clock.monotonic = 5000 * NS;
	sim_clock.boot = 6000 * NS;
	d->last_pid = 1000;
	set_up(d, argv[1]);
	for (uint64_t minutes = 1; minutes <= hours * 60; minutes++) {
		run_window(d, minutes);
		observe(d, minutes);
	}
	must(session_set_stop_system(d->set), "stop");
	take_results(d, d->system->n_in_flight);
	judge(d);
	failed = d->n_failed != 0;
	source_free(d->source);
	output_free(d->output);
	session_set_free(d->set);
	process_table_free(d->processes);
	close(d->proc_fd);
	close(d->store_fd);
	free(d->names);
	free(d);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

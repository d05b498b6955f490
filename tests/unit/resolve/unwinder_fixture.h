/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_RESOLVE_UNWINDER_FIXTURE_H
#define TESTS_UNIT_RESOLVE_UNWINDER_FIXTURE_H

/*
 * An unwinder between scripted samples and a sink that keeps what it gets. The host's memory is
 * plain arrays, and what it was told is kept by pid: whatever a root names must stay what it was
 * when it was published, for as long as the root or a copy of it is there, and for as long after
 * that as a walk takes. Memory of other processes is read from this one, when the test says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/resolve/memory_reader.h"
#include "daemon/resolve/process.h"
#include "daemon/resolve/unwinder.h"

#define SECOND      UINT64_C(1000000000)
#define GOT_MAX     8192
#define HOST_WORDS  (1u << 20)
#define HOST_SLOTS  512u
#define HOST_MAPS   4096u
#define ROOTS_MAX   256u
#define ANSWERS_MAX 16u
#define VERSIONS    65536u
#define WALKS_MAX   8192u
#define CHANGED_MAX 1024
/* No walk takes longer (layout.h, "Reuse"). */
#define WALK_NS (SECOND - 1)
/* Of what the scripts say: when an unwinder is attached. */
#define BEGINNING SECOND

/* What came out of the unwinder; `weight` is the test's number for a sample. */
struct got {
	struct sample sample;
	uint64_t frames[SAMPLE_FRAMES_MAX];
};

/* It may go on by a root that is not in force any more. */
struct late_walk {
	struct unwind_root root;
	uint64_t until_ns;
};

enum reader_mood { READER_READS, READER_FINDS_NOTHING, READER_IS_BUSY };

struct fixture {
	struct source_sink next;
	struct process_table *processes;
	int proc_fd;
	struct unwinder *unwinder;
	struct unwind_host host;
	struct unwind_root roots[ROOTS_MAX];
	uint64_t changed[CHANGED_MAX]; /* when a pid was born or executed a program last */
	unsigned n_roots, n_publish, n_withdraw;
	unsigned n_reused;          /* roots that begin where another one had begun */
	uint64_t sum_at[HOST_MAPS]; /* of the last root that began there */
	int host_answer;            /* of publish */
	unsigned n_withdraw_full;   /* so many times more, nothing can be withdrawn */
	uint64_t sums[VERSIONS];    /* of the mappings of each root that was published */
	uint64_t until_ns;
	const uint64_t *clock; /* the script's; NULL: no walks are looked after */
	struct late_walk walks[WALKS_MAX];
	unsigned n_walks; /* since the beginning; the newest are kept */
	/* What happens while the host is at work, before it publishes or withdraws anything. */
	void (*meanwhile)(void *userdata);
	void *meanwhile_userdata;
	struct got *got; /* the last one with full frames */
	uint8_t times[GOT_MAX];
	unsigned n_got;
};

/* The reader is no object of the test's: one for all. */
static struct {
	enum reader_mood mood;
	int pipe[2]; /* readable while there are answers */
	unsigned n;
	struct {
		uint64_t cookie, address;
		size_t length;
	} asked[ANSWERS_MAX];
	uint8_t data[MEMORY_READ_MAX];
} reader = {.pipe = {-1, -1}};

int memory_reader_new(struct memory_reader **ret, int epoll_fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	*ret = (struct memory_reader *)&reader;
	reader.mood = READER_READS;
	reader.n = 0;
	if (pipe2(reader.pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, reader.pipe[0], &event);
}

void memory_reader_free(struct memory_reader *m)
{
	if (!m)
		return;
	close(reader.pipe[0]);
	close(reader.pipe[1]);
}

bool memory_reader_is_busy(const struct memory_reader *m)
{
	(void)m;
	return reader.n == ANSWERS_MAX;
}

pid_t memory_reader_keeper(const struct memory_reader *m)
{
	(void)m;
	return 0;
}

bool memory_reader_request(struct memory_reader *m, uint64_t cookie, const struct memory_read *read)
{
	(void)m;
	assert_int_equal(read->task, getpid());
	assert_true(read->length <= MEMORY_READ_MAX);
	if (reader.mood == READER_IS_BUSY || reader.n == ANSWERS_MAX)
		return false;
	reader.asked[reader.n].cookie = cookie;
	reader.asked[reader.n].address = read->address;
	reader.asked[reader.n++].length = read->length;
	assert_int_equal(write(reader.pipe[1], "", 1), 1);
	return true;
}

bool memory_reader_receive(struct memory_reader *m, uint64_t *ret_cookie, const uint8_t **ret_data,
			   size_t *ret_length)
{
	ssize_t n = 0;
	uint8_t ignored;
	int fd;

	(void)m;
	if (!reader.n)
		return false;
	assert_int_equal(read(reader.pipe[0], &ignored, 1), 1);
	reader.n--;
	if (reader.mood == READER_READS) {
		fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
		n = pread(fd, reader.data, reader.asked[reader.n].length,
			  (off_t)reader.asked[reader.n].address);
		close(fd);
	}
	*ret_cookie = reader.asked[reader.n].cookie;
	*ret_data = reader.data;
	*ret_length = n > 0 ? (size_t)n : 0;
	return true;
}

void memory_reader_tick(struct memory_reader *m, uint64_t now_ns)
{
	(void)m;
	(void)now_ns;
}

static inline uint64_t sum_of_mappings(const struct fixture *f, const struct unwind_root *root)
{
	const uint8_t *bytes = (const uint8_t *)&f->host.mappings[root->first];
	uint64_t sum = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < root->n * sizeof(struct unwind_mapping); i++)
		sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
	return sum;
}

/* One of an earlier program is void (bpf/roots.bpf.h). */
static inline bool is_in_force(const struct fixture *f, const struct unwind_root *root)
{
	return f->changed[root->pid % CHANGED_MAX] <= root->until_ns;
}

/* Those that a test made up have no version. */
static inline void check_mappings_of(const struct fixture *f, const struct unwind_root *root)
{
	if (root->version)
		assert_int_equal(sum_of_mappings(f, root), f->sums[root->version % VERSIONS]);
}

static inline void check_mappings_of_roots(const struct fixture *f)
{
	for (unsigned i = 0; i < f->n_roots; i++)
		if (is_in_force(f, &f->roots[i]))
			check_mappings_of(f, &f->roots[i]);
	for (unsigned i = 0; i < WALKS_MAX && i < f->n_walks; i++)
		if (f->walks[i].until_ns > *f->clock)
			check_mappings_of(f, &f->walks[i].root);
}

/* @root is in force no more. */
static inline void root_ends(struct fixture *f, const struct unwind_root *root)
{
	if (f->clock && is_in_force(f, root))
		f->walks[f->n_walks++ % WALKS_MAX] =
			(struct late_walk){.root = *root, .until_ns = *f->clock + WALK_NS};
}

static int host_publish(void *userdata, const struct unwind_root *root)
{
	struct fixture *f = userdata;
	unsigned i = 0;
	uint64_t sum;

	f->n_publish++;
	if (f->meanwhile)
		f->meanwhile(f->meanwhile_userdata);
	assert_int_not_equal(root->version, 0);
	assert_int_not_equal(root->n, 0);
	assert_true(root->first + root->n <= f->host.n_mappings);
	check_mappings_of_roots(f);
	if (f->host_answer)
		return f->host_answer;
	while (i < f->n_roots && f->roots[i].pid != root->pid)
		i++;
	assert_true(i < ROOTS_MAX);
	if (i < f->n_roots)
		root_ends(f, &f->roots[i]);
	f->roots[i] = *root;
	sum = sum_of_mappings(f, root);
	f->sums[root->version % VERSIONS] = sum;
	f->n_reused += f->sum_at[root->first] && f->sum_at[root->first] != sum;
	f->sum_at[root->first] = sum;
	if (i == f->n_roots)
		f->n_roots++;
	return 0;
}

static int host_withdraw(void *userdata, pid_t pid)
{
	struct fixture *f = userdata;

	f->n_withdraw++;
	if (f->meanwhile)
		f->meanwhile(f->meanwhile_userdata);
	if (f->n_withdraw_full) {
		f->n_withdraw_full--;
		return UNWIND_HOST_E_FULL;
	}
	for (unsigned i = 0; i < f->n_roots; i++) {
		if (f->roots[i].pid != (uint32_t)pid)
			continue;
		root_ends(f, &f->roots[i]);
		f->roots[i] = f->roots[--f->n_roots];
	}
	check_mappings_of_roots(f);
	return 0;
}

static uint64_t host_events_until(void *userdata)
{
	return ((struct fixture *)userdata)->until_ns;
}

static inline const struct unwind_root *root_of(const struct fixture *f, pid_t pid)
{
	for (unsigned i = 0; i < f->n_roots; i++)
		if (f->roots[i].pid == (uint32_t)pid && is_in_force(f, &f->roots[i]))
			return &f->roots[i];
	return NULL;
}

static void take_sample(void *userdata, const struct sample *sample)
{
	struct fixture *f = userdata;

	assert_null(sample->rest);
	assert_true(sample->n_kernel <= sample->n_frames);
	assert_true(sample->n_frames <= SAMPLE_FRAMES_MAX);
	assert_true(sample->weight < GOT_MAX);
	f->times[sample->weight]++;
	f->n_got++;
	f->got->sample = *sample;
	memcpy(f->got->frames, sample->frames, sample->n_frames * sizeof(uint64_t));
	f->got->sample.frames = f->got->frames;
}

static void take_event(void *userdata, const struct process_event *event)
{
	struct fixture *f = userdata;

	assert_int_equal(process_table_apply(f->processes, event), 0);
}

/* @with_host: the kernel walks; else all is done in the unwinder. @proc: /proc is read. */
static inline struct fixture *fixture_new(bool with_host, bool proc, bool raw,
					  uint64_t memory_bytes)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct unwinder_options options = {.memory_bytes = memory_bytes, .raw_frames = raw};

	f->got = calloc(1, sizeof(*f->got));
	f->next = (struct source_sink){.sample = take_sample,
				       .process_event = take_event,
				       .userdata = f};
	f->proc_fd = proc ? open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	assert_int_equal(process_table_new(&f->processes, f->proc_fd, 64 << 20), 0);
	options.next = &f->next;
	options.processes = f->processes;
	options.proc_fd = f->proc_fd;
	assert_int_equal(unwinder_new(&f->unwinder, &options), 0);
	if (!with_host) {
		assert_int_equal(unwinder_attach(f->unwinder, NULL, BEGINNING), 0);
		return f;
	}
	f->host = (struct unwind_host){
		.words = calloc(HOST_WORDS, sizeof(uint64_t)),
		.n_words = HOST_WORDS,
		.slots = calloc(HOST_SLOTS, sizeof(struct table_slot)),
		.n_slots = HOST_SLOTS,
		.mappings = calloc(HOST_MAPS, sizeof(struct unwind_mapping)),
		.n_mappings = HOST_MAPS,
		.publish = host_publish,
		.withdraw = host_withdraw,
		.events_until = host_events_until,
		.userdata = f,
	};
	f->until_ns = BEGINNING;
	assert_int_equal(unwinder_attach(f->unwinder, &f->host, BEGINNING), 0);
	return f;
}

static inline void fixture_free(struct fixture *f)
{
	assert_int_equal(unwinder_error(f->unwinder), 0);
	unwinder_detach(f->unwinder);
	unwinder_free(f->unwinder);
	process_table_free(f->processes);
	free(f->host.words);
	free(f->host.slots);
	free(f->host.mappings);
	free(f->got);
	if (f->proc_fd >= 0)
		close(f->proc_fd);
	free(f);
}

static inline void deliver(struct fixture *f, const struct sample *sample)
{
	const struct source_sink *sink = unwinder_sink(f->unwinder);

	sink->sample(sink->userdata, sample);
}

/* Whatever waits still is let go in the end. */
static inline int settle(struct unwinder *u, uint64_t now_ns, unsigned timeout_ms)
{
	int r = unwinder_settle(u, UNWINDER_ALL, now_ns, timeout_ms);

	unwinder_release_waiters(u, UNWINDER_ALL);
	return r ? r : unwinder_error(u);
}

static inline struct unwinder_stats stats_of(struct fixture *f)
{
	struct unwinder_stats stats;

	unwinder_get_stats(f->unwinder, &stats);
	return stats;
}

#endif

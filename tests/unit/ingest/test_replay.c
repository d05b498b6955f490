/* SPDX-License-Identifier: MIT */
/* The recorder, the replay and the scripted source, end to end, and the format byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/ingest/replay_format.h"
#include "daemon/ingest/sources.h"
#include "tests/support/source_scripted.h"

/* Everything that was delivered, in order, as text: so two deliveries compare as two strings. */
struct journal {
	char *text;
	size_t length;
	FILE *out;
	unsigned n_samples, n_events;
};

static void journal_sample(void *userdata, const struct sample *s)
{
	struct journal *j = userdata;

	j->n_samples++;
	fprintf(j->out,
		"S %lu %lu %lu %lu %d %d %u %u %u %u %d %d %d %s %u:", (unsigned long)s->time_ns,
		(unsigned long)s->weight, (unsigned long)s->start_ns, (unsigned long)s->cgroup_id,
		s->pid, s->tid, s->cpu, s->sampler, s->quality, s->reason, s->kernel_thread,
		s->wait, s->call, s->comm, s->n_kernel);
	for (uint32_t i = 0; i < s->n_frames; i++)
		fprintf(j->out, " %lx", (unsigned long)s->frames[i]);
	fputc('\n', j->out);
}

static void journal_event(void *userdata, const struct process_event *e)
{
	struct journal *j = userdata;

	j->n_events++;
	fprintf(j->out, "E %d %lu %d %d %d %s %lu %lx %lx %lx %u %u %lu %lu %u %u %s\n", e->kind,
		(unsigned long)e->time_ns, e->pid, e->tid, e->parent, e->comm,
		(unsigned long)e->lost, (unsigned long)e->map.start, (unsigned long)e->map.length,
		(unsigned long)e->map.offset, e->map.device_major, e->map.device_minor,
		(unsigned long)e->map.inode, (unsigned long)e->map.inode_generation, e->map.prot,
		e->map.flags, e->map.path ? e->map.path : "-");
}

static void journal_open(struct journal *j, struct source_sink *sink)
{
	memset(j, 0, sizeof(*j));
	j->out = open_memstream(&j->text, &j->length);
	assert_non_null(j->out);
	*sink = (struct source_sink){journal_sample, journal_event, j};
}

static void journal_close(struct journal *j)
{
	fclose(j->out);
	free(j->text);
}

static struct sample sample_at(uint64_t time, const uint64_t *frames, uint32_t n)
{
	return (struct sample){
		.time_ns = time,
		.weight = 10101010,
		.start_ns = 12345,
		.cgroup_id = 678,
		.pid = 100,
		.tid = 101,
		.cpu = 3,
		.quality = STACK_BROKEN,
		.reason = BROKEN_UNREADABLE,
		.comm = "worker/0",
		.n_kernel = n ? 1 : 0,
		.n_frames = n,
		.frames = frames,
	};
}

static const struct process_event mmap_event = {
	.kind = PROCESS_EVENT_MMAP,
	.time_ns = 99,
	.pid = 100,
	.tid = 100,
	.map = {.start = 0x1000,
		.length = 0x2000,
		.offset = 0x3000,
		.device_major = 8,
		.device_minor = 2,
		.inode = 9,
		.inode_generation = 10,
		.prot = 5,
		.flags = 2,
		.path = "/usr/bin/worker"},
};

static const struct sampler_spec spec = {
	.event = {.name = "cpu-clock", .type = 1, .is_clock = true, .exclude_kernel = true},
	.rate = 999,
	.kernel_stacks = true,
	.max_depth = 1024,
	.all = true,
};

static unsigned add_sampler(struct source *source, const struct sampler_spec *s)
{
	struct source_message message;
	unsigned sampler;

	assert_int_equal(source_add_sampler(source, s, &sampler, &message), SOURCE_E_OK);
	return sampler;
}

static int drain_all(struct source *source, unsigned budget)
{
	int r;

	do {
		r = source_drain(source, budget);
	} while (r == SOURCE_E_MORE);
	return r;
}

/* A script of @n rounds, played into @sink; the last frames are the longest possible. */
static void play_script(const struct source_sink *sink, unsigned n)
{
	const struct source_options options = {.sink = sink};
	static uint64_t frames[SAMPLE_FRAMES_MAX];
	struct source_stats stats;
	struct source *source = NULL;
	unsigned sampler;

	for (unsigned i = 0; i < SAMPLE_FRAMES_MAX; i++)
		frames[i] = 0xffffffff80000000 + i * UINT64_C(0x123456789);
	assert_int_equal(source_scripted_new(&source, &options), SOURCE_E_OK);
	sampler = add_sampler(source, &spec);
	for (unsigned i = 0; i < n; i++) {
		struct sample s = sample_at(1000 + i, frames, i == n - 1 ? SAMPLE_FRAMES_MAX : i);
		struct process_event fork = {.kind = PROCESS_EVENT_FORK,
					     .pid = 100 + (pid_t)i,
					     .parent = 1};

		assert_int_equal(source_scripted_add_event(source, &mmap_event), 0);
		assert_int_equal(source_scripted_add_event(source, &fork), 0);
		assert_int_equal(source_scripted_add_sample(source, &s), 0);
	}
	assert_int_equal(drain_all(source, 3), SOURCE_E_END);
	assert_int_equal(source_get_stats(source, sampler, &stats), SOURCE_E_OK);
	assert_int_equal(stats.seen, n);
	source_free(source);
}

static int record(struct journal *j, unsigned n)
{
	struct source_sink sink;
	struct recorder *recorder;
	int fd = memfd_create("recording", MFD_CLOEXEC), copy = dup(fd);

	journal_open(j, &sink);
	assert_int_equal(recorder_new(&recorder, fd, &sink), 0);
	recorder_sampler(recorder, 0, &spec);
	play_script(recorder_sink(recorder), n);
	assert_int_equal(recorder_close(recorder), 0);
	fflush(j->out);
	lseek(copy, 0, SEEK_SET);
	return copy;
}

/* A recording as it is delivered again. */
struct replay {
	struct journal journal;
	struct source_sink sink;
	struct source *source;
};

/* Returns what source_replay_new() does; @fd is taken over in any case. */
static int replay_open(struct replay *r, int fd)
{
	struct source_options options = {.sink = &r->sink};
	struct source_message message;
	int outcome;

	journal_open(&r->journal, &r->sink);
	outcome = source_replay_new(&r->source, &options, fd, &message);
	if (outcome) {
		r->source = NULL;
		/* It was taken over. */
		assert_int_equal(fcntl(fd, F_GETFD), -1);
		assert_int_equal(errno, EBADF);
	}
	return outcome;
}

/* To its end, @budget at a time; the text of the journal is complete then. */
static void replay_drain(struct replay *r, unsigned budget)
{
	assert_int_equal(drain_all(r->source, budget), SOURCE_E_END);
	fflush(r->journal.out);
}

static void replay_close(struct replay *r)
{
	source_free(r->source);
	journal_close(&r->journal);
}

static uint64_t replay_seen(struct replay *r, unsigned sampler)
{
	struct source_stats stats;

	assert_int_equal(source_get_stats(r->source, sampler, &stats), SOURCE_E_OK);
	assert_int_equal(stats.expected, stats.seen);
	return stats.seen;
}

static void test_round_trip(void **state)
{
	struct journal recorded;
	struct replay replay;
	int fd = record(&recorded, 200);

	(void)state;
	assert_int_equal(replay_open(&replay, fd), SOURCE_E_OK);
	add_sampler(replay.source, &spec);
	replay_drain(&replay, 7);
	assert_int_equal(source_drain(replay.source, 7), SOURCE_E_END);
	assert_null(source_replay_warning(replay.source));
	assert_int_equal(replay.journal.n_samples, 200);
	assert_int_equal(replay.journal.n_events, 400);
	assert_string_equal(recorded.text, replay.journal.text);
	assert_int_equal(replay_seen(&replay, 0), 200);
	replay_close(&replay);
	journal_close(&recorded);
}

/* Wherever the file is cut: the whole records are delivered, and a line says that it was. */
static void test_cut_anywhere(void **state)
{
	struct journal recorded;
	struct replay replay;
	int fd = record(&recorded, 4), r, cut_fd;
	off_t length = lseek(fd, 0, SEEK_END);
	uint8_t *bytes = malloc((size_t)length);
	unsigned n_clean = 0;

	(void)state;
	assert_non_null(bytes);
	assert_int_equal(pread(fd, bytes, (size_t)length, 0), length);
	for (off_t cut = 0; cut < length; cut += cut < 2000 ? 1 : 97) {
		const char *complaint;

		cut_fd = memfd_create("cut", MFD_CLOEXEC);
		assert_int_equal(write(cut_fd, bytes, (size_t)cut), cut);
		lseek(cut_fd, 0, SEEK_SET);
		r = replay_open(&replay, cut_fd);
		if (cut < REPLAY_HEAD_BYTES) {
			assert_int_equal(r, SOURCE_E_UNSUPPORTED);
			replay_close(&replay);
			continue;
		}
		assert_int_equal(r, SOURCE_E_OK);
		add_sampler(replay.source, &spec);
		replay_drain(&replay, 100);
		assert_int_equal(strncmp(recorded.text, replay.journal.text, replay.journal.length),
				 0);
		complaint = source_replay_warning(replay.source);
		if (!complaint)
			n_clean++;
		else
			assert_non_null(strstr(complaint, "cut off"));
		replay_close(&replay);
	}
	/* Between records nobody can tell: the head, one sampler, eleven of the twelve others. */
	assert_in_range(n_clean, 2, 13);
	free(bytes);
	close(fd);
	journal_close(&recorded);
}

static void test_damage(void **state)
{
	const uint8_t nonsense[8] = {0};
	struct journal recorded;
	struct replay replay;
	int fd = record(&recorded, 2);

	(void)state;
	assert_int_equal(pwrite(fd, nonsense, 8, REPLAY_HEAD_BYTES), 8);
	assert_int_equal(replay_open(&replay, fd), SOURCE_E_OK);
	add_sampler(replay.source, &spec);
	replay_drain(&replay, 100);
	assert_non_null(strstr(source_replay_warning(replay.source), "damaged at byte 12"));
	replay_close(&replay);
	journal_close(&recorded);
}

/* Samples find the sampler with their event and rate, wherever its index now is. */
static void test_sampler_choice(void **state)
{
	struct sampler_spec other = spec;
	struct journal recorded;
	struct replay replay;
	int fd = record(&recorded, 5);

	(void)state;
	other.rate = 99;
	assert_int_equal(replay_open(&replay, fd), SOURCE_E_OK);
	assert_int_equal(add_sampler(replay.source, &other), 0);
	assert_int_equal(add_sampler(replay.source, &spec), 1);
	replay_drain(&replay, 100);
	assert_int_equal(replay_seen(&replay, 1), 5);
	assert_int_equal(replay_seen(&replay, 0), 0);
	replay_close(&replay);
	journal_close(&recorded);
}

static void test_no_sampler(void **state)
{
	struct journal recorded;
	struct replay replay;
	int fd = record(&recorded, 5);

	(void)state;
	assert_int_equal(replay_open(&replay, fd), SOURCE_E_OK);
	replay_drain(&replay, 100);
	assert_non_null(strstr(source_replay_warning(replay.source), "5 recorded samples"));
	replay_close(&replay);
	journal_close(&recorded);
}

/* A full disk ends the recording, not the profiling. */
static void test_write_error(void **state)
{
	struct journal j;
	struct source_sink sink;
	struct recorder *recorder;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	journal_open(&j, &sink);
	assert_int_equal(recorder_new(&recorder, fd, &sink), 0);
	play_script(recorder_sink(recorder), 500);
	assert_true(recorder_close(recorder) < 0);
	assert_int_equal(j.n_samples, 500);
	journal_close(&j);
}

static void test_format_is_fixed(void **state)
{
	static const uint8_t head[] = {'p', 'r', 'o', 'f', 'd', 'r', 'p', 'l', 1, 0, 0, 0};
	static const uint64_t frames[] = {0x1122334455667788};
	static const uint8_t start[] = {2, 0, 0, 0, 84, 0, 0, 0, 0xe8, 3, 0, 0, 0, 0, 0, 0};
	const struct sample s = sample_at(1000, frames, 1);
	uint8_t bytes[REPLAY_RECORD_MAX];
	size_t length;

	(void)state;
	replay_encode_head(bytes);
	assert_memory_equal(bytes, head, sizeof(head));
	length = replay_encode_sample(&s, bytes);
	assert_int_equal(length, 92);
	assert_memory_equal(bytes, start, sizeof(start));
	assert_int_equal(bytes[length - 8], 0x88);
	assert_int_equal(bytes[length - 1], 0x11);
}

/* Encodes and decodes it; returns the outcome. */
static int code_sample(const struct sample *s, struct replay_record *ret)
{
	uint8_t bytes[REPLAY_RECORD_MAX];
	size_t length = replay_encode_sample(s, bytes), used;
	int r = replay_decode(bytes, length, ret, &used);

	if (r == REPLAY_E_OK)
		assert_int_equal(used, length);
	return r;
}

static void test_hostile_values(void **state)
{
	static struct replay_record record;
	static const uint64_t frames[] = {1, 2, 3};
	struct sample s = sample_at(1, frames, 3);
	struct process_event e = mmap_event;
	uint8_t bytes[REPLAY_RECORD_MAX];
	size_t length, used;

	(void)state;
	assert_int_equal(code_sample(&s, &record), REPLAY_E_OK);
	s.sampler = SAMPLERS_MAX;
	assert_int_equal(code_sample(&s, &record), REPLAY_E_MALFORMED);
	s = sample_at(1, frames, 3);
	s.n_kernel = 4;
	assert_int_equal(code_sample(&s, &record), REPLAY_E_MALFORMED);
	s = sample_at(1, frames, 3);
	memset(s.comm, 'x', sizeof(s.comm));
	assert_int_equal(code_sample(&s, &record), REPLAY_E_MALFORMED);
	e.kind = N_PROCESS_EVENTS;
	length = replay_encode_event(&e, bytes);
	assert_int_equal(replay_decode(bytes, length, &record, &used), REPLAY_E_MALFORMED);
	/* A record of the future is passed over. */
	length = replay_encode_event(&mmap_event, bytes);
	bytes[0] = 200;
	assert_int_equal(replay_decode(bytes, length, &record, &used), REPLAY_E_OK);
	assert_int_equal(used, length);
}

/* Ways for a stack to end that this version does not know. */
static void test_reasons_of_the_future(void **state)
{
	static struct replay_record record;
	static const uint64_t frames[] = {1, 2, 3};
	const struct {
		uint16_t quality, reason;
		bool known;
	} cases[] = {
		{STACK_COMPLETE, 0, true},
		{STACK_COMPLETE, 1, false},
		{STACK_TRUNCATED, N_TRUNCATED - 1, true},
		{STACK_TRUNCATED, N_TRUNCATED, false},
		{STACK_BROKEN, N_BROKEN - 1, true},
		{STACK_BROKEN, N_BROKEN, false},
		{N_STACK_QUALITY, 0, false},
		{UINT16_MAX, UINT16_MAX, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sample s = sample_at(1, frames, 3);

		s.quality = cases[i].quality;
		s.reason = cases[i].reason;
		assert_int_equal(code_sample(&s, &record), REPLAY_E_OK);
		assert_int_equal(record.sample.quality, cases[i].known ? s.quality : STACK_BROKEN);
		assert_int_equal(record.sample.reason, cases[i].known ? s.reason : BROKEN_UNKNOWN);
	}
}

static void check_rest(void *userdata, const struct sample *s)
{
	unsigned *n = userdata;

	(*n)++;
	assert_int_equal(s->frames[2], 3);
	assert_non_null(s->rest);
	assert_int_equal(s->rest->registers.pc, 0x77);
	assert_int_equal(s->rest->stack_length, 5);
	assert_memory_equal(s->rest->stack, "stack", 5);
}

/* The script has all of an unfinished sample, and nothing of its author's memory. */
static void test_script_of_an_unfinished_sample(void **state)
{
	unsigned n = 0;
	const struct source_sink sink = {.sample = check_rest, .userdata = &n};
	const struct source_options options = {.sink = &sink};
	uint8_t stack[] = {'s', 't', 'a', 'c', 'k'};
	struct sample_rest rest = {.registers.pc = 0x77,
				   .stack = stack,
				   .stack_length = sizeof(stack)};
	uint64_t frames[] = {1, 2, 3};
	struct sample s = sample_at(1, frames, 3);
	struct source *source = NULL;

	(void)state;
	s.rest = &rest;
	assert_int_equal(source_scripted_new(&source, &options), 0);
	add_sampler(source, &spec);
	assert_int_equal(source_scripted_add_sample(source, &s), 0);
	memset(stack, 0, sizeof(stack));
	memset(&rest, 0, sizeof(rest));
	memset(frames, 0, sizeof(frames));
	assert_int_equal(source_drain(source, 9), SOURCE_E_END);
	assert_int_equal(n, 1);
	source_free(source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_sampler_choice),
		cmocka_unit_test(test_no_sampler),
		cmocka_unit_test(test_write_error),
		cmocka_unit_test(test_format_is_fixed),
		cmocka_unit_test(test_hostile_values),
		cmocka_unit_test(test_reasons_of_the_future),
		cmocka_unit_test(test_script_of_an_unfinished_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

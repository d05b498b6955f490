/* SPDX-License-Identifier: MIT */
/*
 * The source of programs that sample themselves, over rings that the test writes as the library
 * does, or as no library would. This test is the process that is attached, with as many numbers as
 * it has children.
 */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/reasons.h"
#include "common/shim/ring_writer.h"
#include "daemon/ingest/source_shim.h"
#include "daemon/ledger.h"

#define MS            UINT64_C(1000000)
#define S             UINT64_C(1000000000)
#define DELIVERED_MAX 4096

struct delivered {
	struct sample sample;
	uint64_t leaf, root;
};

struct world {
	struct source_sink sink;
	struct source *source;
	struct delivered samples[DELIVERED_MAX];
	unsigned n_samples, n_exits, n_begun, n_looks;
	uint64_t weights, looked_ns;
	pid_t exited, begun;
	int begin_result;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * S + (uint64_t)ts.tv_nsec;
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * S + (uint64_t)ts.tv_nsec;
}

static void on_sample(void *userdata, const struct sample *sample)
{
	struct world *w = userdata;
	struct delivered *d = &w->samples[w->n_samples % DELIVERED_MAX];

	d->sample = *sample;
	assert_true(sample->n_frames > 0 && sample->n_frames <= SAMPLE_FRAMES_MAX);
	d->leaf = sample->frames[0];
	d->root = sample->frames[sample->n_frames - 1];
	d->sample.frames = NULL;
	w->n_samples++;
	w->weights += sample->weight;
}

static void on_event(void *userdata, const struct process_event *event)
{
	struct world *w = userdata;

	assert_int_equal(event->kind, PROCESS_EVENT_EXIT);
	w->n_exits++;
	w->exited = event->pid;
}

static int begin(void *userdata, pid_t pid, uint64_t *ret_start_ns)
{
	struct world *w = userdata;

	w->n_begun++;
	w->begun = pid;
	*ret_start_ns = 4711;
	return w->begin_result;
}

static int look(void *userdata, pid_t pid, uint64_t time_ns)
{
	struct world *w = userdata;

	(void)pid;
	w->n_looks++;
	w->looked_ns = time_ns;
	return 0;
}

static void open_source(struct world *w, uint64_t memory_bytes, bool is_idle)
{
	const struct source_shim_options options = {
		.source = {.sink = &w->sink, .memory_bytes = memory_bytes},
		.host = {.begin = begin, .look = look, .userdata = w},
		.is_idle = is_idle,
	};

	source_free(w->source);
	assert_int_equal(source_shim_new(&w->source, &options), 0);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->sink =
		(struct source_sink){.sample = on_sample, .process_event = on_event, .userdata = w};
	open_source(w, 0, false);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	source_free(w->source);
	free(w);
	return 0;
}

static int pidfd_of(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	assert_true(fd >= 0);
	return fd;
}

static int try_attach(struct world *w, struct source_shim_process process,
		      struct ring_writer *ret_writer)
{
	struct source_message message = {};
	const struct attach_ring *ring;
	int r;

	r = source_shim_attach(w->source, &process, pidfd_of(process.pid), &ring, &message);
	if (r) {
		assert_true(r > 0 && message.text[0]);
		return r;
	}
	if (ret_writer) {
		assert_true(ring_writer_open(ret_writer, ring->memory_fd,
					     fcntl(ring->bell_fd, F_DUPFD_CLOEXEC, 3)));
	}
	source_shim_sent(w->source, process.pid);
	return 0;
}

static void attach(struct world *w, pid_t pid, struct ring_writer *ret_writer)
{
	assert_int_equal(try_attach(w, (struct source_shim_process){.pid = pid, .privileged = true},
				    ret_writer),
			 0);
}

static struct sampler_spec spec_of(uint64_t hz, bool all)
{
	struct sampler_spec spec = {.rate = hz, .max_depth = 128, .all = all};

	strcpy(spec.event.name, "cpu-clock");
	spec.event.is_clock = true;
	return spec;
}

static unsigned add_sampler(struct world *w, uint64_t hz, bool all)
{
	const struct sampler_spec spec = spec_of(hz, all);
	struct source_message message;
	unsigned sampler;

	assert_int_equal(source_add_sampler(w->source, &spec, &sampler, &message), 0);
	return sampler;
}

static const uint64_t frames[] = {0x1000, 0x2000, 0x3000};

static struct ring_sample ring_sample(uint16_t hz)
{
	return (struct ring_sample){
		.time_ns = now_ns(),
		.tid = (uint32_t)getpid(),
		.weight = 1,
		.frequency = hz,
		.quality = STACK_COMPLETE,
		.comm = "worker",
		.frames = frames,
		.n_frames = 3,
	};
}

static void put(struct ring_writer *writer, uint16_t hz, unsigned n)
{
	const struct ring_sample sample = ring_sample(hz);

	for (unsigned i = 0; i < n; i++)
		assert_true(ring_writer_sample(writer, &sample));
}

static void drain(struct world *w)
{
	int r;

	do
		r = source_drain(w->source, 100);
	while (r == SOURCE_E_MORE);
	assert_int_equal(r, SOURCE_E_OK);
}

static struct source_stats stats_of(struct world *w, unsigned sampler)
{
	struct source_stats stats;

	assert_int_equal(source_get_stats(w->source, sampler, &stats), 0);
	assert_int_equal(stats.expected, stats.seen);
	return stats;
}

/* At rest: what was seen was delivered, or lost for a reason. */
static void assert_closed(struct world *w, unsigned sampler)
{
	struct source_stats stats = stats_of(w, sampler);
	uint64_t lost = 0;

	for (int i = 0; i < N_LOST; i++)
		lost += stats.lost[i];
	assert_int_equal(stats.seen, w->n_samples + lost);
}

static void burn(uint64_t ns)
{
	for (uint64_t until = cpu_ns() + ns; cpu_ns() < until;)
		;
}

static void test_a_sample(void **state)
{
	struct world *w = *state;
	uint64_t before = now_ns();
	struct ring_writer writer;
	struct ring_sample sample;
	const struct sample *got;
	unsigned sampler = add_sampler(w, 200, true);

	attach(w, getpid(), &writer);
	assert_int_equal(w->begun, getpid());
	assert_true(source_shim_has(w->source, getpid()));
	assert_int_equal(ring_writer_frequency(&writer), 200);
	sample = ring_sample(200);
	sample.weight = 3;
	sample.tid = 12345;
	assert_true(ring_writer_sample(&writer, &sample));
	drain(w);
	assert_int_equal(w->n_samples, 1);
	got = &w->samples[0].sample;
	assert_int_equal(got->weight, 15 * MS);
	assert_int_equal(got->pid, getpid());
	assert_int_equal(got->tid, 12345);
	assert_int_equal(got->start_ns, 4711);
	assert_int_equal(got->sampler, sampler);
	assert_int_equal(got->quality, STACK_COMPLETE);
	assert_int_equal(got->time_ns, sample.time_ns);
	assert_string_equal(got->comm, "worker");
	assert_int_equal(got->n_frames, 3);
	assert_int_equal(got->n_kernel, 0);
	assert_null(got->rest);
	assert_int_equal(w->samples[0].leaf, 0x1000);
	assert_closed(w, sampler);
	/* Times that cannot be are those of the attachment, and of the drain. */
	sample.time_ns = 1;
	assert_true(ring_writer_sample(&writer, &sample));
	sample.time_ns = UINT64_MAX;
	sample.quality = STACK_BROKEN;
	sample.reason = BROKEN_RULE;
	assert_true(ring_writer_sample(&writer, &sample));
	drain(w);
	assert_true(w->samples[1].sample.time_ns >= before);
	assert_true(w->samples[2].sample.time_ns <= now_ns());
	assert_int_equal(w->samples[2].sample.reason, BROKEN_RULE);
	ring_writer_close(&writer);
}

static void test_depth(void **state)
{
	struct world *w = *state;
	struct sampler_spec spec = spec_of(100, true);
	struct source_message message;
	uint64_t deep[RING_FRAMES_MAX];
	struct ring_sample sample = ring_sample(100);
	struct ring_writer writer;
	unsigned sampler;

	spec.max_depth = 16;
	assert_int_equal(source_add_sampler(w->source, &spec, &sampler, &message), 0);
	for (unsigned i = 0; i < RING_FRAMES_MAX; i++)
		deep[i] = i + 1;
	/* Kernel and image frames are not the process's to name. */
	deep[0] = UINT64_C(0xffffffff81000000);
	deep[1] = UINT64_C(0x1000000100000040);
	sample.frames = deep;
	sample.n_frames = RING_FRAMES_MAX;
	attach(w, getpid(), &writer);
	assert_true(ring_writer_sample(&writer, &sample));
	drain(w);
	assert_int_equal(w->samples[0].sample.n_frames, 16);
	assert_int_equal(w->samples[0].sample.quality, STACK_TRUNCATED);
	assert_int_equal(w->samples[0].sample.reason, TRUNCATED_DEPTH);
	assert_int_equal(w->samples[0].leaf, 0);
	assert_int_equal(w->samples[0].root, 16);
	ring_writer_close(&writer);
}

static void test_who_wants_what(void **state)
{
	struct world *w = *state;
	struct ring_writer writer;
	unsigned slow, fast;

	attach(w, getpid(), &writer);
	assert_int_equal(ring_writer_frequency(&writer), 0);
	slow = add_sampler(w, 99, false);
	assert_int_equal(ring_writer_frequency(&writer), 0);
	assert_int_equal(source_add_pid(w->source, slow, getpid(), false), 0);
	assert_int_equal(source_add_pid(w->source, slow, 1, false), SOURCE_E_GONE);
	assert_int_equal(ring_writer_frequency(&writer), 99);
	fast = add_sampler(w, 1000, false);
	assert_int_equal(ring_writer_frequency(&writer), 99);
	assert_int_equal(source_set_all(w->source, fast, true), 0);
	assert_int_equal(ring_writer_frequency(&writer), 1000);
	assert_int_equal(source_remove_pid(w->source, slow, getpid()), 0);
	put(&writer, 1000, 3);
	drain(w);
	assert_int_equal(w->n_samples, 3);
	assert_int_equal(w->samples[0].sample.sampler, fast);
	put(&writer, 1000, 2);
	assert_int_equal(source_remove_sampler(w->source, fast), 0);
	assert_int_equal(w->n_samples, 5); /* the last ones are not left in the ring */
	assert_int_equal(ring_writer_frequency(&writer), 0);
	assert_closed(w, fast);
	/* What comes after is nobody's. */
	put(&writer, 1000, 2);
	drain(w);
	slow = add_sampler(w, 500, true);
	drain(w);
	assert_int_equal(stats_of(w, fast).seen, 5);
	assert_int_equal(stats_of(w, slow).seen, 0);
	assert_int_equal(w->n_samples, 5);
	ring_writer_close(&writer);
}

static void test_two_rates(void **state)
{
	struct world *w = *state;
	unsigned slow = add_sampler(w, 99, true), fast = add_sampler(w, 990, true);
	struct ring_writer writer;
	uint64_t weights[2] = {};

	attach(w, getpid(), &writer);
	assert_int_equal(ring_writer_frequency(&writer), 990);
	for (int i = 0; i < 10; i++) {
		burn(100 * MS);
		put(&writer, 990, 99);
		drain(w);
	}
	for (unsigned i = 0; i < w->n_samples; i++)
		weights[w->samples[i].sample.sampler == fast] += w->samples[i].sample.weight;
	assert_int_equal(stats_of(w, fast).seen, 990);
	assert_in_range(stats_of(w, slow).seen, 98, 99);
	assert_in_range(weights[1], S - MS, S);
	assert_in_range(weights[0], S - 20 * MS, S);
	assert_int_equal(stats_of(w, fast).disbelieved, 0);
	ring_writer_close(&writer);
}

static void test_refused_samplers(void **state)
{
	struct world *w = *state;
	struct source_message message = {};
	struct sampler_spec spec = spec_of(4001, true);
	unsigned sampler;

	assert_int_equal(source_add_sampler(w->source, &spec, &sampler, &message),
			 SOURCE_E_UNSUPPORTED);
	assert_non_null(strstr(message.text, "4000"));
	spec = spec_of(99, true);
	spec.event.is_clock = false;
	strcpy(spec.event.name, "cycles");
	assert_int_equal(source_add_sampler(w->source, &spec, &sampler, &message),
			 SOURCE_E_UNSUPPORTED);
	assert_non_null(strstr(message.text, "cycles"));
	for (int i = 0; i < SAMPLERS_MAX; i++)
		add_sampler(w, 10, true);
	spec = spec_of(99, true);
	assert_int_equal(source_add_sampler(w->source, &spec, &sampler, &message), SOURCE_E_FULL);
}

/* It says that it lost, and then that it had, more than there can be. */
static void test_lies(void **state)
{
	struct world *w = *state;
	unsigned sampler = add_sampler(w, 1000, true);
	struct ring_sample heavy = ring_sample(1000);
	uint64_t used = cpu_ns(), ran, lost;
	struct ring_writer writer;
	struct source_stats stats;

	attach(w, getpid(), &writer);
	heavy.weight = 1u << 20;
	for (int i = 0; i < 50; i++) {
		ring_writer_sample(&writer, &heavy);
		atomic_store(&writer.page->counters.lost, i % 2 ? UINT64_MAX : 1);
		atomic_store(&writer.page->counters.filtered, UINT64_MAX - (uint64_t)i);
		atomic_store(&writer.page->counters.seen, (uint64_t)i);
		drain(w);
		burn(MS);
	}
	ran = cpu_ns() - used;
	stats = stats_of(w, sampler);
	lost = stats.lost[LOST_RING_FULL] + stats.lost[LOST_MALFORMED];
	assert_true(w->weights + lost * MS <= ran + ran / 8 + 101 * MS);
	assert_true(stats.disbelieved > 0);
	assert_closed(w, sampler);
	/* At its end, what it claimed to have seen is bounded by the same. */
	atomic_store(&writer.page->counters.seen, UINT64_MAX);
	ring_writer_close(&writer);
	drain(w);
	ran = cpu_ns() - used;
	stats = stats_of(w, sampler);
	lost = stats.lost[LOST_RING_FULL] + stats.lost[LOST_MALFORMED];
	assert_true(w->weights + lost * MS <= ran + ran / 8 + 101 * MS);
	assert_closed(w, sampler);
	assert_false(source_shim_has(w->source, getpid()));
}

static void test_lost(void **state)
{
	struct world *w = *state;
	unsigned sampler = add_sampler(w, 1000, true);
	struct ring_writer writer;

	attach(w, getpid(), &writer);
	put(&writer, 1000, 5);
	atomic_store(&writer.page->counters.seen, 5 + 7 + 2 + 3);
	atomic_store(&writer.page->counters.complete, 5);
	atomic_store(&writer.page->counters.lost, 7);
	atomic_store(&writer.page->counters.filtered, 2);
	drain(w);
	assert_int_equal(w->n_samples, 5);
	assert_int_equal(stats_of(w, sampler).lost[LOST_RING_FULL], 7);
	assert_int_equal(stats_of(w, sampler).lost[LOST_MALFORMED], 0);
	assert_int_equal(stats_of(w, sampler).excluded, 2);
	/* Three that it was at work on, when it ended. */
	ring_writer_close(&writer);
	drain(w);
	assert_int_equal(stats_of(w, sampler).lost[LOST_MALFORMED], 3);
	assert_closed(w, sampler);
}

static void test_other_mappings(void **state)
{
	struct world *w = *state;
	struct ring_writer writer;
	struct ring_sample sample;

	add_sampler(w, 1000, true);
	attach(w, getpid(), &writer);
	sample = ring_sample(1000);
	for (sample.generation = 1; sample.generation < 50; sample.generation++)
		assert_true(ring_writer_sample(&writer, &sample));
	drain(w);
	assert_int_equal(w->n_samples, 49);
	/* Once at first; a process cannot have them looked at all the time. */
	assert_int_equal(w->n_looks, 1);
	assert_int_equal(w->looked_ns, sample.time_ns);
	usleep(150000);
	assert_true(ring_writer_sample(&writer, &sample));
	drain(w);
	assert_int_equal(w->n_looks, 2);
	usleep(150000);
	assert_true(ring_writer_sample(&writer, &sample));
	drain(w);
	assert_int_equal(w->n_looks, 2);
	/* With the bell gone, they would be another program's. */
	sample.generation++;
	usleep(150000);
	assert_true(ring_writer_sample(&writer, &sample));
	ring_writer_close(&writer);
	drain(w);
	assert_int_equal(w->n_samples, 52);
	assert_int_equal(w->n_looks, 2);
}

/* A child that waits for its end. */
static pid_t make_child(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_ends(void **state)
{
	struct world *w = *state;
	struct ring_writer writer, again;
	pid_t pid = make_child();
	unsigned sampler = add_sampler(w, 100, true);
	size_t done = 0;

	attach(w, pid, &writer);
	put(&writer, 100, 4);
	/* Another program of the same process: what the first one left is not lost. */
	attach(w, pid, &again);
	assert_int_equal(w->n_samples, 4);
	assert_int_equal(w->n_begun, 2);
	assert_int_equal(w->n_exits, 0);
	assert_int_equal(source_shim_count(w->source), 1);
	ring_writer_close(&writer);
	put(&again, 100, 3);
	/* Of the mappings that it tells nothing is kept, and nothing is lost by them. */
	assert_true(ring_writer_maps(&again, 1, "1000-2000 r-xp 0 0:0 0 x\n", 24, &done));
	end_child(pid); /* though we have the bell, as a child of its own would */
	drain(w);
	assert_int_equal(w->n_samples, 7);
	assert_closed(w, sampler);
	assert_int_equal(stats_of(w, sampler).seen, 7);
	assert_int_equal(w->n_exits, 1);
	assert_int_equal(w->exited, pid);
	assert_int_equal(source_shim_count(w->source), 0);
	ring_writer_close(&again);
	drain(w);
	/* One that closes its bell has left; its end is told when it comes. */
	pid = make_child();
	attach(w, pid, &writer);
	ring_writer_close(&writer);
	drain(w);
	assert_false(source_shim_has(w->source, pid));
	assert_int_equal(w->n_exits, 1);
	end_child(pid);
	drain(w);
	assert_int_equal(w->n_exits, 2);
	assert_int_equal(w->exited, pid);
}

static void test_gone_at_once(void **state)
{
	struct world *w = *state;
	pid_t pid = make_child();
	const struct source_shim_process process = {.pid = pid};

	w->begin_result = SOURCE_E_GONE;
	assert_int_equal(try_attach(w, process, NULL), SOURCE_E_GONE);
	assert_int_equal(source_shim_count(w->source), 0);
	w->begin_result = 0;
	assert_int_equal(try_attach(w, process, NULL), 0);
	source_shim_drop(w->source, pid);
	assert_int_equal(source_shim_count(w->source), 0);
	end_child(pid);
	drain(w);
	assert_int_equal(w->n_exits, 2);
}

static unsigned count_fds(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 4096; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_places(void **state)
{
	struct world *w = *state;
	unsigned n_fds = count_fds(), n = 0;
	struct source_shim_process process = {.uid = 1000};
	pid_t pids[64];

	open_source(w, 16 * (RING_PAGE + 8 * (UINT64_C(1) << 14)), false);
	for (int i = 0; i < 40; i++) {
		pids[i] = make_child();
		process.pid = pids[i];
		n += try_attach(w, process, NULL) == 0;
	}
	assert_true(n > 0 && n <= 4); /* a quarter is one stranger's */
	for (int i = 0; i < 20; i++) {
		process = (struct source_shim_process){.pid = pids[i], .uid = 2000 + (uid_t)i};
		n += !source_shim_has(w->source, pids[i]) && try_attach(w, process, NULL) == 0;
	}
	assert_true(n > 4 && n <= 12); /* three quarters are all strangers' */
	for (int i = 20; i < 40; i++) {
		process = (struct source_shim_process){.pid = pids[i], .privileged = true};
		n += try_attach(w, process, NULL) == 0;
	}
	assert_true(n > 12 && n <= 16);
	assert_int_equal(source_shim_count(w->source), n);
	for (int i = 0; i < 40; i++)
		end_child(pids[i]);
	drain(w);
	assert_int_equal(source_shim_count(w->source), 0);
	assert_int_equal(count_fds(), n_fds);
}

/* One that asks again and again, as if it executed one program after the other. */
static void test_pace(void **state)
{
	struct world *w = *state;
	struct source_shim_process process = {.pid = getpid(), .uid = 1000};
	unsigned n = 0;

	for (int i = 0; i < 1000; i++)
		n += try_attach(w, process, NULL) == 0;
	assert_in_range(n, 100, 200);
	assert_int_equal(w->n_begun, n);
	process.privileged = true;
	assert_int_equal(try_attach(w, process, NULL), 0);
}

/* Words of any kind, all over the ring and its page, while another process is sampled. */
static void test_scribbles(void **state)
{
	struct world *w = *state;
	unsigned sampler = add_sampler(w, 1000, true), n_good = 0;
	struct ring_writer bad, good;
	pid_t pid = make_child();

	attach(w, pid, &good);
	for (unsigned round = 0; round < 300; round++) {
		uint64_t *words;

		attach(w, getpid(), &bad);
		words = (uint64_t *)(void *)bad.words;
		srand(round);
		for (unsigned i = 0; i < bad.n_words; i += 1 + (unsigned)rand() % 8)
			words[i] = rand() % 2 ? RING_COMMITTED | RING_HEAD(rand() % 4, rand() % 40)
					      : (uint64_t)rand() << 33 ^ (uint64_t)rand();
		atomic_store(&bad.page->head, round % 3 ? (uint64_t)rand() % (2 * bad.n_words)
							: (uint64_t)rand() << 40);
		atomic_store(&bad.page->tail, (uint64_t)rand());
		bad.page->n_words = (uint64_t)rand() << 20;
		put(&good, 1000, 1);
		n_good++;
		drain(w);
		ring_writer_close(&bad);
	}
	drain(w);
	for (unsigned i = 0; i < w->n_samples && i < DELIVERED_MAX; i++)
		n_good -= w->samples[i].sample.pid == pid;
	/* Its own CPU time is none; what it had at first was enough for these. */
	assert_true(n_good < 300);
	assert_closed(w, sampler);
	end_child(pid);
	ring_writer_close(&good);
}

/* Who rings without end does not keep profd awake. */
static void test_ringing(void **state)
{
	struct world *w = *state;
	struct pollfd fd = {.fd = source_fd(w->source), .events = POLLIN};
	uint64_t until = now_ns() + 300 * MS;
	struct ring_writer writer;
	unsigned n_wakes = 0;
	char byte = 0;

	add_sampler(w, 100, true);
	attach(w, getpid(), &writer);
	assert_true(send(writer.bell, &byte, 1, MSG_DONTWAIT) == 1);
	assert_int_equal(poll(&fd, 1, 1000), 1);
	while (now_ns() < until) {
		send(writer.bell, &byte, 1, MSG_DONTWAIT);
		if (poll(&fd, 1, 0) == 1) {
			n_wakes++;
			drain(w);
		}
	}
	/* A bell, and the gate, each 10 ms. */
	assert_in_range(n_wakes, 2, 80);
	ring_writer_close(&writer);
	drain(w);
	usleep(20000);
	drain(w);
	assert_false(source_shim_has(w->source, getpid()));
}

static void test_beside_another_source(void **state)
{
	struct world *w = *state;
	struct ring_writer writer;
	pid_t pid = make_child();

	open_source(w, 1 << 20, true);
	attach(w, pid, &writer);
	assert_int_equal(ring_writer_frequency(&writer), 0);
	assert_int_equal(w->n_begun, 0);
	put(&writer, 100, 10);
	drain(w);
	end_child(pid);
	drain(w);
	assert_int_equal(w->n_samples + w->n_exits, 0);
	assert_int_equal(source_shim_count(w->source), 0);
	ring_writer_close(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_sample, setup, teardown),
		cmocka_unit_test_setup_teardown(test_depth, setup, teardown),
		cmocka_unit_test_setup_teardown(test_who_wants_what, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_rates, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_samplers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_mappings, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gone_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_places, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pace, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scribbles, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ringing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_beside_another_source, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

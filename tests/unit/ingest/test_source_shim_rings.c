/* SPDX-License-Identifier: MIT */
/* What rings hold, and what those of strangers may hold. */
#include "tests/unit/ingest/shim_fixture.h"

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
	assert_true(stats.excess_ticks > 0);
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
	struct pollfd fd = {.fd = w->source->fd, .events = POLLIN};
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_sample, setup, teardown),
		cmocka_unit_test_setup_teardown(test_depth, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_mappings, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scribbles, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ringing, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Both ends of a ring: what is written is read, whoever writes at once, and whatever is in there.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/reasons.h"
#include "common/shim/attach.h"
#include "common/shim/ring_reader.h"
#include "common/shim/ring_writer.h"

#define N_THREADS 4
#define N_SAMPLES 20000
#define ALL       SIZE_MAX

struct ends {
	struct attach_ring ring;
	struct ring_writer writer;

	/* What was handed over. */
	uint64_t n_samples, n_maps, n_bad;
	uint64_t weights[N_THREADS + 1], last_time[N_THREADS + 1];
	struct ring_sample last;
	uint64_t frames[RING_FRAMES_MAX];
	uint32_t generation;
	char *text;
	size_t text_length;
};

static void begin(struct ends *ends, uint32_t n_words)
{
	memset(ends, 0, sizeof(*ends));
	assert_int_equal(attach_ring_init(&ends->ring, n_words), 0);
	assert_true(ring_writer_open(&ends->writer, ends->ring.memory_fd, ends->ring.bell_fd));
	ends->ring.bell_fd = -1;
}

static void end(struct ends *ends)
{
	ring_writer_close(&ends->writer);
	attach_ring_deinit(&ends->ring);
	free(ends->text);
}

/* The sample number @i of thread @tid: everything follows from the two. */
static struct ring_sample make_sample(uint32_t tid, uint64_t i, uint64_t frames[RING_FRAMES_MAX])
{
	struct ring_sample sample = {
		.time_ns = i,
		.tid = tid,
		.weight = 1 + (uint32_t)(i % 3),
		.generation = (uint32_t)(i / 100),
		.frequency = (uint16_t)(1 + i % RING_FREQUENCY_MAX),
		.quality = i % 5 ? STACK_COMPLETE : STACK_BROKEN,
		.reason = i % 5 ? 0 : (uint8_t)(i / 5 % N_BROKEN),
		.frames = frames,
		.n_frames = 1 + (uint32_t)((i * 7 + tid) % 40),
	};

	memcpy(sample.comm, "thread\0behind it", RING_COMM);
	for (uint32_t j = 0; j < sample.n_frames; j++)
		frames[j] = (i << 16 | (uint64_t)tid << 8 | j) & UINT64_C(0x0fffffffffffffff);
	return sample;
}

static bool is_as_made(const struct ring_sample *s)
{
	uint64_t frames[RING_FRAMES_MAX];
	struct ring_sample made = make_sample(s->tid, s->time_ns, frames);

	return s->weight == made.weight && s->generation == made.generation &&
	       s->frequency == made.frequency && s->quality == made.quality &&
	       s->reason == made.reason && s->n_frames == made.n_frames &&
	       !strcmp(s->comm, "thread") &&
	       !memcmp(s->frames, frames, s->n_frames * sizeof(*frames));
}

static void on_sample(void *userdata, const struct ring_sample *sample)
{
	struct ends *ends = userdata;

	ends->n_samples++;
	ends->last = *sample;
	ends->last.frames = ends->frames;
	memcpy(ends->frames, sample->frames, sample->n_frames * sizeof(*sample->frames));
	if (sample->tid > N_THREADS)
		return;
	if (!is_as_made(sample) ||
	    (ends->weights[sample->tid] && sample->time_ns <= ends->last_time[sample->tid]))
		ends->n_bad++;
	ends->weights[sample->tid] += sample->weight;
	ends->last_time[sample->tid] = sample->time_ns;
}

static void on_maps(void *userdata, uint32_t generation, const char *text, size_t length)
{
	struct ends *ends = userdata;

	ends->n_maps++;
	ends->generation = generation;
	free(ends->text);
	ends->text = malloc(length);
	assert_non_null(ends->text);
	memcpy(ends->text, text, length);
	ends->text_length = length;
}

static int drain(struct ends *ends, size_t budget, bool is_last)
{
	const struct ring_sink sink = {on_sample, on_maps, ends};

	return ring_reader_drain(ends->ring.reader, budget, is_last, &sink);
}

static void test_both_ends(void **state)
{
	uint64_t frames[RING_FRAMES_MAX];
	struct ring_sample sample;
	struct ends ends;

	(void)state;
	begin(&ends, RING_WORDS_MIN);
	assert_int_equal(drain(&ends, ALL, false), RING_READER_E_OK);
	/* Many times around. */
	for (uint64_t i = 0; i < 20000; i++) {
		sample = make_sample(1, i, frames);
		assert_true(ring_writer_sample(&ends.writer, &sample));
		assert_int_equal(drain(&ends, ALL, false), RING_READER_E_OK);
		assert_int_equal(ends.n_samples, i + 1);
	}
	assert_int_equal(ends.n_bad, 0);
	/* The longest one. */
	sample = make_sample(1, 20000, frames);
	sample.n_frames = RING_FRAMES_MAX;
	sample.tid = 99;
	assert_true(ring_writer_sample(&ends.writer, &sample));
	assert_int_equal(drain(&ends, ALL, false), RING_READER_E_OK);
	assert_int_equal(ends.last.n_frames, RING_FRAMES_MAX);
	end(&ends);
}

static void test_frequency(void **state)
{
	struct ends ends;

	(void)state;
	begin(&ends, RING_WORDS_MIN);
	assert_int_equal(ring_writer_frequency(&ends.writer), 0);
	ring_reader_set_frequency(ends.ring.reader, 99);
	assert_int_equal(ring_writer_frequency(&ends.writer), 99);
	ring_reader_set_frequency(ends.ring.reader, UINT32_MAX);
	assert_int_equal(ring_writer_frequency(&ends.writer), RING_FREQUENCY_MAX);
	end(&ends);
}

static void test_full(void **state)
{
	uint64_t frames[RING_FRAMES_MAX], n_written = 0;
	struct ring_sample sample;
	struct ends ends;
	char bytes[64];

	(void)state;
	begin(&ends, RING_WORDS_MIN);
	for (uint64_t i = 0; i < 4000; i++) {
		sample = make_sample(1, i, frames);
		if (!ring_writer_sample(&ends.writer, &sample))
			break;
		n_written++;
	}
	assert_true(n_written > 100 && n_written < 4000);
	/* The bell was rung once: when half of it was full. */
	assert_int_equal(recv(ends.ring.bell, bytes, sizeof(bytes), 0), 1);
	assert_int_equal(recv(ends.ring.bell, bytes, sizeof(bytes), 0), -1);
	/* A bit at a time, and in the end all of it. */
	assert_int_equal(drain(&ends, 100, false), RING_READER_E_MORE);
	assert_in_range(ends.n_samples, 2, 15);
	while (drain(&ends, 100, false) == RING_READER_E_MORE)
		;
	assert_int_equal(ends.n_samples, n_written);
	assert_int_equal(ends.n_bad, 0);
	sample = make_sample(1, 5000, frames);
	assert_true(ring_writer_sample(&ends.writer, &sample));
	end(&ends);
}

static void test_server(void **state)
{
	struct ends ends;

	(void)state;
	begin(&ends, RING_WORDS_MIN);
	assert_true(ring_writer_has_server(&ends.writer));
	close(ends.ring.bell);
	ends.ring.bell = -1;
	assert_false(ring_writer_has_server(&ends.writer));
	/* That cannot be known. */
	close(ends.writer.bell);
	assert_true(ring_writer_has_server(&ends.writer));
	end(&ends);
}

static void test_bell(void **state)
{
	uint64_t frames[RING_FRAMES_MAX];
	struct ring_sample sample = make_sample(1, 3, frames);
	struct ends ends;
	int pipes[2];
	char byte;

	(void)state;
	begin(&ends, RING_WORDS_MIN);
	/* A program that takes the descriptor for its own things. */
	assert_int_equal(pipe2(pipes, O_NONBLOCK | O_CLOEXEC), 0);
	assert_int_equal(dup2(pipes[1], ends.writer.bell), ends.writer.bell);
	while (ring_writer_sample(&ends.writer, &sample))
		;
	assert_int_equal(read(pipes[0], &byte, 1), -1);
	assert_int_equal(errno, EAGAIN);
	/* Its end is closed: so the process may be gone. */
	assert_int_equal(recv(ends.ring.bell, &byte, 1, 0), 0);
	pipes[0] = ends.writer.bell;
	ring_writer_close(&ends.writer);
	assert_true(fcntl(pipes[0], F_GETFD) >= 0);
	close(pipes[0]);
	end(&ends);
}

static void fill_text(char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		text[i] = (char)('a' + i % 25);
}

static void test_maps(void **state)
{
	static char text[100001];
	uint64_t frames[RING_FRAMES_MAX];
	struct ring_sample sample = make_sample(1, 1, frames);
	size_t done = 0;
	struct ends ends;

	(void)state;
	fill_text(text, sizeof(text));
	begin(&ends, RING_WORDS_MIN);
	/* More than fits in: the rest follows when there is room. */
	assert_false(ring_writer_maps(&ends.writer, 7, text, sizeof(text), &done));
	assert_in_range(done, RING_MAPS_PART, RING_WORDS_MIN * 8);
	assert_int_equal(drain(&ends, ALL, false), RING_READER_E_OK);
	assert_int_equal(ends.n_maps, 0);
	assert_true(ring_writer_sample(&ends.writer, &sample));
	assert_true(ring_writer_maps(&ends.writer, 7, text, sizeof(text), &done));
	assert_int_equal(drain(&ends, ALL, false), RING_READER_E_OK);
	assert_int_equal(ends.n_maps, 1);
	assert_int_equal(ends.generation, 7);
	assert_int_equal(ends.text_length, sizeof(text));
	assert_memory_equal(ends.text, text, sizeof(text));
	/* Given up for the next one, in the middle. */
	done = 0;
	assert_false(ring_writer_maps(&ends.writer, 8, text, sizeof(text), &done));
	assert_int_equal(drain(&ends, ALL, false), RING_READER_E_OK);
	done = 0;
	assert_true(ring_writer_maps(&ends.writer, 9, text, 13, &done));
	assert_int_equal(drain(&ends, ALL, false), RING_READER_E_OK);
	assert_int_equal(ends.n_maps, 2);
	assert_int_equal(ends.generation, 9);
	assert_int_equal(ends.text_length, 13);
	end(&ends);
}

struct producer {
	struct ring_writer *writer;
	uint32_t tid;
	uint64_t weight; /* of what went in */
	uint64_t n_lost;
};

static void *produce(void *userdata)
{
	struct producer *p = userdata;
	uint64_t frames[RING_FRAMES_MAX];

	for (uint64_t i = 1; i <= N_SAMPLES; i++) {
		struct ring_sample sample = make_sample(p->tid, i, frames);

		if (ring_writer_sample(p->writer, &sample)) {
			p->weight += sample.weight;
		} else {
			p->n_lost++;
			sched_yield();
		}
	}
	return NULL;
}

static void test_many_producers(void **state)
{
	struct producer producers[N_THREADS];
	pthread_t threads[N_THREADS];
	struct ring_ledger ledger;
	uint64_t sum = 0, n_lost = 0;
	struct ends ends;

	(void)state;
	begin(&ends, RING_WORDS_MIN);
	for (uint32_t i = 0; i < N_THREADS; i++) {
		producers[i] = (struct producer){.writer = &ends.writer, .tid = i + 1};
		assert_int_equal(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
	}
	for (unsigned i = 0; i < 200000 && ends.last_time[1] < N_SAMPLES; i++) {
		assert_in_range(drain(&ends, 2000, false), RING_READER_E_OK, RING_READER_E_MORE);
		sched_yield();
	}
	for (uint32_t i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(drain(&ends, ALL, true), RING_READER_E_OK);
	assert_int_equal(ends.n_bad, 0);
	for (uint32_t i = 0; i < N_THREADS; i++) {
		assert_int_equal(ends.weights[i + 1], producers[i].weight);
		sum += producers[i].weight;
		n_lost += producers[i].n_lost;
	}
	assert_int_equal(ends.n_samples, N_THREADS * N_SAMPLES - n_lost);
	assert_true(ends.n_samples > N_SAMPLES / 10);
	ring_reader_ledger(ends.ring.reader, &ledger);
	assert_int_equal(ledger.taken, sum);
	assert_int_equal(ledger.malformed + ledger.torn, 0);
	end(&ends);
}

/* A process that was killed between the first word of a record and its last. */
static void test_torn(void **state)
{
	uint64_t frames[RING_FRAMES_MAX], at;
	struct ring_sample sample = make_sample(1, 1, frames);
	struct ring_ledger ledger;
	struct ends ends;

	(void)state;
	begin(&ends, RING_WORDS_MIN);
	assert_true(ring_writer_sample(&ends.writer, &sample));
	at = atomic_load(&ends.writer.page->head);
	atomic_fetch_add(&ends.writer.page->head, 20);
	atomic_store(&ends.writer.words[at], RING_HEAD(RING_SAMPLE, 20));
	sample = make_sample(1, 2, frames);
	assert_true(ring_writer_sample(&ends.writer, &sample));
	/* Its length was not even there. */
	atomic_fetch_add(&ends.writer.page->head, 20);
	assert_true(ring_writer_sample(&ends.writer, &sample));
	assert_int_equal(drain(&ends, ALL, false), RING_READER_E_OK);
	assert_int_equal(ends.n_samples, 1);
	assert_int_equal(drain(&ends, ALL, true), RING_READER_E_OK);
	assert_int_equal(ends.n_samples, 2);
	ring_reader_ledger(ends.ring.reader, &ledger);
	assert_int_equal(ledger.torn, 1);
	end(&ends);
}

static void test_ledger(void **state)
{
	struct ring_ledger ledger;
	struct ends ends;

	(void)state;
	begin(&ends, RING_WORDS_MIN);
	atomic_store(&ends.writer.page->counters.seen, 10);
	atomic_store(&ends.writer.page->counters.complete, 7);
	atomic_store(&ends.writer.page->counters.lost, 2);
	ring_reader_ledger(ends.ring.reader, &ledger);
	assert_int_equal(ledger.seen, 10);
	assert_int_equal(ledger.complete, 7);
	assert_int_equal(ledger.lost, 2);
	/* One who lies. */
	atomic_store(&ends.writer.page->counters.filtered, UINT64_MAX);
	ring_reader_ledger(ends.ring.reader, &ledger);
	assert_true(ledger.seen >= ledger.filtered);
	assert_int_equal(ledger.seen, ledger.complete + ledger.lost + ledger.filtered);
	end(&ends);
}

/* A record whose payload is @words behind its head word, of which @n are the length. */
static void write_raw(struct ends *ends, uint64_t head, const uint64_t *words, uint64_t n)
{
	struct ring_writer *w = &ends->writer;
	uint64_t at = atomic_fetch_add(&w->page->head, n);

	for (uint64_t i = 1; i < n; i++)
		atomic_store(&w->words[(at + i) & (w->n_words - 1)], words[i - 1]);
	atomic_store(&w->words[at & (w->n_words - 1)], head);
}

#define SAMPLE_WORDS(weight, frequency, quality)                                                \
	{                                                                                       \
		5, 7ull << 32 | (weight), (uint64_t)(frequency) << 16 | (quality), 0, 0, 0x1000 \
	}

static void test_malformed(void **state)
{
	static const uint64_t bad[][6] = {
		SAMPLE_WORDS(0, 99, STACK_COMPLETE),
		SAMPLE_WORDS(UINT32_MAX, 99, STACK_COMPLETE),
		SAMPLE_WORDS(1, 0, STACK_COMPLETE),
		SAMPLE_WORDS(1, RING_FREQUENCY_MAX + 1, STACK_COMPLETE),
		SAMPLE_WORDS(1, 99, STACK_NO_USER),
		SAMPLE_WORDS(1, 99, STACK_GUESSED), /* libprofd guesses nothing */
		SAMPLE_WORDS(1, 99, N_STACK_QUALITY),
		SAMPLE_WORDS(1, 99, 1 << 8 | STACK_COMPLETE),
		SAMPLE_WORDS(1, 99, N_TRUNCATED << 8 | STACK_TRUNCATED),
		SAMPLE_WORDS(1, 99, N_BROKEN << 8 | STACK_BROKEN),
	};
	static const uint64_t kernel[] = {5, 7ull << 32 | 1, 99 << 16, 0, 0, UINT64_MAX - 5};
	const size_t n_bad = sizeof(bad) / sizeof(bad[0]);
	struct ring_ledger ledger;
	struct ends ends;

	(void)state;
	begin(&ends, RING_WORDS_MIN);
	for (size_t i = 0; i < n_bad; i++)
		write_raw(&ends, RING_HEAD(RING_SAMPLE, 7) | RING_COMMITTED, bad[i], 7);
	/* No frames at all; and another type. */
	write_raw(&ends, RING_HEAD(RING_SAMPLE, 6) | RING_COMMITTED, kernel, 6);
	write_raw(&ends, RING_HEAD(RING_SAMPLE, 1) | RING_COMMITTED, kernel, 1);
	write_raw(&ends, RING_HEAD(77, 7) | RING_COMMITTED, kernel, 7);
	assert_int_equal(drain(&ends, ALL, false), RING_READER_E_OK);
	assert_int_equal(ends.n_samples, 0);
	ring_reader_ledger(ends.ring.reader, &ledger);
	assert_int_equal(ledger.malformed, n_bad + 3);
	/* What follows is read; what is no user's address is none. */
	write_raw(&ends, RING_HEAD(RING_SAMPLE, 7) | RING_COMMITTED, kernel, 7);
	assert_int_equal(drain(&ends, ALL, false), RING_READER_E_OK);
	assert_int_equal(ends.n_samples, 1);
	assert_int_equal(ends.last.tid, 7);
	assert_int_equal(ends.frames[0], 0);
	end(&ends);
}

static void test_malformed_maps(void **state)
{
	const uint64_t text = UINT64_C(0x6161616161616161);
	const uint64_t bad[][3] = {
		{1ull << 32, 8ull << 32, text},              /* nothing in it */
		{1ull << 32 | 9, 9ull << 32, text},          /* more than is there */
		{1ull << 32 | 8, 7ull << 32, text},          /* more than in all */
		{1ull << 32 | 8, 16ull << 32 | 8, text},     /* there was no first part */
		{1ull << 32 | 8, 8ull << 32 | 16, text},     /* behind the end */
		{1ull << 32 | 8, 0xffffffffull << 32, text}, /* too long */
		{1ull << 32 | 8, 8ull << 32, text >> 8},     /* a NUL */
	};
	const uint64_t good[] = {5ull << 32 | 8, 8ull << 32, text};
	const uint64_t half[] = {6ull << 32 | 8, 16ull << 32, text};
	const uint64_t same[] = {6ull << 32 | 8, 16ull << 32 | 4, text};
	const uint64_t head = RING_HEAD(RING_MAPS, 4) | RING_COMMITTED;
	const size_t n_bad = sizeof(bad) / sizeof(bad[0]);
	struct ring_ledger ledger;
	struct ends ends;

	(void)state;
	begin(&ends, RING_WORDS_MIN);
	for (size_t i = 0; i < n_bad; i++)
		write_raw(&ends, head, bad[i], 4);
	write_raw(&ends, RING_HEAD(RING_MAPS, 2) | RING_COMMITTED, good, 2);
	assert_int_equal(drain(&ends, ALL, false), RING_READER_E_OK);
	assert_int_equal(ends.n_maps, 0);
	write_raw(&ends, head, good, 4);
	write_raw(&ends, head, good, 4); /* once more */
	write_raw(&ends, head, half, 4);
	write_raw(&ends, head, same, 4); /* it does not go on there */
	assert_int_equal(drain(&ends, ALL, false), RING_READER_E_OK);
	assert_int_equal(ends.n_maps, 1);
	ring_reader_ledger(ends.ring.reader, &ledger);
	assert_int_equal(ledger.malformed, n_bad + 3);
	end(&ends);
}

/* Positions and lengths that cannot be: nothing is read any more, and nothing is lost of before. */
static void test_broken(void **state)
{
	static const uint64_t heads[] = {
		RING_COMMITTED,
		RING_COMMITTED | RING_HEAD(RING_SAMPLE, 8), /* one more than the head says */
		RING_COMMITTED | RING_HEAD(RING_SAMPLE, RING_RECORD_MAX + 1),
		RING_COMMITTED | RING_HEAD(RING_SAMPLE, UINT32_MAX),
		~UINT64_C(0),
	};
	const uint64_t words[6] = SAMPLE_WORDS(1, 99, STACK_COMPLETE);
	struct ends ends;

	(void)state;
	for (size_t i = 0; i <= sizeof(heads) / sizeof(heads[0]); i++) {
		begin(&ends, RING_WORDS_MIN);
		write_raw(&ends, RING_HEAD(RING_SAMPLE, 7) | RING_COMMITTED, words, 7);
		assert_int_equal(drain(&ends, ALL, false), RING_READER_E_OK);
		if (i < sizeof(heads) / sizeof(heads[0]))
			write_raw(&ends, heads[i], words, 7);
		else
			atomic_store(&ends.writer.page->head, UINT64_MAX / 2);
		assert_int_equal(drain(&ends, ALL, i % 2), RING_READER_E_BROKEN);
		atomic_store(&ends.writer.page->head, 7);
		assert_int_equal(drain(&ends, ALL, i % 2), RING_READER_E_BROKEN);
		assert_int_equal(ends.n_samples, 1);
		end(&ends);
	}
}

/* The server's own fields are written over: it does not read them. */
static void test_scribbled(void **state)
{
	const uint64_t words[6] = SAMPLE_WORDS(1, 99, STACK_COMPLETE);
	struct ends ends;

	(void)state;
	begin(&ends, RING_WORDS_MIN);
	memset(ends.ring.memory, 0xff, RING_PAGE);
	atomic_store(&ends.writer.page->head, 0);
	write_raw(&ends, RING_HEAD(RING_SAMPLE, 7) | RING_COMMITTED, words, 7);
	assert_int_equal(drain(&ends, ALL, false), RING_READER_E_OK);
	assert_int_equal(ends.n_samples, 1);
	assert_int_equal(atomic_load(&ends.writer.page->tail), 7);
	end(&ends);
}

/* What is no ring, or no safe one, is not mapped. */
static void test_not_a_ring(void **state)
{
	struct attach_ring ring;
	struct ring_reader *reader;
	struct ring_writer writer;
	struct ring_page *page;
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(attach_ring_init(&ring, RING_WORDS_MIN), 0);
	page = ring.memory;
	page->magic = 0;
	assert_false(ring_writer_open(&writer, ring.memory_fd, -1));
	page->magic = RING_MAGIC;
	assert_int_equal(ftruncate(ring.memory_fd, RING_PAGE), -1);
	/* The same, in a memory that could be made shorter; and one of another length. */
	assert_int_equal(ftruncate(fd, (off_t)ring.length), 0);
	assert_int_equal(pwrite(fd, ring.memory, RING_PAGE, 0), RING_PAGE);
	assert_false(ring_writer_open(&writer, fd, -1));
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_true(ring_writer_open(&writer, fd, -1));
	ring_writer_close(&writer);
	assert_int_equal(ftruncate(fd, (off_t)ring.length + 8), 0);
	assert_false(ring_writer_open(&writer, fd, -1));
	assert_false(ring_writer_open(&writer, 0, -1));
	attach_ring_deinit(&ring);
	close(fd);
	assert_int_equal(ring_reader_new(&reader, NULL, RING_PAGE + 100), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ends),      cmocka_unit_test(test_frequency),
		cmocka_unit_test(test_full),           cmocka_unit_test(test_server),
		cmocka_unit_test(test_bell),           cmocka_unit_test(test_maps),
		cmocka_unit_test(test_many_producers), cmocka_unit_test(test_torn),
		cmocka_unit_test(test_ledger),         cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_malformed_maps), cmocka_unit_test(test_broken),
		cmocka_unit_test(test_scribbled),      cmocka_unit_test(test_not_a_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Walks of this program's own stack, in the unwinder alone. The truth is backtrace(3), which goes
 * by the same call frame information in its own way.
 */
#include "common/clock.h"
#include "tests/unit/resolve/unwinder_fixture.h"

#include <execinfo.h>
#include <signal.h>
#include <sys/auxv.h>
#include <ucontext.h>

#define DEPTH_MAX 256
#define COPY_MAX  (64u << 10)

/* A sample of this thread, as a source would take it in stack_take(). */
struct stack {
	struct sample sample;
	struct sample_rest rest;
	uint64_t frames[4];
	void *truth[DEPTH_MAX]; /* truth[0] lies in stack_take() */
	int n_truth;
	uint8_t copy[COPY_MAX];
};

/* Sanitizers do not let us copy a whole stack by ourselves. */
static void read_memory(uint64_t address, uint8_t *to, size_t length)
{
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

	assert_int_equal(pread(fd, to, length, (off_t)address), length);
	close(fd);
}

static uint64_t stack_end(void)
{
	/* The auxiliary vector lies above the arguments, all of them at the stack's beginning. */
	return (uint64_t)(uintptr_t)getauxval(AT_RANDOM);
}

static __attribute__((noinline)) void stack_take(struct stack *s, unsigned number)
{
	ucontext_t context;
	uint64_t sp;

	memset(s, 0, offsetof(struct stack, copy));
	assert_int_equal(getcontext(&context), 0);
	s->n_truth = backtrace(s->truth, DEPTH_MAX);
	/* Under a sanitizer, its own frame comes first. */
	while (s->n_truth && (uintptr_t)s->truth[0] - (uintptr_t)&stack_take > 8192)
		memmove(s->truth, s->truth + 1, (size_t)--s->n_truth * sizeof(*s->truth));
#if defined(__x86_64__)
	s->rest.registers.pc = (uint64_t)context.uc_mcontext.gregs[REG_RIP];
	s->rest.registers.sp = (uint64_t)context.uc_mcontext.gregs[REG_RSP];
	s->rest.registers.fp = (uint64_t)context.uc_mcontext.gregs[REG_RBP];
#elif defined(__aarch64__)
	s->rest.registers.pc = context.uc_mcontext.pc;
	s->rest.registers.sp = context.uc_mcontext.sp;
	s->rest.registers.fp = context.uc_mcontext.regs[29];
#endif
	s->rest.registers.known = UNWIND_KNOWN_FP;
	sp = s->rest.registers.sp;
	s->rest.stack_address = sp;
	s->rest.stack_length = stack_end() - sp < COPY_MAX ? stack_end() - sp : COPY_MAX;
	s->rest.stack = s->copy;
	read_memory(sp, s->copy, s->rest.stack_length);
	s->frames[0] = UINT64_C(0xffffffff81000000);
	s->sample = (struct sample){
		.time_ns = clock_ns(CLOCK_MONOTONIC),
		.weight = number,
		.pid = getpid(),
		.tid = getpid(),
		.comm = "test",
		.quality = STACK_BROKEN,
		.reason = BROKEN_UNKNOWN,
		.n_kernel = 1,
		.n_frames = 1,
		.frames = s->frames,
		.rest = &s->rest,
	};
}

static __attribute__((noinline)) void deep_take(struct stack *s, unsigned number, unsigned depth)
{
	volatile char room[512];

	room[0] = (char)depth;
	if (depth)
		deep_take(s, number, depth - 1);
	else
		stack_take(s, number);
	room[1] = room[0];
}

/* The frames are lookup addresses: a caller's is its return address - 1. */
static void assert_true_stack(const struct stack *s, const struct got *got)
{
	const uint64_t *frames = got->frames + 1;

	assert_int_equal(got->frames[0], s->frames[0]);
	assert_int_equal(got->sample.n_kernel, 1);
	assert_int_equal(got->sample.quality, STACK_COMPLETE);
	assert_int_equal(got->sample.n_frames - 1, s->n_truth);
	assert_int_equal(frames[0], s->rest.registers.pc);
	for (int i = 1; i < s->n_truth; i++)
		assert_int_equal(frames[i] + 1, (uintptr_t)s->truth[i]);
}

static void test_first_sample_waits_the_next_does_not(void **state)
{
	struct fixture *f = fixture_new(false, true, true, 64 << 20);
	struct unwinder_stats stats;
	static struct stack s;

	(void)state;
	stack_take(&s, 1);
	deliver(f, &s.sample);
	assert_int_equal(f->n_got, 0);
	assert_int_equal(stats_of(f).waiting, 1);
	memset(s.copy, 0xff, sizeof(s.copy)); /* it was borrowed */
	assert_int_equal(settle(f->unwinder, BEGINNING, 60000), 0);
	assert_int_equal(f->n_got, 1);
	assert_true_stack(&s, f->got);
	stats = stats_of(f);
	assert_int_equal(stats.finished, 1);
	assert_int_equal(stats.waited, 1);
	assert_int_equal(stats.waiting, 0);
	assert_true(stats.tables_loaded >= 2); /* this program and libc, at least */
	assert_int_equal(stats.tables, stats.tables_loaded);

	stack_take(&s, 2);
	deliver(f, &s.sample);
	assert_int_equal(f->n_got, 2);
	assert_true_stack(&s, f->got);
	assert_int_equal(stats_of(f).waited, 1);
	assert_int_equal(stats_of(f).finished, 2);
	fixture_free(f);
}

static void test_frames_of_images(void **state)
{
	struct fixture *f = fixture_new(false, true, false, 64 << 20);
	static struct stack s;

	(void)state;
	deep_take(&s, 1, 20);
	deliver(f, &s.sample);
	assert_int_equal(settle(f->unwinder, BEGINNING, 60000), 0);
	assert_int_equal(f->got->sample.quality, STACK_COMPLETE);
	assert_int_equal(f->got->sample.n_frames - 1, s.n_truth);
	for (int i = 0; i < s.n_truth; i++) {
		assert_int_equal(frame_kind(f->got->frames[1 + i]), FRAME_IMAGE);
		assert_int_not_equal(frame_image(f->got->frames[1 + i]), 0);
	}
	fixture_free(f);
}

/* The source got one frame far, and put it into the sample. */
static void test_a_walk_that_was_begun(void **state)
{
	struct fixture *f = fixture_new(false, true, true, 64 << 20);
	static struct stack s;

	(void)state;
	stack_take(&s, 1);
	s.rest.pushed = true;
	s.frames[1] = s.rest.registers.pc;
	s.sample.n_frames = 2;
	deliver(f, &s.sample);
	assert_int_equal(settle(f->unwinder, BEGINNING, 60000), 0);
	assert_true_stack(&s, f->got);
	fixture_free(f);
}

/*
 * A 32-bit program's chain of frame pointers ends in the program's own code, if the source says
 * which code that is. (Return addresses have 32 bits, and none is in this program: its last frame
 * is all.)
 */
static void test_ends_of_32_bit_chains(void **state)
{
	const uint64_t leaf = (uintptr_t)&stack_take, sp = 0x1000;
	const uint64_t starts[] = {0, leaf + 1, leaf}, ends[] = {0, leaf + 2, leaf + 1};
	struct fixture *f = fixture_new(false, true, true, 64 << 20);
	static struct stack s;

	(void)state;
	stack_take(&s, 1);
	for (unsigned i = 0; i < 3; i++) {
		s.rest.registers = (struct unwind_registers){
			.pc = leaf, .sp = sp, .known = UNWIND_KNOWN_FP, .compat = 1, .is_last = 1};
		s.rest.stack_address = sp;
		s.rest.stack_length = 64;
		s.rest.start_code = starts[i];
		s.rest.end_code = ends[i];
		s.sample.weight = i + 1;
		deliver(f, &s.sample);
		assert_int_equal(settle(f->unwinder, BEGINNING, 60000), 0);
		assert_int_equal(f->n_got, i + 1);
		assert_int_equal(f->got->sample.n_frames, 2);
		assert_int_equal(f->got->frames[1], leaf);
		assert_int_equal(f->got->sample.quality, i == 2 ? STACK_COMPLETE : STACK_BROKEN);
		assert_int_equal(f->got->sample.reason, i == 2 ? 0 : BROKEN_UNKNOWN);
	}
	fixture_free(f);
}

static void test_witnesses_and_finished_ones_pass(void **state)
{
	struct fixture *f = fixture_new(false, true, true, 64 << 20);
	static struct stack s;

	(void)state;
	stack_take(&s, 1);
	s.rest.is_witness = true;
	deliver(f, &s.sample);
	assert_int_equal(f->n_got, 1);
	assert_int_equal(f->got->sample.n_frames, 1);
	s.sample.rest = NULL;
	s.sample.weight = 2;
	deliver(f, &s.sample);
	assert_int_equal(f->n_got, 2);
	assert_int_equal(stats_of(f).finished, 0);
	fixture_free(f);
}

static void test_what_waits_too_long_goes_as_it_is(void **state)
{
	struct fixture *f = fixture_new(false, true, true, 64 << 20);
	int worker = stats_of(f).loader.worker;
	static struct stack s;

	(void)state;
	/* So that the table does not come. */
	assert_true(worker > 0);
	assert_int_equal(kill(worker, SIGSTOP), 0);
	stack_take(&s, 1);
	deliver(f, &s.sample);
	assert_int_equal(unwinder_after_drain(f->unwinder, BEGINNING), 0);
	assert_int_equal(f->n_got, 0);
	assert_int_equal(unwinder_after_drain(f->unwinder, BEGINNING + 60 * SECOND), 0);
	assert_int_equal(f->n_got, 1);
	assert_int_equal(f->got->sample.quality, STACK_BROKEN);
	assert_int_equal(f->got->sample.reason, BROKEN_NO_TABLE);
	assert_int_equal(f->got->sample.n_frames, 2);
	assert_int_equal(stats_of(f).gave_up, 1);
	assert_int_equal(stats_of(f).finished, 0);
	fixture_free(f);
}

/* The end of one sampler is none of another's business. */
static void test_only_its_own_are_let_go(void **state)
{
	struct fixture *f = fixture_new(false, true, true, 64 << 20);
	static struct stack s;

	(void)state;
	for (unsigned sampler = 0; sampler < 2; sampler++) {
		stack_take(&s, 1 + sampler);
		s.sample.sampler = (uint16_t)sampler;
		deliver(f, &s.sample);
	}
	assert_int_equal(f->n_got, 0);
	unwinder_release_waiters(f->unwinder, 1);
	assert_int_equal(f->n_got, 1);
	assert_int_equal(f->got->sample.sampler, 1);
	assert_int_equal(f->got->sample.reason, BROKEN_NO_TABLE);
	/* Nothing of it waits: nor does anybody for it. */
	assert_int_equal(unwinder_settle(f->unwinder, 1, BEGINNING, 60000), 0);
	assert_int_equal(stats_of(f).waiting, 1);
	assert_int_equal(settle(f->unwinder, BEGINNING, 60000), 0);
	assert_int_equal(f->n_got, 2);
	assert_int_equal(stats_of(f).gave_up, 1);
	fixture_free(f);
}

static void test_no_room_to_wait(void **state)
{
	struct fixture *f = fixture_new(false, true, true, 8 << 10);
	static struct stack s;

	(void)state;
	stack_take(&s, 1);
	deliver(f, &s.sample);
	assert_int_equal(f->n_got, 1);
	assert_int_equal(f->got->sample.reason, BROKEN_NO_TABLE);
	assert_int_equal(stats_of(f).no_room, 1);
	/* Its table comes all the same. */
	for (unsigned i = 0; i < 1000 && stats_of(f).tables_loaded == 0; i++) {
		usleep(10000);
		assert_int_equal(unwinder_dispatch(f->unwinder, BEGINNING), 0);
	}
	assert_int_equal(stats_of(f).tables_loaded, 1);
	fixture_free(f);
}

/* A copy of a tenth of the stack; the process is there still, and nothing of it has changed. */
static void deep_and_short(struct fixture *f, struct stack *s, unsigned number)
{
	deep_take(s, number, 60);
	s->rest.stack_length = 4096;
	deliver(f, &s->sample);
	assert_int_equal(settle(f->unwinder, BEGINNING, 60000), 0);
	assert_int_equal(f->times[number], 1);
}

static void test_missing_memory(void **state)
{
	struct fixture *f = fixture_new(false, true, true, 64 << 20);
	static struct stack s;
	uint32_t n;

	(void)state;
	reader.mood = READER_FINDS_NOTHING;
	deep_and_short(f, &s, 1);
	n = f->got->sample.n_frames;
	assert_true(n > 2 && (int)n < s.n_truth);
	assert_int_equal(f->got->sample.quality, STACK_TRUNCATED);
	assert_int_equal(f->got->sample.reason, TRUNCATED_COPY);
	assert_int_equal(stats_of(f).memory_reads, 1);
	assert_int_equal(stats_of(f).memory_failed, 1);
	reader.mood = READER_IS_BUSY;
	deep_and_short(f, &s, 2);
	assert_int_equal(f->got->sample.n_frames, n);
	assert_int_equal(f->got->sample.reason, TRUNCATED_COPY);
	assert_int_equal(stats_of(f).memory_failed, 2);

	/* Nothing could be copied, or there was no room for a copy. */
	for (unsigned i = 0; i < 2; i++) {
		s.rest.stack_length = 0;
		s.sample.weight = 3 + i;
		if (i)
			s.sample.reason = BROKEN_NO_COPY;
		deliver(f, &s.sample);
		assert_int_equal(settle(f->unwinder, BEGINNING, 60000), 0);
		assert_int_equal(f->got->sample.quality, STACK_BROKEN);
		assert_int_equal(f->got->sample.reason, i ? BROKEN_NO_COPY : BROKEN_UNREADABLE);
	}
	fixture_free(f);
}

/* More than the reader takes at a time: each has its turn, and its stack. */
static void test_memory_in_turns(void **state)
{
	enum { N = 3 * ANSWERS_MAX };
	struct fixture *f = fixture_new(false, true, true, 64 << 20);
	static struct stack s;

	(void)state;
	reader.mood = READER_FINDS_NOTHING;
	deep_and_short(f, &s, 1);
	for (unsigned i = 2; i < N; i++) {
		deep_take(&s, i, 60);
		s.rest.stack_length = 4096;
		deliver(f, &s.sample);
		assert_int_equal(f->times[i], 0);
	}
	assert_int_equal(reader.n, ANSWERS_MAX);
	assert_int_equal(settle(f->unwinder, BEGINNING, 60000), 0);
	for (unsigned i = 2; i < N; i++)
		assert_int_equal(f->times[i], 1);
	assert_int_equal(stats_of(f).memory_reads, N - 1);
	assert_int_equal(stats_of(f).memory_failed, N - 1);
	/* One that has given up does not ask any more. */
	for (unsigned i = 0; i < ANSWERS_MAX + 2; i++) {
		deep_take(&s, 2, 60);
		s.rest.stack_length = 4096;
		deliver(f, &s.sample);
	}
	unwinder_release_waiters(f->unwinder, UNWINDER_ALL);
	assert_int_equal(f->times[2], 1 + ANSWERS_MAX + 2);
	assert_int_equal(settle(f->unwinder, BEGINNING, 60000), 0);
	assert_int_equal(stats_of(f).memory_failed, N - 1);
	fixture_free(f);
}

/* All that waits has a bound; what is read for those that wait is in it. */
static void test_no_room_to_read_memory(void **state)
{
	struct fixture *f = fixture_new(false, true, true, 72 << 10);
	static struct stack s;

	(void)state;
	deep_and_short(f, &s, 1);
	assert_int_equal(stats_of(f).memory_reads, 0);
	assert_int_equal(stats_of(f).no_room, 1);
	assert_int_equal(f->got->sample.quality, STACK_TRUNCATED);
	assert_int_equal(f->got->sample.reason, TRUNCATED_COPY);
	fixture_free(f);
}

/* A stack of many frames that waits for the second time holds them all. */
static void test_frames_that_wait_count(void **state)
{
	struct fixture *f = fixture_new(false, true, true, 64 << 20);
	uint64_t before, alone;
	static struct stack s;

	(void)state;
	reader.mood = READER_FINDS_NOTHING;
	deep_take(&s, 1, 60); /* this program's table comes */
	s.rest.stack_length = 4096;
	deliver(f, &s.sample);
	assert_int_equal(settle(f->unwinder, BEGINNING, 60000), 0);
	before = stats_of(f).memory_bytes;
	s.sample.weight = 2;
	s.rest.stack_length = 0;
	deliver(f, &s.sample); /* waits for memory, with one frame */
	alone = stats_of(f).memory_bytes - before;
	assert_int_equal(stats_of(f).waiting, 1);
	assert_int_equal(settle(f->unwinder, BEGINNING, 60000), 0);
	before = stats_of(f).memory_bytes;
	deep_take(&s, 3, 60);
	deliver(f, &s.sample); /* waits for libc's table, with all of its frames */
	assert_int_equal(stats_of(f).waiting, 1);
	assert_true(stats_of(f).memory_bytes - before >= alone + 60 * sizeof(uint64_t));
	assert_int_equal(settle(f->unwinder, BEGINNING, 60000), 0);
	fixture_free(f);
}

/* The first one shows no more than this program's own frames: the next waits for a library's. */
static void test_a_wait_half_way_up(void **state)
{
	struct fixture *f = fixture_new(false, true, true, 64 << 20);
	static struct stack s;

	(void)state;
	reader.mood = READER_FINDS_NOTHING;
	deep_and_short(f, &s, 1);
	assert_int_equal(stats_of(f).tables_loaded, 1);
	deep_take(&s, 2, 60);
	deliver(f, &s.sample);
	assert_int_equal(f->times[2], 0);
	memset(s.copy, 0xff, sizeof(s.copy));
	assert_int_equal(settle(f->unwinder, BEGINNING, 60000), 0);
	assert_int_equal(f->times[2], 1);
	assert_true_stack(&s, f->got);
	fixture_free(f);
}

/* Taken below a function whose frame stays as it is while the unwinder looks for the rest. */
static __attribute__((noinline)) void read_later(struct fixture *f, struct stack *s, unsigned depth)
{
	volatile char room[512];

	room[0] = (char)depth;
	if (depth)
		read_later(f, s, depth - 1);
	else
		deep_and_short(f, s, 1);
	room[1] = room[0];
}

static void test_memory_that_is_read_later(void **state)
{
	struct fixture *f = fixture_new(false, true, true, 64 << 20);
	static struct stack s;
	int n_certain;

	(void)state;
	read_later(f, &s, 30);
	/*
	 * deep_take() has returned when memory is read: the frames of the copy are its, and those
	 * of read_later(), main() and so on may follow. Either all is well, or it ends with them.
	 */
	assert_true(stats_of(f).memory_reads > 0);
	assert_int_equal(stats_of(f).memory_failed, 0);
	if (f->got->sample.quality == STACK_COMPLETE) {
		assert_true_stack(&s, f->got);
	} else {
		assert_int_equal(f->got->sample.quality, STACK_TRUNCATED);
		assert_int_equal(f->got->sample.reason, TRUNCATED_COPY);
		n_certain = (int)f->got->sample.n_frames - 1;
		for (int i = 1; i < n_certain; i++)
			assert_int_equal(f->got->frames[1 + i] + 1, (uintptr_t)s.truth[i]);
	}
	fixture_free(f);
}

static __attribute__((noinline)) void stay_below(struct fixture *f, struct stack *s, unsigned depth)
{
	volatile char room[512];

	room[0] = (char)depth;
	if (depth) {
		stay_below(f, s, depth - 1);
	} else {
		/* The second time no table is missing: it is kept from where its copy ended. */
		for (unsigned number = 1; number <= 2; number++) {
			stack_take(s, number);
			s->rest.stack_length = 4096;
			deliver(f, &s->sample);
			memset(s->copy, 0xff, sizeof(s->copy));
			assert_int_equal(settle(f->unwinder, BEGINNING, 60000), 0);
			assert_int_equal(f->times[number], 1);
			assert_true_stack(s, f->got);
		}
	}
	room[1] = room[0];
}

static void test_memory_of_callers_that_stayed(void **state)
{
	struct fixture *f = fixture_new(false, true, true, 64 << 20);
	static struct stack s;

	(void)state;
	stay_below(f, &s, 40);
	assert_true(stats_of(f).memory_reads > 0);
	fixture_free(f);
}

static void test_before_and_after_the_source(void **state)
{
	struct fixture *f = fixture_new(false, true, true, 64 << 20);
	static struct stack s;

	(void)state;
	stack_take(&s, 1);
	deliver(f, &s.sample);
	unwinder_detach(f->unwinder);
	assert_int_equal(f->times[1], 1);
	s.sample.weight = 2;
	deliver(f, &s.sample);
	assert_int_equal(f->times[2], 1);
	assert_int_equal(f->got->sample.reason, BROKEN_UNKNOWN);
	assert_int_equal(stats_of(f).tables, 0);
	assert_int_equal(unwinder_attach(f->unwinder, NULL, BEGINNING), 0);
	s.sample.weight = 3;
	deliver(f, &s.sample);
	assert_int_equal(settle(f->unwinder, BEGINNING, 60000), 0);
	assert_int_equal(f->times[3], 1);
	assert_int_equal(f->got->sample.quality, STACK_COMPLETE);
	assert_true(stats_of(f).tables_loaded > 0);
	fixture_free(f);
}

/* Anything at all: garbage in registers and lengths, an unwinder that is asked in any order. */
static void random_sample(struct stack *s, unsigned number)
{
	deep_take(s, number, (unsigned)rand() % 40);
	switch (rand() % 8) {
	case 0:
		s->rest.registers.pc += (uint64_t)rand() % 4096;
		break;
	case 1:
		s->rest.registers.sp += (uint64_t)rand() % 4096;
		break;
	case 2:
		s->rest.stack_length = (uint64_t)rand() % (s->rest.stack_length + 1);
		break;
	case 3:
		for (unsigned i = 0; i < 64; i++)
			s->copy[(size_t)rand() % s->rest.stack_length] = (uint8_t)rand();
		break;
	case 4:
		s->sample.rest = NULL;
		break;
	case 5:
		s->rest.stack_length = 0;
		break;
	}
	if (rand() % 16 == 0)
		s->sample.pid = 0x3fffff00 + rand() % 4;
	if (rand() % 16 == 0)
		s->rest.is_witness = true;
}

static void test_each_sample_once(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 6; seed++) {
		struct fixture *f = fixture_new(seed % 2, true, seed % 3 == 0,
						seed < 3 ? 64 << 20 : 300 << 10);
		static struct stack s;
		unsigned n = 0;

		srand(seed);
		while (n < 400) {
			reader.mood = rand() % 3;
			random_sample(&s, n);
			deliver(f, &s.sample);
			memset(s.copy, rand(), sizeof(s.copy));
			n++;
			if (rand() % 4 == 0)
				assert_int_equal(unwinder_dispatch(f->unwinder, BEGINNING), 0);
			if (rand() % 8 == 0)
				assert_int_equal(unwinder_after_drain(f->unwinder, BEGINNING), 0);
			if (rand() % 64 == 0)
				assert_int_equal(unwinder_after_drain(f->unwinder,
								      BEGINNING + 2 * SECOND),
						 0);
			if (rand() % 64 == 0)
				assert_int_equal(unwinder_sweep(f->unwinder, BEGINNING), 0);
			for (unsigned i = 0; i < n; i++)
				assert_true(f->times[i] <= 1);
		}
		assert_int_equal(settle(f->unwinder, BEGINNING, seed % 2 ? 0 : 60000), 0);
		assert_int_equal(f->n_got, n);
		for (unsigned i = 0; i < n; i++)
			assert_int_equal(f->times[i], 1);
		assert_int_equal(stats_of(f).waiting, 0);
		fixture_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_sample_waits_the_next_does_not),
		cmocka_unit_test(test_frames_of_images),
		cmocka_unit_test(test_a_walk_that_was_begun),
		cmocka_unit_test(test_ends_of_32_bit_chains),
		cmocka_unit_test(test_witnesses_and_finished_ones_pass),
		cmocka_unit_test(test_what_waits_too_long_goes_as_it_is),
		cmocka_unit_test(test_only_its_own_are_let_go),
		cmocka_unit_test(test_no_room_to_wait),
		cmocka_unit_test(test_missing_memory),
		cmocka_unit_test(test_memory_in_turns),
		cmocka_unit_test(test_no_room_to_read_memory),
		cmocka_unit_test(test_frames_that_wait_count),
		cmocka_unit_test(test_a_wait_half_way_up),
		cmocka_unit_test(test_memory_that_is_read_later),
		cmocka_unit_test(test_memory_of_callers_that_stayed),
		cmocka_unit_test(test_before_and_after_the_source),
		cmocka_unit_test(test_each_sample_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

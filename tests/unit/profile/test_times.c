/* SPDX-License-Identifier: MIT */
/*
 * When samples were counted survives writing, reading and merging; what does not add up, or cannot
 * be decoded, is not known, and the samples are there all the same.
 */
#include "common/profile/merge.h"
#include "common/profile/sample_times.h"
#include "common/profile/times_block.h"
#include "tests/support/random.h"
#include "tests/unit/profile/pprof_fixture.h"
#include "tests/unit/profile/text.h"

#define SECOND   INT64_C(1795251600)
#define BUCKET   ((uint64_t)SECOND * 10)
#define N_STACKS 5000 /* more than a block has */

static struct profile *new_profile(int64_t start_s)
{
	struct profile *p = NULL;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	p->time_ns = start_s * 1000000000;
	p->duration_ns = INT64_C(60000000000);
	return p;
}

/* A sample of stack @number; @window: its label, 0 none. */
static void add_stack(struct profile *p, unsigned number, int64_t count, int64_t window)
{
	const struct profile_label label = {.key = text(p, "window"), .num = window};
	const int64_t values[] = {count, count * 10000000};
	uint32_t location;

	assert_int_equal(profile_add_location(p, PROFILE_NONE, 0x1000 + number, NULL, 0, &location),
			 0);
	assert_int_equal(profile_add_sample(p, &location, 1, values, &label, window != 0), 0);
}

static void add_time(struct profile *p, uint64_t bucket, unsigned scale, uint32_t count)
{
	assert_int_equal(profile_add_time(p, profile_last_sample(p), bucket, scale, count), 0);
}

static struct profile *reread(const struct profile *p)
{
	cleanup(freep) uint8_t *data = NULL;
	struct profile *ret = NULL;
	struct profile_message message;
	struct bytes *whole = calloc(1, sizeof(*whole));
	size_t length;

	assert_int_equal(pprof_write(p, 6, &data, &length), 0);
	assert_int_equal(pprof_read(data, length, MAX_BYTES, &ret, &message), 0);
	if (length <= sizeof(whole->data)) {
		memcpy(whole->data, data, length);
		whole->n = length;
		read_in_pieces(whole, 1000, 0, ret, "");
	}
	free(whole);
	return ret;
}

static void assert_same_times(const struct profile *a, uint32_t i, const struct profile *b,
			      uint32_t j)
{
	struct sample_times x = {0}, y = {0};

	assert_int_equal(profile_knows_times(a, i), profile_knows_times(b, j));
	assert_int_equal(sample_times_gather(&x, a, i), 0);
	assert_int_equal(sample_times_gather(&y, b, j), 0);
	assert_int_equal(x.n, y.n);
	for (size_t t = 0; t < x.n; t++) {
		assert_int_equal(x.all[t].bucket, y.all[t].bucket);
		assert_int_equal(x.all[t].scale, y.all[t].scale);
		assert_int_equal(x.all[t].count, y.all[t].count);
	}
	sample_times_deinit(&x);
	sample_times_deinit(&y);
}

/*
 * Stacks of all weights, with buckets in any order; @scales: how many lengths there are; one in
 * @unknown without times (0: none); @windows: labels of an hour's.
 */
static struct profile *make_times(unsigned scales, unsigned unknown, bool windows)
{
	struct profile *p = new_profile(SECOND);
	uint64_t seed = 1;

	for (unsigned i = 0; i < N_STACKS; i++) {
		const unsigned n = i % 10 ? 1 + random_next(&seed) % 3 : 1 + i % 200;
		const unsigned minute = windows ? random_next(&seed) % 60 : 0;

		add_stack(p, i, n, windows ? SECOND + minute * 60 : 0);
		for (unsigned j = 0; j < n && (!unknown || i % unknown); j++)
			/* Some are from before the window. */
			add_time(p, BUCKET + minute * 600 + random_next(&seed) % 610 - 10,
				 random_next(&seed) % scales * 2, 1);
	}
	return p;
}

static void test_written_and_read(void **state)
{
	static const struct {
		unsigned scales, unknown;
		bool windows;
	} ways[] = {{1, 0, false}, {3, 0, false}, {1, 3, false}, {1, 0, true}, {2, 7, true}};

	(void)state;
	for (unsigned w = 0; w < ARRAY_SIZE(ways); w++) {
		cleanup(profile_freep) struct profile *p =
			make_times(ways[w].scales, ways[w].unknown, ways[w].windows);
		cleanup(profile_freep) struct profile *q = reread(p);

		assert_int_equal(q->n_samples, N_STACKS);
		assert_true(q->n_times > 0);
		for (uint32_t i = 0; i < N_STACKS; i++)
			assert_same_times(p, i, q, i);
		assert_same_file(p, q);
	}
}

/* What takes no time to say takes no space. */
static void test_size(void **state)
{
	cleanup(profile_freep) struct profile *p = new_profile(SECOND), *q = NULL;
	cleanup(profile_freep) struct profile *once = new_profile(SECOND);
	size_t length;

	(void)state;
	add_stack(p, 1, 3000000000, 0);
	add_time(p, BUCKET + 7, 0, 3000000000);
	assert_int_equal(times_block_measure(p, &length), 0);
	assert_true(length < 30);
	/* Once in each bucket: three bits or so each. */
	add_stack(once, 2, 600, 0);
	for (unsigned i = 0; i < 600; i++)
		add_time(once, BUCKET + i, 0, 1);
	assert_int_equal(times_block_measure(once, &length), 0);
	assert_true(length < 600 * 3 / 8);
	q = reread(once);
	assert_same_times(once, 0, q, 0);
}

static void test_what_does_not_add_up(void **state)
{
	cleanup(profile_freep) struct profile *p = new_profile(SECOND), *q = NULL;

	(void)state;
	add_stack(p, 1, 2, 0);
	add_time(p, BUCKET, 0, 2);
	add_stack(p, 2, 2, 0);
	add_time(p, BUCKET, 0, 1); /* of two */
	add_stack(p, 3, 2, 0);
	add_time(p, BUCKET, 0, 3);
	add_stack(p, 4, 1, -SECOND); /* the label of no time */
	add_time(p, BUCKET, 0, 1);
	q = reread(p);
	assert_true(profile_knows_times(q, 0));
	for (unsigned i = 1; i < 4; i++) {
		assert_false(profile_knows_times(q, i));
		assert_int_equal(q->samples[i].times, 0);
	}
	/* Equal samples, of one of which nothing is known. */
	add_stack(p, 1, 5, 0);
	assert_int_equal(p->n_samples, 4);
	assert_false(profile_knows_times(p, 0));
	profile_clear_times(p);
	assert_int_equal(p->n_times + p->samples[0].times, 0);
}

static struct profile *merge_two(const struct profile *a, const struct profile *b, bool keep)
{
	cleanup(merge_freep) struct merge *m = NULL;
	struct profile_message message;

	assert_int_equal(merge_new(&m, MERGE_WINDOWS_DROPPED), 0);
	if (keep)
		merge_keep_times(m);
	assert_int_equal(merge_add(m, a, NULL, NULL, &message), 0);
	assert_int_equal(merge_add(m, b, NULL, NULL, &message), 0);
	assert_int_equal(merge_finish(m), 0);
	return merge_steal_profile(m);
}

static void test_merged(void **state)
{
	cleanup(profile_freep) struct profile *a = new_profile(SECOND), *whole = NULL;
	cleanup(profile_freep) struct profile *b = new_profile(SECOND + 60), *without = NULL;
	cleanup(profile_freep) struct profile *again = NULL;
	struct sample_times t = {0};

	(void)state;
	add_stack(a, 1, 3, 0);
	add_time(a, BUCKET + 5, 0, 3);
	add_stack(b, 1, 2, 0);
	add_time(b, BUCKET + 600, 2, 1);
	add_time(b, BUCKET + 5, 0, 1); /* it was in flight */
	whole = merge_two(a, b, true);
	without = merge_two(a, b, false);
	assert_int_equal(without->n_times, 0);
	assert_int_equal(whole->n_samples, 1);
	again = reread(whole);
	assert_same_times(whole, 0, again, 0);
	assert_int_equal(sample_times_gather(&t, again, 0), 0);
	assert_int_equal(t.n, 2);
	assert_int_equal(t.all[0].bucket, BUCKET + 5);
	assert_int_equal(t.all[0].count, 4);
	assert_int_equal(t.all[1].bucket, BUCKET + 600);
	assert_int_equal(t.all[1].scale, 2);
	sample_times_deinit(&t);
}

static void test_coarser(void **state)
{
	cleanup(profile_freep) struct profile *p = make_times(1, 0, false);
	size_t fine, coarse;

	(void)state;
	assert_int_equal(times_block_measure(p, &fine), 0);
	profile_coarsen_times(p);
	assert_int_equal(times_block_measure(p, &coarse), 0);
	assert_true(coarse < fine);
	for (uint32_t i = 0; i < p->n_samples; i++) {
		assert_true(profile_knows_times(p, i));
		assert_int_equal(p->times[p->samples[i].times - 1].scale, 1);
		assert_int_equal(p->times[p->samples[i].times - 1].bucket % 2, 0);
	}
	for (unsigned i = 0; i < 20; i++)
		profile_coarsen_times(p);
	assert_int_equal(p->times[0].scale, PROFILE_SCALE_MAX);
}

/* A file of one sample of @count behind this block. */
static void assert_ignored(const uint64_t numbers[6], const char *bits, size_t n, int64_t count)
{
	cleanup(profile_freep) struct profile *p = NULL;
	struct bytes b = {.n = 0}, block = {.n = 0}, sample = {.n = 0};

	for (unsigned i = 0; i < 6; i++)
		put_number(&block, i + 1, numbers[i]);
	put_bytes(&block, 7, bits, n);
	put_bytes(&b, PPROF_TIMES, block.data, block.n);
	put_number(&sample, 1, 5);
	put_number(&sample, 2, (uint64_t)count);
	put_bytes(&b, 2, sample.data, sample.n);
	put_valid(&b, 7);
	assert_accepted(&b, &p);
	assert_int_equal(p->n_samples, 1);
	assert_int_equal(p->sample_values[0], count);
	assert_int_equal(p->n_times, 0);
}

static void test_hostile_blocks(void **state)
{
	static const struct {
		uint64_t numbers[6];
		const char *bits;
		size_t n;
		int64_t count;
	} blocks[] = {
		{{1, BUCKET, 0, 0, 10, 0}, "abcd", 4, 2},          /* no scale */
		{{1, BUCKET, 1 << 16, 0, 10, 0}, "abcd", 4, 2},    /* too big a one */
		{{1, UINT64_MAX, 1, 0, 10, 0}, "abcd", 4, 2},      /* after all time */
		{{1, 5, 1, 21, 100, 0}, "abcd", 4, 2},             /* before 1970 */
		{{1, BUCKET, 1, 0, UINT64_MAX, 0}, "abcd", 4, 2},  /* a range of everything */
		{{1, BUCKET, 1, UINT64_MAX, 10, 0}, "abcd", 4, 2}, /* far from the base */
		{{1, BUCKET, 1, 0, 1000, 0}, "a", 1, 2},           /* ends in the middle */
		{{1, BUCKET, 1, 0, 1000, 0}, "", 0, 2},            /* has not begun */
		{{1, BUCKET, 1, 0, 10, 0}, "abcd", 4, INT64_MAX},  /* more than can be coded */
		{{1, BUCKET, 3, 0, 0, 0}, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, INT64_MAX},
		{{1, BUCKET, 1, 0, 0, 0}, "", 0, INT64_MAX}, /* 2^31 runs */
		{{1, BUCKET, 1, 0, 10, 0}, "abcd", 4, 0},
		{{1, BUCKET, 1, 0, 10, 0}, "abcd", 4, -5},
		{{0, BUCKET, 1, 0, 10, 0}, "abcd", 4, 2}, /* of no sample */
	};
	cleanup(profile_freep) struct profile *p = NULL;
	struct bytes b = {.n = 0};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(blocks); i++)
		assert_ignored(blocks[i].numbers, blocks[i].bits, blocks[i].n, blocks[i].count);
	put_number(&b, PPROF_TIMES, 5);
	put_bytes(&b, PPROF_TIMES, "\xff", 1);
	put_valid(&b, 7);
	assert_accepted(&b, &p);
}

/* Samples that a program put before the block have no times. */
static void test_another_programs_order(void **state)
{
	cleanup(profile_freep) struct profile *p = new_profile(SECOND), *q = NULL;
	struct bytes b = {.n = 0};
	struct times_block block;

	(void)state;
	add_stack(p, 1, 2, 0);
	add_time(p, BUCKET, 0, 2);
	assert_int_equal(times_block_make(p, 0, 1, &block), 0);
	put_bytes(&b, 2, (const uint8_t[]){0x08, 5, 0x10, 2}, 4);
	memcpy(b.data + b.n, block.field, block.length);
	b.n += block.length;
	free(block.field);
	put_valid(&b, 7);
	assert_accepted(&b, &q);
	assert_int_equal(q->n_times, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_written_and_read),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_what_does_not_add_up),
		cmocka_unit_test(test_merged),
		cmocka_unit_test(test_coarser),
		cmocka_unit_test(test_hostile_blocks),
		cmocka_unit_test(test_another_programs_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

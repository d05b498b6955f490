/* SPDX-License-Identifier: MIT */
/*
 * bench_times [CPUS [STACKS]]: what the times of samples cost on the disk. A minute of so many busy
 * CPUs (16) at 99 Hz, of one service or of many, is written with its times and without; printed are
 * the bytes of a sample, the megabytes of a day like that, how long the buckets have become, and
 * the milliseconds that it took to bring them to that. The loads:
 *
 *   typical   STACKS stacks (6000), each half as often as the one of half its number (Zipf)
 *   bursts    the same, and a stack is sampled in one second of ten
 *   services  a typical load in 100 services
 *   one       of every CPU always the same stack
 *   diverse   no stack is sampled twice, at any time
 *   twice     each stack is, at any two times
 *
 * Then what the file of an hour, merged of such minutes, takes for each of their samples; and the
 * milliseconds for reading a minute with times and without.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/profile/merge.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "common/profile/sample_times.h"
#include "daemon/output/times_budget.h"
#include "tests/support/must.h"
#include "tests/support/random.h"

#define BEGIN_S   UINT64_C(1795219200)
#define HZ        99u
#define WINDOW_S  60u
#define DAY_S     86400u
#define N_BUCKETS (WINDOW_S * 10)
#define DEPTH     24u
#define MINUTES   10u /* of an hour */

struct load {
	const char *name;
	unsigned services;
	bool is_zipf, is_bursty;
	uint32_t copies; /* of each stack, where it is not */
};

static const struct load loads[] = {
	{"typical", 1, true, false, 0},    {"bursts", 1, true, true, 0},
	{"services", 100, true, false, 0}, {"one", 1, false, false, 100000},
	{"diverse", 1, false, false, 1},   {"twice", 1, false, false, 2},
};

static struct profile *new_profile(void)
{
	struct profile *p;

	must(profile_new(&p), "profile_new");
	must(profile_add_sample_type(p, "samples", "count"), "type");
	must(profile_add_sample_type(p, "cpu", "nanoseconds"), "type");
	p->time_ns = (int64_t)BEGIN_S * 1000000000;
	return p;
}

/* A chain that begins as those of near numbers do. */
static void add_sample(struct profile *p, uint32_t stack, bool is_timed, uint64_t bucket)
{
	static const int64_t values[] = {1, 10101010};
	uint32_t chain[DEPTH];

	for (uint32_t i = 0; i < DEPTH; i++)
		must(profile_add_location(p, PROFILE_NONE,
					  0x400000 + (stack >> i) * 64 + i * UINT64_C(0x1000000),
					  NULL, 0, &chain[i]),
		     "location");
	must(profile_add_sample(p, chain, DEPTH, values, NULL, 0), "sample");
	if (is_timed)
		must(profile_add_time(p, profile_last_sample(p), bucket, 0, 1), "time");
}

/* Number 0 is the most frequent of @n, the one of number i is 1/(i + 1) of that. */
static uint32_t zipf(uint64_t *seed, uint32_t n)
{
	return (uint32_t)(pow((double)n + 1, (double)random_next(seed) / 2147483648.0) - 1);
}

static uint64_t bucket_of(const struct load *load, uint32_t stack, uint64_t *seed)
{
	uint64_t at = random_next(seed) % N_BUCKETS;

	if (load->is_bursty)
		at = (at / 100 * 10 + stack % 10) * 10 + at % 10;
	return BEGIN_S * 10 + at % N_BUCKETS;
}

/* What is sampled in a minute. */
struct minute {
	uint64_t seed;
	uint32_t n, stacks; /* samples, and of how many stacks they may be */
	bool is_timed;
};

static void fill_minute(struct profile **services, const struct load *load,
			const struct minute *minute)
{
	uint64_t seed = minute->seed;

	for (uint32_t i = 0; i < minute->n; i++) {
		uint32_t stack = load->is_zipf ? zipf(&seed, minute->stacks) : i / load->copies;
		uint64_t bucket = bucket_of(load, stack, &seed);

		add_sample(services[stack % load->services], stack, minute->is_timed, bucket);
	}
}

/* Bytes of the files; *ret_scale: the coarsest. */
static size_t write_all(struct profile **services, const struct load *load, uint32_t n,
			uint32_t n_cpus, unsigned *ret_scale, double *ret_ms)
{
	struct aggregate *a;
	struct snapshot s = {.duration_ns = WINDOW_S * UINT64_C(1000000000), .frequency = HZ};
	struct aggregate_key key = {.thread_name = ""};
	struct times_budget budget;
	struct timespec begin, end;
	size_t sum = 0;

	must(aggregate_new(&a, SIZE_MAX), "aggregate");
	must(aggregate_add(a, &key, n, n), "aggregate");
	s.aggregate = a;
	times_budget_init(&budget, &s, n_cpus, load->services);
	*ret_scale = 0;
	*ret_ms = 0;
	for (unsigned i = 0; i < load->services; i++) {
		cleanup(freep) uint8_t *data = NULL;
		size_t length;

		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
		must(times_budget_apply(&budget, services[i]), "budget");
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
		*ret_ms += (double)(end.tv_sec - begin.tv_sec) * 1e3 +
			   (double)(end.tv_nsec - begin.tv_nsec) / 1e6;
		must(pprof_write(services[i], 6, &data, &length), "write");
		for (size_t t = 0; t < services[i]->n_times; t++)
			if (services[i]->times[t].scale > *ret_scale)
				*ret_scale = services[i]->times[t].scale;
		sum += length;
	}
	aggregate_free(a);
	return sum;
}

static void run(const struct load *load, uint32_t n_cpus, uint32_t stacks)
{
	const uint32_t n = n_cpus * HZ * WINDOW_S;
	size_t bytes[2];
	unsigned scale;
	double ms;

	for (unsigned timed = 0; timed < 2; timed++) {
		struct profile **services = calloc(load->services, sizeof(struct profile *));

		for (unsigned i = 0; i < load->services; i++)
			services[i] = new_profile();
		fill_minute(services, load, &(struct minute){1, n, stacks, timed});
		bytes[timed] = write_all(services, load, n, n_cpus, &scale, &ms);
		for (unsigned i = 0; i < load->services; i++)
			profile_free(services[i]);
		free(services);
	}
	printf("%-9s %7zu bytes without times, %6zd more with: %.3f a sample, %5.1f MB a day, "
	       "buckets of up to %u ms, %.0f ms\n",
	       load->name, bytes[0], (ssize_t)(bytes[1] - bytes[0]),
	       (double)(bytes[1] - bytes[0]) / n,
	       (double)(bytes[1] - bytes[0]) * DAY_S / WINDOW_S / 1e6, 100u << scale, ms);
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static double read_ms(const uint8_t *data, size_t length)
{
	cleanup(profile_freep) struct profile *p = NULL;
	struct profile_message message;
	double begin = now_ms();

	must(-pprof_read(data, length, SIZE_MAX, &p, &message), "read");
	return now_ms() - begin;
}

static void run_hour(const struct load *load, uint32_t n_cpus, uint32_t stacks)
{
	const uint32_t n = n_cpus * HZ * WINDOW_S;
	size_t bytes[2], length;
	double ms[2];

	for (unsigned timed = 0; timed < 2; timed++) {
		cleanup(merge_freep) struct merge *m = NULL;
		cleanup(freep) uint8_t *data = NULL;

		must(merge_new(&m, MERGE_WINDOWS_SET), "merge");
		merge_keep_times(m);
		for (unsigned i = 0; i < MINUTES; i++) {
			cleanup(profile_freep) struct profile *p = new_profile();
			cleanup(freep) uint8_t *minute = NULL;
			struct profile_message message;
			unsigned scale;
			double budget_ms;

			fill_minute(&p, load, &(struct minute){i + 1, n, stacks, timed});
			(void)write_all(&p, load, n, n_cpus, &scale, &budget_ms);
			p->time_ns += (int64_t)i * WINDOW_S * 1000000000;
			p->duration_ns = WINDOW_S * INT64_C(1000000000);
			must(profile_add_comment(p, "# profd ledger: seen=1"), "comment");
			for (size_t t = 0; t < p->n_times; t++)
				p->times[t].bucket += i * N_BUCKETS;
			must(merge_add(m, p, NULL, NULL, &message), "merge");
			must(pprof_write(p, 6, &minute, &length), "write");
			ms[timed] = read_ms(minute, length);
		}
		must(merge_finish(m), "merge");
		must(profile_arrange(merge_profile(m)), "arrange");
		must(pprof_write(merge_profile(m), 6, &data, &bytes[timed]), "write");
	}
	printf("%-9s %u minutes merged: %.3f a sample; a minute is read in %.0f ms, %.0f with "
	       "times\n",
	       load->name, MINUTES, (double)(bytes[1] - bytes[0]) / MINUTES / n, ms[0], ms[1]);
}

int main(int argc, char **argv)
{
	uint32_t n_cpus = argc > 1 ? (uint32_t)atoi(argv[1]) : 16;
	uint32_t stacks = argc > 2 ? (uint32_t)atoi(argv[2]) : 6000;

	for (unsigned i = 0; i < ARRAY_SIZE(loads); i++)
		run(&loads[i], n_cpus, stacks);
	run_hour(&loads[0], n_cpus, stacks);
	run_hour(&loads[4], n_cpus, stacks);
	return 0;
}

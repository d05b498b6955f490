/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_ROLLUP_FIXTURE_H
#define PROFD_TESTS_ROLLUP_FIXTURE_H

/* Minutes that are there to be rolled up, and a clock that comes to it. */
#include "daemon/output/listing.h"
#include "daemon/output/rollup.h"
#include "daemon/output/rollup_recover.h"
#include "tests/unit/output/fixture.h"

#define HOUR      3600u
#define N_MINUTES 10
#define DAY_FILE  DAY_A "20261121T000000Z-86400s.pb.gz"
#define HOUR_FILE DAY_A "20261121T090000Z-3600s.pb.gz"

static inline struct output_options rolling(const struct fixture *f)
{
	struct output_options o = default_options(f);

	o.limits.rollup_after_s = HOUR;
	o.background_bytes = 8 << 20;
	return o;
}

static inline unsigned roll(struct writer *w, uint64_t now_s)
{
	unsigned n = 0;

	while (writer_background(w, now_s * NS))
		n++;
	return n;
}

/* Windows of services a.service, b/x and kernel, from T0 on; their samples differ by their start.
 */
static inline void write_minutes(const struct fixture *f, struct writer *w, unsigned first,
				 unsigned n)
{
	for (unsigned i = first; i < first + n; i++) {
		struct snapshot *s = everything_at(f, T0 + i * 60);

		s->formats = FORMAT_PPROF;
		write_quietly(w, s, T0 + i * 60 + 60);
	}
}

static inline char *minute_name(const char *dir, unsigned i)
{
	static char name[256];
	char start[NAMES_START_SIZE];

	names_start(T0 + i * 60, start);
	snprintf(name, sizeof(name), "%s%s-60s.pb.gz", dir, start);
	return name;
}

static inline void copy(const struct fixture *f, const char *from, const char *to)
{
	size_t length;
	cleanup(freep) void *data = slurp(path_of(f, from), &length);
	FILE *out = fopen(path_of(f, to), "w");

	assert_non_null(out);
	assert_int_equal(fwrite(data, 1, length, out), length);
	fclose(out);
}

/* Samples of service a in the windows that the listing names. */
static inline uint64_t listed(struct writer *w, const char *service, size_t *ret_n)
{
	struct output_result result = {0};
	uint64_t sum = 0;

	writer_list(w, &(struct listing_options){.service = service}, &result);
	assert_int_equal(result.error, 0);
	for (size_t i = 0; i < result.listing->n_rows; i++)
		sum += result.listing->rows[i]->samples;
	*ret_n = result.listing->n_rows;
	listing_free(result.listing);
	return sum;
}

/* Samples and CPU time of all services in that range, and when these were. */
static inline Profd__Control__ListingRow listed_between(struct writer *w, uint64_t since_s,
							uint64_t until_s)
{
	Profd__Control__ListingRow sum = PROFD__CONTROL__LISTING_ROW__INIT;
	struct output_result result = {0};

	writer_list(w,
		    &(struct listing_options){.since_ns = since_s * NS, .until_ns = until_s * NS},
		    &result);
	assert_int_equal(result.error, 0);
	for (size_t i = 0; i < result.listing->n_rows; i++) {
		const Profd__Control__ListingRow *row = result.listing->rows[i];

		sum.samples += row->samples;
		sum.cpu_ns += row->cpu_ns;
		sum.start_ns = row->start_ns;
		sum.end_ns = row->end_ns;
	}
	listing_free(result.listing);
	return sum;
}

#define BIG_DIR "services/big.service/20261121/"

/* A window of @n_samples stacks, no two of which are equal, over functions @first up to @end. */
static inline struct profile *make_window(uint64_t start_s, uint32_t n_samples, uint32_t first,
					  uint32_t end)
{
	struct profile *p = NULL;
	uint32_t *locations = calloc(end - first, sizeof(*locations));

	assert_non_null(locations);
	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	for (uint32_t i = first; i < end; i++) {
		struct profile_function function = {0};
		struct profile_line line = {0};
		char name[64];

		snprintf(name, sizeof(name), "a_function_with_a_rather_long_name_%u", i);
		assert_int_equal(profile_add_text(p, name, &function.name), 0);
		assert_int_equal(profile_add_function(p, &function, &line.function), 0);
		assert_int_equal(profile_add_location(p, PROFILE_NONE, 0x1000 + i, &line, 1,
						      &locations[i - first]),
				 0);
	}
	for (uint32_t i = 0; i < n_samples; i++) {
		uint32_t chain[16], n = end - first, rest = i;
		const int64_t value = 1;

		for (unsigned j = 0; j < ARRAY_SIZE(chain); j++, rest /= n)
			chain[j] = locations[rest % n];
		assert_int_equal(profile_add_sample(p, chain, ARRAY_SIZE(chain), &value, NULL, 0),
				 0);
	}
	p->time_ns = (int64_t)(start_s * NS);
	p->duration_ns = (int64_t)(60 * NS);
	assert_int_equal(profile_add_comment(p, "# profd ledger: expected=7 seen=7"), 0);
	free(locations);
	return p;
}

/* As another profd left it. */
static inline void put_window(const struct fixture *f, uint64_t start_s, const struct profile *p)
{
	const struct names_window window = {.start_s = start_s, .seconds = 60, .tail = "pb.gz"};
	int services = dir_at(f->store_fd, "services");
	int service = dir_at(services, "big.service");
	int day = dir_at(service, "20261121");
	cleanup(freep) uint8_t *data = NULL;
	char name[64];
	size_t length;

	assert_true(names_window(&window, name, sizeof(name)));
	assert_int_equal(pprof_write(p, 6, &data, &length), 0);
	write_file(day, name, data, length);
	close(day);
	close(service);
	close(services);
}

#endif

/* SPDX-License-Identifier: MIT */
/* Fields in any order and packing, what is refused and where, numbers of any size, pieces. */
#include "tests/unit/profile/pprof_fixture.h"

static void test_packed_and_unpacked(void **state)
{
	static const uint8_t packed[] = {0x0a, 0x02, 5, 6, 0x12, 0x01, 3};
	static const uint8_t unpacked[] = {0x08, 5, 0x08, 6, 0x10, 3};
	cleanup(profile_freep) struct profile *p = NULL;
	struct bytes b = {.n = 0};

	(void)state;
	put_bytes(&b, 2, packed, sizeof(packed));
	put_bytes(&b, 2, unpacked, sizeof(unpacked));
	put_valid(&b, 7);
	put_bytes(&b, 13, (const uint8_t[]){1, 2}, 2);
	put_number(&b, 13, 3);
	put_number(&b, 200, 1); /* a field from the future */
	assert_accepted(&b, &p);
	assert_int_equal(p->n_samples, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(p->sample_values[i], 3);
		assert_int_equal(p->samples[i].n_locations, 2);
	}
	assert_int_equal(p->locations[p->sample_locations[0]].address, 0x1234);
	assert_int_equal(p->locations[p->sample_locations[0]].mapping, 0);
	assert_int_equal(p->locations[p->sample_locations[1]].mapping, PROFILE_NONE);
	assert_int_equal(p->lines[0].line, 42);
	assert_string_equal(profile_string(p, p->functions[p->lines[0].function].name), "main");
	assert_int_equal(p->n_comments, 3);
	assert_string_equal(profile_string(p, p->comments[2]), "main");
}

/* A file's samples stay what they are: equal ones, and those of 0. */
static void test_samples_of_nothing(void **state)
{
	static const uint8_t values[] = {0, 5, 3, 0};
	cleanup(profile_freep) struct profile *p = NULL;
	struct bytes b = {.n = 0};

	(void)state;
	for (unsigned i = 0; i < sizeof(values); i++) {
		const uint8_t sample[] = {0x08, i == 1 ? 6 : 5, 0x10, values[i]};

		put_bytes(&b, 2, sample, sizeof(sample));
	}
	put_valid(&b, 7);
	assert_accepted(&b, &p);
	assert_int_equal(p->n_samples, sizeof(values));
	for (unsigned i = 0; i < sizeof(values); i++) {
		assert_int_equal(p->sample_values[i], values[i]);
		assert_int_equal(p->locations[p->sample_locations[i]].address,
				 i == 1 ? 0x99 : 0x1234);
	}
}

static void test_refusals(void **state)
{
	static const uint8_t dangling[] = {0x08, 8, 0x10, 3}, no_value[] = {0x08, 5};
	static const uint8_t cut[] = {0x0a, 2, 5, 0x80};
	struct bytes b = {.n = 0}, valid = {.n = 0};

	(void)state;
	put_valid(&valid, 7);
	assert_refused(&b, "empty");
	put_number(&b, 9, 1);
	assert_refused(&b, "no string table");
	b.n = 0;
	put_bytes(&b, 2, no_value, sizeof(no_value)); /* a sample, and nothing else */
	assert_refused(&b, "no string table");
	b.n = 0;
	put_text(&b, "x");
	assert_refused(&b, "first string");
	b = valid;
	put_number(&b, 9, 1);
	put_number(&b, 9, 2);
	assert_refused(&b, "start time");
	b = valid;
	put_bytes(&b, 2, dangling, sizeof(dangling));
	assert_refused(&b, "location 8");
	b = valid;
	put_bytes(&b, 2, no_value, sizeof(no_value));
	assert_refused(&b, "0 values");
	b = valid;
	put_bytes(&b, 2, cut, sizeof(cut));
	assert_refused(&b, "middle of a number");
	b = valid;
	put_message(&b, 4, 3u, 1u, 0u);
	assert_refused(&b, "id 0");
	b = valid;
	put_message(&b, 4, 1u, 5u, 0u);
	assert_refused(&b, "two locations have id 5");
	b = valid;
	put_message(&b, 5, 1u, 7u, 0u);
	assert_refused(&b, "two functions have id 7");
	b = valid;
	put_message(&b, 3, 1u, 9u, 0u);
	assert_refused(&b, "two mappings have id 9");
	b = valid;
	put_message(&b, 5, 1u, 8u, 2u, 99u, 0u);
	assert_refused(&b, "string number 99");
	b.n = 0;
	put_valid(&b, 8);
	assert_refused(&b, "function 8");
}

/* The file ends, or goes on, with what is no field. */
static void test_no_field(void **state)
{
	struct bytes b, valid = {.n = 0};

	(void)state;
	put_valid(&valid, 7);
	b = valid;
	b.n--;
	assert_refused(&b, "no field at byte");
	b = valid;
	put_number(&b, 0, 1);
	assert_refused(&b, "no field at byte");
	b = valid;
	b.data[b.n++] = 0x0b; /* a group */
	assert_refused(&b, "no field at byte");
}

static void test_place(void **state)
{
	struct bytes b, valid = {.n = 0};
	char place[40];

	(void)state;
	put_valid(&valid, 7);
	b = valid;
	put_message(&b, 5, 1u, 8u, 2u, 99u, 0u);
	snprintf(place, sizeof(place), ", at byte %zu", valid.n);
	assert_refused(&b, place);
	/* Samples and strings before it have their places, too. */
	b = valid;
	put_bytes(&b, 2, (const uint8_t[]){0x08, 5, 0x10, 3}, 4);
	put_text(&b, "text");
	snprintf(place, sizeof(place), ", at byte %zu", b.n);
	put_message(&b, 3, 1u, 8u, 5u, 98u, 0u);
	assert_refused(&b, place);
}

/* Of tables in many pieces; in more than are remembered, the last have no place. */
static void test_places(void **state)
{
	cleanup(profile_freep) struct profile *p = NULL;
	struct bytes b = {.n = 0};
	char place[40];

	(void)state;
	put_valid(&b, 7);
	for (unsigned i = 0; i < 100; i++) {
		struct bytes bad = b;

		put_message(&bad, 3, 1u, 1000u, 5u, 98u, 0u);
		snprintf(place, sizeof(place), "byte %zu", b.n);
		if (i < 60)
			assert_refused(&bad, place);
		put_bytes(&b, 2, (const uint8_t[]){0x08, 5, 0x10, 3}, 4);
		put_message(&b, 3, 1u, 100u + i, 2u, 10u * i, 0u);
	}
	assert_accepted(&b, &p);
}

/* Numbers that are far apart must be found all the same. */
static void test_sparse_ids(void **state)
{
	cleanup(profile_freep) struct profile *p = NULL;
	struct bytes b = {.n = 0}, location, sample;

	(void)state;
	put_message(&b, 1, 1u, 1u, 2u, 2u, 0u);
	for (unsigned i = 0; i < 100; i++) {
		uint64_t id = UINT64_MAX - i * UINT64_C(0x123456789);

		location.n = sample.n = 0;
		put_number(&location, 1, id);
		put_number(&location, 3, i);
		put_bytes(&b, 4, location.data, location.n);
		put_number(&sample, 1, id);
		put_number(&sample, 2, i + 1);
		put_bytes(&b, 2, sample.data, sample.n);
	}
	put_text(&b, "");
	put_text(&b, "samples");
	put_text(&b, "count");
	assert_accepted(&b, &p);
	assert_int_equal(p->n_samples, 100);
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(p->sample_values[i], i + 1);
		assert_int_equal(p->locations[p->sample_locations[i]].address, i);
	}
	location.n = 0;
	put_number(&location, 1, 12345);
	put_number(&location, 2, 1);
	put_bytes(&b, 2, location.data, location.n);
	assert_refused(&b, "location 12345");
}

/* Locations of these @ids, and a sample of each. */
static void put_numbered(struct bytes *b, const uint64_t *ids, unsigned n)
{
	put_message(b, 1, 1u, 1u, 2u, 2u, 0u);
	put_text(b, "");
	put_text(b, "samples");
	put_text(b, "count");
	for (unsigned i = 0; i < n; i++) {
		struct bytes location = {.n = 0}, sample = {.n = 0};

		put_number(&location, 1, ids[i]);
		put_number(&location, 3, i);
		put_bytes(b, 4, location.data, location.n);
		put_number(&sample, 1, ids[i]);
		put_number(&sample, 2, i + 1);
		put_bytes(b, 2, sample.data, sample.n);
	}
}

/* Numbers in no order, with and without gaps, and some that count up from 1. */
static void test_orders_of_ids(void **state)
{
	static const uint64_t orders[][6] = {
		{1, 2, 3, 4, 5, 6},  {6, 5, 4, 3, 2, 1},  {1, 2, 4, 3, 6, 5},
		{2, 1, 3, 4, 5, 7},  {1, 2, 9, 3, 4, 30}, {1, 2, 3, 40, 1ULL << 40, UINT64_MAX},
		{5, 1, 40, 2, 9, 3},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(orders); i++) {
		cleanup(profile_freep) struct profile *p = NULL;
		uint64_t again[7];

		for (unsigned j = 0; j < 7; j++) {
			struct bytes b = {.n = 0};
			uint64_t none = j == 6 ? 1000 : orders[i][j];

			/* Each one twice, and one that no location has. */
			memcpy(again, orders[i], sizeof(orders[i]));
			again[6] = none;
			put_numbered(&b, again, j == 6 ? 6 : 7);
			if (j == 6) {
				struct bytes sample = {.n = 0};

				put_number(&sample, 1, none);
				put_number(&sample, 2, 1);
				put_bytes(&b, 2, sample.data, sample.n);
			}
			assert_refused(&b, j == 6 ? "which does not exist" : "two locations");
		}
		{
			struct bytes b = {.n = 0};

			put_numbered(&b, orders[i], 6);
			assert_accepted(&b, &p);
		}
		assert_int_equal(p->n_samples, 6);
		for (unsigned j = 0; j < 6; j++)
			assert_int_equal(p->locations[p->sample_locations[j]].address, j);
	}
}

/* Samples that are taken from the profile between two pieces are all there were. */
static void test_taken_in_pieces(void **state)
{
	cleanup(pprof_reader_freep) struct pprof_reader *reader = NULL;
	struct profile_message message;
	struct bytes b = {.n = 0}, sample = {.n = 0};
	int64_t sum = 0, n_left = 0;
	bool done;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		sample.n = 0;
		put_number(&sample, 1, 5 + i % 2);
		put_number(&sample, 2, i);
		put_bytes(&b, 2, sample.data, sample.n);
	}
	put_valid(&b, 7);
	assert_int_equal(pprof_reader_new(&reader, 1000), 0);
	assert_int_equal(feed_all(reader, &b, 11, &message), 0);
	for (size_t i = 0; i < b.n; i += 11) {
		struct profile *p = pprof_reader_profile(reader);

		assert_int_equal(pprof_reader_feed(reader, b.data + i, b.n - i < 11 ? b.n - i : 11,
						   &message),
				 0);
		assert_true(p->n_samples < 4);
		sum += profile_total(p, 0);
		n_left += p->n_samples == 0;
		profile_clear_samples(p);
	}
	assert_int_equal(pprof_reader_end(reader, &done, &message), 0);
	assert_true(done && n_left);
	assert_int_equal(sum, 999 * 1000 / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packed_and_unpacked),
		cmocka_unit_test(test_samples_of_nothing),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_no_field),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_sparse_ids),
		cmocka_unit_test(test_orders_of_ids),
		cmocka_unit_test(test_taken_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

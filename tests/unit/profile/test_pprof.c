/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "common/profile/pprof.h"
#include "common/profile/pprof_reader.h"
#include "common/profile/profile.h"
#include "common/utf8.h"
#include "tests/support/says.h"

#define MAX_BYTES ((size_t)1 << 24)

/* A message built by hand, field by field. */
struct bytes {
	uint8_t data[65536];
	size_t n;
};

static void put_varint(struct bytes *b, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		b->data[b->n++] = (uint8_t)(value | 0x80);
	b->data[b->n++] = (uint8_t)value;
}

static void put_number(struct bytes *b, unsigned field, uint64_t value)
{
	put_varint(b, field << 3);
	put_varint(b, value);
}

static void put_bytes(struct bytes *b, unsigned field, const void *data, size_t n)
{
	put_varint(b, field << 3 | 2);
	put_varint(b, n);
	if (n)
		memcpy(b->data + b->n, data, n);
	b->n += n;
}

static void put_text(struct bytes *b, const char *text)
{
	put_bytes(b, 6, text, strlen(text));
}

/* A submessage of numbers: field, value, field, value ... ended by field 0. */
static void put_message(struct bytes *b, unsigned field, ...)
{
	struct bytes m = {.n = 0};
	va_list arguments;
	unsigned number;

	va_start(arguments, field);
	while ((number = va_arg(arguments, unsigned)))
		put_number(&m, number, va_arg(arguments, unsigned));
	va_end(arguments);
	put_bytes(b, field, m.data, m.n);
}

/* Sample type, one function, one mapping, two locations; a line of @function. */
static void put_valid(struct bytes *b, unsigned function)
{
	struct bytes location = {.n = 0};

	put_message(b, 1, 1u, 1u, 2u, 2u, 0u);
	put_message(b, 3, 1u, 9u, 2u, 0x1000u, 3u, 0x2000u, 0u);
	put_message(b, 5, 1u, 7u, 2u, 3u, 0u);
	put_number(&location, 1, 5);
	put_number(&location, 2, 9);
	put_number(&location, 3, 0x1234);
	put_message(&location, 4, 1u, function, 2u, 42u, 0u);
	put_bytes(b, 4, location.data, location.n);
	put_message(b, 4, 1u, 6u, 3u, 0x99u, 0u);
	put_text(b, "");
	put_text(b, "samples");
	put_text(b, "count");
	put_text(b, "main");
}

/* One of the two times; the samples stay in the profile. */
static int feed_all(struct pprof_reader *reader, const struct bytes *b, size_t piece,
		    struct profile_message *message)
{
	bool done = false;
	int r = 0;

	for (size_t i = 0; i < b->n && !r; i += piece)
		r = pprof_reader_feed(reader, b->data + i, b->n - i < piece ? b->n - i : piece,
				      message);
	while (!r && !done)
		r = pprof_reader_end(reader, &done, message);
	return r;
}

static void assert_same_file(const struct profile *p, const struct profile *q)
{
	cleanup(freep) uint8_t *a = NULL, *b = NULL;
	size_t n_a, n_b;

	assert_int_equal(pprof_write(p, 1, &a, &n_a), 0);
	assert_int_equal(pprof_write(q, 1, &b, &n_b), 0);
	assert_int_equal(n_a, n_b);
	assert_memory_equal(a, b, n_a);
}

/* Pieces of whatever size say the same as the whole, and @text of the same place. */
static void read_in_pieces(const struct bytes *b, size_t piece, int outcome,
			   const struct profile *whole, const char *text)
{
	cleanup(pprof_reader_freep) struct pprof_reader *reader = NULL;
	struct profile_message message;
	int r;

	assert_int_equal(pprof_reader_new(&reader, MAX_BYTES), 0);
	r = feed_all(reader, b, piece, &message);
	if (!r) {
		assert_int_equal(pprof_reader_profile(reader)->n_samples, 0);
		r = feed_all(reader, b, piece, &message);
	}
	assert_int_equal(r, outcome);
	if (r && strstr(text, ", at byte "))
		assert_string_equal(message.text, text);
	if (!r)
		assert_same_file(pprof_reader_profile(reader), whole);
}

static int read_bytes(const struct bytes *b, struct profile **ret, const char **ret_text)
{
	static struct profile_message message;
	int r;

	message.text[0] = '\0';
	r = pprof_read(b->data, b->n, MAX_BYTES, ret, &message);
	for (size_t piece = 1; piece < 20; piece += 6)
		read_in_pieces(b, piece, r, *ret, message.text);
	read_in_pieces(b, sizeof(b->data), r, *ret, message.text);
	*ret_text = message.text;
	return r;
}

static void assert_accepted(const struct bytes *b, struct profile **ret)
{
	const char *text;
	int r = read_bytes(b, ret, &text);

	assert_string_equal(text, "");
	assert_int_equal(r, PPROF_E_OK);
}

static void assert_refused(const struct bytes *b, const char *part)
{
	struct profile *p = NULL;
	const char *text;

	assert_int_equal(read_bytes(b, &p, &text), PPROF_E_MALFORMED);
	assert_null(p);
	assert_says(text, part);
}

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
	assert_int_equal(p->n_samples, 1);
	assert_int_equal(p->sample_values[0], 6);
	assert_int_equal(p->samples[0].n_locations, 2);
	assert_int_equal(p->locations[p->sample_locations[0]].address, 0x1234);
	assert_int_equal(p->locations[p->sample_locations[0]].mapping, 0);
	assert_int_equal(p->locations[p->sample_locations[1]].mapping, PROFILE_NONE);
	assert_int_equal(p->lines[0].line, 42);
	assert_string_equal(profile_string(p, p->functions[p->lines[0].function].name), "main");
	assert_int_equal(p->n_comments, 3);
	assert_string_equal(profile_string(p, p->comments[2]), "main");
}

/* They would decide the order of those that weigh something. */
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
	assert_int_equal(p->n_samples, 2);
	assert_int_equal(p->sample_values[0], 5);
	assert_int_equal(p->locations[p->sample_locations[0]].address, 0x99);
	assert_int_equal(p->sample_values[1], 3);
	assert_int_equal(p->locations[p->sample_locations[1]].address, 0x1234);
}

static void test_refusals(void **state)
{
	static const uint8_t dangling[] = {0x08, 8, 0x10, 3}, no_value[] = {0x08, 5};
	static const uint8_t cut[] = {0x0a, 2, 5, 0x80};
	struct bytes b = {.n = 0}, valid = {.n = 0};
	char place[40];

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
	b.n = 0;
	put_text(&b, "");
	put_bytes(&b, 6, "a\0b", 3);
	assert_refused(&b, "NUL");
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
	snprintf(place, sizeof(place), ", at byte %zu", valid.n);
	assert_refused(&b, place);
	/* Samples and strings before it have their places, too. */
	b = valid;
	put_bytes(&b, 2, (const uint8_t[]){0x08, 5, 0x10, 3}, 4);
	put_text(&b, "text");
	snprintf(place, sizeof(place), ", at byte %zu", b.n);
	put_message(&b, 3, 1u, 8u, 5u, 98u, 0u);
	assert_refused(&b, place);
	b.n = 0;
	put_valid(&b, 8);
	assert_refused(&b, "function 8");
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

static struct profile *sample_profile(void)
{
	struct profile *p = NULL;
	struct profile_mapping m = {.start = 0x1000,
				    .limit = UINT64_MAX,
				    .offset = 0x10,
				    .has_functions = true,
				    .has_inline_frames = true};
	struct profile_function f = {.start_line = -3};
	struct profile_label labels[2] = {{0}, {.num = -5}};
	const int64_t values[] = {7, -70000000000};
	struct profile_line lines[2] = {{0, 1}, {0, 200}};
	uint32_t chain[2];

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	assert_int_equal(profile_add_text(p, "/bin/true", &m.path), 0);
	assert_int_equal(profile_add_text(p, "abcdef", &m.build_id), 0);
	assert_int_equal(profile_add_text(p, "main", &f.name), 0);
	assert_int_equal(profile_add_text(p, "pid", &labels[1].key), 0);
	labels[0].key = f.name;
	labels[0].str = m.path;
	labels[1].num_unit = m.build_id;
	assert_int_equal(profile_add_mapping(p, &m, &chain[0]), 0);
	assert_int_equal(profile_add_function(p, &f, &chain[0]), 0);
	assert_int_equal(profile_add_location(p, 0, UINT64_MAX - 1, lines, 2, &chain[0]), 0);
	assert_int_equal(profile_add_location(p, PROFILE_NONE, 0, NULL, 0, &chain[1]), 0);
	p->locations[1].is_folded = true;
	assert_int_equal(profile_add_sample(p, chain, 2, values, labels, 2), 0);
	assert_int_equal(profile_add_sample(p, chain, 1, values, NULL, 0), 0);
	assert_int_equal(profile_add_comment(p, "# profd test"), 0);
	p->period_type = p->sample_types[1];
	p->period = 10101010;
	p->time_ns = INT64_C(1700000000000000000);
	p->duration_ns = 60;
	p->default_sample_type = p->sample_types[0].type;
	p->drop_frames = f.name;
	p->keep_frames = m.path;
	p->doc_url = m.build_id;
	return p;
}

static void assert_same_text(const struct profile *p, uint32_t a, const struct profile *q,
			     uint32_t b)
{
	assert_string_equal(profile_string(p, a), profile_string(q, b));
}

static void test_round_trip(void **state)
{
	cleanup(profile_freep) struct profile *p = sample_profile(), *q = NULL;
	cleanup(freep) uint8_t *data = NULL, *again = NULL;
	struct profile_message message;
	size_t n, n_again;

	(void)state;
	assert_int_equal(pprof_write(p, 6, &data, &n), 0);
	assert_memory_equal(data + 4, "\0\0\0\0", 4); /* gzip's time stamp */
	assert_int_equal(pprof_read(data, n, MAX_BYTES, &q, &message), PPROF_E_OK);
	assert_int_equal(pprof_write(q, 6, &again, &n_again), 0);
	assert_int_equal(n, n_again);
	assert_memory_equal(data, again, n);
	assert_int_equal(q->n_samples, 2);
	assert_memory_equal(q->sample_values, p->sample_values, 4 * sizeof(*q->sample_values));
	assert_int_equal(q->samples[0].n_labels, 2);
	assert_int_equal(q->sample_labels[1].num, -5);
	assert_same_text(p, p->sample_labels[1].key, q, q->sample_labels[1].key);
	assert_same_text(p, p->sample_labels[0].str, q, q->sample_labels[0].str);
	assert_int_equal(q->n_locations, 2);
	assert_true(q->locations[0].address == UINT64_MAX - 1);
	assert_false(q->locations[0].is_folded);
	assert_true(q->locations[1].is_folded);
	assert_int_equal(q->locations[0].n_lines, 2);
	assert_int_equal(q->lines[1].line, 200);
	assert_int_equal(q->functions[0].start_line, -3);
	assert_true(q->mappings[0].limit == UINT64_MAX);
	assert_true(q->mappings[0].has_functions && q->mappings[0].has_inline_frames);
	assert_false(q->mappings[0].has_filenames || q->mappings[0].has_line_numbers);
	assert_same_text(p, p->mappings[0].build_id, q, q->mappings[0].build_id);
	assert_int_equal(q->period, p->period);
	assert_true(q->time_ns == p->time_ns && q->duration_ns == p->duration_ns);
	assert_same_text(p, p->default_sample_type, q, q->default_sample_type);
	assert_same_text(p, p->drop_frames, q, q->drop_frames);
	assert_same_text(p, p->keep_frames, q, q->keep_frames);
	assert_same_text(p, p->doc_url, q, q->doc_url);
	assert_same_text(p, p->period_type.unit, q, q->period_type.unit);
	assert_string_equal(profile_string(q, q->comments[0]), "# profd test");
}

/* proto3 strings are UTF-8; names are any bytes. */
static void test_strings_are_utf8(void **state)
{
	cleanup(profile_freep) struct profile *p = sample_profile(), *q = NULL;
	cleanup(freep) uint8_t *data = NULL;
	struct profile_message message;
	size_t n;

	(void)state;
	assert_int_equal(profile_add_text(p, "cut\xe2\x80", &p->doc_url), 0);
	assert_int_equal(pprof_write(p, 6, &data, &n), 0);
	assert_int_equal(pprof_read(data, n, MAX_BYTES, &q, &message), PPROF_E_OK);
	assert_string_equal(profile_string(q, q->doc_url), "cut" UTF8_REPLACEMENT UTF8_REPLACEMENT);
}

static size_t gzip_member(const uint8_t *data, size_t n, uint8_t *to, size_t size)
{
	z_stream z = {0};

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (z_const Bytef *)(uintptr_t)data;
	z.avail_in = (uInt)n;
	z.next_out = to;
	z.avail_out = (uInt)size;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return size - z.avail_out;
}

static void test_gzip(void **state)
{
	cleanup(profile_freep) struct profile *p = NULL, *q = NULL;
	struct bytes plain = {.n = 0}, b = {.n = 0};
	struct profile_message message;

	(void)state;
	put_valid(&plain, 7);
	/* Two members, cut in the middle of a field. */
	b.n = gzip_member(plain.data, 11, b.data, sizeof(b.data));
	b.n += gzip_member(plain.data + 11, plain.n - 11, b.data + b.n, sizeof(b.data) - b.n);
	assert_accepted(&b, &p);
	assert_int_equal(p->n_functions, 1);
	assert_int_equal(pprof_read(b.data, b.n, plain.n, &q, &message), PPROF_E_OK);
	profile_free(steal_ptr(&q));
	assert_int_equal(pprof_read(b.data, b.n, plain.n - 1, &q, &message), PPROF_E_TOO_BIG);
	assert_int_equal(pprof_read(plain.data, plain.n, plain.n - 1, &q, &message),
			 PPROF_E_TOO_BIG);
	b.data[b.n++] = 0;
	assert_refused(&b, "gzip data");
	b.n -= 2;
	assert_refused(&b, "gzip data");
}

/* A small file that unpacks to a lot is stopped at the limit, not at the end. */
static void test_bomb(void **state)
{
	cleanup(freep) uint8_t *zeros = calloc(1, (size_t)1 << 26);
	cleanup(pprof_reader_freep) struct pprof_reader *reader = NULL;
	struct bytes b = {.n = 0};
	struct profile *p = NULL;
	struct profile_message message;

	(void)state;
	assert_non_null(zeros);
	b.n = gzip_member(zeros, (size_t)1 << 24, b.data, sizeof(b.data));
	assert_int_equal(pprof_read(b.data, b.n, 1000000, &p, &message), PPROF_E_TOO_BIG);
	assert_string_equal(message.text, "unpacks to more than 1000000 bytes");
	/* In pieces: as a field that never ends, and as strings without end. */
	assert_int_equal(pprof_reader_new(&reader, 1000000), 0);
	assert_int_equal(feed_all(reader, &b, 100, &message), PPROF_E_MALFORMED);
	pprof_reader_free(steal_ptr(&reader));
	for (size_t i = 0; i < 1 << 24; i += 2)
		zeros[i] = 6 << 3 | 2;
	b.n = gzip_member(zeros, (size_t)1 << 24, b.data, sizeof(b.data));
	assert_int_equal(pprof_reader_new(&reader, 1000000), 0);
	assert_int_equal(feed_all(reader, &b, 100, &message), PPROF_E_TOO_BIG);
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
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_sparse_ids),
		cmocka_unit_test(test_orders_of_ids),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_strings_are_utf8),
		cmocka_unit_test(test_gzip),
		cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_taken_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

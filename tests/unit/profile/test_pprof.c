/* SPDX-License-Identifier: MIT */
/* Whole files: what is written is what is read, compressed, and within its limit. */
#include <zlib.h>

#include "common/utf8.h"
#include "tests/unit/profile/pprof_fixture.h"

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
	struct profile_line lines[2] = {{.line = 1}, {.line = 200, .column = 12}};
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
	assert_refused(&b, "in its middle");
	b.n -= 2;
	assert_refused(&b, "in its middle");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_strings_are_utf8),
		cmocka_unit_test(test_gzip),
		cmocka_unit_test(test_bomb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

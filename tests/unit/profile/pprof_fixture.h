/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_PROFILE_PPROF_FIXTURE_H
#define PROFD_TESTS_UNIT_PROFILE_PPROF_FIXTURE_H

/* profile.proto files by hand, field by field, which are read at once and in pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/profile/pprof.h"
#include "common/profile/pprof_reader.h"
#include "common/profile/profile.h"
#include "tests/support/says.h"

#define MAX_BYTES ((size_t)1 << 24)

struct bytes {
	uint8_t data[65536];
	size_t n;
};

static inline void put_varint(struct bytes *b, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		b->data[b->n++] = (uint8_t)(value | 0x80);
	b->data[b->n++] = (uint8_t)value;
}

static inline void put_number(struct bytes *b, unsigned field, uint64_t value)
{
	put_varint(b, field << 3);
	put_varint(b, value);
}

static inline void put_bytes(struct bytes *b, unsigned field, const void *data, size_t n)
{
	put_varint(b, field << 3 | 2);
	put_varint(b, n);
	if (n)
		memcpy(b->data + b->n, data, n);
	b->n += n;
}

static inline void put_text(struct bytes *b, const char *text)
{
	put_bytes(b, 6, text, strlen(text));
}

/* A submessage of numbers: field, value, field, value ... ended by field 0. */
static inline void put_message(struct bytes *b, unsigned field, ...)
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
static inline void put_valid(struct bytes *b, unsigned function)
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
static inline int feed_all(struct pprof_reader *reader, const struct bytes *b, size_t piece,
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

static inline void assert_same_file(const struct profile *p, const struct profile *q)
{
	cleanup(freep) uint8_t *a = NULL, *b = NULL;
	size_t n_a, n_b;

	assert_int_equal(pprof_write(p, 1, &a, &n_a), 0);
	assert_int_equal(pprof_write(q, 1, &b, &n_b), 0);
	assert_int_equal(n_a, n_b);
	assert_memory_equal(a, b, n_a);
}

/* Pieces of whatever size say the same as the whole, and @text of the same place. */
static inline void read_in_pieces(const struct bytes *b, size_t piece, int outcome,
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

static inline int read_bytes(const struct bytes *b, struct profile **ret, const char **ret_text)
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

static inline void assert_accepted(const struct bytes *b, struct profile **ret)
{
	const char *text;
	int r = read_bytes(b, ret, &text);

	assert_string_equal(text, "");
	assert_int_equal(r, PPROF_E_OK);
}

static inline void assert_refused(const struct bytes *b, const char *part)
{
	struct profile *p = NULL;
	const char *text;

	assert_int_equal(read_bytes(b, &p, &text), PPROF_E_MALFORMED);
	assert_null(p);
	assert_says(text, part);
}

#endif

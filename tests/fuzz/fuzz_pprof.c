/* SPDX-License-Identifier: MIT */
/*
 * What the reader accepts must survive writing and reading again: the second generation, written,
 * is the first one byte for byte. (The input itself need not be: it may hold unused or unordered
 * things, and texts that are no UTF-8, of which several may become the same.) Read in pieces, it is
 * the same again, or refused again.
 */
#undef NDEBUG /* the assertions are what this program is for */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/profile/pprof.h"
#include "common/profile/pprof_reader.h"
#include "common/profile/profile.h"
#include "common/utf8.h"

#define MAX_BYTES ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int feed_all(struct pprof_reader *reader, const uint8_t *data, size_t size, size_t piece)
{
	struct profile_message message;
	bool done = false;
	int r = 0;

	for (size_t i = 0; i < size && !r; i += piece)
		r = pprof_reader_feed(reader, data + i, size - i < piece ? size - i : piece,
				      &message);
	while (!r && !done)
		r = pprof_reader_end(reader, &done, &message);
	assert(r >= 0);
	return r;
}

/* @whole: what pprof_read() made of it, or NULL. */
static void read_in_pieces(const uint8_t *data, size_t size, const struct profile *whole)
{
	cleanup(pprof_reader_freep) struct pprof_reader *reader = NULL;
	cleanup(freep) uint8_t *a = NULL, *b = NULL;
	size_t n_a, n_b, piece = 1 + size % 61;
	int r;

	assert(!pprof_reader_new(&reader, MAX_BYTES));
	r = feed_all(reader, data, size, piece);
	if (!r)
		r = feed_all(reader, data, size, piece);
	assert((r == 0) == (whole != NULL));
	if (!whole)
		return;
	assert(!pprof_write(whole, 1, &a, &n_a));
	assert(!pprof_write(pprof_reader_profile(reader), 1, &b, &n_b));
	assert(n_a == n_b && !memcmp(a, b, n_a));
}

static bool is_all_utf8(const struct profile *p)
{
	for (uint32_t i = 0; i < profile_n_strings(p); i++)
		if (!utf8_is_valid(profile_string(p, i)))
			return false;
	return true;
}

/* *p, written and read. */
static void write_and_read(struct profile **p)
{
	cleanup(freep) uint8_t *bytes = NULL;
	struct profile_message message;
	struct profile *again = NULL;
	size_t n;

	assert(!pprof_write(*p, 1, &bytes, &n));
	assert(!pprof_read(bytes, n, MAX_BYTES * 64, &again, &message));
	for (uint32_t i = 0; i < again->n_sample_types; i++)
		assert(profile_total(*p, i) == profile_total(again, i));
	profile_free(*p);
	*p = again;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup(profile_freep) struct profile *p = NULL;
	cleanup(freep) uint8_t *first = NULL, *second = NULL;
	struct profile_message message = {""};
	size_t n_first, n_second;
	int r;

	r = pprof_read(data, size, MAX_BYTES, &p, &message);
	assert(r >= 0);
	assert((r == 0) == !message.text[0]);
	if (r != PPROF_E_TOO_BIG)
		read_in_pieces(data, size, p);
	if (r)
		return 0;
	while (!is_all_utf8(p))
		write_and_read(&p);
	assert(!pprof_write(p, 1, &first, &n_first));
	write_and_read(&p);
	assert(!pprof_write(p, 1, &second, &n_second));
	assert(n_first == n_second && !memcmp(first, second, n_first));
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Header lines as the format's grammar has them, with two tolerations: period may come twice,
 * because the grammar lists it both among the required lines and among the optional ones (the
 * first counts), and epoch may have 12 or 14 digits. Lines with no place in struct image_profile
 * are kept whole: whoever changes a profile has to hand them on.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/profile/image_profile.h"
#include "common/profile/message.h"

#define FOOTER_BYTES 8
#define CHUNK_BYTES  8
#define HEADER_MAX   ((size_t)1 << 20)

enum key {
	KEY_VERSION,
	KEY_IMAGE,
	KEY_EPOCH,
	KEY_PLATFORM,
	KEY_EVENT,
	KEY_PERIOD,
	KEY_TSTART,
	KEY_TSIZE,
	KEY_CPUSPEED,
	N_REQUIRED,
	KEY_CPUCOUNT = N_REQUIRED,
	KEY_PATH,
	KEY_LEDGER,
	N_KEYS,
};

static const char *const key_names[N_KEYS] = {
	"version", "image", "epoch",    "platform", "event", "period",
	"tstart",  "tsize", "cpuspeed", "cpucount", "path",  "ledger",
};

struct reader {
	struct image_profile *p;
	struct profile_message *message;
	const uint8_t *data;
	size_t length, at;
	bool seen[N_KEYS];
	size_t n_path, n_unknown; /* length of these texts so far */
};

static void image_reader_deinit(struct reader *r)
{
	image_profile_free(r->p);
}

#define REFUSE(r, ...) profile_refuse((r)->message, IMAGE_PROFILE_E_MALFORMED, __VA_ARGS__)

/* One header line: data[start, end), the newline not included. */
struct line {
	size_t start, end;
	const char *word, *rest; /* rest: behind the blanks */
	size_t n_word, n_rest;
};

static bool is_header_blank(char c)
{
	return c == ' ' || c == '\t';
}

static int next_header_line(struct reader *r, struct line *ret)
{
	size_t left = r->length - r->at;
	const char *start = (const char *)r->data + r->at, *at = start;
	const char *end = memchr(start, '\n', left < HEADER_MAX ? left : HEADER_MAX);

	if (!end)
		return REFUSE(r, "byte %zu: a header line without end; no samples line", r->at);
	if (memchr(start, '\0', (size_t)(end - start)))
		return REFUSE(r, "byte %zu: a header line with a NUL byte", r->at);
	while (at < end && !is_header_blank(*at))
		at++;
	ret->start = r->at;
	ret->end = r->at + (size_t)(end - start);
	ret->word = start;
	ret->n_word = (size_t)(at - start);
	while (at < end && is_header_blank(*at))
		at++;
	ret->rest = at;
	ret->n_rest = (size_t)(end - at);
	r->at = ret->end + 1;
	return 0;
}

static bool word_is(const struct line *line, const char *word)
{
	return line->n_word == strlen(word) && !memcmp(line->word, word, line->n_word);
}

static int parse_header_number(struct reader *r, const struct line *line, int base, uint64_t max,
			       uint64_t *ret)
{
	uint64_t value = 0;

	for (size_t i = 0; i < line->n_rest; i++) {
		unsigned char c = (unsigned char)line->rest[i];
		int digit = isdigit(c) ? c - '0' : isxdigit(c) ? tolower(c) - 'a' + 10 : 99;

		if (digit >= base)
			return REFUSE(r, "byte %zu: %.*s is not a number", line->start,
				      (int)line->n_word, line->word);
		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value) || value > max)
			return REFUSE(r, "byte %zu: %.*s is too big", line->start,
				      (int)line->n_word, line->word);
	}
	*ret = value;
	return 0;
}

static int copy_header_text(const struct line *line, char **ret)
{
	free(*ret);
	*ret = strndup(line->rest, line->n_rest);
	return *ret ? 0 : error_origin(-ENOMEM);
}

static int copy_header_digits(struct reader *r, const struct line *line, bool hexadecimal,
			      char **ret)
{
	for (size_t i = 0; i < line->n_rest; i++) {
		unsigned char c = (unsigned char)line->rest[i];

		if (hexadecimal ? !isxdigit(c) : !isdigit(c))
			return REFUSE(r, "byte %zu: %.*s is not made of %s digits", line->start,
				      (int)line->n_word, line->word,
				      hexadecimal ? "hexadecimal" : "decimal");
	}
	if (!hexadecimal && line->n_rest != 10 && line->n_rest != 12 && line->n_rest != 14)
		return REFUSE(r, "byte %zu: epoch has %zu digits", line->start, line->n_rest);
	return copy_header_text(line, ret);
}

/* Appends @n bytes and a newline to a text that has @length bytes so far. */
static int append_header_line(char **to, size_t *length, const char *bytes, size_t n)
{
	/* In steps of powers of two, so that a header of many lines is not copied for each. */
	size_t size = *length + n + 2, room = 64;
	char *grown;

	while (room < size)
		room *= 2;
	grown = realloc(*to, room);
	if (!grown)
		return error_origin(-ENOMEM);
	*to = grown;
	memcpy(grown + *length, bytes, n);
	grown[*length + n] = '\n';
	grown[*length + n + 1] = '\0';
	*length += n + 1;
	return 0;
}

/* The layout of the counts is known for versions 0.06 and 0.07 only. */
static int check_header_version(struct reader *r, const struct line *line)
{
	static const char prefix[] = "pdb-";
	const char *at = line->rest, *end = line->rest + line->n_rest;
	unsigned long parts[2] = {0, 0};

	if (line->n_rest < 4 || memcmp(at, prefix, 4))
		return REFUSE(r, "byte %zu: version is not pdb-<major>.<minor>", line->start);
	at += 4;
	for (unsigned i = 0; i < 2; i++) {
		const char *start = at;

		for (; at < end && isdigit((unsigned char)*at) && at - start < 9; at++)
			parts[i] = parts[i] * 10 + (unsigned long)(*at - '0');
		if (at == start || (i == 0 ? at == end || *at++ != '.' : at != end))
			return REFUSE(r, "byte %zu: version is not pdb-<major>.<minor>",
				      line->start);
	}
	if (parts[0] != 0 || (parts[1] != 6 && parts[1] != 7))
		return REFUSE(r, "byte %zu: version pdb-%lu.%lu is not known, only 0.06 and 0.07",
			      line->start, parts[0], parts[1]);
	return 0;
}

static int parse_known_header(struct reader *r, enum key key, const struct line *line)
{
	struct image_profile *p = r->p;
	uint64_t value;
	int e;

	switch (key) {
	case KEY_VERSION:
		return check_header_version(r, line);
	case KEY_IMAGE:
		return copy_header_digits(r, line, true, &p->image);
	case KEY_EPOCH:
		return copy_header_digits(r, line, false, &p->epoch);
	case KEY_PLATFORM:
		return copy_header_text(line, &p->platform);
	case KEY_EVENT:
		return copy_header_text(line, &p->event);
	case KEY_PERIOD:
		return parse_header_number(r, line, 10, UINT64_MAX, &p->period);
	case KEY_TSTART:
		return parse_header_number(r, line, 16, UINT64_MAX, &p->tstart);
	case KEY_TSIZE:
		return parse_header_number(r, line, 10, UINT64_MAX, &p->tsize);
	case KEY_PATH:
		return append_header_line(&p->path, &r->n_path, line->rest, line->n_rest);
	case KEY_LEDGER:
		return copy_header_text(line, &p->ledger);
	default:
		e = parse_header_number(r, line, 10, UINT32_MAX, &value);
		if (e)
			return e;
		*(key == KEY_CPUSPEED ? &p->cpuspeed_mhz : &p->cpucount) = (uint32_t)value;
		return 0;
	}
}

static int parse_header_line(struct reader *r, const struct line *line)
{
	enum key key = 0;

	if (!line->n_word || !line->n_rest)
		return REFUSE(r, "byte %zu: not a header line of a word and a value", line->start);
	while (key < N_KEYS && !word_is(line, key_names[key]))
		key++;
	if (line->start == 0 && key != KEY_VERSION)
		return REFUSE(r, "byte 0: not an image profile: the first line is not version");
	if (key == N_KEYS)
		return append_header_line(&r->p->unknown, &r->n_unknown, line->word,
					  line->end - line->start);
	if (r->seen[key] && key == KEY_PERIOD)
		return 0;
	if (r->seen[key] && key != KEY_PATH)
		return REFUSE(r, "byte %zu: a second line %s", line->start, key_names[key]);
	r->seen[key] = true;
	return parse_known_header(r, key, line);
}

static int image_profile_read_header(struct reader *r)
{
	struct line line;
	int e;

	for (;;) {
		if (r->at > HEADER_MAX)
			return REFUSE(r, "byte %zu: the header is longer than 1 MiB", r->at);
		e = next_header_line(r, &line);
		if (e)
			return e;
		if (word_is(&line, "samples") && !line.n_rest)
			break;
		e = parse_header_line(r, &line);
		if (e)
			return e;
	}
	for (enum key key = 0; key < N_REQUIRED; key++) {
		if (!r->seen[key])
			return REFUSE(r, "byte %zu: the header ends without a line %s", line.start,
				      key_names[key]);
	}
	if (r->n_path)
		r->p->path[r->n_path - 1] =
			'\0'; /* path lines are joined, not ended, by newlines */
	return 0;
}

static uint32_t image_profile_get_u32(const struct reader *r, size_t at)
{
	const uint8_t *b = r->data + at;

	return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static void read_chunk(struct reader *r, uint32_t offset, uint32_t n)
{
	struct image_profile *p = r->p;

	for (uint32_t i = 0; i < n; i++, r->at += 4) {
		uint32_t count = image_profile_get_u32(r, r->at);

		if (!count)
			continue;
		p->counts[p->n_counts].offset = offset + i;
		p->counts[p->n_counts++].count = count;
		p->total += count;
	}
}

static int read_footer(struct reader *r)
{
	uint32_t n = image_profile_get_u32(r, r->at), total = image_profile_get_u32(r, r->at + 4);

	if (n != r->p->n_counts)
		return REFUSE(r, "byte %zu: the footer says %" PRIu32 " addresses, there are %zu",
			      r->at, n, r->p->n_counts);
	if (total != r->p->total)
		return REFUSE(r,
			      "byte %zu: the footer says %" PRIu32 " samples, there are %" PRIu64,
			      r->at + 4, total, r->p->total);
	return 0;
}

static int read_binary(struct reader *r)
{
	size_t left = r->length - r->at;
	uint64_t next = 0; /* the first offset that no chunk has covered */

	if (left < FOOTER_BYTES || left % 4)
		return REFUSE(r, "byte %zu: %zu bytes of counts, not a multiple of 4 with a footer",
			      r->at, left);
	r->p->counts = calloc(left / 4, sizeof(*r->p->counts));
	if (!r->p->counts)
		return error_origin(-ENOMEM);
	while (r->length - r->at > FOOTER_BYTES) {
		size_t room = r->length - r->at - FOOTER_BYTES;
		uint32_t offset = image_profile_get_u32(r, r->at),
			 n = image_profile_get_u32(r, r->at + 4);

		if (room < CHUNK_BYTES || n > (room - CHUNK_BYTES) / 4)
			return REFUSE(r, "byte %zu: a chunk reaches into the footer", r->at);
		if (!n)
			return REFUSE(r, "byte %zu: a chunk of no addresses", r->at);
		if (offset < next)
			return REFUSE(r,
				      "byte %zu: a chunk at offset %" PRIu32
				      " overlaps or precedes the one before it",
				      r->at, offset);
		next = (uint64_t)offset + n;
		if (next > (uint64_t)UINT32_MAX + 1)
			return REFUSE(r, "byte %zu: a chunk ends past offset 2^32", r->at);
		r->at += CHUNK_BYTES;
		read_chunk(r, offset, n);
	}
	return read_footer(r);
}

int image_profile_read(const uint8_t *data, size_t length, struct image_profile **ret,
		       struct profile_message *message)
{
	cleanup(image_reader_deinit) struct reader r = {.message = message,
							.data = data,
							.length = length};
	int e;

	e = image_profile_new(&r.p);
	if (e)
		return e;
	if (!length)
		return REFUSE(&r, "byte 0: the file is empty");
	e = image_profile_read_header(&r);
	if (e)
		return e;
	e = read_binary(&r);
	if (e)
		return e;
	*ret = steal_ptr(&r.p);
	return IMAGE_PROFILE_E_OK;
}

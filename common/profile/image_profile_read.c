/* SPDX-License-Identifier: MIT */
/*
 * Header lines as the format's grammar has them, with two tolerations: period may come twice,
 * because the grammar lists it both among the required lines and among the optional ones (the
 * first counts), and epoch may have 12 or 14 digits. Lines with no place in struct image_profile
 * are kept whole: a program that changes a profile has to hand them on.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/profile/image_profile.h"
#include "common/profile/pprof.h"
#include "common/room.h"
#include "common/text_print.h"

#define FOOTER_BYTES 8
#define CHUNK_BYTES  8
#define HEADER_MAX   ((size_t)1 << 20)
#define DECIMAL      "0123456789"
#define HEXADECIMAL  DECIMAL "abcdefABCDEF"

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

struct image_profile_lines {
	char *text;
	size_t n, max;
};

struct image_profile_reader {
	struct image_profile *p;
	struct profile_message *message;
	const uint8_t *data;
	size_t length, at;
	bool seen[N_KEYS];
	struct image_profile_lines path, unknown;
};

static void image_reader_deinit(struct image_profile_reader *r)
{
	image_profile_free(r->p);
	free(r->path.text);
	free(r->unknown.text);
}

#define REFUSE(r, ...) profile_refuse((r)->message, IMAGE_PROFILE_E_MALFORMED, __VA_ARGS__)

/* One header line, which began at the byte @at: a copy of the whole, its first word, and the rest.
 */
struct image_profile_line {
	size_t at;
	char *text, *word, *rest;
};

static void image_line_deinit(struct image_profile_line *line)
{
	free(line->text);
	free(line->word);
}

static int next_header_line(struct image_profile_reader *r, struct image_profile_line *ret)
{
	size_t left = r->length - r->at, word;
	const char *start = (const char *)r->data + r->at;
	const char *end = memchr(start, '\n', left < HEADER_MAX ? left : HEADER_MAX);

	if (!end)
		return REFUSE(r, "byte %zu: a header line without end; no samples line", r->at);
	if (memchr(start, '\0', (size_t)(end - start)))
		return REFUSE(r, "byte %zu: a header line with a NUL byte", r->at);
	ret->at = r->at;
	ret->text = strndup(start, (size_t)(end - start));
	word = ret->text ? strcspn(ret->text, " \t") : 0;
	ret->word = strndup(start, word);
	if (!ret->text || !ret->word)
		return error_origin(-ENOMEM);
	ret->rest = ret->text + word + strspn(ret->text + word, " \t");
	r->at += (size_t)(end - start) + 1;
	return 0;
}

static int parse_header_number(struct image_profile_reader *r,
			       const struct image_profile_line *line, int base, uint64_t max,
			       uint64_t *ret)
{
	unsigned long long value;

	if (line->rest[strspn(line->rest, base == 16 ? HEXADECIMAL : DECIMAL)])
		return REFUSE(r, "byte %zu: %s is not a number", line->at, line->word);
	errno = 0;
	value = strtoull(line->rest, NULL, base);
	if (errno || value > max)
		return REFUSE(r, "byte %zu: %s is too big", line->at, line->word);
	*ret = value;
	return 0;
}

static int copy_header_image(struct image_profile_reader *r, const struct image_profile_line *line)
{
	if (line->rest[strspn(line->rest, HEXADECIMAL)])
		return REFUSE(r, "byte %zu: image is not made of hexadecimal digits", line->at);
	return text_copy(&r->p->image, line->rest);
}

static int copy_header_epoch(struct image_profile_reader *r, const struct image_profile_line *line)
{
	size_t n = strlen(line->rest);

	if (line->rest[strspn(line->rest, DECIMAL)])
		return REFUSE(r, "byte %zu: epoch is not made of decimal digits", line->at);
	if (n != 10 && n != 12 && n != 14)
		return REFUSE(r, "byte %zu: epoch has %zu digits", line->at, n);
	return text_copy(&r->p->epoch, line->rest);
}

static int append_header_line(struct image_profile_lines *to, const char *text)
{
	size_t n = strlen(text);
	int r = room_make(&to->text, &to->max, to->n + n + 2, 1);

	if (r)
		return r;
	memcpy(to->text + to->n, text, n);
	to->n += n + 1;
	to->text[to->n - 1] = '\n';
	to->text[to->n] = '\0';
	return 0;
}

/* The layout of the counts is known for versions 0.06 and 0.07 only. */
static int check_header_version(struct image_profile_reader *r,
				const struct image_profile_line *line)
{
	unsigned long major, minor;
	int n = 0;

	if (strspn(line->rest, "pdb-" DECIMAL ".") != strlen(line->rest) ||
	    sscanf(line->rest, "pdb-%9lu.%9lu%n", &major, &minor, &n) != 2 || line->rest[n] ||
	    strchr(line->rest + strlen("pdb-"), '-'))
		return REFUSE(r, "byte %zu: version is not pdb-<major>.<minor>", line->at);
	if (major != 0 || (minor != 6 && minor != 7))
		return REFUSE(r, "byte %zu: version pdb-%lu.%lu is not known, only 0.06 and 0.07",
			      line->at, major, minor);
	return 0;
}

static int parse_known_header(struct image_profile_reader *r, enum key key,
			      const struct image_profile_line *line)
{
	struct image_profile *p = r->p;
	uint64_t value;
	int e;

	switch (key) {
	case KEY_VERSION:
		return check_header_version(r, line);
	case KEY_IMAGE:
		return copy_header_image(r, line);
	case KEY_EPOCH:
		return copy_header_epoch(r, line);
	case KEY_PLATFORM:
		return text_copy(&p->platform, line->rest);
	case KEY_EVENT:
		return text_copy(&p->event, line->rest);
	case KEY_PERIOD:
		return parse_header_number(r, line, 10, UINT64_MAX, &p->period);
	case KEY_TSTART:
		return parse_header_number(r, line, 16, UINT64_MAX, &p->tstart);
	case KEY_TSIZE:
		return parse_header_number(r, line, 10, UINT64_MAX, &p->tsize);
	case KEY_PATH:
		return append_header_line(&r->path, line->rest);
	case KEY_LEDGER:
		return text_copy(&p->ledger, line->rest);
	default:
		e = parse_header_number(r, line, 10, UINT32_MAX, &value);
		if (!e)
			*(key == KEY_CPUSPEED ? &p->cpuspeed_mhz : &p->cpucount) = (uint32_t)value;
		return e;
	}
}

static int parse_header_line(struct image_profile_reader *r, const struct image_profile_line *line)
{
	enum key key = 0;

	if (!*line->word || !*line->rest)
		return REFUSE(r, "byte %zu: not a header line of a word and a value", line->at);
	while (key < N_KEYS && strcmp(line->word, key_names[key]) != 0)
		key++;
	if (line->at == 0 && key != KEY_VERSION)
		return REFUSE(r, "byte 0: not an image profile: the first line is not version");
	if (key == N_KEYS)
		return append_header_line(&r->unknown, line->text);
	if (r->seen[key] && key == KEY_PERIOD)
		return 0;
	if (r->seen[key] && key != KEY_PATH)
		return REFUSE(r, "byte %zu: a second line %s", line->at, key_names[key]);
	r->seen[key] = true;
	return parse_known_header(r, key, line);
}

static int image_profile_read_header(struct image_profile_reader *r)
{
	bool done = false;
	size_t last = 0;

	while (!done) {
		cleanup(image_line_deinit) struct image_profile_line line = {0};
		int e;

		if (r->at > HEADER_MAX)
			return REFUSE(r, "byte %zu: the header is longer than 1 MiB", r->at);
		e = next_header_line(r, &line);
		if (e)
			return e;
		last = line.at;
		done = strcmp(line.word, "samples") == 0 && !*line.rest;
		e = done ? 0 : parse_header_line(r, &line);
		if (e)
			return e;
	}
	for (enum key key = 0; key < N_REQUIRED; key++) {
		if (!r->seen[key])
			return REFUSE(r, "byte %zu: the header ends without a line %s", last,
				      key_names[key]);
	}
	/* Path lines are joined, not ended, by newlines. */
	if (r->path.n)
		r->path.text[r->path.n - 1] = '\0';
	r->p->path = steal_ptr(&r->path.text);
	r->p->unknown = steal_ptr(&r->unknown.text);
	return 0;
}

static uint32_t image_profile_get_u32(const struct image_profile_reader *r, size_t at)
{
	return (uint32_t)bytes_number(r->data + at, 4, false);
}

static void read_chunk(struct image_profile_reader *r, uint32_t offset, uint32_t n)
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

static int read_footer(struct image_profile_reader *r)
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

static int read_binary(struct image_profile_reader *r)
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
	cleanup(image_reader_deinit) struct image_profile_reader r = {.message = message,
								      .data = data,
								      .length = length};
	int e = image_profile_new(&r.p);

	if (e)
		return e;
	if (!length)
		return REFUSE(&r, "byte 0: the file is empty");
	e = image_profile_read_header(&r) ?: read_binary(&r);
	if (!e)
		*ret = steal_ptr(&r.p);
	return e;
}

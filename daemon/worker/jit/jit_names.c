/* SPDX-License-Identifier: MIT */
/*
 * Code is said to lie where older code was: its memory is freed and used again, in whole or in
 * part. So the ranges of a file overlap, and the newest one that covers an address names it
 * (flat_ranges.h); after that, finding an address is a binary search.
 *
 * Lines of a perf map are taken one by one, and one that is no line of a perf map is passed over:
 * programs die in the middle of one, several write to one file at a time, and a file that was cut
 * while its writer went on begins with NUL bytes. The last line counts only with its newline:
 * without, more of its name may come.
 */
#include "daemon/worker/jit/jit_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/digits.h"
#include "common/error.h"
#include "common/partition_point.h"
#include "common/read_end.h"
#include "common/room.h"
#include "common/symbols/flat_ranges.h"
#include "daemon/worker/jit/jit_names_private.h"

#define READ_STEP (1u << 20)

struct jit_names {
	struct jit_draft draft;
	struct flat_ranges spans; /* values: codes; those that were said later have higher ranks */
};

int jit_draft_init(struct jit_draft *d, size_t text_max)
{
	*d = (struct jit_draft){.text_length = 1, .text_size = text_max + 1};
	d->text = malloc(d->text_size);
	if (!d->text)
		return error_origin(-ENOMEM);
	d->text[0] = '\0';
	return 0;
}

void jit_draft_deinit(struct jit_draft *d)
{
	free(d->codes);
	free(d->lines);
	free(d->text);
	*d = (struct jit_draft){0};
}

uint32_t jit_draft_add_text(struct jit_draft *d, const char *text, size_t length)
{
	uint32_t offset = (uint32_t)d->text_length;

	length = strnlen(text, length);
	if (length == 0 || length >= d->text_size - d->text_length)
		return 0;
	memcpy(d->text + offset, text, length);
	d->text[offset + length] = '\0';
	d->text_length += length + 1;
	return offset;
}

int jit_draft_add_code(struct jit_draft *d, const struct jit_code *code)
{
	if (code->start >= code->end || d->n_codes == JIT_CODES_MAX)
		return 0;
	return room_append(&d->codes, &d->n_codes_allocated, &d->n_codes, *code);
}

static int jit_names_make_spans(struct jit_names *j)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < j->draft.n_codes; i++)
		r = flat_add(&j->spans, &(struct flat_range){
						.start = j->draft.codes[i].start,
						.end = j->draft.codes[i].end,
						.rank = i,
						.value = i,
					});
	return r ?: flat_build(&j->spans);
}

/* Gives back what was allocated too much; failing to is no harm. */
static void *jit_names_trim(void *array, size_t n, size_t element)
{
	void *trimmed = realloc(array, n ? n * element : 1);

	return trimmed ? trimmed : array;
}

int jit_names_new(struct jit_names **ret, struct jit_draft *d)
{
	cleanup(jit_names_freep) struct jit_names *j = calloc(1, sizeof(*j));
	int r;

	if (!j)
		return error_origin(-ENOMEM);
	j->draft = *d;
	*d = (struct jit_draft){0};
	r = jit_names_make_spans(j);
	if (r)
		return r;
	j->spans.items = jit_names_trim(j->spans.items, j->spans.n, sizeof(*j->spans.items));
	j->draft.codes = jit_names_trim(j->draft.codes, j->draft.n_codes, sizeof(*j->draft.codes));
	j->draft.lines = jit_names_trim(j->draft.lines, j->draft.n_lines, sizeof(*j->draft.lines));
	j->draft.text = jit_names_trim(j->draft.text, j->draft.text_length, 1);
	*ret = steal_ptr(&j);
	return 0;
}

void jit_names_free(struct jit_names *j)
{
	if (!j)
		return;
	jit_draft_deinit(&j->draft);
	flat_deinit(&j->spans);
	free(j);
}

size_t jit_names_bytes(const struct jit_names *j)
{
	return sizeof(*j) + j->spans.n * sizeof(*j->spans.items) +
	       j->draft.n_codes * sizeof(*j->draft.codes) +
	       j->draft.n_lines * sizeof(*j->draft.lines) + j->draft.text_length;
}

size_t jit_names_count(const struct jit_names *j)
{
	return j->spans.n;
}

/* The last line that begins at or before @offset, or NULL. */
static const struct jit_line *jit_names_find_line(const struct jit_draft *d,
						  const struct jit_lines *lines, uint64_t offset)
{
	const struct jit_line *all = d->lines ? d->lines + lines->first : NULL;
	size_t n = partition_point(lines->n, i, all[i].offset <= offset);

	return n ? &all[n - 1] : NULL;
}

bool jit_names_find(const struct jit_names *j, uint64_t address, struct frame_name *ret,
		    uint64_t *ret_start, uint64_t *ret_size)
{
	const struct flat_range *spans = j->spans.items, *span;
	size_t n = partition_point(j->spans.n, i, spans[i].start <= address);
	const struct jit_code *code;
	const struct jit_line *line;
	uint64_t end;

	span = n ? &spans[n - 1] : NULL;
	if (!span || span->end <= address) {
		end = n < j->spans.n ? spans[n].start : UINT64_MAX;
		*ret_start = span ? span->end : 0;
		/* Ends are not part of a range, so that the last address of all is one of its own.
		 */
		if (end <= address)
			*ret_start = end = address;
		*ret_size = end == *ret_start ? 1 : end - *ret_start;
		return false;
	}
	code = &j->draft.codes[span->value];
	line = jit_names_find_line(&j->draft, &code->lines, address - code->start);
	*ret = (struct frame_name){.system_name = j->draft.text + code->name};
	if (line) {
		ret->file = line->file ? j->draft.text + line->file : NULL;
		ret->line = line->line;
	}
	*ret_start = span->start;
	*ret_size = span->end - span->start;
	return true;
}

/* The file may grow or shrink while it is read. */
int jit_names_read(struct jit_names **ret, int fd, bool is_jitdump)
{
	cleanup(freep) uint8_t *data = NULL;
	size_t size = READ_STEP;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return WORKER_UNREADABLE;
	if (st.st_size > 0)
		size = st.st_size < (off_t)JIT_NAMES_BYTES_MAX ? (size_t)st.st_size
							       : JIT_NAMES_BYTES_MAX;
	data = malloc(size);
	if (!data)
		return error_origin(-ENOMEM);
	n = read_range(fd, data, size, 0);
	if (n < 0)
		return WORKER_UNREADABLE;
	return is_jitdump ? jit_names_from_jitdump(ret, data, (size_t)n)
			  : jit_names_from_perf_map(ret, (const char *)data, (size_t)n);
}

static bool perf_map_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* A hexadecimal number, "0x" before it or not, and the blanks behind it. */
static bool perf_map_parse_number(const char **at, const char *end, uint64_t *ret)
{
	const char *p = *at;

	if (end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x')
		p += 2;
	if (!digits_read(&p, end, 16, ret) || p == end || !perf_map_is_blank(*p))
		return false;
	while (p < end && perf_map_is_blank(*p))
		p++;
	*at = p;
	return true;
}

static bool perf_map_parse_line(const char *at, const char *end, struct jit_code *ret,
				const char **ret_name, size_t *ret_length)
{
	uint64_t start, size;

	while (at < end && perf_map_is_blank(*at))
		at++;
	while (end > at && (end[-1] == '\r' || perf_map_is_blank(end[-1])))
		end--;
	if (!perf_map_parse_number(&at, end, &start) || !perf_map_parse_number(&at, end, &size) ||
	    at == end || *at == '\0' || size > UINT64_MAX - start)
		return false;
	*ret = (struct jit_code){.start = start, .end = start + size};
	*ret_name = at;
	*ret_length = (size_t)(end - at);
	return true;
}

static int perf_map_parse(struct jit_draft *d, const char *text, size_t length, bool *ret_any)
{
	const char *end = text + length, *newline;
	size_t n_lines = 0, n_good = 0;
	int r;

	while (text < end && (newline = memchr(text, '\n', (size_t)(end - text)))) {
		struct jit_code code;
		const char *name;
		size_t name_length;

		n_lines++;
		if (d->n_codes < JIT_CODES_MAX &&
		    perf_map_parse_line(text, newline, &code, &name, &name_length)) {
			n_good++;
			code.name = jit_draft_add_text(d, name, name_length);
			r = jit_draft_add_code(d, &code);
			if (r)
				return r;
		}
		text = newline + 1;
	}
	*ret_any = n_good || !n_lines;
	return 0;
}

int jit_names_from_perf_map(struct jit_names **ret, const char *text, size_t length)
{
	cleanup(jit_draft_deinit) struct jit_draft d = {0};
	bool any;
	int r;

	if (length > JIT_NAMES_BYTES_MAX)
		length = JIT_NAMES_BYTES_MAX;
	/* A name and its NUL are shorter than its line. */
	r = jit_draft_init(&d, length) ?: perf_map_parse(&d, text, length, &any);
	if (r)
		return r;
	return any ? jit_names_new(ret, &d) : WORKER_NOT_ELF;
}

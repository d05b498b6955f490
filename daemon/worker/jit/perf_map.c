/* SPDX-License-Identifier: MIT */
/*
 * Lines are taken one by one, and one that is no line of a perf map is passed over: programs die in
 * the middle of one, several write to one file at a time, and a file that was cut while its writer
 * went on begins with NUL bytes. So is one that is longer than the buffer. The last line counts
 * only with its newline: without, more of its name may come.
 */
#include "daemon/worker/jit/perf_map.h"

#include <string.h>

#include "common/digits.h"
#include "common/worker/protocol.h"

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

/* The name's place in @ret is that in @line. */
static bool perf_map_parse_line(const char *line, size_t length, struct jit_code *ret)
{
	const char *at = line, *end = line + length;
	uint64_t start, size;

	while (at < end && perf_map_is_blank(*at))
		at++;
	while (end > at && (end[-1] == '\r' || perf_map_is_blank(end[-1])))
		end--;
	if (!perf_map_parse_number(&at, end, &start) || !perf_map_parse_number(&at, end, &size) ||
	    at == end || *at == '\0' || size > UINT64_MAX - start)
		return false;
	*ret = (struct jit_code){
		.start = start,
		.end = start + size,
		.name = {(uint32_t)(at - line), (uint32_t)strnlen(at, (size_t)(end - at))},
	};
	return true;
}

/* The line at @at, "" for one that is too long. Returns where its newline is, or the file's end. */
static uint64_t perf_map_find_line(struct jit_input *in, uint64_t at, const char **ret,
				   size_t *ret_length)
{
	size_t n;
	const char *line = (const char *)jit_input_at(in, at, 1, &n);
	const char *newline = memchr(line, '\n', n);

	if (!newline) {
		/* The buffer ends before the line does. */
		line = (const char *)jit_input_at(in, at, in->size, &n);
		newline = memchr(line, '\n', n);
	}
	*ret = line;
	*ret_length = newline ? (size_t)(newline - line) : 0;
	return newline ? at + *ret_length : jit_input_find(in, at + n, in->end, '\n');
}

int perf_map_read(struct jit_input *in, struct jit_places *places)
{
	uint64_t at = 0, newline;
	bool has_lines = false, has_code = false;
	struct jit_code code;
	const char *line;
	size_t length;

	while ((newline = perf_map_find_line(in, at, &line, &length)) < in->end) {
		has_lines = true;
		if (perf_map_parse_line(line, length, &code)) {
			has_code = true;
			code.name.at += (uint32_t)at;
			jit_places_add(places, &code);
		}
		at = newline + 1;
	}
	return has_code || !has_lines ? 0 : WORKER_NOT_ELF;
}

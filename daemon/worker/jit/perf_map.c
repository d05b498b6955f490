/* SPDX-License-Identifier: MIT */

/*
 * Lines are taken one by one, and one that is no line of a perf map is passed over: programs die in
 * the middle of one, several write to one file at a time, and a file that was cut while its writer
 * went on begins with NUL bytes. The last line counts only with its newline: without, more of its
 * name may come.
 */
#include "daemon/worker/jit/jit_names.h"

#include <string.h>

#include "common/digits.h"
#include "common/error.h"
#include "daemon/worker/jit/jit_names_private.h"

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

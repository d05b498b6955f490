/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/jit_file_owner.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

struct line {
	const char *at, *end;
};

/* The rest of the line that begins with @key. */
static bool status_find_line(const char *text, size_t length, const char *key, struct line *ret)
{
	const char *end = text + length;
	size_t key_length = strlen(key);

	for (const char *at = text; at < end;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *line_end = newline ? newline : end;

		if ((size_t)(line_end - at) >= key_length && memcmp(at, key, key_length) == 0) {
			*ret = (struct line){.at = at + key_length, .end = line_end};
			return true;
		}
		at = newline ? newline + 1 : end;
	}
	return false;
}

/* The next decimal number. False: there is none, or none that fits. */
static bool next_number(struct line *line, uint32_t *ret)
{
	uint64_t value = 0;
	const char *first;

	while (line->at < line->end && (*line->at == ' ' || *line->at == '\t'))
		line->at++;
	first = line->at;
	for (; line->at < line->end && *line->at >= '0' && *line->at <= '9'; line->at++) {
		value = value * 10 + (uint64_t)(*line->at - '0');
		if (value > UINT32_MAX)
			return false;
	}
	*ret = (uint32_t)value;
	return line->at > first;
}

bool jit_file_owner_parse(const char *text, size_t length, struct jit_file_owner *ret)
{
	uint32_t pid = 0, number, real, effective;
	struct line line;

	if (!status_find_line(text, length, "Uid:", &line) || !next_number(&line, &real) ||
	    !next_number(&line, &effective))
		return false;
	if (!status_find_line(text, length, "NSpid:", &line) &&
	    !status_find_line(text, length, "Pid:", &line))
		return false;
	while (next_number(&line, &number))
		pid = number;
	if (!pid || pid > INT_MAX)
		return false;
	*ret = (struct jit_file_owner){.inner_pid = (pid_t)pid, .uid = effective};
	return true;
}

/* SPDX-License-Identifier: MIT */
#include "client/report/symbol_answer.h"

#include <string.h>

#define ADDRESS_DIGITS 16

void symbol_answer_init(struct symbol_answer *a, const uint8_t *data, size_t length)
{
	/* Where there is nothing, there may be no memory either. */
	const char *text = length ? (const char *)data : "";

	*a = (struct symbol_answer){.at = text, .end = text + length};
}

static int symbol_answer_hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

static bool symbol_answer_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static const char *symbol_answer_skip_blanks(const char *at, const char *end)
{
	while (at < end && symbol_answer_is_blank(*at))
		at++;
	return at;
}

/* "0x", digits, blanks, a name, from @at on. */
static bool symbol_answer_parse_line(const char *at, const char *end, struct symbol_line *ret)
{
	const char *digits, *name;
	uint64_t address = 0;

	if (end - at < 2 || at[0] != '0' || at[1] != 'x')
		return false;
	at += 2;
	while (at < end && *at == '0')
		at++;
	digits = at;
	for (; at < end && symbol_answer_hex_digit(*at) >= 0; at++)
		address = address << 4 | (uint64_t)symbol_answer_hex_digit(*at);
	name = symbol_answer_skip_blanks(at, end);
	if (at - digits > ADDRESS_DIGITS || (at == digits && at[-1] != '0') || name == at)
		return false;
	while (end > name && symbol_answer_is_blank(end[-1]))
		end--;
	if (memchr(name, '\0', (size_t)(end - name)))
		end = memchr(name, '\0', (size_t)(end - name));
	if (end == name)
		return false;
	*ret = (struct symbol_line){.address = address, .name = name, (size_t)(end - name)};
	if (ret->length > SYMBOL_ANSWER_NAME_MAX)
		ret->length = SYMBOL_ANSWER_NAME_MAX;
	return true;
}

/* "num_symbols: 0" */
static bool symbol_answer_no_symbols(const char *at, const char *end)
{
	static const char words[] = "num_symbols:";
	size_t length = sizeof(words) - 1;

	if ((size_t)(end - at) < length || memcmp(at, words, length) != 0)
		return false;
	at = symbol_answer_skip_blanks(at + length, end);
	return at < end && *at == '0' && symbol_answer_skip_blanks(at + 1, end) == end;
}

bool symbol_answer_next(struct symbol_answer *a, struct symbol_line *ret)
{
	while (a->at < a->end) {
		const char *line = a->at;
		const char *end = memchr(line, '\n', (size_t)(a->end - line));

		if (!end)
			end = a->end;
		a->at = end < a->end ? end + 1 : end;
		a->has_none |= symbol_answer_no_symbols(line, end);
		if (symbol_answer_parse_line(symbol_answer_skip_blanks(line, end), end, ret))
			return true;
	}
	return false;
}

/* SPDX-License-Identifier: MIT */
#include "client/analysis/json_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "common/utf8.h"

#define LINE_SEPARATOR      "\xe2\x80\xa8" /* U+2028 */
#define PARAGRAPH_SEPARATOR "\xe2\x80\xa9"

static bool json_char_is_plain(const char *text, bool is_harmless)
{
	return is_harmless && !strchr("\"\\<", *text) && strncmp(text, LINE_SEPARATOR, 3) != 0 &&
	       strncmp(text, PARAGRAPH_SEPARATOR, 3) != 0;
}

/* The character at @text, whose @n bytes utf8_character() counts. */
static void json_write_escaped(FILE *out, const char *text, size_t n)
{
	if (!n)
		fputs("\\ufffd", out);
	else if (*text == '"' || *text == '\\')
		fprintf(out, "\\%c", *text);
	else if (*text == '\n')
		fputs("\\n", out);
	else if (*text == '\t')
		fputs("\\t", out);
	else
		fprintf(out, "\\u%04" PRIx32, utf8_code_point(text, n));
}

void json_text_write(FILE *out, const char *text)
{
	bool is_harmless;

	fputc('"', out);
	for (size_t n; *text; text += n) {
		size_t n_valid;

		n = utf8_next(text, &is_harmless);
		n_valid = utf8_character(text, n);
		if (n_valid && json_char_is_plain(text, is_harmless))
			fwrite(text, 1, n, out);
		else
			json_write_escaped(out, text, n_valid);
	}
	fputc('"', out);
}

/* Views have them by the hundred thousand: fprintf(3) would take a fifth of the time. */
void json_list_number(FILE *out, bool is_first, int64_t n)
{
	char text[24], *end = text + sizeof(text), *at = end;
	uint64_t left = n < 0 ? -(uint64_t)n : (uint64_t)n;

	do
		*--at = (char)('0' + left % 10);
	while (left /= 10);
	if (n < 0)
		*--at = '-';
	if (!is_first)
		*--at = ',';
	fwrite(at, 1, (size_t)(end - at), out);
}

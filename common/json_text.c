/* SPDX-License-Identifier: MIT */
#include "common/json_text.h"

#include <string.h>

#include "common/utf8.h"

/* How many of the bytes at @s are passed on as they are, all of them one character; 0: none. */
static size_t plain_character(const unsigned char *s)
{
	size_t n = utf8_character((const char *)s, strnlen((const char *)s, 4));

	if (*s < 0x20 || *s == 0x7f || *s == '"' || *s == '\\' || *s == '<')
		return 0;
	if (n == 3 && s[0] == 0xe2 && s[1] == 0x80 && (s[2] == 0xa8 || s[2] == 0xa9))
		return 0;
	return n;
}

/* Writes the character at @s escaped; how many bytes it had. */
static size_t write_escaped(FILE *out, const unsigned char *s)
{
	if (*s == 0xe2 && s[1] == 0x80 && (s[2] == 0xa8 || s[2] == 0xa9)) {
		fprintf(out, "\\u20%02x", s[2] - 0x80);
		return 3;
	}
	if (*s >= 0x80)
		fputs("\\ufffd", out);
	else if (*s == '"' || *s == '\\')
		fprintf(out, "\\%c", *s);
	else if (*s == '\n')
		fputs("\\n", out);
	else if (*s == '\t')
		fputs("\\t", out);
	else
		fprintf(out, "\\u%04x", *s);
	return 1;
}

void json_text_write(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	fputc('"', out);
	while (*s) {
		size_t n = plain_character(s);

		if (n) {
			fwrite(s, 1, n, out);
			s += n;
		} else {
			s += write_escaped(out, s);
		}
	}
	fputc('"', out);
}

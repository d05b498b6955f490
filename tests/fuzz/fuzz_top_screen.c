/* SPDX-License-Identifier: MIT */
/*
 * Keys, and names that strangers chose, on a screen of any size. Three bytes are its size and how
 * many bytes of keys follow, the rest is a name. Nothing but the few sequences that top draws with
 * may reach the terminal, and no line may be longer than the screen is wide.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "client/top/characters.h"
#include "client/top/keys.h"
#include "client/top/screen.h"
#include "common/utf8.h"

#define PIECE_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In pieces of @piece bytes, after each of which time may pass. */
static void press(struct top_view *view, const char *bytes, size_t n, size_t piece, unsigned rows)
{
	struct keys keys = {0};
	int key;

	for (size_t at = 0, size; at < n; at += size) {
		size = n - at < piece ? n - at : piece;
		memcpy(keys.bytes + keys.n, bytes + at, size);
		keys.n += size;
		while ((key = keys_next(&keys, at % 3 == 0)) != KEY_INCOMPLETE) {
			top_key(view, key, rows, 3);
			if (view->first > 3 || strlen(view->filter) >= sizeof(view->filter) ||
			    !utf8_is_valid(view->filter))
				abort();
		}
		/* There is always room for the next. */
		if (keys.n > sizeof(keys.bytes) - PIECE_MAX)
			keys_next(&keys, true);
	}
}

/* Of what top_draw() itself says, the escape sequences; 0: it is none of them. */
static size_t sequence(const char *text)
{
	static const char *const known[] = {"\x1b[K", "\x1b[m", "\x1b[7m", "\r\n"};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strncmp(text, known[i], strlen(known[i])))
			return strlen(known[i]);
	return 0;
}

static unsigned columns_of(const char *text, size_t n)
{
	int columns = wcwidth((wchar_t)utf8_code_point(text, n));

	return columns < 0 ? 1 : (unsigned)columns;
}

static void look(const char *text, size_t length, unsigned rows, unsigned columns)
{
	unsigned lines = 1, column = 0;

	for (size_t at = 0; at < length;) {
		unsigned char c = (unsigned char)text[at];
		size_t n = sequence(text + at);

		if (n && c == '\r') {
			lines++;
			column = 0;
		} else if (!n) {
			if (c < 0x20 || c == 0x7f ||
			    (c == 0xc2 && (unsigned char)text[at + 1] < 0xa0))
				abort();
			n = utf8_character(text + at, length - at);
			if (!n)
				abort();
			column += n == 1 ? 1 : columns_of(text + at, n);
			if (column > columns)
				abort();
		}
		at += n;
	}
	if (lines > rows)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct top_function functions[] = {{.interval = {1, 2, 0}, .all = {3, 4, 0}},
					   {.all = {1, 1, 0}},
					   {0}};
	const struct top_function *all[] = {&functions[0], &functions[1], &functions[2]};
	struct top_facts facts = {
		.interval_ns = 1000,
		.all_ns = 2000,
		.sums = {.samples = 1, .value = 2, .all_samples = 3, .all_value = 4}};
	struct top_view view = {.interval_ns = 1000};
	unsigned rows, columns;
	char *name, *text;
	size_t n_keys, length;
	FILE *out;

	if (size < 3)
		return 0;
	characters_begin();
	rows = 1 + data[0] % 60;
	columns = 1 + data[1];
	n_keys = data[2] < size - 3 ? data[2] : size - 3;
	press(&view, (const char *)data + 3, n_keys, 1 + data[0] % PIECE_MAX, rows);
	name = strndup((const char *)data + 3 + n_keys, size - 3 - n_keys);
	out = open_memstream(&text, &length);
	if (!name || !out)
		abort();
	facts.target = name;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		functions[i].name = name;
		functions[i].module = data[1] & 1 ? name + strlen(name) / 2 : "";
		functions[i].has_others = data[1] & 2;
		snprintf(functions[i].who, sizeof(functions[i].who), "%s", data[1] & 4 ? name : "");
	}
	top_settle(&view, rows, 3);
	top_draw(&view, &(struct top_table){&facts, all, 3}, rows, columns, out);
	if (fclose(out))
		abort();
	look(text, length, rows, columns);
	free(text);
	free(name);
	return 0;
}

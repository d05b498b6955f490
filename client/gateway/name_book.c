/* SPDX-License-Identifier: MIT */
#include "client/gateway/name_book.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/gateway/view/made_up.h"
#include "common/error.h"
#include "common/memory_text.h"
#include "common/utf8.h"

#define NAME_LINE_MAX 20u /* of an answer, but for the name */

struct name_page {
	uint64_t number; /* 0: none */
	char *names;     /* of all locations, each ended by a NUL */
	size_t *starts;  /* in names */
	size_t n;
};

struct name_book {
	struct name_page pages[NAME_BOOK_PROFILES];
	uint64_t last; /* number */
};

int name_book_new(struct name_book **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : error_origin(-ENOMEM);
}

static void name_page_deinit(struct name_page *page)
{
	free(page->names);
	free(page->starts);
	*page = (struct name_page){0};
}

void name_book_free(struct name_book *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < NAME_BOOK_PROFILES; i++)
		name_page_deinit(&b->pages[i]);
	free(b);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void name_cut(char *name)
{
	size_t n = NAME_BOOK_NAME;

	if (strlen(name) <= n)
		return;
	while (n && ((unsigned char)name[n] & 0xc0) == 0x80) /* not within a character */
		n--;
	name[n] = '\0';
}

static int name_page_fill(struct name_page *page, const char *names, size_t length)
{
	const char *end = names + length;
	size_t n = 0;

	for (const char *at = names; (at = memchr(at, '\0', (size_t)(end - at))); at++)
		n++;
	page->names = malloc(length + 1);
	page->starts = calloc(n + 1, sizeof(*page->starts));
	if (!page->names || !page->starts)
		return error_origin(-ENOMEM);
	memcpy(page->names, names, length);
	for (size_t at = 0; page->n < n; at += strlen(page->names + at) + 1)
		page->starts[page->n++] = at;
	for (size_t i = 0; i < n; i++)
		name_cut(page->names + page->starts[i]);
	return 0;
}

uint64_t name_book_number(struct name_book *b)
{
	b->last = b->last % MADE_UP_NUMBERS_MAX + 1;
	return b->last;
}

int name_book_add(struct name_book *b, uint64_t number, const char *names, size_t length)
{
	struct name_page *page = &b->pages[number % NAME_BOOK_PROFILES];
	int r;

	name_page_deinit(page);
	r = name_page_fill(page, names, length);
	if (r)
		name_page_deinit(page);
	else
		page->number = number;
	return r;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* NULL: it is not known. */
static const char *name_find(const struct name_book *b, uint64_t address)
{
	uint64_t number = address >> MADE_UP_SHIFT;
	const struct name_page *page = &b->pages[number % NAME_BOOK_PROFILES];
	/* That of a caller may be a byte less. */
	uint64_t index = ((address & UINT32_MAX) + MADE_UP_STEP / 2) / MADE_UP_STEP;

	if (!number || page->number != number || !index || index > page->n)
		return NULL;
	return page->names + page->starts[index - 1];
}

/* A viewer made the name, of what strangers call things. */
static void name_put_line(FILE *out, uint64_t address, const char *name)
{
	fprintf(out, "0x%" PRIx64 "\t", address);
	utf8_write_harmless(out, name, "");
	fputc('\n', out);
}

int name_book_answer(const struct name_book *b, const char *asked, char **ret, size_t *ret_length)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	int r = memory_text_open(&text);
	size_t length = 0;

	if (r)
		return r;
	while (*asked) {
		char *end;
		uint64_t address = strtoull(asked, &end, 16);
		const char *name = end == asked ? NULL : name_find(b, address);
		/* A small request may ask for one long name many times. */
		size_t line = name ? strlen(name) + NAME_LINE_MAX : 0;

		if (line > NAME_BOOK_ANSWER - length)
			break;
		length += line;

		if (name)
			name_put_line(text.out, address, name);
		asked = end + strcspn(end, "+");
		asked += *asked == '+';
	}
	r = memory_text_close(&text);
	if (r)
		return r;
	*ret_length = text.length;
	*ret = steal_ptr(&text.text);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Rows in one array and texts in another, which rows refer to by offset; ranges are asked for in
 * the pieces that a question may have.
 */
#include "client/code/code_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/partition_point.h"
#include "common/room.h"

#define TEXT_MAX ((size_t)1 << 30)

void code_list_deinit(struct code_list *list)
{
	free(list->rows);
	free(list->text);
	*list = (struct code_list){0};
}

static int code_list_add_text(struct code_list *list, const char *text, uint32_t *ret)
{
	size_t length = strlen(text) + 1, needed = list->text_length + length + 1;

	if (needed > TEXT_MAX)
		return error_origin(-ENOMEM);
	if (needed > list->text_allocated) {
		size_t n = 2 * list->text_allocated > needed ? 2 * list->text_allocated : needed;
		char *grown = realloc(list->text, n);

		if (!grown)
			return error_origin(-ENOMEM);
		list->text = grown;
		list->text_allocated = n;
	}
	if (!list->text_length) /* offset 0 is the empty text */
		list->text[list->text_length++] = '\0';
	memcpy(list->text + list->text_length, text, length);
	*ret = (uint32_t)list->text_length;
	list->text_length += length;
	return 0;
}

/* Neighbours are mostly of one file. */
static int code_list_add_file(struct code_list *list, const char *file, uint32_t *ret)
{
	uint32_t last = list->n ? list->rows[list->n - 1].file : 0;

	*ret = 0;
	if (!*file)
		return 0;
	if (last && strcmp(code_list_text(list, last), file) == 0) {
		*ret = last;
		return 0;
	}
	return code_list_add_text(list, file, ret);
}

static int code_list_add_row(struct code_list *list, const struct answer_code *code,
			     const struct worker_instruction *i)
{
	struct code_row row = {.address = i->address, .size = i->size, .line = i->line};
	int r = code_list_add_text(list, code->text + i->text, &row.text);

	if (!r)
		r = code_list_add_file(list, code->text + i->file, &row.file);
	if (r)
		return r;
	if (room_make(&list->rows, &list->n_allocated, list->n + 1, sizeof(*list->rows)))
		return -ENOMEM;
	list->rows[list->n++] = row;
	return 0;
}

int code_list_add(struct code_list *list, const struct worker_range *range, code_list_ask ask,
		  void *context)
{
	uint64_t at = range->start;
	int r = 0;

	while (!r && at < range->end) {
		struct worker_range part = {.start = at, .end = range->end};
		struct answer_code code;

		if (part.end - part.start > WORKER_CODE_MAX)
			part.end = part.start + WORKER_CODE_MAX;
		r = ask(context, &part, &code);
		if (r || !code.n_instructions)
			return r;
		for (size_t i = 0; !r && i < code.n_instructions; i++)
			r = code_list_add_row(list, &code, &code.instructions[i]);
		at = code.instructions[code.n_instructions - 1].address +
		     code.instructions[code.n_instructions - 1].size;
	}
	return r;
}

const struct code_row *code_list_find(const struct code_list *list, uint64_t address)
{
	size_t n = partition_point(list->n, i, list->rows[i].address <= address);

	if (!n || address - list->rows[n - 1].address >= list->rows[n - 1].size)
		return NULL;
	return &list->rows[n - 1];
}

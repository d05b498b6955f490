/* SPDX-License-Identifier: MIT */
/*
 * Rows in one array, their texts in an arena; ranges are asked for in the pieces that a question
 * may have.
 */
#include "client/code/code_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/room.h"

#define TEXT_MAX ((size_t)1 << 30)

void code_list_deinit(struct code_list *list)
{
	free(list->rows);
	profile_arena_deinit(&list->texts);
	*list = (struct code_list){0};
}

static const char *code_list_copy(struct code_list *list, const char *text)
{
	return list->texts.bytes > TEXT_MAX ? NULL
					    : profile_arena_copy(&list->texts, text, strlen(text));
}

static int code_list_add_row(struct code_list *list, const struct answer_code *code,
			     const struct worker_instruction *i)
{
	const char *file = code->text + i->file;
	/* Neighbours are mostly of one file. */
	const char *last = list->n ? list->rows[list->n - 1].file : "";
	struct code_row row = {
		.address = i->address,
		.size = i->size,
		.line = i->line,
		.text = code_list_copy(list, code->text + i->text),
		.file = strcmp(last, file) == 0 ? last : code_list_copy(list, file),
	};

	if (!row.text || !row.file)
		return error_origin(-ENOMEM);
	return room_append(&list->rows, &list->n_allocated, &list->n, row);
}

int code_list_add(struct code_list *list, struct object *object, const struct worker_range *range,
		  uint32_t flags)
{
	uint64_t at = range->start;
	int r = 0;

	while (!r && at < range->end) {
		struct worker_range part = {.start = at, .end = range->end};
		struct answer_code code;

		if (part.end - part.start > WORKER_CODE_MAX)
			part.end = part.start + WORKER_CODE_MAX;
		r = object_code(object, &part, flags, &code);
		if (r || !code.n_instructions)
			return r;
		for (size_t i = 0; !r && i < code.n_instructions; i++)
			r = code_list_add_row(list, &code, &code.instructions[i]);
		at = code.instructions[code.n_instructions - 1].address +
		     code.instructions[code.n_instructions - 1].size;
	}
	return r;
}

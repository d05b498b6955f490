/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CODE_CODE_LIST_H
#define PROFD_CODE_CODE_LIST_H

/*
 * Machine instructions in the order of their addresses, with the lines that they were made of: what
 * an image worker says of a range, however long. Copied, because its answers are borrowed.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/profile/profile_table.h"
#include "common/worker/answer.h"

struct code_row {
	uint64_t address;
	uint32_t size;           /* bytes, not 0 */
	uint32_t line;           /* 0 unknown */
	const char *text, *file; /* the list's; file: "" unknown */
};

/* All zero has no rows. */
struct code_list {
	struct code_row *rows;
	size_t n, n_allocated;
	struct profile_arena texts;
};

/*
 * The instructions of a range, at most WORKER_CODE_MAX bytes; @flags: those of WORKER_INSTRUCTIONS.
 * *ret is borrowed until the next call. Whatever it returns but 0 ends code_list_add() with that.
 */
typedef int (*code_list_ask)(void *context, const struct worker_range *range, uint32_t flags,
			     struct answer_code *ret);

void code_list_deinit(struct code_list *list);
/*
 * Adds the instructions of @range, of any length, which begins where none that were added end yet.
 * Where there is nothing to show, rows end. Returns 0, negative errno, or what @ask returned.
 */
int code_list_add(struct code_list *list, const struct worker_range *range, uint32_t flags,
		  code_list_ask ask, void *context);
/* The row whose instruction has a byte at @address; NULL: none. */
const struct code_row *code_list_find(const struct code_list *list, uint64_t address);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CODE_CODE_LIST_H
#define PROFD_CODE_CODE_LIST_H

/*
 * Machine instructions in the order of their addresses, with the lines that they were made of: what
 * an image worker says of a range, however long. Copied, because its answers are borrowed.
 */
#include <stddef.h>
#include <stdint.h>

#include "client/symbolize/object.h"
#include "common/profile/profile_table.h"

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

void code_list_deinit(struct code_list *list);
/*
 * Adds the instructions of @range of @object, of any length, which begins where none that were
 * added end yet; @flags: those of WORKER_INSTRUCTIONS. Where there is nothing to show, rows end.
 * Returns OBJECT_E_* or negative errno.
 */
int code_list_add(struct code_list *list, struct object *object, const struct worker_range *range,
		  uint32_t flags);

#endif

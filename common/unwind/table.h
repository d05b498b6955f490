/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_UNWIND_TABLE_H
#define PROFD_COMMON_UNWIND_TABLE_H

/*
 * Packs the rows of an image into the words of a table (layout.h), and searches it: profd's own
 * search, the same as the BPF programs'. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/unwind/cfi.h"
#include "common/unwind/layout.h"

enum {
	TABLE_E_OK,
	TABLE_E_TOO_BIG, /* more than @max_words, or too many rules */
};

/*
 * Fills in @ret_slot (state TABLE_LOADED, first 0, version 0) and returns the words, malloc'ed and
 * the caller's, and their number. Returns TABLE_E_* or -ENOMEM.
 */
int table_pack(const struct cfi_rows *rows, size_t max_words, struct table_slot *ret_slot,
	       uint64_t **ret_words, size_t *ret_n_words);
/*
 * The rule at file offset @offset in the table at @slot (state TABLE_LOADED). @words is the whole
 * array of @n_words: nothing outside is read, whatever the slot says.
 */
uint64_t table_search(const uint64_t *words, size_t n_words, const struct table_slot *slot,
		      uint32_t offset);
/*
 * Whether @words (@n_words) can be the table at @slot (state TABLE_LOADED, first 0), whatever made
 * it: each run as long as the slot says, chunks and rows in order, each row's rule in the
 * dictionary, each rule of a known kind, base and place. Linear in @n_words.
 *
 * So any search ends, stays inside and finds a rule that step.h knows. That the rule is right
 * cannot be seen. A wrong one makes a walk read words of the walked process's own stack and memory
 * and take some for return addresses: frames that are wrong, or none; it goes up with each step,
 * and its frames are counted, whatever the rules say.
 */
bool table_is_sound(const uint64_t *words, size_t n_words, const struct table_slot *slot);

#endif

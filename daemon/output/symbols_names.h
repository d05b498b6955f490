/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_SYMBOLS_NAMES_H
#define PROFD_OUTPUT_SYMBOLS_NAMES_H

/*
 * What is known of one image's addresses: ranges that do not overlap, each with the frames that lie
 * there, none where it is known that there is no name. Texts are kept once and go by number, so
 * that a caller copies each once: a hostile image can have one long name everywhere.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/worker/answer.h"

struct symbols_names;

struct symbols_frame {
	uint32_t name;        /* text: demangled */
	uint32_t system_name; /* text: as in the file */
	uint32_t file;        /* text: path; the empty one: unknown */
	uint32_t line;        /* 0 unknown */
	uint32_t start_line;  /* of the function; 0 unknown */
};

int symbols_names_new(struct symbols_names **ret);
void symbols_names_free(struct symbols_names *n);
DEFINE_CLEANUP(struct symbols_names *, symbols_names_free)

/*
 * Adds the answer to the question for @addresses (ascending, as many as the answer has locations).
 * What was known before stays. @by_address: each location holds for its address alone, because
 * lines differ within it. Takes as much of the texts as an honest answer can have. Returns 0 or
 * negative errno.
 */
int symbols_names_add(struct symbols_names *n, const uint64_t *addresses,
		      const struct answer_names *answer, bool by_address);

/*
 * False: not known. The frames are *ret_n ones from *ret, innermost first, borrowed until the next
 * addition; *ret_n 0: it is known that there is no name.
 */
bool symbols_names_find(const struct symbols_names *n, uint64_t address,
			const struct symbols_frame **ret, uint32_t *ret_n);
/* Texts are 0 (the empty one) to n - 1. Borrowed until the next addition. */
const char *symbols_names_text(const struct symbols_names *n, uint32_t text);
uint32_t symbols_names_n_texts(const struct symbols_names *n);
/* Memory held, bytes, nearly. */
size_t symbols_names_bytes(const struct symbols_names *n);

#endif

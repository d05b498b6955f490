/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_SHIM_CORE_IMAGE_TABLE_H
#define PROFD_CLIENT_SHIM_CORE_IMAGE_TABLE_H

/* One image's table of unwind rules, out of its file. */
#include <stddef.h>
#include <stdint.h>

#include "common/maps.h"
#include "common/unwind/layout.h"

/*
 * Compiles the file that @line maps, or the image at @vdso unless that is NULL, behind the
 * *n_words words that are there of @max_words. *ret says what came of it; only a table that is
 * loaded raises *n_words. Nothing but memory and the file's own make it fail: frame pointers
 * remain.
 */
void image_table_make(const struct maps_line *line, const void *vdso, uint64_t *words,
		      size_t max_words, size_t *n_words, struct table_slot *ret);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_IMAGE_PCLNTAB_H
#define PROFD_COMMON_IMAGE_PCLNTAB_H

/*
 * The table of functions that the Go runtime prints its own stack traces with: each Go program has
 * it in memory, so that strip(1) leaves it. Debian's containerd has no symbol of its own besides.
 *
 * Versions of Go 1.2, 1.16, 1.18 and 1.20, which later ones use. (Go: src/internal/abi/symtab.go,
 * src/runtime/symtab.go; "Go 1.2 Runtime Symbol Table Information".)
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/image/elf_image.h"
#include "common/symbols/symtab_build.h"

struct pclntab {
	const uint8_t *data; /* borrowed, from the header on; little-endian */
	size_t length;
	unsigned pointer_size; /* bytes: 4 or 8 */
	uint64_t n_functions;  /* no more than there is room for in data */
	size_t functions, names;
	size_t text_at; /* of the header's address of the code; 0: addresses are whole */
	size_t code_at; /* what offsets of functions in data are from */
	uint64_t text;  /* to be added to addresses; at first what the header says, 0: nothing */
};

struct pclntab_function {
	uint64_t start, end; /* link-time addresses */
	const char *name;    /* of data */
	uint32_t name_length;
};

/* Pure. False: [data, data + length) does not begin with a table of a known version. */
bool pclntab_parse(const uint8_t *data, size_t length, struct pclntab *ret);
/* Pure. Function @i, below n_functions. False: it is not within data, or has no name or code. */
bool pclntab_function(const struct pclntab *t, uint64_t i, struct pclntab_function *ret);

/*
 * Adds all functions of @image to @list; their names are libelf's. *ret_names_max: more than what
 * the names of an honest file take, bytes. Where there is no telling where the code lies that the
 * table is about, nothing is added. Returns 0 or -ENOMEM.
 */
int pclntab_collect(struct elf_image *image, unsigned source, struct symtab_entries *list,
		    size_t *ret_names_max);

#endif

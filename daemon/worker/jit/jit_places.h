/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_JIT_JIT_PLACES_H
#define PROFD_DAEMON_WORKER_JIT_JIT_PLACES_H

/*
 * The addresses that were asked for, and the newest code at each: given one piece of code after
 * the other, in the order of the file. Memory by the number of addresses alone.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of the file. */
struct jit_bytes {
	uint32_t at, length;
};

/* The lines of a piece of code that was loaded at @address: @n entries. */
struct jit_lines {
	uint64_t address;
	struct jit_bytes bytes;
	uint32_t n; /* 0: there are none */
};

/* A piece of code, as the file has it. */
struct jit_code {
	uint64_t start, end;   /* end is not part of it */
	struct jit_bytes name; /* length 0: without one */
	struct jit_lines lines;
	uint64_t index; /* jitdump's code_index */
	uint32_t move;  /* where the record is that moved it here; 0: it was loaded */
};

/* For all addresses from @start to before @end, @code is the newest, which is zeros for none. */
struct jit_place {
	uint64_t start, end;
	struct jit_code code;
};

struct jit_places {
	const uint64_t *addresses; /* ascending; borrowed */
	size_t n;
	struct jit_place *places; /* by address; those of the first address of each alone count */
	uint8_t *is_first;        /* by address */
};

/* Returns 0 or -ENOMEM; jit_places_deinit() may follow either. */
int jit_places_init(struct jit_places *p, const uint64_t *addresses, size_t n);
void jit_places_deinit(struct jit_places *p);
/* Empty code is left out. */
void jit_places_add(struct jit_places *p, const struct jit_code *code);
/* Of the address with index @i. */
struct jit_place *jit_places_get(const struct jit_places *p, size_t i);

#endif

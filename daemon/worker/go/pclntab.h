/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_GO_PCLNTAB_H
#define PROFD_DAEMON_WORKER_GO_PCLNTAB_H

/*
 * The table of functions that the Go runtime prints its own stack traces with: each Go program has
 * it in memory, so that strip(1) leaves it. Debian's containerd has no symbol of its own besides.
 *
 * Versions of Go 1.2, 1.16, 1.18 and 1.20, which later ones use. One that is not known yet is read
 * as the newest, function by function as far as what is said of it agrees with the table. (Go:
 * src/internal/abi/symtab.go, src/runtime/symtab.go; "Go 1.2 Runtime Symbol Table Information".)
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/span.h"
#include "common/symbols/elf_summary.h"
#include "common/symbols/symtab.h"
#include "common/wire.h"
#include "daemon/worker/elf/elf_image.h"

/*
 * Longer names are cut. Functions may share one without an end, in a file that is made so, and each
 * looks for it.
 */
#define PCLNTAB_NAME_MAX 4096

struct pclntab {
	const uint8_t *data; /* borrowed, from the header on; little-endian */
	size_t length;
	unsigned pointer_size; /* bytes: 4 or 8 */
	uint64_t n_functions;  /* no more than there is room for in data */
	size_t functions, names;
	size_t text_at; /* of the header's address of the code; 0: addresses are whole */
	size_t code_at; /* what offsets of functions in data are from */
	size_t steps;   /* of numbers by pc, pctab; 0: not known of this version */
	unsigned depths_at, flags_at; /* in what is said of a function; as steps */
	bool is_known;                /* its version */
	uint64_t text; /* to be added to addresses; at first what the header says, 0: nothing */
};

/* Of a function, Go's abi.FuncFlag. */
enum {
	PCLNTAB_TOP_FRAME = 1, /* nothing called it */
	PCLNTAB_SP_WRITE = 2,  /* it moves the stack pointer elsewhere */
};

struct pclntab_function {
	uint64_t start, end; /* link-time addresses */
	struct span name;    /* of data */
	unsigned flags;      /* PCLNTAB_*; 0 where the version's are not known */
	uint32_t depths;     /* for pclntab_depths(); 0: there are none */
};

/* How far the stack pointer is below where it was when the function was entered, by pc (pcsp). */
struct pclntab_depths {
	struct wire rest;
	unsigned quantum;  /* bytes that an instruction has at least */
	uint64_t distance; /* from the function's start, where `depth` ends to hold */
	int64_t depth;     /* bytes */
	bool has_begun;
};

/* Pure. False: [data, data + length) does not begin with a table of any version. */
bool pclntab_parse(const uint8_t *data, size_t length, struct pclntab *ret);
/* Pure. Function @i, below n_functions. False: it is not within data, or has no name or code. */
bool pclntab_function(const struct pclntab *t, uint64_t i, struct pclntab_function *ret);
/* Pure. Before the first of @f. */
void pclntab_depths_init(struct pclntab_depths *ret, const struct pclntab *t,
			 const struct pclntab_function *f);
/* Pure. The next depth, and up to where it holds. False: there are no more, or it is damaged. */
bool pclntab_depths_next(struct pclntab_depths *d);

/*
 * The table of @image, with `text` as it is at link time; its bytes are libelf's. False: there is
 * none, or no telling where the code lies that it is about.
 */
bool pclntab_find(struct elf_image *image, struct pclntab *ret);
/*
 * Adds all functions of @image to @list; their names are libelf's. More than what the names of an
 * honest file take, bytes, is added to *names_max. Returns 0 or -ENOMEM.
 */
int pclntab_collect(struct elf_image *image, unsigned source, struct symtab_entries *list,
		    size_t *names_max);

/*
 * Reads the section .go.buildinfo, which the linker of Go 1.13 and later writes and strip(1)
 * leaves. (Go: src/debug/buildinfo/buildinfo.go, src/runtime/debug/mod.go.) Pure, but for reading
 * @image. *ret is written in any case; what cannot be read is not said.
 */
void go_build_read(struct elf_image *image, struct go_build *ret);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_GO_GO_FRAMES_H
#define PROFD_DAEMON_WORKER_GO_GO_FRAMES_H

/*
 * Go's linker writes no .eh_frame. But the runtime walks stacks, too, and its table says how deep
 * each function's frame is at each pc (pclntab.h). From that the rules are made here that
 * .eh_frame would give: the CFA is that far above the stack pointer, the return address right below
 * it, and the caller's frame pointer below that.
 *
 * Functions that continue on another stack, or write the stack pointer for another reason, have the
 * rules of go_switches.h. No rules: of signals' restorer, which walks recognize by its code.
 * x86-64, programs of Go 1.17 and later; of others frame pointers are what there is.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/unwind/cfi.h"
#include "daemon/worker/elf/elf_image.h"
#include "daemon/worker/go/pclntab.h"

/* More than three times what a program with 50,000 functions needs. */
#define GO_FRAMES_RULES_MAX (1u << 20)

/* The program's instructions. */
struct go_text {
	/* Reads up to @size bytes from link-time address @address on; returns how many. */
	size_t (*read)(void *userdata, uint64_t address, uint8_t *ret, size_t size);
	void *userdata;
};

/*
 * Pure, but for @text. *ret is malloc'ed: a run of rules for each function (cfi.h). NULL, and their
 * number 0, where there are none, or more than GO_FRAMES_RULES_MAX. Returns 0 or -ENOMEM.
 */
int go_frames_make(const struct pclntab *table, const struct go_text *text,
		   struct cfi_own_rule **ret, size_t *ret_n);

/* The same of an ELF file that is open: none of one that is no Go program. */
int go_frames_read(struct elf_image *image, struct cfi_own_rule **ret, size_t *ret_n);

#endif

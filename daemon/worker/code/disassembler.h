/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_CODE_DISASSEMBLER_H
#define PROFD_DAEMON_WORKER_CODE_DISASSEMBLER_H

/*
 * Machine instructions as text, through capstone: x86 (32 and 64 bit) and ARM (32 and 64 bit,
 * little-endian). Pure but for memory of its own.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

#define INSTRUCTION_TEXT_MAX 256

struct disassembler;

enum {
	DISASSEMBLER_E_OK,
	DISASSEMBLER_E_UNKNOWN, /* no machine of these */
};

/* @machine: EM_*; @intel: Intel's syntax for x86. Returns DISASSEMBLER_E_* or negative errno. */
int disassembler_new(struct disassembler **ret, uint16_t machine, bool intel);
void disassembler_free(struct disassembler *d);
DEFINE_CLEANUP(struct disassembler *, disassembler_free)

struct instruction {
	uint32_t size; /* bytes, at most what there were */
	char text[INSTRUCTION_TEXT_MAX];
	/* A direct jump or call goes to @target; an operand is what lies at @target. */
	enum { TARGET_NONE, TARGET_CODE, TARGET_DATA } target_kind;
	uint64_t target;
};

/*
 * The one that [code, code + length) begins with; length is not 0. @address is where it lies. What
 * is none is "(bad)", a byte long on x86, four (or what is left) on ARM.
 */
void disassembler_get(struct disassembler *d, const uint8_t *code, size_t length, uint64_t address,
		      struct instruction *ret);

#endif

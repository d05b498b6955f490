/* SPDX-License-Identifier: MIT */
/*
 * Capstone decodes one instruction at a time. The target of a jump, or of a load relative to the
 * instruction, is read from the operands. What is no instruction is skipped in steps of the
 * machine's alignment.
 */
#include "daemon/worker/code/disassembler.h"

#include <capstone.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/error.h"

#define ARM_BYTES 4

struct disassembler {
	csh handle;
	cs_insn *instruction; /* room for one */
	cs_arch arch;
};

static const struct machine {
	uint16_t number;
	cs_arch arch;
	cs_mode mode;
} machines[] = {
	{EM_X86_64, CS_ARCH_X86, CS_MODE_64},
	{EM_386, CS_ARCH_X86, CS_MODE_32},
	{EM_AARCH64, CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN},
	{EM_ARM, CS_ARCH_ARM, CS_MODE_LITTLE_ENDIAN},
};

static const struct machine *find_machine(uint16_t number)
{
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		if (machines[i].number == number)
			return &machines[i];
	return NULL;
}

int disassembler_new(struct disassembler **ret, uint16_t machine, bool intel)
{
	cleanup(disassembler_freep) struct disassembler *d = NULL;
	const struct machine *m = find_machine(machine);
	cs_err e;

	if (!m)
		return DISASSEMBLER_E_UNKNOWN;
	d = calloc(1, sizeof(*d));
	if (!d)
		return error_origin(-ENOMEM);
	e = cs_open(m->arch, m->mode, &d->handle);
	if (e) /* a library may have been built without the machine */
		return e == CS_ERR_MEM ? error_origin(-ENOMEM) : DISASSEMBLER_E_UNKNOWN;
	d->arch = m->arch;
	if (cs_option(d->handle, CS_OPT_DETAIL, CS_OPT_ON) ||
	    (m->arch == CS_ARCH_X86 &&
	     cs_option(d->handle, CS_OPT_SYNTAX, intel ? CS_OPT_SYNTAX_INTEL : CS_OPT_SYNTAX_ATT)))
		return error_origin(-EINVAL);
	d->instruction = cs_malloc(d->handle);
	if (!d->instruction)
		return error_origin(-ENOMEM);
	*ret = steal_ptr(&d);
	return 0;
}

void disassembler_free(struct disassembler *d)
{
	if (!d)
		return;
	if (d->instruction)
		cs_free(d->instruction, 1);
	if (d->handle)
		cs_close(&d->handle);
	free(d);
}

static bool is_branch(const struct disassembler *d)
{
	return cs_insn_group(d->handle, d->instruction, CS_GRP_JUMP) ||
	       cs_insn_group(d->handle, d->instruction, CS_GRP_CALL) ||
	       cs_insn_group(d->handle, d->instruction, CS_GRP_BRANCH_RELATIVE);
}

static void find_target_x86(const struct disassembler *d, struct instruction *ret)
{
	const cs_insn *i = d->instruction;
	const cs_x86 *x86 = &i->detail->x86;

	for (uint8_t k = 0; k < x86->op_count; k++) {
		const cs_x86_op *op = &x86->operands[k];

		if (op->type == X86_OP_IMM && is_branch(d)) {
			ret->target_kind = TARGET_CODE;
			ret->target = (uint64_t)op->imm;
		} else if (op->type == X86_OP_MEM && op->mem.base == X86_REG_RIP) {
			ret->target_kind = TARGET_DATA;
			ret->target = i->address + i->size + (uint64_t)op->mem.disp;
		}
	}
}

/* The target is the last operand: what is compared and jumped upon comes first. */
static void find_target_arm64(const struct disassembler *d, struct instruction *ret)
{
	const cs_arm64 *arm = &d->instruction->detail->arm64;
	const cs_arm64_op *last = arm->op_count ? &arm->operands[arm->op_count - 1] : NULL;

	if (!last || last->type != ARM64_OP_IMM)
		return;
	if (is_branch(d))
		ret->target_kind = TARGET_CODE;
	else if (d->instruction->id == ARM64_INS_ADR || d->instruction->id == ARM64_INS_ADRP)
		ret->target_kind = TARGET_DATA;
	ret->target = (uint64_t)last->imm;
}

void disassembler_get(struct disassembler *d, const uint8_t *code, size_t length, uint64_t address,
		      struct instruction *ret)
{
	size_t bad = d->arch == CS_ARCH_X86 ? 1 : length < ARM_BYTES ? length : ARM_BYTES;
	const uint8_t *at = code;
	size_t left = length;
	uint64_t next = address;

	*ret = (struct instruction){.size = (uint32_t)bad, .text = "(bad)"};
	if (!cs_disasm_iter(d->handle, &at, &left, &next, d->instruction))
		return;
	ret->size = d->instruction->size;
	snprintf(ret->text, sizeof(ret->text), "%s%s%s", d->instruction->mnemonic,
		 d->instruction->op_str[0] ? " " : "", d->instruction->op_str);
	if (d->arch == CS_ARCH_X86)
		find_target_x86(d, ret);
	else if (d->arch == CS_ARCH_ARM64)
		find_target_arm64(d, ret);
}

/* SPDX-License-Identifier: MIT */
/*
 * The state after some instructions, how to find the CFA and each register, becomes one rule
 * (rule.h). A part that no rule can hold makes the whole state RULE_UNKNOWN, with the reason
 * counted; the few forms of expressions that compilers and the PLT use are recognized.
 */
#include "common/unwind/cfi_private.h"

#include <elf.h>

/* The signal frame that is looked for here is x86-64's, whatever this is built for. */
#undef UNWIND_X86_64
#define UNWIND_X86_64 1
#include "common/unwind/step.h"

/* Opcodes of expressions (DWARF 5, section 7.7.1), those that are understood. */
enum {
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S,
	OP_CONST2U,
	OP_CONST2S,
	OP_CONST4U,
	OP_CONST4S,
	OP_CONST8U,
	OP_CONST8S,
	OP_CONSTU,
	OP_CONSTS,
	OP_AND = 0x1a,
	OP_MINUS = 0x1c,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
};

/*
 * Longer expressions are not looked into: one can be in force for very many rows, each of which
 * reads it. The longest that is known to be of use has 11 bytes.
 */
#define FORM_BYTES_MAX 32

/* The only expressions that rules can hold: base + offset, or *(base + offset) + added. */
struct form {
	bool is_deref;
	uint64_t base; /* register number */
	int64_t offset, added;
};

/* What became of a part of the state. */
enum { FITS, UNFIT, EXPRESSION };

const struct cfi_machine *cfi_machine_get(uint16_t machine)
{
	static const struct cfi_machine x86_64 = {
		.machine = EM_X86_64,
		.fp = 6,
		.sp = 7,
		.bx = 3,
		.lr = UINT64_MAX,
		.bases =
			{
				[RULE_BASE_SP] = 7,
				[RULE_BASE_FP] = 6,
				[RULE_BASE_AX] = 0,
				[RULE_BASE_BX] = 3,
				[RULE_BASE_CX] = 2,
				[RULE_BASE_DX] = 1,
				[RULE_BASE_R10] = 10,
				[RULE_BASE_R11] = 11,
				[RULE_BASE_DI] = 5,
				[RULE_BASE_SI] = 4,
				[RULE_BASE_R8] = 8,
				[RULE_BASE_R9] = 9,
				[RULE_BASE_R12] = 12,
				[RULE_BASE_R13] = 13,
				[RULE_BASE_R14] = 14,
				[RULE_BASE_R15] = 15,
			},
	};
	static const struct cfi_machine aarch64 = {
		.machine = EM_AARCH64,
		.fp = 29,
		.sp = 31,
		.bx = UINT64_MAX,
		.lr = 30,
		.bases =
			{
				[RULE_BASE_SP] = 31,
				[RULE_BASE_FP] = 29,
				[RULE_BASE_LR] = 30,
				[RULE_BASE_LR + 1 ... N_RULE_BASES - 1] = UINT64_MAX,
			},
	};

	if (machine == EM_X86_64)
		return &x86_64;
	return machine == EM_AARCH64 ? &aarch64 : NULL;
}

static bool cfi_read_constant(struct cfi_reader *r, uint8_t op, uint64_t *ret)
{
	unsigned size, unused;

	if (op >= OP_LIT0 && op <= OP_LIT31) {
		*ret = op - OP_LIT0;
		return true;
	}
	switch (op) {
	case OP_CONST1U:
	case OP_CONST2U:
	case OP_CONST4U:
	case OP_CONST8U:
		*ret = cfi_fixed(r, (size_t)1 << (op - OP_CONST1U) / 2);
		return true;
	case OP_CONST1S:
	case OP_CONST2S:
	case OP_CONST4S:
	case OP_CONST8S:
		size = 1u << (op - OP_CONST1S) / 2;
		unused = 64 - 8 * size;
		*ret = (uint64_t)((int64_t)(cfi_fixed(r, size) << unused) >> unused);
		return true;
	case OP_CONSTU:
		*ret = cfi_uleb(r);
		return true;
	case OP_CONSTS:
		*ret = (uint64_t)cfi_sleb(r);
		return true;
	}
	return false;
}

static bool cfi_read_form(const struct cfi_input *input, struct cfi_block block, struct form *ret)
{
	struct cfi_reader r = cfi_reader_at(&input->frame, block.position,
					    block.position + block.length);
	uint64_t sums[2] = {0}, term; /* before and after the dereference */
	uint8_t op = cfi_u8(&r);

	*ret = (struct form){0};
	if (block.length > FORM_BYTES_MAX)
		return false;
	if (op >= OP_BREG0 && op <= OP_BREG31)
		ret->base = op - OP_BREG0;
	else if (op == OP_BREGX)
		ret->base = cfi_uleb(&r);
	else
		return false;
	sums[0] = (uint64_t)cfi_sleb(&r);
	while (cfi_left(&r)) {
		op = cfi_u8(&r);
		if (op == OP_DEREF && !ret->is_deref) {
			ret->is_deref = true;
			continue;
		}
		if (op == OP_PLUS_UCONST) {
			sums[ret->is_deref] += cfi_uleb(&r);
			continue;
		}
		if (!cfi_read_constant(&r, op, &term))
			return false;
		op = cfi_u8(&r);
		if (op != OP_PLUS && op != OP_MINUS)
			return false;
		sums[ret->is_deref] += op == OP_PLUS ? term : -term;
	}
	ret->offset = (int64_t)sums[0];
	ret->added = (int64_t)sums[1];
	return !r.bad;
}

/*
 * The rule that linkers write for a procedure linkage table of 16-byte entries on x86-64: after
 * the push in an entry, at its byte @extra, the stack is 8 bytes deeper.
 *
 *   sp + offset + ((pc & 15) >= extra) << 3
 */
static bool cfi_read_plt_form(const struct cfi_program *p, struct cfi_block block,
			      struct rule *rule)
{
	struct cfi_reader r = cfi_reader_at(&p->input->frame, block.position,
					    block.position + block.length);
	const uint64_t pc = 16;
	int64_t offset;
	uint8_t literal;

	if (p->machine->machine != EM_X86_64 || cfi_u8(&r) != OP_BREG0 + p->machine->sp)
		return false;
	offset = cfi_sleb(&r);
	if (cfi_u8(&r) != OP_BREG0 + pc || cfi_sleb(&r) != 0 || cfi_u8(&r) != OP_LIT0 + 15 ||
	    cfi_u8(&r) != OP_AND)
		return false;
	literal = cfi_u8(&r);
	if (literal < OP_LIT0 || literal > OP_LIT0 + 15 || cfi_u8(&r) != OP_GE ||
	    cfi_u8(&r) != OP_LIT0 + 3 || cfi_u8(&r) != OP_SHL || cfi_u8(&r) != OP_PLUS || r.bad ||
	    cfi_left(&r) || offset < INT16_MIN || offset > INT16_MAX)
		return false;
	rule->kind = RULE_PLT;
	rule->base = RULE_BASE_SP;
	rule->cfa_offset = (int)offset;
	rule->extra = literal - OP_LIT0;
	return true;
}

/* To what struct rule has room for; rule_pack() is exact. */
static bool fits_int(int64_t offset)
{
	return offset >= INT32_MIN / 2 && offset <= INT32_MAX / 2;
}

static bool cfi_find_base(const struct cfi_machine *machine, uint64_t number, unsigned *ret)
{
	for (unsigned i = 0; i < N_RULE_BASES; i++)
		if (machine->bases[i] == number && number != UINT64_MAX) {
			*ret = i;
			return true;
		}
	return false;
}

static int cfi_rule_set_cfa(const struct cfi_state *state, const struct cfi_program *p,
			    struct rule *rule)
{
	struct form form = {.base = state->cfa_register, .offset = state->cfa_offset};

	if (state->cfa_is_expression) {
		if (cfi_read_plt_form(p, state->cfa_block, rule))
			return FITS;
		if (!cfi_read_form(p->input, state->cfa_block, &form))
			return EXPRESSION;
	}
	rule->kind = form.is_deref ? RULE_DEREF : RULE_CFA;
	if (!cfi_find_base(p->machine, form.base, &rule->base) || !fits_int(form.offset) ||
	    !fits_int(form.added))
		return UNFIT;
	rule->cfa_offset = (int)form.offset;
	if (form.is_deref)
		rule->extra = (int)form.added;
	return FITS;
}

/*
 * Where @column is saved, by the CFA or (*ret_by_fp) by the frame pointer. An expression that
 * counts from the register that the CFA counts from leads to the CFA as well.
 */
static int cfi_find_saved(const struct cfi_column *column, const struct cfi_program *p,
			  const struct rule *rule, bool *ret_by_fp, int *ret)
{
	int64_t offset = column->offset;
	struct form form;

	*ret_by_fp = false;
	if (column->how == CFI_EXPRESSION) {
		if (!cfi_read_form(p->input, column->block, &form) || form.is_deref)
			return EXPRESSION;
		offset = form.offset;
		if (!fits_int(offset))
			return UNFIT;
		if (rule->kind == RULE_CFA && form.base == p->machine->bases[rule->base])
			offset -= rule->cfa_offset;
		else if (form.base == p->machine->fp)
			*ret_by_fp = true;
		else
			return EXPRESSION;
	}
	if (!fits_int(offset) || !RULE_FITS((int)offset, 13))
		return UNFIT;
	*ret = (int)offset;
	return FITS;
}

/* In its register it is only good if that is the one that walks know. */
static int cfi_rule_set_ra(const struct cfi_column *column, const struct cfi_program *p,
			   const struct cfi_cie *cie, struct rule *rule)
{
	bool by_fp;
	int r;

	if (column->how == CFI_UNSPECIFIED || column->how == CFI_SAME) {
		rule->ra_kind = RULE_RA_IN_LR;
		return p->machine->lr != UINT64_MAX && cie->return_column == p->machine->lr ? FITS
											    : UNFIT;
	}
	if (column->how == CFI_REGISTER) {
		rule->ra_kind = RULE_RA_IN_DI;
		return p->machine->machine == EM_X86_64 &&
				       (uint64_t)column->offset == p->machine->bases[RULE_BASE_DI]
			       ? FITS
			       : UNFIT;
	}
	if (column->how != CFI_OFFSET && column->how != CFI_EXPRESSION)
		return UNFIT;
	rule->ra_kind = RULE_RA_AT_CFA;
	r = cfi_find_saved(column, p, rule, &by_fp, &rule->ra_offset);
	return !r && by_fp ? EXPRESSION : r;
}

/* A frame pointer that cannot be found is lost, and the walk goes on without. */
static void cfi_rule_set_fp(const struct cfi_column *column, const struct cfi_program *p,
			    struct rule *rule)
{
	bool by_fp;

	rule->fp_kind = RULE_FP_LOST;
	if (column->how == CFI_UNSPECIFIED || column->how == CFI_SAME)
		rule->fp_kind = RULE_FP_SAME;
	else if ((column->how == CFI_OFFSET || column->how == CFI_EXPRESSION) &&
		 cfi_find_saved(column, p, rule, &by_fp, &rule->fp_offset) == FITS)
		rule->fp_kind = by_fp ? RULE_FP_AT_FP : RULE_FP_AT_CFA;
}

static int cfi_bx_extra(const struct cfi_column *column)
{
	int64_t slots;

	if (column->how == CFI_UNSPECIFIED || column->how == CFI_SAME)
		return RULE_BX_SAME;
	if (column->how != CFI_OFFSET || column->offset & 7 || !fits_int(column->offset))
		return RULE_BX_LOST;
	slots = -column->offset / 8;
	return slots > 0 && slots <= 255 - RULE_BX_SAME ? (int)slots + RULE_BX_SAME : RULE_BX_LOST;
}

static bool cfi_column_is_at(const struct cfi_column *column, const struct cfi_input *input,
			     uint64_t base, int64_t offset)
{
	struct form form;

	return column->how == CFI_EXPRESSION && cfi_read_form(input, column->block, &form) &&
	       !form.is_deref && form.base == base && form.offset == offset;
}

/*
 * Whether a signal frame's restorer says that the registers are where step.h takes them from. On
 * x86-64 it says where in the ucontext, relative to sp. On aarch64 the vdso can only point at the
 * frame record that the kernel pushed above its frame (arch/arm64/kernel/vdso/sigreturn.S before
 * 5.8; newer ones have no information there).
 */
static bool is_signal_frame(const struct cfi_state *state, const struct cfi_program *p)
{
	const struct cfi_machine *machine = p->machine;
	const struct cfi_column *fp = &state->columns[CFI_COLUMN_FP];
	const struct cfi_column *ra = &state->columns[CFI_COLUMN_RA];
	struct form cfa;

	if (machine->machine == EM_AARCH64)
		return !state->cfa_is_expression && state->cfa_register == machine->fp &&
		       !state->cfa_offset && fp->how == CFI_OFFSET && fp->offset == 0 &&
		       ra->how == CFI_OFFSET && ra->offset == 8;
	return state->cfa_is_expression && cfi_read_form(p->input, state->cfa_block, &cfa) &&
	       cfa.is_deref && cfa.base == machine->sp && cfa.offset == UNWIND_SIGNAL_SP &&
	       !cfa.added && cfi_column_is_at(ra, p->input, machine->sp, UNWIND_SIGNAL_PC) &&
	       cfi_column_is_at(fp, p->input, machine->sp, UNWIND_SIGNAL_FP);
}

uint64_t cfi_state_rule(const struct cfi_state *state, const struct cfi_program *p,
			const struct cfi_cie *cie)
{
	struct cfi_counters *counters = &p->builder->rows->counters;
	const struct cfi_column *columns = state->columns;
	struct rule rule = {0};
	uint64_t word;
	int r;

	if (columns[CFI_COLUMN_RA].how == CFI_UNDEFINED)
		return RULE_WORD(RULE_ROOT);
	if (cie->is_signal && is_signal_frame(state, p))
		return RULE_WORD(RULE_SIGNAL);
	r = cfi_rule_set_cfa(state, p, &rule)
		    ?: cfi_rule_set_ra(&columns[CFI_COLUMN_RA], p, cie, &rule);
	if (r) {
		counters->expression += r == EXPRESSION;
		counters->unfit += r == UNFIT;
		return RULE_WORD(RULE_ODD);
	}
	cfi_rule_set_fp(&columns[CFI_COLUMN_FP], p, &rule);
	if (p->follow_bx && rule.kind == RULE_CFA)
		rule.extra = cfi_bx_extra(&columns[CFI_COLUMN_BX]);
	word = rule_pack(&rule);
	counters->unfit += word == RULE_WORD(RULE_ODD);
	return word;
}

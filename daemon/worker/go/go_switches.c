/* SPDX-License-Identifier: MIT */

/*
 * Each function is read once, from its first instruction to its last, with a state: where its
 * caller's stack is found. Loads of the stack pointer change it, in the order in which the function
 * has them. That serves for code with a few forward branches, as these have.
 */
#include "daemon/worker/go/go_switches.h"

#include <capstone.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/unwind/rule.h"

#define WORD 8

struct go_switches {
	csh handle;
	cs_insn *instruction;
	bool is_learned;
	struct rule_go runtime; /* without place, cfa_offset and saves_fp */
};

enum go_switch go_switch_of(const struct pclntab_function *f)
{
	static const struct {
		const char *name;
		enum go_switch kind;
	} known[] = {
		{"runtime.systemstack", GO_SYSTEMSTACK},
		{"runtime.asmcgocall", GO_ASMCGOCALL},
		{"runtime.cgocallback", GO_CGOCALLBACK},
		{"runtime.morestack", GO_MORESTACK},
		{"runtime.mcall", GO_LEAVES},
		{"runtime.gogo", GO_LEAVES},
		{"gogo", GO_LEAVES},
		{"crosscall2", GO_CROSSCALL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (span_is(f->name, known[i].name))
			return known[i].kind;
	return f->flags & PCLNTAB_SP_WRITE && !(f->flags & PCLNTAB_TOP_FRAME) ? GO_MOVES_SP
									      : GO_SWITCH_NONE;
}

int go_switches_new(struct go_switches **ret)
{
	cleanup(go_switches_freep) struct go_switches *s = calloc(1, sizeof(*s));

	if (!s || cs_open(CS_ARCH_X86, CS_MODE_64, &s->handle) ||
	    cs_option(s->handle, CS_OPT_DETAIL, CS_OPT_ON))
		return error_origin(-ENOMEM);
	s->instruction = cs_malloc(s->handle);
	if (!s->instruction)
		return error_origin(-ENOMEM);
	*ret = steal_ptr(&s);
	return 0;
}

void go_switches_free(struct go_switches *s)
{
	if (!s)
		return;
	if (s->instruction)
		cs_free(s->instruction, 1);
	if (s->handle)
		cs_close(&s->handle);
	free(s);
}

/* --- instructions -------------------------------------------------------------------------- */

/* Where in a function's code the next instruction is. */
struct cursor {
	const uint8_t *at;
	size_t left;
	uint64_t offset;
};

static struct cursor cursor_at_start(const struct go_code *code)
{
	return (struct cursor){.at = code->bytes, .left = code->length};
}

/* The operands of the next one; NULL: there is none. */
static const cs_x86 *cursor_next(struct go_switches *s, struct cursor *c)
{
	return cs_disasm_iter(s->handle, &c->at, &c->left, &c->offset, s->instruction)
		       ? &s->instruction->detail->x86
		       : NULL;
}

static bool operand_is_register(const cs_x86 *x, uint8_t i, x86_reg reg)
{
	return i < x->op_count && x->operands[i].type == X86_OP_REG && x->operands[i].reg == reg;
}

/* Whether operand @i is memory at @base + displacement. */
static bool operand_is_memory_at(const cs_x86 *x, uint8_t i, x86_reg base)
{
	const cs_x86_op *op = &x->operands[i];

	return i < x->op_count && op->type == X86_OP_MEM && op->mem.base == base &&
	       op->mem.index == X86_REG_INVALID && op->mem.segment == X86_REG_INVALID;
}

/* MOV of a register to memory above the stack pointer. */
static bool is_stack_store(const struct go_switches *s, const cs_x86 *x)
{
	return s->instruction->id == X86_INS_MOV && operand_is_memory_at(x, 0, X86_REG_RSP) &&
	       x->op_count == 2 && x->operands[1].type == X86_OP_REG;
}

static bool is_move_to(const struct go_switches *s, const cs_x86 *x, x86_reg reg)
{
	return s->instruction->id == X86_INS_MOV && operand_is_register(x, 0, reg);
}

/* --- where the runtime keeps things ---------------------------------------------------------- */

/* What is known of a register. */
enum content { NOTHING, NUMBER, IS_G, IS_M, IS_CURG };

struct knowledge {
	enum content contents[X86_REG_ENDING];
	int64_t numbers[X86_REG_ENDING];
	struct rule_go found;
	bool has_g, has_m, has_curg, has_sp, has_fp, is_odd;
};

/* A displacement that was found, at the first time or again. */
static void knowledge_set_field(struct knowledge *k, unsigned *field, bool *has, int64_t value)
{
	if (value < 0 || value > INT32_MAX || (*has && *field != (unsigned)value))
		k->is_odd = true;
	*field = (unsigned)value;
	*has = true;
}

/* A word of thread-local memory at @offset: the only one that these functions read is g. */
static enum content knowledge_load_tls(struct knowledge *k, int64_t offset)
{
	if (offset < INT32_MIN || offset > INT32_MAX || (k->has_g && k->found.g != offset))
		k->is_odd = true;
	k->found.g = (int)offset;
	k->has_g = true;
	return IS_G;
}

/* What a load from @mem gives. */
static enum content knowledge_load(struct knowledge *k, const x86_op_mem *mem)
{
	if (mem->index != X86_REG_INVALID)
		return NOTHING;
	if (mem->segment == X86_REG_FS && mem->base == X86_REG_INVALID)
		return knowledge_load_tls(k, mem->disp);
	if (mem->base == X86_REG_INVALID || mem->base >= X86_REG_ENDING)
		return NOTHING;
	if (mem->segment == X86_REG_FS)
		return k->contents[mem->base] == NUMBER
			       ? knowledge_load_tls(k, k->numbers[mem->base] + mem->disp)
			       : NOTHING;
	if (mem->segment != X86_REG_INVALID)
		return NOTHING;
	if (k->contents[mem->base] == IS_G) {
		knowledge_set_field(k, &k->found.g_m, &k->has_m, mem->disp);
		return IS_M;
	}
	/* The first field of m is g0. */
	if (k->contents[mem->base] == IS_M && mem->disp) {
		knowledge_set_field(k, &k->found.m_curg, &k->has_curg, mem->disp);
		return IS_CURG;
	}
	return NOTHING;
}

static bool operand_is_in_curg(const struct knowledge *k, const cs_x86 *x, uint8_t i)
{
	return x->operands[i].type == X86_OP_MEM && x->operands[i].mem.base < X86_REG_ENDING &&
	       k->contents[x->operands[i].mem.base] == IS_CURG;
}

/* A MOV of systemstack. */
static void knowledge_apply_move(struct knowledge *k, const cs_x86 *x)
{
	const cs_x86_op *to = &x->operands[0], *from = &x->operands[1];

	if (x->op_count != 2 || to->type != X86_OP_REG || to->reg >= X86_REG_ENDING)
		return;
	if (operand_is_in_curg(k, x, 1) && to->reg == X86_REG_RSP) {
		knowledge_set_field(k, &k->found.sched_sp, &k->has_sp, from->mem.disp);
	} else if (operand_is_in_curg(k, x, 1) && to->reg == X86_REG_RBP) {
		knowledge_set_field(k, &k->found.sched_fp, &k->has_fp, from->mem.disp);
	} else if (from->type == X86_OP_IMM) {
		k->contents[to->reg] = NUMBER;
		k->numbers[to->reg] = from->imm;
	} else if (from->type == X86_OP_REG && from->reg < X86_REG_ENDING) {
		k->contents[to->reg] = k->contents[from->reg];
		k->numbers[to->reg] = k->numbers[from->reg];
	} else if (from->type == X86_OP_MEM) {
		k->contents[to->reg] = knowledge_load(k, &from->mem);
	}
}

/*
 * The part of systemstack behind its call has the whole way: thread, g, m, curg, stack pointer. It
 * restores the frame pointer only since Go 1.21; morestack has always saved it.
 */
void go_switches_learn(struct go_switches *s, const struct go_code *systemstack,
		       const struct go_code *morestack)
{
	struct knowledge k = {0};
	struct cursor c = cursor_at_start(systemstack);
	const cs_x86 *x;
	bool is_behind = false;

	while (!k.has_sp && (x = cursor_next(s, &c)))
		if (s->instruction->id == X86_INS_CALL && x->operands[0].type == X86_OP_REG)
			is_behind = true;
		else if (is_behind && s->instruction->id == X86_INS_MOV)
			knowledge_apply_move(&k, x);
	x = k.has_sp ? cursor_next(s, &c) : NULL;
	if (x && s->instruction->id == X86_INS_MOV)
		knowledge_apply_move(&k, x);
	c = cursor_at_start(morestack);
	while (!k.has_fp && (x = cursor_next(s, &c)))
		if (s->instruction->id == X86_INS_MOV && operand_is_register(x, 1, X86_REG_RBP) &&
		    x->operands[0].type == X86_OP_MEM)
			knowledge_set_field(&k, &k.found.sched_fp, &k.has_fp,
					    x->operands[0].mem.disp);
	s->runtime = k.found;
	s->is_learned = !k.is_odd && k.has_g && k.has_m && k.has_curg && k.has_sp && k.has_fp;
}

/* --- rules ----------------------------------------------------------------------------------- */

enum place {
	OWN,     /* the function's own stack, above the stack pointer */
	BY_FP,   /* the same, above the frame pointer */
	BY_DX,   /* the same; rdx is what the stack pointer was */
	BY_SLOT, /* the same; the word at the stack pointer + slot is what it was */
	SAVED,   /* a goroutine's, which saved its stack pointer */
	RESUMED, /* a goroutine's, which will go on there */
	FROM_GO, /* a goroutine's, which called C */
	FROM_C,  /* the system stack, on which C called */
	NOWHERE, /* nothing is the caller */
};

struct go_switches_scan {
	struct go_switches *s;
	struct pclntab_depths depths;
	bool has_depth;
	enum go_switch kind;
	enum place place;
	unsigned n_loads; /* of the stack pointer */
	unsigned n_slots; /* words that were stored behind the last */
	int64_t slots[2]; /* where */
	uint64_t *steps;  /* of the table that may be read */
	/* The stack pointer is not where depths are from; one of these registers is what it was. */
	bool has_moved, has_ever_moved;
	bool has_copy[X86_REG_ENDING];
	bool fp_was_set;
	bool fp_is_saved; /* crosscall2: at CFA + fp_offset */
	int64_t fp_offset;
};

static int64_t scan_depth(struct go_switches_scan *n, uint64_t at)
{
	while (n->has_depth && n->depths.distance <= at) {
		n->has_depth = *n->steps && pclntab_depths_next(&n->depths);
		*n->steps -= *n->steps > 0;
	}
	return n->has_depth ? n->depths.depth : -1;
}

static uint64_t scan_runtime_rule(const struct go_switches_scan *n, unsigned place, int64_t depth)
{
	struct rule_go rule = n->s->runtime;

	if (place == RULE_GO_CALLED_C)
		rule = (struct rule_go){.g_m = (unsigned)n->slots[0],
					.sched_sp = (unsigned)n->slots[1]};
	else if (!n->s->is_learned)
		return RULE_WORD(RULE_ODD);
	rule.place = place;
	rule.cfa_offset = (unsigned)depth + WORD;
	rule.saves_fp = depth > 0;
	return rule_go_pack(&rule);
}

static uint64_t scan_rule(const struct go_switches_scan *n, int64_t depth)
{
	struct rule rule = {.kind = RULE_CFA, .ra_offset = -WORD};

	if (depth < 0 || depth % WORD || depth > INT16_MAX)
		return RULE_WORD(RULE_UNKNOWN);
	rule.cfa_offset = (int)depth + WORD;
	if (depth) {
		rule.fp_kind = RULE_FP_AT_CFA;
		rule.fp_offset = -2 * WORD;
	}
	switch (n->place) {
	case OWN:
		if (n->has_moved)
			return RULE_WORD(RULE_UNKNOWN);
		rule.base = RULE_BASE_SP;
		break;
	case BY_FP:
		if (depth)
			return rule_go_pack(&(struct rule_go){
				.place = RULE_GO_BY_FP, .cfa_offset = 2 * WORD, .saves_fp = true});
		if (n->has_moved)
			return RULE_WORD(RULE_UNKNOWN);
		rule.base = RULE_BASE_SP;
		break;
	case BY_DX:
		rule.base = RULE_BASE_DX;
		break;
	case BY_SLOT:
		rule.kind = RULE_DEREF;
		rule.base = RULE_BASE_SP;
		rule.extra = rule.cfa_offset;
		rule.cfa_offset = (int)n->slots[0];
		break;
	case SAVED:
		return scan_runtime_rule(n, RULE_GO_SAVED, depth);
	case RESUMED:
		return scan_runtime_rule(n, RULE_GO_RESUMED, depth);
	case FROM_GO:
		return scan_runtime_rule(n, RULE_GO_CALLED_C, depth);
	case FROM_C:
		return scan_runtime_rule(n, RULE_GO_CALLED_BACK, depth);
	case NOWHERE:
		return RULE_WORD(RULE_ROOT);
	}
	if (n->kind == GO_CROSSCALL) {
		rule.fp_kind = n->fp_is_saved ? RULE_FP_AT_CFA : RULE_FP_SAME;
		rule.fp_offset = n->fp_is_saved ? (int)n->fp_offset : 0;
	}
	return rule_pack(&rule);
}

/*
 * asmcgocall stores a g and a distance on the stack that it goes to, or, where it is there already,
 * what its stack pointer was.
 */
static void scan_asmcgocall(struct go_switches_scan *n, const cs_x86 *x)
{
	bool stores = is_stack_store(n->s, x);

	if (is_move_to(n->s, x, X86_REG_RSP)) {
		n->place = n->place == OWN ? SAVED : OWN;
		n->n_slots = 0;
	} else if (n->place == OWN && n->n_loads && n->s->instruction->id == X86_INS_SUB &&
		   operand_is_register(x, 0, X86_REG_RSP)) {
		n->place = BY_DX;
		n->n_slots = 0;
	} else if (stores && n->place == SAVED) {
		n->slots[n->n_slots++] = x->operands[0].mem.disp;
		if (n->n_slots == 2)
			n->place = FROM_GO;
	} else if (stores && n->place == BY_DX && operand_is_register(x, 1, X86_REG_RDX)) {
		n->slots[0] = x->operands[0].mem.disp;
		n->place = BY_SLOT;
	}
}

/*
 * Whether the instruction moves the stack pointer in a way that the table does not say: what it
 * adds or takes off is not by how much the depth changes from @depth to @next.
 */
static bool scan_moves_sp_silently(const struct go_switches_scan *n, const cs_x86 *x, int64_t depth,
				   int64_t next)
{
	unsigned id = n->s->instruction->id;

	if (!operand_is_register(x, 0, X86_REG_RSP) || id == X86_INS_PUSH || id == X86_INS_CMP ||
	    id == X86_INS_TEST || id == X86_INS_CALL || id == X86_INS_JMP)
		return false;
	if ((id == X86_INS_SUB || id == X86_INS_ADD) && x->op_count == 2 &&
	    x->operands[1].type == X86_OP_IMM)
		return next - depth !=
		       (id == X86_INS_SUB ? x->operands[1].imm : -x->operands[1].imm);
	if (id == X86_INS_LEA && operand_is_memory_at(x, 1, X86_REG_RSP))
		return next - depth != -x->operands[1].mem.disp;
	return true;
}

/* Whether the stack pointer is what it was again. */
static bool scan_restores_sp(const struct go_switches_scan *n, const cs_x86 *x)
{
	return is_move_to(n->s, x, X86_REG_RSP) && x->operands[1].type == X86_OP_REG &&
	       x->operands[1].reg < X86_REG_ENDING && n->has_copy[x->operands[1].reg];
}

static void scan_stack_pointer(struct go_switches_scan *n, const cs_x86 *x, int64_t depth,
			       int64_t next)
{
	unsigned id = n->s->instruction->id;

	if (scan_restores_sp(n, x))
		n->has_moved = false;
	else if (scan_moves_sp_silently(n, x, depth, next))
		n->has_moved = n->has_ever_moved = true;
	else if (id == X86_INS_RET || id == X86_INS_JMP)
		n->has_moved = n->has_ever_moved; /* What is behind may come from anywhere. */
	else if (id == X86_INS_MOV && x->op_count == 2 && x->operands[0].type == X86_OP_REG &&
		 x->operands[0].reg < X86_REG_ENDING)
		n->has_copy[x->operands[0].reg] = !n->has_moved &&
						  operand_is_register(x, 1, X86_REG_RSP);
}

/* The vdso may be called on the system stack; meanwhile the frame pointer is the function's. */
static void scan_moves_sp(struct go_switches_scan *n, const cs_x86 *x)
{
	unsigned id = n->s->instruction->id;

	if ((id == X86_INS_MOV && operand_is_register(x, 0, X86_REG_RBP) &&
	     operand_is_register(x, 1, X86_REG_RSP)) ||
	    (id == X86_INS_LEA && operand_is_register(x, 0, X86_REG_RBP) &&
	     operand_is_memory_at(x, 1, X86_REG_RSP))) {
		n->place = BY_FP;
		n->fp_was_set = true;
	} else if ((id == X86_INS_POP || id == X86_INS_MOV) &&
		   operand_is_register(x, 0, X86_REG_RBP)) {
		/* An epilogue begins with the stack pointer where it belongs. */
		if (id == X86_INS_POP && n->place == BY_FP)
			n->has_moved = false;
		n->place = OWN;
	} else if (id == X86_INS_RET && n->fp_was_set) {
		/* What is behind was jumped to from between. */
		n->place = BY_FP;
	}
}

/* @depth: before the instruction. */
static void scan_crosscall(struct go_switches_scan *n, const cs_x86 *x, int64_t depth)
{
	unsigned id = n->s->instruction->id;

	if (!n->fp_was_set && id == X86_INS_PUSH && operand_is_register(x, 0, X86_REG_RBP)) {
		n->fp_is_saved = n->fp_was_set = true;
		n->fp_offset = -depth - 2 * WORD;
	} else if (!n->fp_was_set && is_stack_store(n->s, x) &&
		   operand_is_register(x, 1, X86_REG_RBP)) {
		n->fp_is_saved = n->fp_was_set = true;
		n->fp_offset = x->operands[0].mem.disp - depth - WORD;
	} else if (id == X86_INS_POP && operand_is_register(x, 0, X86_REG_RBP)) {
		n->fp_is_saved = false;
	}
}

/*
 * How many loads of the stack pointer a function has (a gogo of its own may leave it to another),
 * and of some what each does: from the own stack on, and back.
 */
static const struct go_switches_shape {
	bool is_by_loads;
	enum place away, back;
	unsigned min_loads, max_loads;
} shapes[] = {
	[GO_SWITCH_NONE] = {.max_loads = UINT_MAX},
	[GO_SYSTEMSTACK] = {true, SAVED, OWN, 2, 2},
	[GO_CGOCALLBACK] = {true, FROM_C, OWN, 2, 2},
	[GO_MORESTACK] = {true, RESUMED, RESUMED, 1, 1},
	[GO_LEAVES] = {true, NOWHERE, NOWHERE, 0, 1},
	[GO_ASMCGOCALL] = {.min_loads = 3, .max_loads = 3},
	[GO_CROSSCALL] = {.max_loads = UINT_MAX},
	[GO_MOVES_SP] = {.max_loads = UINT_MAX},
};

/* Behind an instruction, where @depth was the depth, and @next is. */
static void scan_apply(struct go_switches_scan *n, const cs_x86 *x, int64_t depth, int64_t next)
{
	bool is_load = (n->s->instruction->id == X86_INS_MOV ||
			n->s->instruction->id == X86_INS_LEA) &&
		       operand_is_register(x, 0, X86_REG_RSP);

	n->n_loads += is_load;
	if (is_load && shapes[n->kind].is_by_loads) {
		n->place = n->place == OWN ? shapes[n->kind].away : shapes[n->kind].back;
	} else if (n->kind == GO_ASMCGOCALL) {
		scan_asmcgocall(n, x);
	} else if (n->kind == GO_CROSSCALL) {
		scan_crosscall(n, x, depth);
	} else if (n->kind == GO_MOVES_SP) {
		scan_stack_pointer(n, x, depth, next);
		scan_moves_sp(n, x);
	}
}

static bool go_rows_put(struct go_rows *rows, uint64_t at, uint64_t rule)
{
	if (rows->n && rows->rows[rows->n - 1].rule == rule)
		return true;
	if (rows->n == GO_ROWS_MAX)
		return false;
	rows->rows[rows->n++] = (struct go_row){.at = (uint32_t)at, .rule = rule};
	return true;
}

void go_switches_rows(struct go_switches *s, enum go_switch kind, const struct go_code *code,
		      const struct pclntab *t, const struct pclntab_function *f, uint64_t *steps,
		      struct go_rows *ret)
{
	struct go_switches_scan n = {.s = s, .kind = kind, .has_depth = true, .steps = steps};
	struct cursor c = cursor_at_start(code);
	const cs_x86 *x;
	int64_t depth, next;

	ret->n = 0;
	ret->end = 0;
	pclntab_depths_init(&n.depths, t, f);
	depth = scan_depth(&n, 0);
	while (c.left && depth >= 0) {
		uint64_t at = c.offset;

		x = cursor_next(s, &c);
		if (!x || !go_rows_put(ret, at, scan_rule(&n, depth)))
			break;
		ret->end = c.offset;
		next = scan_depth(&n, c.offset);
		scan_apply(&n, x, depth, next);
		depth = next;
	}
	if (n.n_loads < shapes[kind].min_loads || n.n_loads > shapes[kind].max_loads)
		ret->n = ret->end = 0;
}

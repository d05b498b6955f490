/* SPDX-License-Identifier: MIT */
/*
 * Runs call frame instructions (DWARF 5, section 6.4.2): each FDE's make rows. Equal rules have one
 * number, by a hash table with open addressing.
 */
#include "common/unwind/cfi_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/room.h"

/* DWARF 5, section 7.24; below: GNU, MIPS and ARM extensions. */
enum {
	CFA_ADVANCE = 0x40, /* the low six bits are an operand */
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_OPCODE_MASK = 0xc0,

	CFA_NOP = 0x00,
	CFA_SET_LOC,
	CFA_ADVANCE_1,
	CFA_ADVANCE_2,
	CFA_ADVANCE_4,
	CFA_OFFSET_EXTENDED,
	CFA_RESTORE_EXTENDED,
	CFA_UNDEFINED,
	CFA_SAME_VALUE,
	CFA_REGISTER,
	CFA_REMEMBER_STATE,
	CFA_RESTORE_STATE,
	CFA_DEF_CFA,
	CFA_DEF_CFA_REGISTER,
	CFA_DEF_CFA_OFFSET,
	CFA_DEF_CFA_EXPRESSION,
	CFA_EXPRESSION,
	CFA_OFFSET_EXTENDED_SF,
	CFA_DEF_CFA_SF,
	CFA_DEF_CFA_OFFSET_SF,
	CFA_VAL_OFFSET,
	CFA_VAL_OFFSET_SF,
	CFA_VAL_EXPRESSION,

	CFA_ADVANCE_8 = 0x1d,
	CFA_NEGATE_RA_STATE_WITH_PC = 0x2c, /* aarch64 */
	CFA_NEGATE_RA_STATE = 0x2d,         /* aarch64; GNU_window_save elsewhere */
	CFA_ARGS_SIZE = 0x2e,
	CFA_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/* Compilers nest one or two. */
#define STATES_MAX 16

struct cfi_program_run {
	const struct cfi_program *p;
	const struct cfi_cie *cie;
	const struct cfi_range *range; /* NULL: a CIE's instructions */
	struct cfi_reader r;
	uint64_t at; /* file offset that the state holds from */
	struct cfi_state state;
	bool has_changed; /* the state, since the last row */
	unsigned n_states;
	struct cfi_state states[STATES_MAX];
};

/* Makes a row of the state for what lies between here and @distance ahead, within the range. */
static int cfi_run_advance(struct cfi_program_run *run, uint64_t distance)
{
	const struct cfi_program *p = run->p;
	uint64_t from = run->at, word;
	int r;

	if (!run->range || !distance || run->at == run->range->end)
		return CFI_E_OK;
	if (distance > run->range->end - run->at)
		distance = run->range->end - run->at;
	run->at += distance;
	p->builder->rows->counters.rows++;
	if (run->at <= run->range->first || !run->has_changed)
		return CFI_E_OK;
	if (from < run->range->first)
		from = run->range->first;
	word = cfi_state_rule(&run->state, p, run->cie);
	r = cfi_rows_put(p->builder, (uint32_t)from, word);
	run->has_changed = false;
	return r;
}

static int cfi_run_advance_factored(struct cfi_program_run *run, uint64_t distance)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(distance, run->cie->code_align, &bytes))
		bytes = UINT64_MAX;
	return cfi_run_advance(run, bytes);
}

static int cfi_run_set_loc(struct cfi_program_run *run)
{
	uint64_t address, now;

	if (!run->range)
		return CFI_E_MALFORMED;
	now = run->range->address + (run->at - run->range->start);
	if (!cfi_pointer(run->p->input, &run->r, run->cie->pointer_encoding, &address) ||
	    address < now)
		return CFI_E_MALFORMED;
	return cfi_run_advance(run, address - now);
}

static int cfi_run_states(struct cfi_program_run *run, uint8_t op)
{
	if (op == CFA_REMEMBER_STATE) {
		if (run->n_states == STATES_MAX)
			return CFI_E_MALFORMED;
		run->states[run->n_states++] = run->state;
		return CFI_E_OK;
	}
	if (!run->n_states)
		return CFI_E_MALFORMED;
	run->state = run->states[--run->n_states];
	run->has_changed = true;
	return CFI_E_OK;
}

/* Products may wrap: what is too large for a rule is found out when one is made. */
static int64_t cfi_run_scale_offset(const struct cfi_program_run *run, uint64_t n)
{
	return (int64_t)(n * (uint64_t)run->cie->data_align);
}

static struct cfi_block cfi_run_read_block(struct cfi_program_run *run)
{
	uint64_t length = cfi_uleb(&run->r);
	struct cfi_block block = {
		.position = (uint32_t)(run->r.at - run->p->input->frame.data),
		.length = (uint32_t)length,
	};

	cfi_skip(&run->r, length);
	return block;
}

static void cfi_run_cfa(struct cfi_program_run *run, uint8_t op)
{
	struct cfi_state *state = &run->state;

	run->has_changed = true;
	if (op == CFA_DEF_CFA_EXPRESSION) {
		state->cfa_is_expression = true;
		state->cfa_block = cfi_run_read_block(run);
		return;
	}
	if (op == CFA_DEF_CFA || op == CFA_DEF_CFA_SF || op == CFA_DEF_CFA_REGISTER) {
		state->cfa_is_expression = false;
		state->cfa_register = cfi_uleb(&run->r);
	}
	if (op == CFA_DEF_CFA || op == CFA_DEF_CFA_OFFSET)
		state->cfa_offset = (int64_t)cfi_uleb(&run->r);
	else if (op == CFA_DEF_CFA_SF || op == CFA_DEF_CFA_OFFSET_SF)
		state->cfa_offset = cfi_run_scale_offset(run, (uint64_t)cfi_sleb(&run->r));
}

/* The number of @reg's column, or N_CFI_COLUMNS: none that a rule holds. */
static unsigned cfi_run_find_column(const struct cfi_program_run *run, uint64_t reg)
{
	if (reg == run->cie->return_column)
		return CFI_COLUMN_RA;
	if (reg == run->p->machine->fp)
		return CFI_COLUMN_FP;
	return reg == run->p->machine->bx ? CFI_COLUMN_BX : N_CFI_COLUMNS;
}

static void cfi_run_set_column(struct cfi_program_run *run, uint64_t reg, struct cfi_column column)
{
	unsigned i = cfi_run_find_column(run, reg);

	if (i == N_CFI_COLUMNS)
		return;
	run->state.columns[i] = column;
	run->has_changed = true;
}

static void cfi_run_restore_column(struct cfi_program_run *run, uint64_t reg)
{
	unsigned i = cfi_run_find_column(run, reg);

	if (i == N_CFI_COLUMNS)
		return;
	run->state.columns[i] = run->cie->initial.columns[i];
	run->has_changed = true;
}

static int cfi_run_register(struct cfi_program_run *run, uint8_t op)
{
	struct cfi_column column = {.how = CFI_OTHER};
	uint64_t reg = cfi_uleb(&run->r);

	switch (op) {
	case CFA_RESTORE_EXTENDED:
		cfi_run_restore_column(run, reg);
		return CFI_E_OK;
	case CFA_UNDEFINED:
		column.how = CFI_UNDEFINED;
		break;
	case CFA_SAME_VALUE:
		column.how = CFI_SAME;
		break;
	case CFA_OFFSET_EXTENDED:
		column.how = CFI_OFFSET;
		column.offset = cfi_run_scale_offset(run, cfi_uleb(&run->r));
		break;
	case CFA_NEGATIVE_OFFSET_EXTENDED:
		column.how = CFI_OFFSET;
		column.offset = cfi_run_scale_offset(run, -cfi_uleb(&run->r));
		break;
	case CFA_OFFSET_EXTENDED_SF:
		column.how = CFI_OFFSET;
		column.offset = cfi_run_scale_offset(run, (uint64_t)cfi_sleb(&run->r));
		break;
	case CFA_EXPRESSION:
		column.how = CFI_EXPRESSION;
		column.block = cfi_run_read_block(run);
		break;
	case CFA_VAL_EXPRESSION:
		cfi_run_read_block(run);
		break;
	case CFA_REGISTER:
		column.how = CFI_REGISTER;
		column.offset = (int64_t)cfi_uleb(&run->r);
		break;
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF:
		cfi_uleb(&run->r); /* as long as an sleb */
		break;
	default:
		return CFI_E_MALFORMED;
	}
	cfi_run_set_column(run, reg, column);
	return CFI_E_OK;
}

static int cfi_run_extended(struct cfi_program_run *run, uint8_t op)
{
	switch (op) {
	case CFA_NOP:
		return CFI_E_OK;
	case CFA_SET_LOC:
		return cfi_run_set_loc(run);
	case CFA_ADVANCE_1:
	case CFA_ADVANCE_2:
	case CFA_ADVANCE_4:
		return cfi_run_advance_factored(run,
						cfi_fixed(&run->r, 1u << (op - CFA_ADVANCE_1)));
	case CFA_ADVANCE_8:
		return cfi_run_advance_factored(run, cfi_fixed(&run->r, 8));
	case CFA_REMEMBER_STATE:
	case CFA_RESTORE_STATE:
		return cfi_run_states(run, op);
	case CFA_DEF_CFA:
	case CFA_DEF_CFA_SF:
	case CFA_DEF_CFA_REGISTER:
	case CFA_DEF_CFA_OFFSET:
	case CFA_DEF_CFA_OFFSET_SF:
	case CFA_DEF_CFA_EXPRESSION:
		cfi_run_cfa(run, op);
		return CFI_E_OK;
	case CFA_ARGS_SIZE:
		cfi_uleb(&run->r);
		return CFI_E_OK;
	case CFA_NEGATE_RA_STATE:
	case CFA_NEGATE_RA_STATE_WITH_PC:
		/* Whether it is signed: a walk drops the signature in any case. */
		return CFI_E_OK;
	}
	return cfi_run_register(run, op);
}

/* To the end of the instructions, or of the code that they are about. */
static int cfi_run_all(struct cfi_program_run *run)
{
	while (cfi_left(&run->r)) {
		uint8_t op = cfi_u8(&run->r);
		struct cfi_column column = {.how = CFI_OFFSET};
		int r = CFI_E_OK;

		switch (op & CFA_OPCODE_MASK) {
		case CFA_ADVANCE:
			r = cfi_run_advance_factored(run, op & ~CFA_OPCODE_MASK);
			break;
		case CFA_OFFSET:
			column.offset = cfi_run_scale_offset(run, cfi_uleb(&run->r));
			cfi_run_set_column(run, op & ~CFA_OPCODE_MASK, column);
			break;
		case CFA_RESTORE:
			cfi_run_restore_column(run, op & ~CFA_OPCODE_MASK);
			break;
		default:
			r = cfi_run_extended(run, op);
		}
		if (r)
			return r;
		if (run->r.bad)
			return CFI_E_MALFORMED;
		if (run->range && run->at == run->range->end)
			return CFI_E_OK;
	}
	return cfi_run_advance(run, UINT64_MAX);
}

static void cfi_run_begin(struct cfi_program_run *run, const struct cfi_program *p,
			  const struct cfi_cie *cie, size_t program, size_t length)
{
	run->p = p;
	run->cie = cie;
	run->range = NULL;
	run->r = cfi_reader_at(&p->input->frame, program, program + length);
	run->at = 0;
	run->state = cie->initial;
	run->has_changed = true;
	run->n_states = 0;
}

int cfi_program_begin(const struct cfi_program *p, struct cfi_cie *cie)
{
	struct cfi_program_run run;
	int r;

	cie->initial = (struct cfi_state){.cfa_register = UINT64_MAX};
	cfi_run_begin(&run, p, cie, cie->program, cie->program_length);
	r = cfi_run_all(&run);
	cie->initial = run.state;
	return r;
}

int cfi_program_run(const struct cfi_program *p, const struct cfi_cie *cie, size_t program,
		    size_t length, const struct cfi_range *range)
{
	struct cfi_program_run run;

	cfi_run_begin(&run, p, cie, program, length);
	run.range = range;
	run.at = range->start;
	return cfi_run_all(&run);
}

#define BUCKETS_MIN 256
/*
 * In tables that are half full at most, honest rules are found within some ten. Who makes rules
 * that all fall into one bucket is refused.
 */
#define PROBES_MAX 128

/* Multiplicative hashing; the constant is 2^64 divided by the golden ratio. */
static size_t cfi_rows_bucket(uint64_t rule, size_t n_buckets)
{
	return (size_t)((rule * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (n_buckets - 1);
}

int cfi_rows_builder_init(struct cfi_rows_builder *b, const struct cfi_limits *limits)
{
	*b = (struct cfi_rows_builder){.limits = *limits, .n_buckets = BUCKETS_MIN};
	/* Numbers of rows and rules are 32 bits wide. */
	if (b->limits.max_rows > UINT32_MAX - 1)
		b->limits.max_rows = UINT32_MAX - 1;
	if (b->limits.max_rules > UINT32_MAX - 1)
		b->limits.max_rules = UINT32_MAX - 1;
	b->rows = calloc(1, sizeof(*b->rows));
	b->buckets = calloc(b->n_buckets, sizeof(*b->buckets));
	if (!b->rows || !b->buckets) {
		cfi_rows_builder_deinit(b);
		return error_origin(-ENOMEM);
	}
	return 0;
}

void cfi_rows_builder_deinit(struct cfi_rows_builder *b)
{
	cfi_rows_free(b->rows);
	free(b->buckets);
	*b = (struct cfi_rows_builder){0};
}

static int cfi_rows_rehash(struct cfi_rows_builder *b)
{
	size_t n = b->n_buckets * 2;
	uint32_t *buckets = calloc(n, sizeof(*buckets));

	if (!buckets)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < b->rows->n_rules; i++) {
		size_t at = cfi_rows_bucket(b->rows->rules[i], n);

		while (buckets[at])
			at = (at + 1) & (n - 1);
		buckets[at] = (uint32_t)i + 1;
	}
	free(b->buckets);
	b->buckets = buckets;
	b->n_buckets = n;
	return CFI_E_OK;
}

static int cfi_rows_add_rule(struct cfi_rows_builder *b, uint64_t rule, size_t bucket)
{
	struct cfi_rows *rows = b->rows;

	if (rows->n_rules >= b->limits.max_rules)
		return CFI_E_TOO_BIG;
	if (room_append(&rows->rules, &b->rules_size, &rows->n_rules, rule))
		return -ENOMEM;
	b->buckets[bucket] = (uint32_t)rows->n_rules;
	return rows->n_rules * 2 > b->n_buckets ? cfi_rows_rehash(b) : CFI_E_OK;
}

/* The number of @rule. */
static int cfi_rows_intern_rule(struct cfi_rows_builder *b, uint64_t rule, uint32_t *ret)
{
	size_t at = cfi_rows_bucket(rule, b->n_buckets);

	for (unsigned i = 0; i < PROBES_MAX; i++) {
		uint32_t found = b->buckets[at];

		if (!found) {
			*ret = (uint32_t)b->rows->n_rules;
			return cfi_rows_add_rule(b, rule, at);
		}
		if (b->rows->rules[found - 1] == rule) {
			*ret = found - 1;
			return CFI_E_OK;
		}
		at = (at + 1) & (b->n_buckets - 1);
	}
	return CFI_E_TOO_BIG;
}

int cfi_rows_put(struct cfi_rows_builder *b, uint32_t offset, uint64_t rule)
{
	struct cfi_rows *rows = b->rows;
	uint32_t number;
	int r;

	/* Before the first row nothing is known either. */
	if (!rows->n_rows && rule == RULE_WORD(RULE_UNKNOWN))
		return CFI_E_OK;
	r = cfi_rows_intern_rule(b, rule, &number);
	if (r)
		return r;
	if (rows->n_rows && rows->rows[rows->n_rows - 1].rule == number)
		return CFI_E_OK;
	if (rows->n_rows >= b->limits.max_rows)
		return CFI_E_TOO_BIG;
	return room_append(&rows->rows, &b->rows_size, &rows->n_rows,
			   (struct cfi_row){.offset = offset, .rule = number});
}

void cfi_rows_cut(struct cfi_rows_builder *b, size_t n_rows)
{
	if (n_rows < b->rows->n_rows)
		b->rows->n_rows = n_rows;
}

void cfi_rows_clear(struct cfi_rows_builder *b)
{
	b->rows->n_rows = 0;
	b->rows->n_rules = 0;
	memset(b->buckets, 0, b->n_buckets * sizeof(*b->buckets));
}

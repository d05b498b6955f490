/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TEST_CFI_ORACLE_EXPRESSION_H
#define PROFD_TEST_CFI_ORACLE_EXPRESSION_H

/*
 * Evaluates libdw's DWARF expressions, over registers and memory that hold numbers made of their
 * own names: two expressions that lead to the same number are the same.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define STACK_MAX 16

enum { WITHOUT, SAME, UNDEFINED, AT, VALUE, STRANGE };

/* Where something is. */
struct place {
	int how;
	uint64_t at;
};

static inline uint64_t mix(uint64_t n)
{
	n ^= n >> 31;
	n *= UINT64_C(0x7fb5d329728ea185);
	n ^= n >> 27;
	n *= UINT64_C(0x81dadef4bc2dd44d);
	return n ^ n >> 33;
}

/* What a register and a word of memory hold: aligned addresses far from each other. */
static inline uint64_t register_value(uint64_t number, uint64_t pc, bool is_arm)
{
	if (number == 16 && !is_arm)
		return pc;
	return 0x100000000000 + (mix(number + 1) & 0xffffffff000);
}

static inline uint64_t memory_value(uint64_t address)
{
	return 0x200000000000 + (mix(address) & 0xffffffffff8);
}

struct machine {
	uint64_t stack[STACK_MAX];
	unsigned n;
	uint64_t cfa, pc;
	bool is_arm, failed;
};

static inline void push(struct machine *m, uint64_t value)
{
	if (m->n == STACK_MAX)
		m->failed = true;
	else
		m->stack[m->n++] = value;
}

static inline uint64_t pop(struct machine *m)
{
	if (!m->n) {
		m->failed = true;
		return 0;
	}
	return m->stack[--m->n];
}

static inline void run_binary(struct machine *m, uint8_t atom)
{
	uint64_t b = pop(m), a = pop(m);

	switch (atom) {
	case DW_OP_plus:
		return push(m, a + b);
	case DW_OP_minus:
		return push(m, a - b);
	case DW_OP_and:
		return push(m, a & b);
	case DW_OP_or:
		return push(m, a | b);
	case DW_OP_mul:
		return push(m, a * b);
	case DW_OP_shl:
		return push(m, b < 64 ? a << b : 0);
	case DW_OP_ge:
		return push(m, (int64_t)a >= (int64_t)b);
	case DW_OP_gt:
		return push(m, (int64_t)a > (int64_t)b);
	case DW_OP_le:
		return push(m, (int64_t)a <= (int64_t)b);
	case DW_OP_lt:
		return push(m, (int64_t)a < (int64_t)b);
	case DW_OP_eq:
		return push(m, a == b);
	case DW_OP_ne:
		return push(m, a != b);
	}
	m->failed = true;
}

static inline void run_op(struct machine *m, const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return push(m, op->atom - DW_OP_lit0);
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return push(m,
			    register_value(op->atom - DW_OP_breg0, m->pc, m->is_arm) + op->number);
	switch (op->atom) {
	case DW_OP_bregx:
		return push(m, register_value(op->number, m->pc, m->is_arm) + op->number2);
	case DW_OP_call_frame_cfa:
		return push(m, m->cfa);
	case DW_OP_plus_uconst:
		return push(m, pop(m) + op->number);
	case DW_OP_deref:
		return push(m, memory_value(pop(m)));
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		return push(m, op->number);
	case DW_OP_nop:
		return;
	}
	run_binary(m, op->atom);
}

static inline struct place evaluate(const Dwarf_Op *ops, size_t n, uint64_t cfa, uint64_t pc,
				    bool is_arm)
{
	struct machine m = {.cfa = cfa, .pc = pc, .is_arm = is_arm};
	bool is_value = n && ops[n - 1].atom == DW_OP_stack_value;
	struct place place = {.how = is_value ? VALUE : AT};

	if (n == 1 && ops[0].atom == DW_OP_regx)
		return (struct place){.how = VALUE, .at = ops[0].number};
	if (n == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		return (struct place){.how = VALUE, .at = ops[0].atom - DW_OP_reg0};
	for (size_t i = 0; i < n - is_value; i++)
		run_op(&m, &ops[i]);
	place.at = pop(&m);
	if (m.failed)
		place.how = STRANGE;
	return place;
}

static inline void describe(char *text, size_t size, const char *label, const Dwarf_Op *ops,
			    size_t n)
{
	size_t at = strlen(text);

	at += (size_t)snprintf(text + at, size - at, "%s", label);
	for (size_t i = 0; i < n && i < 10 && at < size; i++) {
		const Dwarf_Op *op = &ops[i];

		if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
			at += (size_t)snprintf(text + at, size - at, " breg%d%+" PRId64,
					       op->atom - DW_OP_breg0, (int64_t)op->number);
		else if (op->atom == DW_OP_bregx)
			at += (size_t)snprintf(text + at, size - at, " breg%" PRIu64 "%+" PRId64,
					       op->number, (int64_t)op->number2);
		else if (op->atom == DW_OP_regx)
			at += (size_t)snprintf(text + at, size - at, " reg%" PRIu64, op->number);
		else if (op->atom == DW_OP_call_frame_cfa)
			at += (size_t)snprintf(text + at, size - at, " cfa");
		else if (op->atom == DW_OP_plus_uconst)
			at += (size_t)snprintf(text + at, size - at, "%+" PRId64,
					       (int64_t)op->number);
		else if (op->atom == DW_OP_deref)
			at += (size_t)snprintf(text + at, size - at, " deref");
		else
			at += (size_t)snprintf(text + at, size - at, " %#x(%" PRId64 ")", op->atom,
					       (int64_t)op->number);
	}
}

#endif

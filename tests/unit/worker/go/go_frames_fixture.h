/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_WORKER_GO_GO_FRAMES_FIXTURE_H
#define PROFD_TESTS_UNIT_WORKER_GO_GO_FRAMES_FIXTURE_H

/* Rules made of Go's table, and what becomes of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/unwind/eh_frame.h"
#include "daemon/worker/go/go_frames.h"
#include "tests/support/hostile_elf_builder.h"
#include "tests/unit/worker/go/pclntab_fixture.h"

#define AT BUILDER_FIRST

/* The rules of all that is said, by the address. */
static inline uint64_t rule_at(const struct eh_frame *frame, uint64_t address)
{
	static const struct cfi_limits limits = {.max_rows = 10000, .max_rules = 1000};
	cleanup(cfi_rows_freep) struct cfi_rows *rows = NULL;
	uint64_t rule = RULE_WORD(RULE_UNKNOWN);

	if (cfi_compile(&rows, &frame->input, &limits) == CFI_E_NONE)
		return rule;
	assert_non_null(rows);
	assert_int_equal(rows->counters.malformed, 0);
	/* Link-time addresses are file offsets here. */
	for (size_t i = 0; i < rows->n_rows && rows->rows[i].offset <= address; i++)
		rule = rows->rules[rows->rows[i].rule];
	return rule;
}

static inline uint64_t cfa_rule(int depth)
{
	const struct rule rule = {.kind = RULE_CFA,
				  .base = RULE_BASE_SP,
				  .cfa_offset = depth + 8,
				  .ra_offset = -8,
				  .fp_kind = depth ? RULE_FP_AT_CFA : RULE_FP_SAME,
				  .fp_offset = depth ? -16 : 0};

	return rule_pack(&rule);
}

/* A program with code, with @records as .eh_frame, and the rules @own. */
static inline void read_behind(const struct cfi_own_rule *own, size_t n_own, const uint8_t *records,
			       size_t length, struct eh_frame *ret)
{
	struct builder b;
	int fd;

	builder_init(&b);
	builder_text(&b, 0x1000);
	if (records)
		builder_section(&b, ".eh_frame",
				&(Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC},
				records, length);
	builder_finish(&b);
	fd = builder_memfd(&b);
	builder_deinit(&b);
	assert_int_equal(eh_frame_read(fd, ret), EH_FRAME_E_OK);
	ret->input.own = own;
	ret->input.n_own = n_own;
	close(fd);
}

static inline struct pclntab_spec spec_of(const uint64_t *starts, const char *const *names,
					  const struct pclntab_frame *frames, size_t n)
{
	return (struct pclntab_spec){.magic = PCLNTAB_GO_1_20,
				     .pointer_size = 8,
				     .text = AT,
				     .starts = starts,
				     .names = names,
				     .n = n,
				     .end = starts[n - 1] + 0x40,
				     .frames = frames};
}

#endif

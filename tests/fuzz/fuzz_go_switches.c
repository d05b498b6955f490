/* SPDX-License-Identifier: MIT */

/*
 * Any bytes as the instructions of Go's functions that switch stacks: the rules are in order, of
 * known kinds, and as many as there is room for. The first two bytes are lengths of systemstack and
 * morestack, which come first; the rest is each function.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/unwind/rule.h"
#include "daemon/worker/go/go_switches.h"
#include "tests/unit/worker/go/pclntab_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_take(const uint8_t **data, size_t *size, size_t n, struct go_code *ret)
{
	if (n > *size)
		n = *size;
	ret->length = n < sizeof(ret->bytes) ? n : sizeof(ret->bytes);
	memcpy(ret->bytes, *data, ret->length);
	*data += n;
	*size -= n;
}

static void check(const struct go_rows *rows)
{
	if (rows->n > GO_ROWS_MAX)
		abort();
	for (size_t i = 0; i < rows->n; i++) {
		uint64_t rule = rows->rows[i].rule;

		if (RULE_KIND(rule) >= N_RULE_KINDS ||
		    (i && rows->rows[i].at <= rows->rows[i - 1].at))
			abort();
		if (RULE_KIND(rule) == RULE_GO && RULE_GO_PLACE(rule) >= N_RULE_GO_PLACES)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Depths of 0, 8, 24, 8 and 0. */
	static const uint8_t steps[] = {2, 4, 16, 8, 32, 40, 31, 40, 15, 100, 0};
	static const struct pclntab_frame frame = {2, steps, sizeof(steps)};
	static const char *const name = "f";
	static const uint64_t start = 0x1000;
	const struct pclntab_spec spec = {.magic = PCLNTAB_GO_1_20,
					  .pointer_size = 8,
					  .text = start,
					  .starts = &start,
					  .names = &name,
					  .n = 1,
					  .end = start + GO_CODE_BYTES_MAX,
					  .frames = &frame};
	cleanup(go_switches_freep) struct go_switches *s = NULL;
	struct go_code systemstack, morestack, code;
	struct pclntab_bytes bytes;
	struct pclntab_function f;
	struct pclntab table;
	struct go_rows rows;
	uint64_t steps_left = 100000;
	size_t lengths[2];

	if (size < 2 || go_switches_new(&s))
		return 0;
	pclntab_make(&spec, &bytes);
	if (!pclntab_parse(bytes.data, bytes.length, &table) || !pclntab_function(&table, 0, &f))
		abort();
	lengths[0] = data[0];
	lengths[1] = data[1];
	data += 2;
	size -= 2;
	fuzz_take(&data, &size, lengths[0], &systemstack);
	fuzz_take(&data, &size, lengths[1], &morestack);
	fuzz_take(&data, &size, size, &code);
	go_switches_learn(s, &systemstack, &morestack);
	for (int kind = GO_SYSTEMSTACK; kind <= GO_MOVES_SP; kind++) {
		go_switches_rows(s, (enum go_switch)kind, &code, &table, &f, &steps_left, &rows);
		check(&rows);
		go_switches_rows(s, (enum go_switch)kind, &systemstack, &table, &f, &steps_left,
				 &rows);
		check(&rows);
	}
	return 0;
}

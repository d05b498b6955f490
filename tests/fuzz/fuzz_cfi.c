/* SPDX-License-Identifier: MIT */

/*
 * Any bytes as call frame information: as an ELF image where they begin like one, else as sections
 * behind a head that says where these are. What is compiled must be in order, and be found again
 * in the packed table.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/unwind/cfi.h"
#include "common/unwind/eh_frame.h"
#include "common/unwind/table.h"
#include "tests/support/rule_unpack.h"

#define SEGMENTS_MAX 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Little-endian, no holes. */
struct head {
	uint64_t frame_address, got_address;
	uint8_t machine; /* odd: aarch64 */
	uint8_t n_segments;
	uint8_t reserved[2];
	uint32_t debug_length;
	struct cfi_segment segments[SEGMENTS_MAX];
};

static void require(bool condition)
{
	if (!condition)
		abort();
}

static bool is_in_segment(const struct cfi_input *input, uint32_t offset)
{
	for (size_t i = 0; i < input->n_segments; i++)
		if (offset >= input->segments[i].offset &&
		    offset - input->segments[i].offset < input->segments[i].length)
			return true;
	return false;
}

static void check_rows(const struct cfi_input *input, const struct cfi_limits *limits,
		       const struct cfi_rows *rows)
{
	require(rows->n_rows > 1 && rows->n_rows <= limits->max_rows);
	require(rows->n_rules <= limits->max_rules);
	require(rows->rules[rows->rows[rows->n_rows - 1].rule] == RULE_WORD(RULE_UNKNOWN));
	for (size_t i = 0; i < rows->n_rows; i++) {
		const struct cfi_row *row = &rows->rows[i];

		require(row->rule < rows->n_rules);
		require(!i || (row[-1].offset < row->offset && row[-1].rule != row->rule));
		require(rows->rules[row->rule] == RULE_WORD(RULE_UNKNOWN) ||
			is_in_segment(input, row->offset));
	}
	for (size_t i = 0; i < rows->n_rules; i++) {
		struct rule rule = rule_unpack(rows->rules[i]);

		require(rule.kind < N_RULE_KINDS && rule.base < N_RULE_BASES);
		require(rule_pack(&rule) == rows->rules[i]);
		for (size_t j = 0; j < i && i < 256; j++)
			require(rows->rules[i] != rows->rules[j]);
	}
}

static void check_table(const struct cfi_rows *rows)
{
	struct table_slot slot;
	uint64_t *words;
	size_t n_words;
	int r;

	/* A row past 4 GiB less a chunk costs 16 MiB of chunks. */
	r = table_pack(rows, 1 << 16, &slot, &words, &n_words);
	require(r == TABLE_E_OK || r == TABLE_E_TOO_BIG);
	if (r)
		return;
	for (size_t i = 0; i < rows->n_rows; i++) {
		const struct cfi_row *row = &rows->rows[i];
		uint64_t rule = rows->rules[row->rule];

		require(table_search(words, n_words, &slot, row->offset) == rule);
		if (i + 1 < rows->n_rows)
			require(table_search(words, n_words, &slot, row[1].offset - 1) == rule);
	}
	if (rows->rows[0].offset)
		require(table_search(words, n_words, &slot, rows->rows[0].offset - 1) ==
			RULE_WORD(RULE_UNKNOWN));
	require(table_search(words, n_words, &slot, UINT32_MAX) == RULE_WORD(RULE_UNKNOWN));
	free(words);
}

static void check_functions(const struct cfi_input *input)
{
	struct cfi_function *all = NULL;
	size_t n = 0;
	int r = cfi_list_functions(&all, &n, input);

	require(r >= 0 && r <= CFI_E_TOO_BIG && !r == !!all && !r == !!n);
	for (size_t i = 0; i < n; i++)
		require(all[i].start < all[i].end && (!i || all[i - 1].end <= all[i].start));
	free(all);
}

/* Any of the bytes there are. */
static bool read_any(const void *userdata, uint32_t offset, void *ret, size_t length)
{
	const struct cfi_section *frame = userdata;

	if (offset % 4096 > frame->length || length > frame->length - offset % 4096)
		return false;
	memcpy(ret, frame->data + offset % 4096, length);
	return true;
}

static void check(const struct cfi_input *input)
{
	const struct cfi_limits limits = {.max_rows = 1 << 14, .max_rules = 1 << 12};
	struct cfi_rows *rows = NULL;
	int r;

	check_functions(input);
	r = cfi_compile(&rows, input, &limits);
	require(r >= 0 && r <= CFI_E_TOO_BIG && !r == !!rows);
	if (r)
		return;
	check_rows(input, &limits, rows);
	check_table(rows);
	cfi_rows_free(rows);
}

static void check_image(const uint8_t *data, size_t size)
{
	struct eh_frame frame;
	int r;

	r = eh_frame_parse(data, size, &frame);
	require(r >= 0 && r <= EH_FRAME_E_MALFORMED + 1);
	if (r)
		return;
	check(&frame.input);
	eh_frame_deinit(&frame);
}

/* A copy of exactly that length, so that reading past the end is noticed. */
static uint8_t *copy(const uint8_t *data, size_t size)
{
	uint8_t *memory = malloc(size ? size : 1);

	require(memory);
	memcpy(memory, data, size);
	return memory;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi_input input;
	uint8_t *frame;
	struct head head;

	if (size >= SELFMAG && !memcmp(data, ELFMAG, SELFMAG)) {
		check_image(data, size);
		return 0;
	}
	if (size < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	data += sizeof(head);
	size -= sizeof(head);
	frame = copy(data, size);
	input = (struct cfi_input){
		.machine = head.machine & 1 ? EM_AARCH64 : EM_X86_64,
		.frame = {frame, size, head.frame_address},
		.debug_length = head.debug_length % (size + 1),
		.got_address = head.got_address,
		.segments = head.segments,
		.n_segments = head.n_segments % (SEGMENTS_MAX + 1),
	};
	input.read_code = read_any;
	input.read_code_userdata = &input.frame;
	check(&input);
	free(frame);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Compiling holds the sections (eh_frame.h has their bound), of a Go program what go_frames.h makes
 * of its table, the rows, twice that while their array grows, and the packed table.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "common/error.h"
#include "common/unwind/eh_frame.h"
#include "common/unwind/table.h"
#include "daemon/worker/elf/elf_image.h"
#include "daemon/worker/go/go_build.h"
#include "daemon/worker/go/go_frames.h"
#include "daemon/worker/serve.h"

#define ROWS_MAX  (8u << 20)
#define RULES_MAX (1u << 20)

/* Code that lies past what a row's offset can say. */
static bool is_over_4g(const struct cfi_input *input)
{
	for (size_t i = 0; i < input->n_segments; i++)
		if (input->segments[i].offset + input->segments[i].length > UINT32_MAX)
			return true;
	return false;
}

/* Returns enum table_state of the image, or -ENOMEM. *ret_words is malloc'ed: of TABLE_LOADED. */
static int serve_table_compile(const struct cfi_input *input, uint64_t max_words,
			       struct worker_table *table, uint64_t **ret_words)
{
	const struct cfi_limits limits = {
		.max_rows = max_words < ROWS_MAX / 2 ? (size_t)max_words * 2 : ROWS_MAX,
		.max_rules = max_words < RULES_MAX ? (size_t)max_words : RULES_MAX,
	};
	cleanup(cfi_rows_freep) struct cfi_rows *rows = NULL;
	size_t n_words;
	int r = cfi_compile(&rows, input, &limits);

	if (r < 0)
		return r;
	if (r) {
		table->over_4g = r == CFI_E_TOO_BIG && is_over_4g(input);
		return r == CFI_E_NONE ? TABLE_NO_CFI : TABLE_REFUSED;
	}
	table->counters = rows->counters;
	r = table_pack(rows, (size_t)max_words, &table->slot, ret_words, &n_words);
	if (r)
		return r < 0 ? r : TABLE_REFUSED;
	table->slot.state = 0;
	table->n_words = n_words;
	return TABLE_LOADED;
}

/* What a Go program has; of others, and of files that libelf refuses, nothing. */
static int serve_table_read_go(int fd, struct go_build *ret, uint8_t **ret_records,
			       size_t *ret_length)
{
	cleanup(elf_image_deinit) struct elf_image image = {0};
	int r = elf_image_open(&image, fd, 0);

	*ret_records = NULL;
	*ret_length = 0;
	if (r)
		return r < 0 ? r : 0;
	go_build_read(&image, ret);
	return go_frames_read(&image, ret_records, ret_length);
}

/* Returns enum table_state, or -ENOMEM. */
static int serve_table_load(int fd, uint64_t max_words, struct worker_table *table,
			    uint64_t **ret_words)
{
	cleanup(freep) uint8_t *records = NULL;
	struct eh_frame frame;
	size_t length;
	int r;

	if (table->elf.pointer_bytes != 8)
		return TABLE_NO_CFI;
	r = serve_table_read_go(fd, &table->go, &records, &length);
	if (r)
		return r;
	r = eh_frame_read_with_prefix(fd, records, length, &frame);
	if (r < 0)
		return r;
	if (r)
		return r == EH_FRAME_E_NONE ? TABLE_NO_CFI : TABLE_REFUSED;
	r = serve_table_compile(&frame.input, max_words, table, ret_words);
	eh_frame_deinit(&frame);
	return r;
}

/* What is no ELF file has no call frame information; one whose reading fails may have. */
int serve_table(const struct request *request, struct answer *ret)
{
	uint64_t most = (WORKER_ANSWER_MAX - sizeof(struct worker_table)) / sizeof(uint64_t);
	uint64_t max_words = request->header.max_words;
	cleanup(freep) uint64_t *words = NULL;
	int fd = request->files[WORKER_FILE_IMAGE], r;
	struct worker_table table;
	uint8_t *data;

	memset(&table, 0, sizeof(table));
	r = elf_summary_read(fd, &table.elf);
	if (r == WORKER_UNREADABLE)
		return WORKER_UNREADABLE;
	r = serve_table_load(fd, max_words < most ? max_words : most, &table, &words);
	if (r < 0)
		return r;
	table.state = (uint32_t)r;
	ret->length = sizeof(table) + (size_t)table.n_words * sizeof(*words);
	data = malloc(ret->length);
	if (!data)
		return error_origin(-ENOMEM);
	memcpy(data, &table, sizeof(table));
	if (words)
		memcpy(data + sizeof(table), words, (size_t)table.n_words * sizeof(*words));
	ret->data = data;
	return WORKER_DONE;
}

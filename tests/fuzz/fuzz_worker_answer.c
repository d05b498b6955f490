/* SPDX-License-Identifier: MIT */
/*
 * The first byte chooses the kind of answer, the second the number of addresses, texts or
 * functions. Of what passes everything is used, as far as the header says that it may be.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/unwind/table.h"
#include "common/worker/answer.h"

#define ADDRESSES_MAX 8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_summary(const struct elf_summary *elf)
{
	uint64_t a = 0, b = 0;

	if (elf_summary_text(elf, &a, &b) && a >= b && a - b > UINT64_MAX / 2)
		abort();
	for (uint32_t i = 0; i < elf->n_segments; i++)
		elf_summary_vaddr(elf, elf->segments[i].offset, &a);
}

static void use_image(const uint8_t *data, size_t size)
{
	struct worker_image image;

	if (!answer_image(data, size, &image))
		return;
	use_summary(&image.elf);
	if (strlen(image.debuglink) >= WORKER_LINK_MAX ||
	    strlen(image.alternate) >= WORKER_LINK_MAX)
		abort();
}

static void use_table(const uint8_t *data, size_t size)
{
	struct worker_table table;
	const uint64_t *words;

	if (!answer_table(data, size, 1u << 16, &table, &words))
		return;
	use_summary(&table.elf);
	if (table.state != TABLE_LOADED)
		return;
	table.slot.state = TABLE_LOADED;
	for (uint64_t at = 0; at < UINT32_MAX; at += at < 4096 ? 1 : 999983)
		if (RULE_KIND(table_search(words, (size_t)table.n_words, &table.slot,
					   (uint32_t)at)) >= N_RULE_KINDS)
			abort();
}

static void use_text(const char *text)
{
	if (!text_is_clean(text, strlen(text)) || strlen(text) > WORKER_TEXT_MAX)
		abort();
}

static void use_names(const uint8_t *data, size_t size, size_t n)
{
	uint64_t addresses[ADDRESSES_MAX];
	struct answer_names names;

	for (size_t i = 0; i < n; i++)
		addresses[i] = i * 0x10;
	if (!answer_names(data, size, addresses, n, &names))
		return;
	for (size_t i = 0; i < names.n_locations; i++) {
		const struct worker_location *l = &names.locations[i];

		if (addresses[i] - l->start >= l->size)
			abort();
		for (size_t k = 0; k < l->n_frames; k++) {
			use_text(names.text + names.frames[l->first_frame + k].name);
			use_text(names.text + names.frames[l->first_frame + k].system_name);
			use_text(names.text + names.frames[l->first_frame + k].file);
		}
	}
}

static void use_texts(const uint8_t *data, size_t size, size_t n)
{
	const char *text = (const char *)data;

	if (!answer_texts(data, size, n))
		return;
	for (size_t i = 0; i < n; i++, text += strlen(text) + 1)
		use_text(text);
	if (text != (const char *)data + size)
		abort();
}

static void use_code(const uint8_t *data, size_t size, size_t n)
{
	const struct worker_range range = {0x10, 0x10 + (uint64_t)n * 0x10};
	struct answer_code code;
	uint64_t at = range.start;

	if (!answer_code(data, size, &range, &code))
		return;
	for (size_t i = 0; i < code.n_instructions; i++) {
		const struct worker_instruction *c = &code.instructions[i];

		if (c->address < at || c->address >= range.end || !c->size)
			abort();
		at = c->address + c->size;
		use_text(code.text + c->text);
		use_text(code.text + c->file);
	}
}

/* As many functions as lines. */
static void use_functions(const uint8_t *data, size_t size, size_t n)
{
	struct answer_functions functions;

	if (!answer_functions(data, size, n, n, &functions))
		return;
	for (size_t i = 0; i < n; i++) {
		const struct worker_function *f = &functions.functions[i];

		use_text(functions.text + f->name);
		use_text(functions.text + f->file);
		if (functions.lines[i] > INT32_MAX ||
		    strlen(functions.text + f->name) > WORKER_FUNCTION_TEXT_MAX)
			abort();
	}
}

static void use_container(const uint8_t *data, size_t size)
{
	struct worker_container container;

	if (!answer_container(data, size, &container))
		return;
	use_text(container.name);
	use_text(container.image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *aligned;
	size_t n;

	if (size < 2)
		return 0;
	n = data[1] % (ADDRESSES_MAX + 1);
	aligned = malloc(size - 2 ? size - 2 : 1);
	if (!aligned)
		return 0;
	memcpy(aligned, data + 2, size - 2);
	switch (data[0] % 7) {
	case 0:
		use_image(aligned, size - 2);
		break;
	case 1:
		use_table(aligned, size - 2);
		break;
	case 2:
		use_names(aligned, size - 2, n);
		break;
	case 3:
		use_texts(aligned, size - 2, n);
		break;
	case 4:
		use_code(aligned, size - 2, n);
		break;
	case 5:
		use_functions(aligned, size - 2, n);
		break;
	case 6:
		use_container(aligned, size - 2);
		break;
	}
	free(aligned);
	return 0;
}

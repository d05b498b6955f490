/* SPDX-License-Identifier: MIT */
#include "daemon/worker/runtime/code_decoder.h"

#include "common/runtime/row.h"
#include "daemon/worker/runtime/python_lines.h"
#include "daemon/worker/runtime/python_text.h"
#include "daemon/worker/runtime/v8_lines.h"
#include "daemon/worker/runtime/v8_text.h"

struct code_decoder {
	/* Texts of any interpreter are numbers of characters; what else is to be done. NULL: no. */
	void (*fit)(char *name, char *file);
	/* As python_line(). */
	uint32_t (*line)(uint32_t version, const uint8_t *table, size_t length, uint32_t first,
			 uint32_t offset);
};

static const struct code_decoder python_decoder = {.line = python_line};
static const struct code_decoder v8_decoder = {.fit = v8_text_fit, .line = v8_line};

static const struct code_decoder *code_decoder_of(uint32_t version)
{
	return RUNTIME_IS_V8(version) ? &v8_decoder : &python_decoder;
}

static void code_decode_text(const struct runtime_text *text, char *ret, size_t size)
{
	python_text(text->bytes, text->n_bytes, text->width, ret, size);
}

void code_decode(const struct runtime_code *code, struct decoded_code *ret)
{
	const struct code_decoder *decoder = code_decoder_of(code->version);

	code_decode_text(&code->name, ret->name, sizeof(ret->name));
	code_decode_text(&code->file, ret->file, sizeof(ret->file));
	if (decoder->fit)
		decoder->fit(ret->name, ret->file);
}

uint32_t code_decode_line(const struct runtime_code *code, uint32_t offset)
{
	return code_decoder_of(code->version)
		->line(code->version, code->table, code->table_bytes, code->first_line, offset);
}

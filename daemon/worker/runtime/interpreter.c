/* SPDX-License-Identifier: MIT */
#include "daemon/worker/runtime/interpreter.h"

#include "common/cleanup.h"
#include "common/runtime/row.h"
#include "daemon/worker/runtime/python.h"
#include "daemon/worker/runtime/python_lines.h"
#include "daemon/worker/runtime/python_text.h"
#include "daemon/worker/runtime/v8.h"
#include "daemon/worker/runtime/v8_lines.h"
#include "daemon/worker/runtime/v8_text.h"

struct interpreter {
	uint32_t versions; /* a version's bits of INTERPRETER_BITS */
	/* Whether @image is one, or loads it. False: *ret says at most why one is refused. */
	bool (*recognize)(struct elf_image *image, struct worker_runtime *ret);
	/* Texts of any interpreter are numbers of characters; what else is to be done. NULL: no. */
	void (*fit)(char *name, char *file);
	/* As python_line(). */
	uint32_t (*line)(uint32_t version, const uint8_t *table, size_t length, uint32_t first,
			 uint32_t offset);
};

#define INTERPRETER_BITS RUNTIME_V8_VERSION

static const struct interpreter interpreters[] = {
	{RUNTIME_V8_VERSION, v8_recognize, v8_text_fit, v8_line},
	{0, python_recognize, NULL, python_line},
};

void interpreter_recognize(struct elf_image *image, struct worker_runtime *ret)
{
	*ret = (struct worker_runtime){0};
	for (size_t i = 0; i < ARRAY_SIZE(interpreters); i++)
		if (interpreters[i].recognize(image, ret))
			return;
}

static const struct interpreter *interpreter_of(uint32_t version)
{
	const struct interpreter *at = interpreters;

	while (at->versions && at->versions != (version & INTERPRETER_BITS))
		at++;
	return at;
}

static void code_decode_text(const struct runtime_text *text, char *ret, size_t size)
{
	python_text(text->bytes, text->n_bytes, text->width, ret, size);
}

void code_decode(const struct runtime_code *code, struct decoded_code *ret)
{
	const struct interpreter *interpreter = interpreter_of(code->version);

	code_decode_text(&code->name, ret->name, sizeof(ret->name));
	code_decode_text(&code->file, ret->file, sizeof(ret->file));
	if (interpreter->fit)
		interpreter->fit(ret->name, ret->file);
}

uint32_t code_decode_line(const struct runtime_code *code, uint32_t offset)
{
	return interpreter_of(code->version)
		->line(code->version, code->table, code->table_bytes, code->first_line, offset);
}

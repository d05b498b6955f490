/* SPDX-License-Identifier: MIT */
/*
 * Instructions of a range, one behind the other from its start on. The last may reach past the
 * range's end: that is where it begins that counts.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "daemon/worker/answer_builder.h"
#include "daemon/worker/code/disassembler.h"
#include "daemon/worker/elf/elf_image.h"
#include "daemon/worker/names/demangle.h"
#include "daemon/worker/serve.h"
#include "daemon/worker/sources.h"

#define TARGET_TEXT_MAX 200 /* bytes of a name behind an instruction */

struct code {
	struct worker_range range;
	uint8_t *bytes; /* from range.start on */
	size_t n_bytes;
	struct disassembler *disassembler;
	struct symtab *names;      /* the cache's */
	struct dwarf_lines *lines; /* the cache's; or NULL */
	struct answer_builder *answer;
};

static void serve_code_deinit(struct code *c)
{
	free(c->bytes);
	disassembler_free(c->disassembler);
	answer_builder_free(c->answer);
}

/* Returns enum worker_outcome or negative errno; *ret_is_known: whether there is anything to show.
 */
static int serve_code_open(struct code *c, const struct request *request, bool *ret_is_known)
{
	size_t max = (size_t)(c->range.end - c->range.start) + WORKER_INSTRUCTION_BYTES - 1;
	cleanup(elf_image_deinit) struct elf_image image = {0};
	int r = elf_image_open(&image, request->files[WORKER_FILE_IMAGE], 0);

	*ret_is_known = false;
	if (r)
		return r;
	r = disassembler_new(&c->disassembler, image.summary.machine,
			     request->header.flags & WORKER_INTEL);
	if (r)
		return r < 0 ? r : WORKER_DONE;
	c->bytes = malloc(max);
	if (!c->bytes)
		return error_origin(-ENOMEM);
	c->n_bytes = elf_image_read(&image, c->range.start, c->bytes, max);
	*ret_is_known = true;
	return WORKER_DONE;
}

/* "<name+0x12>", or "" where the target has no name. */
static int serve_code_name_target(const struct code *c, uint64_t target, char *ret, size_t size)
{
	cleanup(freep) char *demangled = NULL;
	struct symtab_symbol name;

	*ret = '\0';
	if (!symtab_find(c->names, target, &name))
		return 0;
	demangled = demangle_name(name.name, DEMANGLE_WHOLE);
	if (!demangled)
		return error_origin(-ENOMEM);
	if (target > name.start)
		snprintf(ret, size, " <%.*s+0x%" PRIx64 ">", TARGET_TEXT_MAX, demangled,
			 target - name.start);
	else
		snprintf(ret, size, " <%.*s>", TARGET_TEXT_MAX, demangled);
	return 0;
}

static int serve_code_add_text(struct code *c, const struct instruction *instruction, uint32_t *ret)
{
	char target[TARGET_TEXT_MAX + 32] = "", text[sizeof(instruction->text) + sizeof(target)];
	int r = 0;

	if (instruction->target_kind == TARGET_CODE)
		r = serve_code_name_target(c, instruction->target, target, sizeof(target));
	else if (instruction->target_kind == TARGET_DATA)
		snprintf(target, sizeof(target), " # 0x%" PRIx64, instruction->target);
	if (r)
		return r;
	snprintf(text, sizeof(text), "%s%s", instruction->text, target);
	return answer_builder_add_text(c->answer, text, ret);
}

static int serve_code_add_line(struct code *c, struct worker_instruction *i)
{
	struct frame_name frames[WORKER_FRAMES_MAX];
	uint64_t start, size;

	if (!c->lines ||
	    !dwarf_lines_find(c->lines, i->address, frames, WORKER_FRAMES_MAX, &start, &size))
		return 0;
	i->line = frames[0].line;
	return answer_builder_add_text(c->answer, frames[0].file, &i->file);
}

static int serve_code_add_all(struct code *c)
{
	size_t end = (size_t)(c->range.end - c->range.start);
	int r = 0;

	for (size_t at = 0; !r && at < end && at < c->n_bytes;) {
		struct worker_instruction i = {.address = c->range.start + at};
		struct instruction instruction;

		disassembler_get(c->disassembler, c->bytes + at, c->n_bytes - at, i.address,
				 &instruction);
		i.size = instruction.size;
		r = serve_code_add_text(c, &instruction, &i.text) ?:
		    serve_code_add_line(c, &i) ?:
		    answer_builder_add_instruction(c->answer, &i);
		at += i.size;
	}
	return r;
}

int serve_instructions(struct cache *cache, const struct request *request, struct answer *ret)
{
	cleanup(serve_code_deinit) struct code c = {0};
	bool is_known;
	int r;

	memcpy(&c.range, request->payload, sizeof(c.range));
	r = serve_code_open(&c, request, &is_known) ?: sources_names(cache, request, &c.names);
	if (!r && request->header.flags & WORKER_WANT_LINES)
		r = sources_lines(cache, request, &c.lines);
	if (!r)
		r = answer_builder_new(&c.answer);
	if (!r && is_known)
		r = serve_code_add_all(&c);
	return r ?: answer_builder_finish(c.answer, ANSWER_CODE, &ret->data, &ret->length);
}

/* SPDX-License-Identifier: MIT */
/*
 * An answer is checked as a whole before anything of it is used: lengths first, then every
 * number that is an index, an offset, an address or an enum, then all texts.
 */
#include "common/worker/answer.h"

#include <stdint.h>
#include <string.h>

#include "common/unwind/table.h"
#include "common/utf8.h"

/* Sums must not wrap: nobody who uses it has to care (elf_image.h promises the same). */
static bool is_valid_segment(const struct elf_segment *s)
{
	/* What is to be a bool is looked at as a byte: other values than 0 and 1 are none. */
	return *(const uint8_t *)&s->executable <= 1 && s->file_size <= s->memory_size &&
	       s->offset <= UINT64_MAX - s->file_size && s->vaddr <= UINT64_MAX - s->memory_size;
}

static bool is_valid_summary(const struct elf_summary *elf)
{
	if ((elf->pointer_bytes != 4 && elf->pointer_bytes != 8) ||
	    elf->n_segments > ELF_SUMMARY_SEGMENTS_MAX || elf->build_id_length > ELF_BUILD_ID_MAX)
		return false;
	for (size_t i = 0; i < elf->n_segments; i++)
		if (!is_valid_segment(&elf->segments[i]))
			return false;
	return true;
}

static bool is_clean_field(const char *text, size_t size)
{
	size_t length = strnlen(text, size);

	return length < size && text_is_clean(text, length);
}

static bool is_valid_go_build(const struct go_build *go)
{
	return is_clean_field(go->go, sizeof(go->go)) &&
	       is_clean_field(go->module, sizeof(go->module)) &&
	       is_clean_field(go->version, sizeof(go->version)) &&
	       is_clean_field(go->revision, sizeof(go->revision)) && go->is_modified <= 1;
}

static bool is_valid_release(const struct elf_release *release)
{
	return is_clean_field(release->version, sizeof(release->version)) &&
	       is_clean_field(release->go_id, sizeof(release->go_id));
}

bool answer_image(const uint8_t *data, size_t length, struct worker_image *ret)
{
	struct worker_image image;

	if (length != sizeof(image))
		return false;
	memcpy(&image, data, sizeof(image));
	if (!is_valid_summary(&image.elf) || !is_valid_go_build(&image.go) ||
	    !is_valid_release(&image.release) || image.has_symtab > 1 || image.has_debugdata > 1 ||
	    image.has_lines > 1 || image.alternate_id_length > sizeof(image.alternate_id) ||
	    !memchr(image.debuglink, '\0', sizeof(image.debuglink)) ||
	    !memchr(image.alternate, '\0', sizeof(image.alternate)))
		return false;
	*ret = image;
	return true;
}

bool answer_table(const uint8_t *data, size_t length, uint64_t max_words, struct worker_table *ret,
		  const uint64_t **ret_words)
{
	static const struct table_slot no_slot;
	struct worker_table table;
	struct table_slot slot;
	const uint64_t *words;
	bool has_elf;

	if (length < sizeof(table))
		return false;
	memcpy(&table, data, sizeof(table));
	has_elf = table.elf.pointer_bytes || table.elf.n_segments || table.elf.build_id_length;
	if (table.over_4g > 1 || (has_elf && !is_valid_summary(&table.elf)) ||
	    !is_valid_go_build(&table.go) || !is_valid_release(&table.release) ||
	    table.n_words > max_words ||
	    table.n_words != (length - sizeof(table)) / sizeof(*words) ||
	    (length - sizeof(table)) % sizeof(*words))
		return false;
	words = (const uint64_t *)(const void *)(data + sizeof(table));
	if (table.state == TABLE_LOADED) {
		slot = table.slot;
		if (slot.state)
			return false;
		slot.state = TABLE_LOADED;
		if (!table_is_sound(words, (size_t)table.n_words, &slot))
			return false;
	} else if ((table.state != TABLE_NO_CFI && table.state != TABLE_REFUSED) || table.n_words ||
		   memcmp(&table.slot, &no_slot, sizeof(no_slot)) != 0) {
		return false;
	}
	*ret = table;
	*ret_words = words;
	return true;
}

static bool is_valid_location(const struct worker_location *l, uint64_t address, uint32_t n_frames)
{
	return l->start <= address && l->size && address - l->start < l->size &&
	       l->size - 1 <= UINT64_MAX - l->start && l->n_frames <= WORKER_FRAMES_MAX &&
	       l->n_frames <= n_frames && l->first_frame <= n_frames - l->n_frames &&
	       l->source < N_WORKER_SOURCES;
}

/* A text begins with the beginning of a character: text that is clean has no others but those. */
static bool is_valid_text_offset(const char *text, uint32_t text_length, uint32_t offset)
{
	return offset < text_length && ((uint8_t)text[offset] & 0xc0) != 0x80;
}

static bool is_valid_frame(const struct answer_names *names, uint32_t text_length,
			   const struct worker_frame *f)
{
	return is_valid_text_offset(names->text, text_length, f->name) &&
	       is_valid_text_offset(names->text, text_length, f->system_name) &&
	       is_valid_text_offset(names->text, text_length, f->file);
}

/*
 * Returns the number of texts of at most @max bytes, each with its NUL, that [text, text + length)
 * consists of; 0: not of texts.
 */
static size_t count_answer_texts(const char *text, size_t length, size_t max)
{
	size_t n = 0;

	while (length > 0) {
		const char *end = memchr(text, '\0', length);
		size_t n_bytes;

		if (!end)
			return 0;
		n_bytes = (size_t)(end - text);
		if (n_bytes > max || !text_is_clean(text, n_bytes))
			return 0;
		text += n_bytes + 1;
		length -= n_bytes + 1;
		n++;
	}
	return n;
}

bool answer_names(const uint8_t *data, size_t length, const uint64_t *addresses, size_t n,
		  struct answer_names *ret)
{
	struct answer_names names;
	struct worker_names header;

	if (length < sizeof(header))
		return false;
	memcpy(&header, data, sizeof(header));
	if (header.n_locations != n || !header.text_length ||
	    length != sizeof(header) + (uint64_t)n * sizeof(*names.locations) +
			      (uint64_t)header.n_frames * sizeof(*names.frames) +
			      header.text_length)
		return false;
	names.n_locations = header.n_locations;
	names.n_frames = header.n_frames;
	names.locations = (const void *)(data + sizeof(header));
	names.frames = (const void *)(names.locations + n);
	names.text = (const char *)(names.frames + names.n_frames);
	/* At offset 0 is the empty text. */
	if (names.text[0] || !count_answer_texts(names.text, header.text_length, WORKER_TEXT_MAX))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!is_valid_location(&names.locations[i], addresses[i], names.n_frames))
			return false;
	for (size_t i = 0; i < names.n_frames; i++)
		if (!is_valid_frame(&names, header.text_length, &names.frames[i]))
			return false;
	*ret = names;
	return true;
}

bool answer_texts(const uint8_t *data, size_t length, size_t n)
{
	return count_answer_texts((const char *)data, length, WORKER_TEXT_MAX) == n &&
	       (n > 0) == (length > 0);
}

bool answer_code(const uint8_t *data, size_t length, const struct worker_range *range,
		 struct answer_code *ret)
{
	uint64_t at = range->start;
	struct worker_code header;
	struct answer_code code;

	if (length < sizeof(header))
		return false;
	memcpy(&header, data, sizeof(header));
	if (!header.text_length ||
	    length != sizeof(header) +
			      (uint64_t)header.n_instructions * sizeof(*code.instructions) +
			      header.text_length)
		return false;
	code.n_instructions = header.n_instructions;
	code.instructions = (const void *)(data + sizeof(header));
	code.text = (const char *)(code.instructions + code.n_instructions);
	if (code.text[0] || !count_answer_texts(code.text, header.text_length, WORKER_TEXT_MAX))
		return false;
	for (size_t i = 0; i < code.n_instructions; i++) {
		const struct worker_instruction *c = &code.instructions[i];

		if (c->address < at || c->address >= range->end || !c->size ||
		    c->size > WORKER_INSTRUCTION_BYTES || c->address > UINT64_MAX - c->size ||
		    !is_valid_text_offset(code.text, header.text_length, c->text) ||
		    !is_valid_text_offset(code.text, header.text_length, c->file))
			return false;
		at = c->address + c->size;
	}
	*ret = code;
	return true;
}

bool answer_functions(const uint8_t *data, size_t length, size_t n, size_t n_lines,
		      struct answer_functions *ret)
{
	const uint64_t max_text = 1 + 2 * (uint64_t)n * (WORKER_FUNCTION_TEXT_MAX + 1);
	struct answer_functions functions;
	struct worker_functions header;

	if (length < sizeof(header))
		return false;
	memcpy(&header, data, sizeof(header));
	if (header.n_functions != n || header.n_lines != n_lines || !header.text_length ||
	    header.text_length > max_text ||
	    length != sizeof(header) + (uint64_t)n * sizeof(*functions.functions) +
			      (uint64_t)n_lines * sizeof(*functions.lines) + header.text_length)
		return false;
	functions.n_functions = header.n_functions;
	functions.n_lines = header.n_lines;
	functions.text_length = header.text_length;
	functions.functions = (const void *)(data + sizeof(header));
	functions.lines = (const void *)(functions.functions + n);
	functions.text = (const char *)(functions.lines + n_lines);
	if (functions.text[0] ||
	    !count_answer_texts(functions.text, header.text_length, WORKER_FUNCTION_TEXT_MAX))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct worker_function *f = &functions.functions[i];

		if (!is_valid_text_offset(functions.text, header.text_length, f->name) ||
		    !is_valid_text_offset(functions.text, header.text_length, f->file))
			return false;
	}
	for (size_t i = 0; i < n_lines; i++)
		if (functions.lines[i] > INT32_MAX)
			return false;
	*ret = functions;
	return true;
}

bool answer_container(const uint8_t *data, size_t length, struct worker_container *ret)
{
	struct worker_container container;

	if (length != sizeof(container))
		return false;
	memcpy(&container, data, sizeof(container));
	if (!is_clean_field(container.name, sizeof(container.name)) ||
	    !is_clean_field(container.image, sizeof(container.image)))
		return false;
	*ret = container;
	return true;
}

/* How many bytes the character at the beginning of [text, text + length) has; 0: it may not be. */
static size_t text_character(const char *text, size_t length)
{
	const uint8_t *bytes = (const uint8_t *)text;
	size_t n = utf8_character(text, length);

	if (n == 1)
		return bytes[0] >= 0x20 && bytes[0] < 0x7f;
	if (n == 2 && bytes[0] == 0xc2 && bytes[1] < 0xa0) /* U+0080 to U+009F */
		return 0;
	return n;
}

bool text_is_clean(const char *text, size_t length)
{
	while (length > 0) {
		size_t n = text_character(text, length);

		if (!n)
			return false;
		text += n;
		length -= n;
	}
	return true;
}

size_t text_clean(const char *text, size_t length, char *ret, size_t max)
{
	size_t filled = 0;

	while (length > 0) {
		size_t n = text_character(text, length), n_filled = n;
		const char *from = text;

		if (!n) {
			n = 1;
			from = UTF8_REPLACEMENT;
			n_filled = strlen(UTF8_REPLACEMENT);
		}
		if (n_filled > max - filled)
			break;
		memcpy(ret + filled, from, n_filled);
		filled += n_filled;
		text += n;
		length -= n;
	}
	ret[filled] = '\0';
	return filled;
}

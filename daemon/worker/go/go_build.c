/* SPDX-License-Identifier: MIT */

/*
 * The section: a header of 32 bytes, and since Go 1.18 two texts behind it, each with its length
 * as a varint. Before, the header has the addresses of two string headers of Go's (address,
 * length). The first text is the release; the second is lines of "key\tvalue...", between two
 * marks of 16 bytes.
 */
#include "daemon/worker/go/pclntab.h"

#include <stdbool.h>
#include <string.h>

#include "common/bytes.h"
#include "common/cleanup.h"
#include "common/span.h"
#include "common/wire.h"
#include "common/worker/answer.h"

#define SECTION_MAX  (4u << 20) /* bytes; large programs list some thousand modules: 200 kB */
#define MODULES_MAX  (1u << 20) /* of one text outside of the section */
#define HEADER_BYTES 32
#define POINTER_SIZE 14 /* offsets in the header */
#define FLAGS        15
#define POINTERS     16
#define FLAG_BIG     1 /* byte order of the pointers */
#define FLAG_INLINE  2
#define MARK_BYTES   16

static bool is_go_build_header(const Elf_Data *data)
{
	static const char magic[] = "\xff Go buildinf:";

	return data && data->d_size >= HEADER_BYTES &&
	       memcmp(data->d_buf, magic, sizeof(magic) - 1) == 0;
}

/* Takes a text and its length from what is left. */
static bool go_build_parse_text(struct span *left, struct span *ret)
{
	const uint8_t *at = (const uint8_t *)left->at;
	struct wire w = {.at = at, .end = at + left->length};
	uint64_t length;

	if (!wire_varint(&w, &length) || length > (uint64_t)(w.end - w.at))
		return false;
	*ret = (struct span){(const char *)w.at, (size_t)length};
	left->at = ret->at + length;
	left->length = (size_t)(w.end - w.at) - (size_t)length;
	return true;
}

/* The text whose string header is at @address; *ret_data is malloc'ed. Nothing: left empty. */
static void go_build_read_string(struct elf_image *image, uint64_t address, unsigned size, bool big,
				 struct span *ret, char **ret_data)
{
	uint8_t header[16];
	uint64_t length;

	if (elf_image_read(image, address, header, 2 * size) != 2 * size)
		return;
	length = bytes_number(header + size, size, big);
	if (length == 0 || length > MODULES_MAX)
		return;
	*ret_data = malloc((size_t)length);
	if (*ret_data && elf_image_read(image, bytes_number(header, size, big),
					(uint8_t *)*ret_data, (size_t)length) == length)
		*ret = (struct span){*ret_data, (size_t)length};
}

static void go_build_copy_text(struct span text, char *ret, size_t size)
{
	text_clean(text.at, text.length, ret, size - 1);
}

static void go_build_parse_line(struct span line, struct go_build *ret)
{
	struct span key, value;

	span_cut(&line, '\t', &key);
	if (span_is(key, "mod")) {
		span_cut(&line, '\t', &value);
		go_build_copy_text(value, ret->module, sizeof(ret->module));
		span_cut(&line, '\t', &value);
		go_build_copy_text(value, ret->version, sizeof(ret->version));
	} else if (span_is(key, "build")) {
		span_cut(&line, '=', &key);
		if (span_is(key, "vcs.revision"))
			go_build_copy_text(line, ret->revision, sizeof(ret->revision));
		else if (span_is(key, "vcs.modified"))
			ret->is_modified = span_is(line, "true");
	}
}

static void go_build_parse_modules(struct span text, struct go_build *ret)
{
	struct span line;

	if (text.length <= 2 * MARK_BYTES || text.at[text.length - MARK_BYTES - 1] != '\n')
		return;
	text.at += MARK_BYTES;
	text.length -= 2 * MARK_BYTES;
	while (span_cut(&text, '\n', &line))
		go_build_parse_line(line, ret);
}

void go_build_read(struct elf_image *image, struct go_build *ret)
{
	size_t section = elf_image_find(image, SHT_PROGBITS, ".go.buildinfo");
	const Elf_Data *data = elf_image_data(image, section, SECTION_MAX);
	cleanup(freep) char *first = NULL;
	cleanup(freep) char *second = NULL;
	struct span release = {0}, modules = {0};
	const uint8_t *header;
	unsigned size;
	bool big;

	memset(ret, 0, sizeof(*ret));
	if (!is_go_build_header(data))
		return;
	header = data->d_buf;
	size = header[POINTER_SIZE];
	big = header[FLAGS] & FLAG_BIG;
	if (header[FLAGS] & FLAG_INLINE) {
		struct span left = {(const char *)header + HEADER_BYTES,
				    data->d_size - HEADER_BYTES};

		if (!go_build_parse_text(&left, &release) || !go_build_parse_text(&left, &modules))
			modules.length = 0;
	} else if (size == 4 || size == 8) {
		go_build_read_string(image, bytes_number(header + POINTERS, size, big), size, big,
				     &release, &first);
		go_build_read_string(image, bytes_number(header + POINTERS + size, size, big), size,
				     big, &modules, &second);
	}
	go_build_copy_text(release, ret->go, sizeof(ret->go));
	if (ret->go[0])
		go_build_parse_modules(modules, ret);
}

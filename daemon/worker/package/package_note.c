/* SPDX-License-Identifier: MIT */
#include "daemon/worker/package/package_note.h"

#include <string.h>

#include "common/worker/answer.h"
#include "daemon/worker/container/json.h"

#define NOTE_FDO     0xcafe1a7eu /* of the owner FDO: package metadata */
#define NOTE_GO_ID   4           /* of the owner Go */
#define VERSION_MAX  256         /* bytes, before it is cleaned */
#define NOTES_MAX    64          /* segments and sections: libelf keeps what it has read */
#define GO_ID_HASHES 4
#define GO_ID_TEXT   12 /* of a hash, at least */

void package_note_parse(struct span text, char *ret, size_t size)
{
	struct json j = {.at = text.at, .end = text.at + text.length};
	char version[VERSION_MAX] = "";
	struct span key, value;
	size_t n = 0;

	ret[0] = '\0';
	if (!json_enter(&j, '{'))
		return;
	while (json_next(&j, '{', &n) && json_key(&j, &key))
		if (!span_is(key, "version"))
			json_skip(&j);
		else if (json_take_text(&j, &value))
			json_unescape(value, version, sizeof(version));
	if (!j.is_bad)
		text_clean(version, strlen(version), ret, size - 1);
}

static void go_id_parse(struct span text, char *ret, size_t size)
{
	struct span rest = text, hash;

	for (unsigned i = 0; i < GO_ID_HASHES; i++)
		if (!span_cut(&rest, '/', &hash))
			return;
	if (!rest.length && hash.length >= GO_ID_TEXT && text.length < size)
		text_clean(text.at, text.length, ret, size - 1);
}

static void package_note_use(const struct elf_note *note, struct elf_release *ret)
{
	struct span text = note->text;

	/* Padded with NULs. */
	text.length = strnlen(text.at, text.length);
	if (note->type == NOTE_FDO && span_is(note->name, "FDO") && !ret->version[0])
		package_note_parse(text, ret->version, sizeof(ret->version));
	else if (note->type == NOTE_GO_ID && span_is(note->name, "Go") && !ret->go_id[0])
		go_id_parse(text, ret->go_id, sizeof(ret->go_id));
}

void package_notes_read(struct elf_image *image, struct elf_release *ret)
{
	struct elf_notes notes;
	struct elf_note note;
	size_t n_read = 0;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; n_read < NOTES_MAX && elf_image_notes(image, i, &notes); i++) {
		n_read += notes.left > 0;
		while (elf_notes_next(&notes, &note))
			package_note_use(&note, ret);
	}
}

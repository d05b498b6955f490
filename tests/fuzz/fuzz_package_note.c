/* SPDX-License-Identifier: MIT */
/* Any bytes as a program's notes: what they say of its release passes as part of a worker's answer.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/worker/answer.h"
#include "daemon/worker/package/package_note.h"
#include "tests/support/hostile_elf_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *text, size_t size)
{
	if (!memchr(text, '\0', size) || !text_is_clean(text, strlen(text)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup(elf_image_deinit) struct elf_image image = {0};
	cleanup(builder_deinit) struct builder b;
	struct elf_release release;

	package_note_parse((struct span){(const char *)data, size}, release.version,
			   sizeof(release.version));
	check(release.version, sizeof(release.version));
	builder_init(&b);
	builder_section(&b, ".note", &(Elf64_Shdr){.sh_type = SHT_NOTE}, data, size);
	builder_finish(&b);
	if (elf_image_open_memory(&image, b.data, b.n, 0) != WORKER_DONE)
		return 0;
	memset(&release, 0x55, sizeof(release));
	package_notes_read(&image, &release);
	check(release.version, sizeof(release.version));
	check(release.go_id, sizeof(release.go_id));
	return 0;
}

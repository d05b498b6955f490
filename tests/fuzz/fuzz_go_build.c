/* SPDX-License-Identifier: MIT */

/*
 * Any bytes as the section .go.buildinfo, which lies in the file's only segment: what is said of
 * the build passes as part of an image worker's answer.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/worker/answer.h"
#include "daemon/worker/go/pclntab.h"
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
	struct go_build go;

	builder_init(&b);
	builder_section(&b, ".go.buildinfo",
			&(Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC}, data, size);
	builder_segment(&b, PT_LOAD, PF_R, BUILDER_FIRST, size);
	builder_finish(&b);
	if (elf_image_open_memory(&image, b.data, b.n, 0) != WORKER_DONE)
		abort();
	memset(&go, 0x55, sizeof(go));
	go_build_read(&image, &go);
	check(go.go, sizeof(go.go));
	check(go.module, sizeof(go.module));
	check(go.version, sizeof(go.version));
	check(go.revision, sizeof(go.revision));
	if (go.is_modified > 1 || (!go.go[0] && (go.module[0] || go.version[0] || go.revision[0])))
		abort();
	return 0;
}

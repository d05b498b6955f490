/* SPDX-License-Identifier: MIT */

/* What kind of file it is, and where more is to be found about it. */
#include <string.h>

#include "daemon/worker/elf/debuglink.h"
#include "daemon/worker/elf/elf.h"
#include "daemon/worker/elf/elf_image.h"
#include "daemon/worker/elf/elf_symbols.h"
#include "daemon/worker/go/go_build.h"
#include "daemon/worker/names/elf_names.h"

static bool has_section(const struct elf_image *image, uint32_t type, const char *name)
{
	size_t i = elf_image_find(image, type, name);

	return i && image->sections[i].size > 0;
}

/* Where section headers are missing or say nothing, everything here is a no. */
static void look_at_sections(struct elf_image *image, struct worker_image *ret)
{
	struct debugaltlink alternate;
	struct debuglink link;
	struct elf_table table;

	ret->has_symtab = has_section(image, SHT_SYMTAB, NULL);
	ret->has_dynsym = has_section(image, SHT_DYNSYM, NULL) ||
			  elf_table_dynamic(image, &table) == ELF_TABLE_E_OK;
	ret->has_debugdata = has_section(image, SHT_PROGBITS, ".gnu_debugdata");
	ret->has_lines = has_section(image, SHT_PROGBITS, ".debug_line") ||
			 has_section(image, SHT_PROGBITS, ".zdebug_line");
	if (debuglink_read(image, &link)) {
		memcpy(ret->debuglink, link.name, sizeof(ret->debuglink));
		ret->debuglink_crc = link.crc;
	}
	if (debugaltlink_read(image, &alternate)) {
		memcpy(ret->alternate, alternate.path, sizeof(ret->alternate));
		memcpy(ret->alternate_id, alternate.id, sizeof(ret->alternate_id));
		ret->alternate_id_length = alternate.id_length;
	}
	if (!ret->elf.build_id_length)
		ret->elf.build_id_length = elf_image_build_id(image, ret->elf.build_id);
	go_build_read(image, &ret->go);
}

int elf_inspect(int fd, struct worker_image *ret)
{
	cleanup(elf_image_deinit) struct elf_image image = {0};
	struct worker_image inspected;
	int r;

	memset(&inspected, 0, sizeof(inspected));
	r = elf_summary_read(fd, &inspected.elf);
	if (r)
		return r;
	r = elf_image_open(&image, fd, ELF_NAMES_DECOMPRESSED_MAX);
	if (r < 0)
		return WORKER_NO_MEMORY;
	/* Programs run whatever is wrong with their sections. */
	if (r == ELF_IMAGE_E_OK)
		look_at_sections(&image, &inspected);
	*ret = inspected;
	return WORKER_DONE;
}

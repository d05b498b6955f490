/* SPDX-License-Identifier: MIT */
#include "client/symbolize/kernel_part.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "client/symbolize/object.h"
#include "common/error.h"
#include "common/profile/image_id.h"
#include "common/symbols/kernel_modules.h"

#define MODULE_NAME_MAX 63 /* MODULE_NAME_LEN */

/* "[name]" */
static bool module_name(const char *path, char ret[MODULE_NAME_MAX + 1])
{
	size_t length = strlen(path);

	if (length < 3 || length - 2 > MODULE_NAME_MAX || path[0] != '[' ||
	    path[length - 1] != ']' || memchr(path, '/', length))
		return false;
	snprintf(ret, MODULE_NAME_MAX + 1, "%.*s", (int)length - 2, path + 1);
	return true;
}

/* Whether the notes at @notes_path, or else the name and the kernel's release, make @id. */
static int check_id(const struct files *files, const char *notes_path, const char *file,
		    const char *id)
{
	cleanup(freep) char *notes = NULL;
	struct elf_summary elf = {0};
	char own[IMAGE_ID_SIZE];
	struct utsname name;
	size_t length;
	int r = files_read_kernel(files, notes_path, &notes, &length);

	if (r == -ENOMEM)
		return r;
	if (!r)
		elf.build_id_length = elf_notes_build_id((const uint8_t *)notes, length, false,
							 elf.build_id);
	if (elf.build_id_length)
		return object_is_id(id, &elf) ? KERNEL_E_OK : KERNEL_E_OTHER;
	if (uname(&name) < 0)
		return KERNEL_E_OTHER;
	image_id_of_kernel(file, name.release, own);
	return strcmp(own, id) == 0 ? KERNEL_E_OK : KERNEL_E_OTHER;
}

static int find_module(const struct files *files, const char *name, uint64_t *ret_start)
{
	cleanup(freep) char *text = NULL;
	struct kernel_module_line line;
	const char *at, *end;
	size_t length;
	int r = files_read_kernel(files, "/proc/modules", &text, &length);

	if (r)
		return r == -ENOMEM ? r : KERNEL_E_GONE;
	end = text + length;
	for (at = text; kernel_module_next(&at, end, &line);) {
		if (line.name_length != strlen(name) ||
		    memcmp(line.name, name, line.name_length) != 0)
			continue;
		*ret_start = line.start;
		return line.start ? KERNEL_E_OK : KERNEL_E_HIDDEN;
	}
	return KERNEL_E_GONE;
}

static int read_symtab(const struct files *files, const char *module, struct symtab **ret)
{
	cleanup(freep) char *text = NULL;
	size_t length;
	int r = files_read_kernel(files, "/proc/kallsyms", &text, &length);

	if (r)
		return r == -ENOMEM ? r : KERNEL_E_HIDDEN;
	r = symtab_from_kallsyms(ret, text, length, module);
	return r > 0 ? KERNEL_E_HIDDEN : r;
}

static int init_module(struct kernel_part *ret, const struct files *files, const char *name,
		       const char *id)
{
	char notes[MODULE_NAME_MAX + 64], file[MODULE_NAME_MAX + 4];
	int r = find_module(files, name, &ret->start);

	if (r)
		return r;
	snprintf(notes, sizeof(notes), "/sys/module/%s/notes/.note.gnu.build-id", name);
	snprintf(file, sizeof(file), "%s.ko", name);
	r = check_id(files, notes, file, id);
	return r ? r : read_symtab(files, name, &ret->symtab);
}

static int init_kernel(struct kernel_part *ret, const struct files *files, const char *id)
{
	int r = check_id(files, "/sys/kernel/notes", "vmlinux", id);

	if (!r)
		r = read_symtab(files, NULL, &ret->symtab);
	if (!r && !symtab_address(ret->symtab, "_stext", &ret->start))
		return KERNEL_E_PLACE;
	return r;
}

int kernel_part_init(struct kernel_part *ret, const struct files *files, const char *path,
		     const char *id)
{
	char name[MODULE_NAME_MAX + 1];

	*ret = (struct kernel_part){0};
	if (strcmp(path, KERNEL_PATH) == 0)
		return init_kernel(ret, files, id);
	if (!module_name(path, name))
		return KERNEL_E_GONE;
	return init_module(ret, files, name, id);
}

void kernel_part_deinit(struct kernel_part *part)
{
	symtab_free(part->symtab);
	part->symtab = NULL;
}

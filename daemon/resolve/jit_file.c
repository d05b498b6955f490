/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/jit_file.h"

#include <string.h>

struct jit_file *jit_file_ref(struct jit_file *file)
{
	if (file)
		atomic_fetch_add(&file->n_references, 1);
	return file;
}

void jit_file_unref(struct jit_file *file)
{
	if (!file || atomic_fetch_sub(&file->n_references, 1) != 1)
		return;
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file);
}

bool jit_file_is_for(const struct image *image)
{
	static const char *const prefixes[] = {"/memfd:", "/dev/shm/", "/dev/zero", "/SYSV"};

	if (image->kind == IMAGE_ANON)
		return true;
	if (image->kind != IMAGE_FILE || image_elf(image))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (strncmp(image->path, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

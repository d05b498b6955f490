/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/jit_file.h"

#include <string.h>

#include "daemon/resolve/lent_fd.h"

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

static struct lent_fd jit_file_lent_fd(struct jit_file *file)
{
	return (struct lent_fd){.fd = &file->fd, .n_lent = &file->n_lent};
}

int jit_file_borrow(struct jit_file *file)
{
	return lent_fd_borrow(jit_file_lent_fd(file));
}

void jit_file_return(struct jit_file *file, int fd)
{
	lent_fd_return(jit_file_lent_fd(file), fd);
}

void jit_file_close(struct jit_file *file)
{
	lent_fd_give_up(jit_file_lent_fd(file));
}

static bool jit_path_has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool jit_file_is_for(const struct image *image)
{
	if (image->kind == IMAGE_ANON)
		return true;
	if (image->kind != IMAGE_FILE || image_elf(image))
		return false;
	return jit_path_has_prefix(image->path, "/memfd:") ||
	       jit_path_has_prefix(image->path, "/dev/shm/") ||
	       jit_path_has_prefix(image->path, "/dev/zero") ||
	       jit_path_has_prefix(image->path, "/SYSV");
}

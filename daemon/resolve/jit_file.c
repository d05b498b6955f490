/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/jit_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>

#include "common/mounts.h"
#include "daemon/resolve/lent_fd.h"
#include "daemon/resolve/mount_root.h"

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

int jit_file_borrow(struct jit_file *file)
{
	return lent_fd_borrow(&file->fd, &file->n_lent);
}

void jit_file_return(struct jit_file *file, int fd)
{
	lent_fd_return(&file->n_lent, fd);
}

void jit_file_close(struct jit_file *file)
{
	lent_fd_give_up(&file->fd, &file->n_lent);
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

/* --- folders ---------------------------------------------------------------------------------- */

#define FOLDER "/tmp"

int jit_folders_get(struct mount_roots *folders, int proc_fd, pid_t pid, int pid_fd,
		    struct mount_root **ret)
{
	cleanup(closep) int root_fd = openat(pid_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(closep) int fd = -1;
	cleanup(mount_root_unrefp) struct mount_root *folder = NULL;
	struct mount_root *known;
	struct mounts_mount mount;
	bool is_refused = false;
	struct statx stx;
	int r;

	if (root_fd >= 0)
		fd = mount_root_open_path(proc_fd, pid, root_fd, FOLDER, O_DIRECTORY, &is_refused);
	if (fd < 0)
		return is_refused ? JIT_FOLDERS_E_REFUSED : JIT_FOLDERS_E_NONE;
	if (!mount_root_stat(fd, &stx) || !(stx.stx_mask & STATX_MNT_ID))
		return JIT_FOLDERS_E_REFUSED;
	r = mount_root_new(&folder, &fd, &stx);
	if (r)
		return r;
	known = mount_roots_find(folders, folder);
	if (!known) {
		if (!mount_root_find_mount(proc_fd, pid, stx.stx_mnt_id, &mount) || mount.is_fuse)
			return JIT_FOLDERS_E_REFUSED;
		known = mount_roots_add(folders, steal_ptr(&folder));
	}
	*ret = mount_root_ref(known);
	return JIT_FOLDERS_E_OK;
}

int jit_folder_name(const struct mount_root *folder, const char *name)
{
	/* A closed folder's is EBADF. */
	return mount_root_open_below(folder->fd, name, O_NOFOLLOW,
				     RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
}

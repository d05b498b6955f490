/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/jit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>

#include "common/error.h"
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

/* --- folders ---------------------------------------------------------------------------------- */

#define FOLDER "/tmp"

struct jit_folders {
	int proc_fd;
	uint64_t n_calls;
	struct jit_folder **folders; /* references */
	size_t n, max;
};

struct jit_folder *jit_folder_ref(struct jit_folder *folder)
{
	folder->n_references++;
	return folder;
}

void jit_folder_unref(struct jit_folder *folder)
{
	if (!folder || --folder->n_references > 0)
		return;
	closep(&folder->fd);
	free(folder);
}

int jit_folders_new(struct jit_folders **ret, int proc_fd, size_t max)
{
	cleanup(jit_folders_freep) struct jit_folders *f = calloc(1, sizeof(*f));

	if (!f)
		return error_origin(-ENOMEM);
	f->proc_fd = proc_fd;
	f->max = max;
	f->folders = calloc(max, sizeof(struct jit_folder *));
	if (!f->folders)
		return error_origin(-ENOMEM);
	*ret = steal_ptr(&f);
	return 0;
}

/* Whoever refers to it still finds it closed. */
static void jit_folders_remove(struct jit_folders *f, size_t i)
{
	struct jit_folder *folder = f->folders[i];

	f->folders[i] = f->folders[--f->n];
	closep(&folder->fd);
	folder->fd = -1;
	jit_folder_unref(folder);
}

void jit_folders_free(struct jit_folders *f)
{
	if (!f)
		return;
	while (f->n)
		jit_folders_remove(f, f->n - 1);
	free(f->folders);
	free(f);
}

void jit_folders_sweep(struct jit_folders *f)
{
	for (size_t i = f->n; i-- > 0;)
		if (f->folders[i]->n_references == 1)
			jit_folders_remove(f, i);
}

static void jit_folders_make_room(struct jit_folders *f)
{
	size_t oldest = 0;

	if (f->n < f->max)
		return;
	for (size_t i = 1; i < f->n; i++)
		if (f->folders[i]->used < f->folders[oldest]->used)
			oldest = i;
	jit_folders_remove(f, oldest);
}

static struct jit_folder *jit_folders_find(struct jit_folders *f, const struct statx *stx)
{
	for (size_t i = 0; i < f->n; i++) {
		struct jit_folder *folder = f->folders[i];

		if (folder->mount == stx->stx_mnt_id && folder->inode == stx->stx_ino &&
		    folder->device_major == stx->stx_dev_major &&
		    folder->device_minor == stx->stx_dev_minor)
			return folder;
	}
	return NULL;
}

/* One that is not known yet, whose descriptor is taken over. Returns as jit_folders_get(). */
static int jit_folders_add(struct jit_folders *f, pid_t pid, int *fd, const struct statx *stx,
			   struct jit_folder **ret)
{
	struct mounts_mount mount;
	struct jit_folder *folder;

	if (!mount_root_find_mount(f->proc_fd, pid, stx->stx_mnt_id, &mount) || mount.is_fuse)
		return JIT_FOLDERS_E_REFUSED;
	folder = calloc(1, sizeof(*folder));
	if (!folder)
		return error_origin(-ENOMEM);
	*folder = (struct jit_folder){
		.n_references = 1,
		.mount = stx->stx_mnt_id,
		.inode = stx->stx_ino,
		.device_major = stx->stx_dev_major,
		.device_minor = stx->stx_dev_minor,
		.fd = steal_fd(fd),
	};
	jit_folders_make_room(f);
	f->folders[f->n++] = folder;
	*ret = folder;
	return JIT_FOLDERS_E_OK;
}

int jit_folders_get(struct jit_folders *f, pid_t pid, int pid_fd, struct jit_folder **ret)
{
	cleanup(closep) int root_fd = openat(pid_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(closep) int fd = -1;
	bool is_refused = false;
	struct jit_folder *folder;
	struct statx stx;
	int r;

	if (root_fd >= 0)
		fd = mount_root_open_path(f->proc_fd, pid, root_fd, FOLDER, O_DIRECTORY,
					  &is_refused);
	if (fd < 0)
		return is_refused ? JIT_FOLDERS_E_REFUSED : JIT_FOLDERS_E_NONE;
	if (!mount_root_stat(fd, &stx) || !(stx.stx_mask & STATX_MNT_ID))
		return JIT_FOLDERS_E_REFUSED;
	folder = jit_folders_find(f, &stx);
	if (!folder) {
		r = jit_folders_add(f, pid, &fd, &stx, &folder);
		if (r)
			return r;
	}
	folder->used = ++f->n_calls;
	*ret = jit_folder_ref(folder);
	return JIT_FOLDERS_E_OK;
}

int jit_folder_name(const struct jit_folder *folder, const char *name)
{
	/* A closed folder's is EBADF. */
	return mount_root_open_below(folder->fd, name, O_NOFOLLOW,
				     RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
}

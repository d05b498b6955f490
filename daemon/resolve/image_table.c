/* SPDX-License-Identifier: MIT */
/*
 * A hash by what makes a file the same leads to the newest image of it; a list has all that anybody
 * refers to, in the order of use. Files are named first, judged, and then opened.
 */
#include "daemon/resolve/image_table.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>
#include <uthash.h>
#include <utlist.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/mounts.h"
#include "common/proc.h"
#include "common/worker/debug_files.h"
#include "daemon/resolve/lent_fd.h"

/* An image without a file may get one when somebody else maps it, but not at every mapping. */
#define RETRY_NS NS_PER_S
/* For so long it is not looked at again whether a file is what it was. */
#define CHECK_HOLDS_NS (100 * NS_PER_MS)

/* What two mappings of one file have in common; padding is zeroed before use. */
struct identity {
	uint64_t inode;
	uint32_t device_major, device_minor;
	uint64_t kind;
	uint64_t root; /* id of the mount root, where only that makes it certain; else 0 */
	char path[64]; /* images that are no file: the name; files: empty */
};

/*
 * An image as long as somebody refers to it, also when a newer one took its place: so all open
 * files are known. In the order of use by the main thread; one that others used since is passed
 * over once when it comes to the head.
 */
struct held {
	struct identity identity;
	struct image *image; /* a reference: the table's only one */
	bool is_newest;      /* it is found by its identity: no newer one took its place */
	uint64_t retry_ns;   /* CLOCK_MONOTONIC: when to try again to open its file */
	uint64_t checked_ns; /* the same: its file was unchanged after this time */
	struct held *prev, *next;
	UT_hash_handle hh;
};

struct image_table {
	struct mount_roots *roots;
	int proc_fd; /* -1: no file is opened */
	uint64_t next_id;
	struct held *newest; /* by identity */
	struct held *held;   /* list */
	size_t n_held;
	size_t n_local; /* of the newest, those whose identity has a root */
	size_t n_open, max_open;
	uint64_t n_avoided;
};

/* --- files ------------------------------------------------------------------------------------ */

/* Of memfds and the like, which are mounted nowhere; 0: unknown. */
static dev_t device_of_shared_memory(void)
{
	static dev_t device;
	struct stat st;

	if (!device) {
		cleanup(closep) int fd = memfd_create("profd", MFD_CLOEXEC);

		if (fd >= 0 && fstat(fd, &st) == 0)
			device = st.st_dev;
	}
	return device;
}

/* proc_pid_map_files(5): names are the mapping's bounds, in hexadecimal without leading zeros. */
static int image_name_by_map_file(int proc_fd, const struct image_key *key)
{
	char name[96];
	int fd = -1;

	snprintf(name, sizeof(name), "%d/map_files/%" PRIx64 "-%" PRIx64, key->pid, key->start,
		 key->end);
	proc_open_name(proc_fd, key->pid, name, &fd);
	return fd;
}

/*
 * Below the process's root; a process that is gone most likely saw the same files as we do.
 * *ret_avoided: not without asking a file system that may be FUSE.
 */
static int image_name_by_path(int proc_fd, struct mount_roots *roots, const struct image_key *key,
			      bool *ret_avoided)
{
	cleanup(mount_root_unrefp) struct mount_root *root = NULL;
	pid_t pid = key->pid;

	if (mount_roots_get(roots, pid, &root) || !root) {
		pid = 0;
		if (mount_roots_get(roots, pid, &root) || !root)
			return -1;
	}
	return mount_root_open_path(proc_fd, pid, root->fd, key->path, 0, ret_avoided);
}

/*
 * By the mount that the file was found through, which cannot go away as long as it is open: among
 * ours, else among those of the process. One in neither is taken for FUSE: mounts that were
 * detached, that the process's root does not reach, or that come behind very many others are not
 * found, and all that can be arranged. Devices differ from what stat(2) says on btrfs, where mounts
 * tell the right one, and on overlays.
 */
static int image_check_mount(int proc_fd, const struct image_key *key, const struct statx *stx,
			     bool *ret_is_local)
{
	struct mounts_mount mount;

	if (!(stx->stx_mask & STATX_MNT_ID))
		return IMAGE_OPEN_E_NONE;
	if (!mount_root_find_mount(proc_fd, key->pid, stx->stx_mnt_id, &mount) || mount.is_fuse)
		return IMAGE_OPEN_E_AVOIDED;
	*ret_is_local = mount.device_major != key->device_major ||
			mount.device_minor != key->device_minor;
	return *ret_is_local && !mount.is_overlay ? IMAGE_OPEN_E_NONE : IMAGE_OPEN_E_OK;
}

/* FUSE has no block device, but for fuseblk, which only root can mount. */
static int image_check_file(int proc_fd, const struct image_key *key, int named, bool *ret_is_local)
{
	struct statx stx;
	bool same_device;

	if (!mount_root_stat(named, &stx) || !S_ISREG(stx.stx_mode) || stx.stx_ino != key->inode)
		return IMAGE_OPEN_E_NONE;
	same_device = stx.stx_dev_major == key->device_major &&
		      stx.stx_dev_minor == key->device_minor;
	*ret_is_local = false;
	if (same_device && (stx.stx_dev_major || makedev(stx.stx_dev_major, stx.stx_dev_minor) ==
							 device_of_shared_memory()))
		return IMAGE_OPEN_E_OK;
	return image_check_mount(proc_fd, key, &stx, ret_is_local);
}

/* Size and times of an open file. False: they cannot be told. */
static bool image_file_stat(int fd, struct image_file *ret)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	ret->size = (uint64_t)st.st_size;
	ret->mtime_ns = timespec_ns(st.st_mtim);
	ret->ctime_ns = timespec_ns(st.st_ctim);
	return true;
}

/* What @named names, which is consumed. */
static int image_open_checked(int proc_fd, const struct image_key *key, int named_fd,
			      struct image_file *ret)
{
	cleanup(closep) int named = named_fd;
	cleanup(closep) int fd = -1;
	struct image_file file;
	int r;

	if (named < 0)
		return IMAGE_OPEN_E_NONE;
	r = image_check_file(proc_fd, key, named, &file.is_local);
	if (r)
		return r;
	fd = debug_files_reopen(named);
	if (fd < 0 || !image_file_stat(fd, &file))
		return IMAGE_OPEN_E_NONE;
	file.fd = steal_fd(&fd);
	*ret = file;
	return IMAGE_OPEN_E_OK;
}

int image_open(int proc_fd, struct mount_roots *roots, const struct image_key *key,
	       struct image_file *ret)
{
	bool is_avoided = false;
	int r, named;

	if (proc_fd < 0)
		return IMAGE_OPEN_E_NONE;
	r = image_open_checked(proc_fd, key, image_name_by_map_file(proc_fd, key), ret);
	if (r != IMAGE_OPEN_E_NONE)
		return r;
	/* Gone from there by now, or another library may be at its very addresses. */
	named = image_name_by_path(proc_fd, roots, key, &is_avoided);
	r = image_open_checked(proc_fd, key, named, ret);
	return is_avoided ? IMAGE_OPEN_E_AVOIDED : r;
}

/* --- the table -------------------------------------------------------------------------------- */

int image_table_new(struct image_table **ret, int proc_fd)
{
	cleanup(image_table_freep) struct image_table *t = calloc(1, sizeof(*t));
	struct rlimit limit;
	int r;

	if (!t)
		return error_origin(-ENOMEM);
	t->proc_fd = proc_fd;
	t->next_id = 1;
	/* The other half is for sockets, events and the files being written. */
	t->max_open = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 2 : 256;
	r = mount_roots_new(&t->roots, proc_fd);
	if (r)
		return r;
	*ret = steal_ptr(&t);
	return 0;
}

/* A newer one takes its place, or it goes away. */
static void held_replace(struct image_table *t, struct held *h)
{
	if (!h->is_newest)
		return;
	HASH_DEL(t->newest, h);
	h->is_newest = false;
	t->n_local -= h->identity.root != 0;
}

static void held_remove(struct image_table *t, struct held *h)
{
	DL_DELETE(t->held, h);
	t->n_held--;
	t->n_open -= h->image->fd >= 0;
	held_replace(t, h);
	image_unref(h->image);
	free(h);
}

struct mount_roots *image_table_roots(struct image_table *t)
{
	return t->roots;
}

void image_table_free(struct image_table *t)
{
	if (!t)
		return;
	while (t->held)
		held_remove(t, t->held);
	mount_roots_free(t->roots);
	free(t);
}

static enum image_kind image_key_kind(const struct image_key *key)
{
	if (strcmp(key->path, "[vdso]") == 0)
		return IMAGE_VDSO;
	if (key->path[0] == '[' && strncmp(key->path, "[anon", 5) != 0 &&
	    strcmp(key->path, "[heap]") != 0 && strncmp(key->path, "[stack", 6) != 0)
		return IMAGE_SPECIAL;
	if (key->path[0] != '/' || strncmp(key->path, "//anon", 6) == 0 || key->inode == 0)
		return IMAGE_ANON;
	return IMAGE_FILE;
}

/* Closes the file that was not used for the longest time. */
static void image_table_make_room(struct image_table *t)
{
	while (t->n_open && t->n_open >= t->max_open) {
		struct held *h = t->held;

		DL_DELETE(t->held, h);
		DL_APPEND(t->held, h);
		if (h->image->fd < 0 || atomic_exchange(&h->image->is_used, false))
			continue;
		lent_fd_give_up(&h->image->fd);
		t->n_open--;
		h->retry_ns = 0;
	}
}

/* *ret_is_local: what the file is holds for its mount root alone. Returns 0 or negative errno. */
static int image_table_open_file(struct image_table *t, const struct image_key *key,
				 struct image *image, bool *ret_is_local, bool *ret_is_avoided)
{
	struct image_file file = {.fd = -1};
	int r = mount_roots_get(t->roots, key->pid, &image->root);

	if (r)
		return r;
	r = image_open(t->proc_fd, t->roots, key, &file);
	*ret_is_avoided = image->is_avoided = r == IMAGE_OPEN_E_AVOIDED;
	if (r)
		return 0;
	if (file.is_local && !image->root) {
		close(file.fd);
		return 0;
	}
	*ret_is_local = file.is_local;
	image->fd = file.fd;
	image->size = file.size;
	image->mtime_ns = file.mtime_ns;
	image->ctime_ns = file.ctime_ns;
	return 0;
}

static int image_new(struct image_table *t, const struct image_key *key, enum image_kind kind,
		     struct image **ret)
{
	struct image *image = calloc(1, sizeof(*image));

	if (!image)
		return error_origin(-ENOMEM);
	*image = (struct image){
		.n_references = 1,
		.id = t->next_id++,
		.kind = kind,
		.device_major = key->device_major,
		.device_minor = key->device_minor,
		.inode = key->inode,
		.inode_generation = key->inode_generation,
		.fd = -1,
	};
	image->path = strdup(kind == IMAGE_ANON ? "[anon]" : key->path);
	if (!image->path) {
		image_unref(image);
		return error_origin(-ENOMEM);
	}
	*ret = image;
	return 0;
}

/*
 * Whether the file is still what it was when the image was made; a changed one is a new image. One
 * look holds for all that was mapped before it, and a moment later: where programs begin and end
 * all the time, each would cost a look at each of its libraries. What is written into a file at
 * just that time, with programs running from it, is seen the next time.
 */
static bool held_is_unchanged(struct held *h, const struct image_key *key, uint64_t now_ns)
{
	const struct image *image = h->image;
	struct image_file now;

	if (image->kind != IMAGE_FILE)
		return true;
	if (image->inode_generation && key->inode_generation &&
	    image->inode_generation != key->inode_generation)
		return false;
	if (image->fd < 0)
		return strcmp(image->path, key->path) == 0;
	if (key->time_ns && key->time_ns < h->checked_ns + CHECK_HOLDS_NS)
		return true;
	if (!image_file_stat(image->fd, &now) || now.size != image->size ||
	    now.mtime_ns != image->mtime_ns || now.ctime_ns != image->ctime_ns)
		return false;
	h->checked_ns = now_ns;
	return true;
}

static void set_identity(struct identity *ret, const struct image_key *key, enum image_kind kind,
			 uint64_t root)
{
	memset(ret, 0, sizeof(*ret));
	ret->kind = kind;
	if (kind == IMAGE_FILE) {
		ret->inode = key->inode;
		ret->device_major = key->device_major;
		ret->device_minor = key->device_minor;
		ret->root = root;
	} else if (kind != IMAGE_ANON) {
		memcpy(ret->path, key->path, strnlen(key->path, sizeof(ret->path) - 1));
	}
}

static struct held *image_table_find(const struct image_table *t, const struct identity *identity)
{
	struct held *h;

	HASH_FIND(hh, t->newest, identity, sizeof(*identity), h);
	return h;
}

/* Makes @image, which is taken over, the newest of its identity. Returns 0 or negative errno. */
static int image_table_insert(struct image_table *t, const struct identity *identity,
			      struct image *image, uint64_t now)
{
	struct held *before = image_table_find(t, identity);
	struct held *h = calloc(1, sizeof(*h));

	if (!h) {
		image_unref(image);
		return error_origin(-ENOMEM);
	}
	if (image->fd >= 0)
		image_table_make_room(t);
	if (before)
		held_replace(t, before);
	*h = (struct held){.identity = *identity,
			   .image = image,
			   .is_newest = true,
			   .retry_ns = now + RETRY_NS,
			   .checked_ns = now};
	HASH_ADD(hh, t->newest, identity, sizeof(h->identity), h);
	DL_APPEND(t->held, h);
	t->n_held++;
	t->n_open += image->fd >= 0;
	t->n_local += identity->root != 0;
	return 0;
}

static void image_key_set_root(const struct image_key *key, const struct mount_root *root)
{
	if (key->root_id && root)
		*key->root_id = root->id;
}

/*
 * The one for those whose root is the same. The root that is known may be that of the parent: where
 * the file is not known there, the process is looked at. *ret is NULL if there is none.
 */
static int image_table_find_local(struct image_table *t, const struct image_key *key,
				  enum image_kind kind, struct held **ret)
{
	uint64_t root_id = key->root_id ? *key->root_id : 0;
	cleanup(mount_root_unrefp) struct mount_root *root = NULL;
	struct identity identity;
	int r;

	*ret = NULL;
	if (kind != IMAGE_FILE || !t->n_local)
		return 0;
	set_identity(&identity, key, kind, root_id);
	if (root_id)
		*ret = image_table_find(t, &identity);
	if (*ret)
		return 0;
	r = mount_roots_get(t->roots, key->pid, &root);
	if (r || !root)
		return r;
	image_key_set_root(key, root);
	set_identity(&identity, key, kind, root->id);
	*ret = image_table_find(t, &identity);
	return 0;
}

static int image_table_find_shared(struct image_table *t, const struct image_key *key,
				   enum image_kind kind, struct held **ret)
{
	struct identity identity;

	set_identity(&identity, key, kind, 0);
	*ret = image_table_find(t, &identity);
	return 0;
}

/*
 * *ret is the one to be used as it is, or NULL; *ret_old: the one to be used if no file can be had.
 * Returns 0 or negative errno.
 */
static int image_table_choose(struct image_table *t, const struct image_key *key,
			      enum image_kind kind, uint64_t now, struct held **ret,
			      struct held **ret_old)
{
	static int (*const finds[])(struct image_table *, const struct image_key *, enum image_kind,
				    struct held **) = {image_table_find_shared,
						       image_table_find_local};
	struct held *h, *old = NULL;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(finds); i++) {
		r = finds[i](t, key, kind, &h);
		if (r)
			return r;
		if (!h || !held_is_unchanged(h, key, now))
			continue;
		if (kind != IMAGE_FILE || h->image->fd >= 0) {
			*ret = h;
			return 0;
		}
		old = h;
	}
	*ret_old = old;
	*ret = old && (t->proc_fd < 0 || now < old->retry_ns) ? old : NULL;
	return 0;
}

static int image_table_make_image(struct image_table *t, const struct image_key *key,
				  enum image_kind kind, struct held *old, uint64_t now,
				  struct image **ret)
{
	struct image *image = NULL;
	struct identity identity;
	bool is_local = false, is_avoided = false;
	int r;

	r = image_new(t, key, kind, &image);
	if (r)
		return r;
	if (kind == IMAGE_FILE && t->proc_fd >= 0)
		r = image_table_open_file(t, key, image, &is_local, &is_avoided);
	image_key_set_root(key, image->root);
	if (r || (old && image->fd < 0)) {
		image_unref(image);
		if (!r)
			old->retry_ns = now + RETRY_NS;
		*ret = r ? NULL : old->image;
		return r;
	}
	set_identity(&identity, key, kind, is_local ? image->root->id : 0);
	r = image_table_insert(t, &identity, image, now);
	if (r)
		return r;
	t->n_avoided += is_avoided;
	*ret = image;
	return 0;
}

int image_table_get(struct image_table *t, const struct image_key *key, struct image **ret)
{
	enum image_kind kind = image_key_kind(key);
	struct held *h, *old = NULL;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct image *image;
	int r;

	r = image_table_choose(t, key, kind, now, &h, &old);
	if (r)
		return r;
	if (h) {
		DL_DELETE(t->held, h);
		DL_APPEND(t->held, h);
		image = h->image;
	} else {
		r = image_table_make_image(t, key, kind, old, now, &image);
		if (r)
			return r;
	}
	if (image->is_avoided)
		atomic_store(&image->pid, key->pid);
	*ret = image_ref(image);
	return 0;
}

void image_table_sweep(struct image_table *t)
{
	struct held *h, *next;

	for (h = t->held; h; h = next) {
		next = h->next;
		if (atomic_load(&h->image->n_references) == 1)
			held_remove(t, h);
	}
	mount_roots_sweep(t->roots);
}

size_t image_table_count(const struct image_table *t)
{
	return t->n_held;
}

uint64_t image_table_avoided(const struct image_table *t)
{
	return t->n_avoided;
}

size_t image_table_bytes(const struct image_table *t)
{
	return t->n_held * (sizeof(struct held) + sizeof(struct image) + 64);
}

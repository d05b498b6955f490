/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/image_table.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>
#include <uthash.h>

#include "common/error.h"
#include "common/image/elf.h"
#include "daemon/resolve/mounts.h"

/* What two mappings of one file have in common; padding is zeroed before use. */
struct identity {
	uint64_t inode;
	uint32_t device_major, device_minor;
	uint64_t kind;
	char path[64]; /* images that are no file: the name; files: empty */
};

struct entry {
	struct identity identity;
	struct image *image; /* the newest image of this identity */
	UT_hash_handle hh;
};

/*
 * A device's last verdict. Numbers are used again after an unmount, so it does not hold for long;
 * and that it is not FUSE is kept only where nobody but root can unmount it: in our own namespace.
 */
struct device {
	uint32_t major, minor;
	bool is_fuse;
	uint64_t until_ns; /* CLOCK_MONOTONIC */
};

#define DEVICES_MAX    16
#define DEVICE_KEEP_NS UINT64_C(5000000000)
#define MOUNTS_BYTES   (1u << 20)

struct image_table {
	int proc_fd;
	uint64_t next_id;
	struct entry *entries;
	size_t n_entries;
	size_t n_open, max_open; /* files of images, counted at the last sweep and since */
	struct device devices[DEVICES_MAX];
	dev_t shared_memory; /* memfds and the like, which are mounted nowhere; 0: unknown */
	unsigned next_device;
	uint64_t n_avoided;
};

static dev_t device_of_shared_memory(void)
{
	cleanup(closep) int fd = memfd_create("profd", MFD_CLOEXEC);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? st.st_dev : 0;
}

int image_table_new(struct image_table **ret, int proc_fd)
{
	struct image_table *t = calloc(1, sizeof(*t));
	struct rlimit limit;

	if (!t)
		return error_origin(-ENOMEM);
	t->proc_fd = proc_fd;
	t->next_id = 1;
	t->shared_memory = device_of_shared_memory();
	/* The other half is for sockets, events and the files being written. */
	t->max_open = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 2 : 256;
	*ret = t;
	return 0;
}

static void entry_remove(struct image_table *t, struct entry *e)
{
	HASH_DEL(t->entries, e);
	image_unref(e->image);
	free(e);
	t->n_entries--;
}

void image_table_free(struct image_table *t)
{
	struct entry *e, *next;

	if (!t)
		return;
	HASH_ITER (hh, t->entries, e, next)
		entry_remove(t, e);
	free(t);
}

static enum image_kind kind_of(const struct image_key *key)
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

/* proc_pid_map_files(5): names are the mapping's bounds, in hexadecimal without leading zeros. */
static int open_map_file(struct image_table *t, const struct image_key *key)
{
	char name[96];

	snprintf(name, sizeof(name), "%d/map_files/%" PRIx64 "-%" PRIx64, key->pid, key->start,
		 key->end);
	return openat(t->proc_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static int open_below(int root_fd, const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
}

/* Below the process's root; a process that is gone most likely saw the same files as we do. */
static int open_path(struct image_table *t, const struct image_key *key)
{
	cleanup(closep) int root_fd = -1;
	char name[32];

	snprintf(name, sizeof(name), "%d/root", key->pid);
	root_fd = openat(t->proc_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -1;
	return open_below(root_fd, key->path);
}

/* What the mountinfo called @name, below /proc, says of @key's device. False: it cannot be read. */
static bool read_kind(struct image_table *t, const char *name, const struct image_key *key,
		      enum mounts_kind *ret)
{
	cleanup(freep) char *text = malloc(MOUNTS_BYTES);
	cleanup(closep) int fd = -1;
	size_t length = 0;

	fd = openat(t->proc_fd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !text)
		return false;
	while (length < MOUNTS_BYTES) {
		ssize_t n = read(fd, text + length, MOUNTS_BYTES - length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		length += (size_t)n;
	}
	*ret = mounts_kind(text, length, key->device_major, key->device_minor);
	return true;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void keep_verdict(struct image_table *t, const struct image_key *key, bool is_fuse,
			 uint64_t now)
{
	t->devices[t->next_device++ % DEVICES_MAX] = (struct device){
		.major = key->device_major,
		.minor = key->device_minor,
		.is_fuse = is_fuse,
		.until_ns = now + DEVICE_KEEP_NS,
	};
}

/*
 * By our own mounts, else by those of the process. A device in neither is taken for FUSE: mounts
 * that were detached, that the process's root does not reach, or that come behind very many others
 * are not found, and all that can be arranged.
 */
static bool looks_like_fuse(struct image_table *t, const struct image_key *key, uint64_t now)
{
	enum mounts_kind kind = MOUNTS_ABSENT;
	bool any;
	char name[32];

	if (makedev(key->device_major, key->device_minor) == t->shared_memory)
		return false;
	any = read_kind(t, "self/mountinfo", key, &kind);
	if (kind == MOUNTS_OTHER)
		keep_verdict(t, key, false, now);
	if (kind == MOUNTS_ABSENT) {
		snprintf(name, sizeof(name), "%d/mountinfo", key->pid);
		any |= read_kind(t, name, key, &kind);
	}
	if (kind == MOUNTS_FUSE)
		keep_verdict(t, key, true, now);
	return kind == MOUNTS_FUSE || (kind == MOUNTS_ABSENT && any);
}

/* FUSE has no block device, but for fuseblk, which only root can mount. */
static bool is_on_fuse(struct image_table *t, const struct image_key *key)
{
	uint64_t now = now_ns();

	if (key->device_major)
		return false;
	for (unsigned i = 0; i < DEVICES_MAX; i++) {
		const struct device *device = &t->devices[i];

		if (device->until_ns > now && device->major == key->device_major &&
		    device->minor == key->device_minor)
			return device->is_fuse;
	}
	return looks_like_fuse(t, key, now);
}

/* Opens the file behind @key; -1 if it cannot be had, which is an ordinary thing. */
static int open_file(struct image_table *t, const struct image_key *key, struct stat *ret_st)
{
	cleanup(closep) int fd = -1;

	if (t->proc_fd < 0)
		return -1;
	if (is_on_fuse(t, key)) {
		t->n_avoided++;
		return -1;
	}
	fd = open_map_file(t, key);
	if (fd < 0) {
		fd = open_path(t, key);
		if (fd < 0 || fstat(fd, ret_st) < 0 || ret_st->st_ino != key->inode)
			return -1;
	}
	if (fstat(fd, ret_st) < 0 || !S_ISREG(ret_st->st_mode))
		return -1;
	return steal_fd(&fd);
}

static uint64_t timespec_ns(struct timespec ts)
{
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int read_headers(struct image *image)
{
	struct elf_summary elf;
	int r = elf_summary_read(image->fd, &elf);

	return image_set_headers(image, r == ELF_SUMMARY_E_OK ? &elf : NULL);
}

static int image_new(struct image_table *t, const struct image_key *key, enum image_kind kind,
		     struct image **ret)
{
	cleanup(image_unrefp) struct image *image = calloc(1, sizeof(*image));
	struct stat st;
	int r;

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
	if (!image->path)
		return error_origin(-ENOMEM);
	if (kind == IMAGE_FILE && t->n_open < t->max_open) {
		image->fd = open_file(t, key, &st);
		if (image->fd >= 0) {
			t->n_open++;
			image->size = (uint64_t)st.st_size;
			image->mtime_ns = timespec_ns(st.st_mtim);
			image->ctime_ns = timespec_ns(st.st_ctim);
			r = read_headers(image);
			if (r)
				return r;
		}
	}
	*ret = steal_ptr(&image);
	return 0;
}

/* Whether the file is still what it was when the image was made; a changed one is a new image. */
static bool still_same(const struct image *image, const struct image_key *key)
{
	struct stat st;

	if (image->kind != IMAGE_FILE)
		return true;
	if (image->inode_generation && key->inode_generation &&
	    image->inode_generation != key->inode_generation)
		return false;
	if (image->fd < 0)
		return strcmp(image->path, key->path) == 0;
	return fstat(image->fd, &st) == 0 && (uint64_t)st.st_size == image->size &&
	       timespec_ns(st.st_mtim) == image->mtime_ns;
}

int image_table_get(struct image_table *t, const struct image_key *key, struct image **ret)
{
	enum image_kind kind = kind_of(key);
	struct identity identity;
	struct image *image = NULL;
	struct entry *e;
	int r;

	memset(&identity, 0, sizeof(identity));
	identity.kind = kind;
	if (kind == IMAGE_FILE) {
		identity.inode = key->inode;
		identity.device_major = key->device_major;
		identity.device_minor = key->device_minor;
	} else if (kind != IMAGE_ANON) {
		memcpy(identity.path, key->path, strnlen(key->path, sizeof(identity.path) - 1));
	}

	HASH_FIND(hh, t->entries, &identity, sizeof(identity), e);
	if (e && still_same(e->image, key)) {
		*ret = image_ref(e->image);
		return 0;
	}
	r = image_new(t, key, kind, &image);
	if (r)
		return r;
	if (!e) {
		e = calloc(1, sizeof(*e));
		if (!e) {
			image_unref(image);
			return error_origin(-ENOMEM);
		}
		e->identity = identity;
		HASH_ADD(hh, t->entries, identity, sizeof(e->identity), e);
		t->n_entries++;
	}
	image_unref(e->image);
	e->image = image;
	*ret = image_ref(image);
	return 0;
}

void image_table_sweep(struct image_table *t)
{
	struct entry *e, *next;

	t->n_open = 0;
	HASH_ITER (hh, t->entries, e, next) {
		if (atomic_load(&e->image->n_references) == 1)
			entry_remove(t, e);
		else
			t->n_open += e->image->fd >= 0;
	}
}

size_t image_table_count(const struct image_table *t)
{
	return t->n_entries;
}

uint64_t image_table_avoided(const struct image_table *t)
{
	return t->n_avoided;
}

size_t image_table_bytes(const struct image_table *t)
{
	return t->n_entries * (sizeof(struct entry) + sizeof(struct image) + 64);
}

/* SPDX-License-Identifier: MIT */
/* Names from image workers: the real one, and one that some files are too much for. */
#include <dlfcn.h>
#include <elf.h>
#include <inttypes.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/sanitized.h"
#include "common/worker/memory.h"
#include "daemon/output/symbols.h"
#include "daemon/resolve/file_copier.h"
#include "daemon/resolve/file_opener.h"
#include "daemon/resolve/mount_root.h"
#include "tests/support/own_text.h"
#include "tests/unit/output/fixture.h"
#include "tests/unit/resolve/fuse_fixture.h"

/* Long enough for a worker that is well, on a machine that is not. */
#define HOSTILE_DEADLINE (2 * NS)
#define DEBUG_DIR        "usr/lib/debug"

/* What is looked for: their names are in .symtab alone. */
static __attribute__((noinline, used)) int first_target(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static __attribute__((noinline, used)) int second_target(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 3;
}

/* The link-time address of something in this program. */
static uint64_t vaddr_of(int (*function)(int))
{
	assert_int_equal(function(1) > 0, 1);
	return (uint64_t)(uintptr_t)function - own_text_find().bias;
}

static struct symbols *open_symbols(const char *worker)
{
	const struct symbols_options options = {
		.max_bytes = 8 << 20,
		.worker_path = worker,
		.deadline_ns = worker ? HOSTILE_DEADLINE : 60 * NS,
	};
	struct symbols *s = NULL;

	assert_int_equal(symbols_new(&s, &options), 0);
	return s;
}

/* A copy of this program as an image. @mark: for picky_worker, or 0. */
static struct image *make_copy(struct fixture *f, uint64_t id, char mark)
{
	cleanup(freep) uint8_t *data = NULL;
	const char trailer[] = {'p', 'i', 'c', 'k', 'y', ':', mark};
	struct image *image = make_image(id, IMAGE_FILE, "/bin/copy", 0);
	size_t length;
	char name[32];

	data = slurp("/proc/self/exe", &length);
	data = realloc(data, length + sizeof(trailer));
	assert_non_null(data);
	memcpy(data + length, trailer, sizeof(trailer));
	snprintf(name, sizeof(name), "copy-%u", (unsigned)id);
	write_file(f->dir.fd, name, data, length + (mark ? sizeof(trailer) : 0));
	image->fd = openat(f->dir.fd, name, O_RDONLY | O_CLOEXEC);
	assert_true(image->fd >= 0);
	free(atomic_exchange(&image->headers, NULL));
	return image;
}

/* The name at @address; "" known to have none, NULL unknown. Good until the next call. */
static const char *any_name_at(struct symbols *s, struct image *image, uint64_t address)
{
	const struct symbols_names *names;
	const struct symbols_frame *frames;
	uint32_t n;

	assert_int_equal(symbols_prepare(s, image, &address, 1, false, &names), 0);
	if (!symbols_names_find(names, address, &frames, &n))
		return NULL;
	assert_in_range(n, 0, 1);
	return n ? symbols_names_text(names, frames[0].name) : "";
}

/* The same, but what is made of where the function starts is no name. */
static const char *name_at(struct symbols *s, struct image *image, uint64_t address)
{
	const char *name = any_name_at(s, image, address);

	return name && strncmp(name, "copy+0x", 7) == 0 ? "" : name;
}

static struct symbols_stats stats_of(const struct symbols *s)
{
	struct symbols_stats stats;

	symbols_get_stats(s, &stats);
	return stats;
}

/* Names of the program's own file, and an unchanged window asks for nothing. */
static void test_names(void **state)
{
	struct fixture *f = *state;
	cleanup(symbols_freep) struct symbols *s = open_symbols(NULL);
	cleanup(image_unrefp) struct image *image = make_copy(f, 10, 0);
	uint64_t addresses[] = {0, vaddr_of(first_target), vaddr_of(second_target)};
	const struct symbols_names *names;
	struct symbols_stats before;

	if (addresses[1] > addresses[2]) {
		addresses[1] = vaddr_of(second_target);
		addresses[2] = vaddr_of(first_target);
	}
	for (unsigned i = 0; i < 2; i++) {
		symbols_begin_window(s);
		assert_int_equal(symbols_prepare(s, image, addresses, 3, false, &names), 0);
		assert_string_equal(name_at(s, image, vaddr_of(first_target)), "first_target");
		assert_string_equal(name_at(s, image, vaddr_of(second_target)), "second_target");
		assert_string_equal(name_at(s, image, 0), ""); /* in the ELF header */
		/* One entry answers every address of the function. */
		assert_string_equal(name_at(s, image, vaddr_of(first_target) + 1), "first_target");
		if (i == 0)
			before = stats_of(s);
	}
	assert_int_equal(before.images_asked, 1);
	assert_int_equal(before.addresses_asked, 3);
	assert_int_equal(stats_of(s).addresses_asked, 3);
	assert_int_equal(stats_of(s).images_asked, 1);
	assert_int_equal(stats_of(s).workers_died, 0);
	assert_string_equal(stats_of(s).trouble, "");
}

/* Lines are other answers than functions; every frame has its place. */
static void test_lines(void **state)
{
	struct fixture *f = *state;
	cleanup(symbols_freep) struct symbols *s = open_symbols(NULL);
	cleanup(image_unrefp) struct image *image = make_copy(f, 10, 0);
	uint64_t addresses[2] = {vaddr_of(first_target), vaddr_of(first_target) + 1};
	const struct symbols_frame *frames;
	const struct symbols_names *names;
	uint32_t n;

	assert_string_equal(name_at(s, image, addresses[0]), "first_target");
	assert_int_equal(symbols_prepare(s, image, addresses, 2, true, &names), 0);
	assert_int_equal(stats_of(s).addresses_asked, 3);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(symbols_names_find(names, addresses[i], &frames, &n));
		assert_int_equal(n, 1);
		assert_string_equal(symbols_names_text(names, frames[0].name), "first_target");
		/* Builds without debug information have no lines. */
		if (frames[0].line)
			assert_non_null(strstr(symbols_names_text(names, frames[0].file),
					       "test_symbols.c"));
	}
	assert_false(symbols_names_find(names, addresses[1] + 1, &frames, &n));
}

static void test_headers(void **state)
{
	struct fixture *f = *state;
	cleanup(symbols_freep) struct symbols *s = open_symbols(NULL);
	cleanup(image_unrefp) struct image *image = make_copy(f, 10, 0);
	cleanup(image_unrefp) struct image *text = make_copy(f, 11, 0);

	assert_int_equal(symbols_headers(s, image), 0);
	assert_non_null(image_elf(image));
	assert_int_equal(image_elf(image)->pointer_bytes, sizeof(void *));
	assert_true(image_elf(image)->n_segments > 1);
	write_text(f->dir.fd, "copy-11",
		   "no ELF file at all, and longer than a header of one "
		   "would be, so that it is read to the end");
	assert_int_equal(symbols_headers(s, text), 0);
	assert_true(image_has_headers(text));
	assert_null(image_elf(text));
	assert_null(name_at(s, text, 0x1000));
	/* Nothing to read: nothing found out. */
	assert_int_equal(symbols_headers(s, f->anon), 0);
	assert_false(image_has_headers(f->anon));
}

/* The least recently used image goes when the bound is passed, and is asked for again. */
static void test_bound(void **state)
{
	struct fixture *f = *state;
	cleanup(symbols_freep) struct symbols *s = open_symbols(NULL);
	cleanup(image_unrefp) struct image *a = make_copy(f, 10, 0);
	cleanup(image_unrefp) struct image *b = make_copy(f, 11, 0);
	uint64_t address = vaddr_of(first_target);

	assert_string_equal(name_at(s, a, address), "first_target");
	assert_string_equal(name_at(s, b, address), "first_target");
	assert_string_equal(name_at(s, a, address), "first_target");
	symbols_set_max(s, symbols_bytes(s) - 1);
	assert_string_equal(name_at(s, a, address), "first_target");
	assert_int_equal(stats_of(s).addresses_asked, 2);
	assert_string_equal(name_at(s, b, address), "first_target");
	assert_int_equal(stats_of(s).addresses_asked, 3);
	symbols_set_max(s, 0);
	assert_int_equal(symbols_bytes(s), 0);
	/* One image stays, however big, until the next is needed. */
	assert_string_equal(name_at(s, a, address), "first_target");
	assert_string_equal(name_at(s, b, address), "first_target");
}

/* While memory is short, half of the bound is kept. */
static void test_short_memory(void **state)
{
	struct fixture *f = *state;
	struct memory_budget budget = {.bytes = UINT64_C(1) << 40};
	const struct symbols_options options = {.max_bytes = 8 << 20, .budget = &budget};
	cleanup(symbols_freep) struct symbols *s = NULL;
	cleanup(image_unrefp) struct image *image = make_copy(f, 10, 0);
	size_t bytes;

	assert_int_equal(symbols_new(&s, &options), 0);
	assert_string_equal(name_at(s, image, vaddr_of(first_target)), "first_target");
	bytes = symbols_bytes(s);
	symbols_set_max(s, bytes);
	symbols_begin_window(s);
	assert_int_equal(symbols_bytes(s), bytes);
	budget.other_bytes = budget.bytes;
	symbols_begin_window(s);
	assert_true(symbols_bytes(s) <= bytes / 2);
}

/* Files that a worker dies of, hangs over or lies about are bad; all others have their names. */
static void test_hostile(void **state)
{
	static const char marks[] = "dlhi";
	struct fixture *f = *state;
	cleanup(symbols_freep) struct symbols *s = open_symbols(TEST_PROGRAMS "/picky_worker");
	uint64_t address = vaddr_of(first_target);

	for (unsigned i = 0; marks[i]; i++) {
		cleanup(image_unrefp) struct image *bad = make_copy(f, 20 + i, marks[i]);
		cleanup(image_unrefp) struct image *good = make_copy(f, 40 + i, 0);
		uint64_t asked;

		if (marks[i] == 'i')
			assert_int_equal(symbols_headers(s, bad), 0);
		assert_null(name_at(s, bad, address));
		assert_true(bad->is_bad);
		asked = stats_of(s).addresses_asked;
		assert_null(name_at(s, bad, address));
		assert_int_equal(symbols_headers(s, bad), 0);
		assert_int_equal(stats_of(s).addresses_asked, asked);
		/* At once, in the same window. */
		assert_string_equal(name_at(s, good, address), "first_target");
		assert_false(good->is_bad);
		assert_int_equal(stats_of(s).bad_images, i + 1);
		assert_int_equal(stats_of(s).workers_died, i + 1);
		assert_string_equal(stats_of(s).last_bad_image, "/bin/copy");
	}
	assert_string_equal(stats_of(s).trouble, "");
}

/* A window loses two deadlines, and no more; the next one has its own. */
static void test_what_a_window_loses(void **state)
{
	struct fixture *f = *state;
	cleanup(symbols_freep) struct symbols *s = open_symbols(TEST_PROGRAMS "/picky_worker");
	cleanup(image_unrefp) struct image *good = make_copy(f, 40, 0);
	uint64_t address = vaddr_of(first_target);

	for (unsigned i = 0; i < 3; i++) {
		cleanup(image_unrefp) struct image *bad = make_copy(f, 20 + i, 'h');

		assert_null(name_at(s, bad, address));
		assert_int_equal(bad->is_bad, i < 2);
	}
	assert_null(name_at(s, good, address));
	symbols_begin_window(s);
	assert_string_equal(name_at(s, good, address), "first_target");
}

/* Answers that are sound and wrong stay within themselves. */
static void test_wrong(void **state)
{
	struct fixture *f = *state;
	cleanup(symbols_freep) struct symbols *s = open_symbols(TEST_PROGRAMS "/picky_worker");
	cleanup(image_unrefp) struct image *wrong = make_copy(f, 20, 'w');
	uint64_t addresses[3] = {0x1000, 0x1006, 0x1020};
	const struct symbols_names *names;

	assert_int_equal(symbols_prepare(s, wrong, addresses, 3, false, &names), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_string_equal(name_at(s, wrong, addresses[i]), "wrong");
	assert_int_equal(stats_of(s).addresses_asked, 3);
}

/* Without a worker there are no names, now; nothing is to blame. */
static void test_no_worker(void **state)
{
	struct fixture *f = *state;
	cleanup(symbols_freep) struct symbols *s = open_symbols("/nonexistent/worker");
	cleanup(image_unrefp) struct image *image = make_copy(f, 10, 0);

	assert_int_equal(symbols_headers(s, image), 0);
	assert_false(image_has_headers(image));
	assert_null(name_at(s, image, vaddr_of(first_target)));
	assert_false(image->is_bad);
	assert_int_equal(stats_of(s).bad_images, 0);
	assert_string_not_equal(stats_of(s).trouble, "");
	assert_null(symbols_vdso(s));
}

/* Takes .symtab away from the copy of @image, as strip(1) does. */
static void strip_copy(struct fixture *f, const char *name)
{
	char path[512];
	cleanup(freep) uint8_t *data = NULL;
	ElfW(Ehdr) * header;
	ElfW(Shdr) * sections;
	size_t length;

	snprintf(path, sizeof(path), "%s/%s", f->path, name);
	data = slurp(path, &length);
	header = (void *)data;
	sections = (void *)(data + header->e_shoff);
	for (unsigned i = 0; i < header->e_shnum; i++)
		if (sections[i].sh_type == SHT_SYMTAB)
			sections[i].sh_type = SHT_PROGBITS;
	write_file(f->dir.fd, name, data, length);
}

static void build_id_of(struct symbols *s, struct image *image, struct symbols_build_id *ret)
{
	assert_int_equal(symbols_headers(s, image), 0);
	ret->length = image_elf(image)->build_id_length;
	assert_int_not_equal(ret->length, 0);
	memcpy(ret->bytes, image_elf(image)->build_id, sizeof(ret->bytes));
}

/* Where the debug file of @id lies below @dir. */
static void debug_path(const char *dir, const struct symbols_build_id *id, char path[128])
{
	char hex[3];

	snprintf(path, 128, "%s/.build-id/", dir);
	for (uint32_t i = 0; i < id->length; i++) {
		snprintf(hex, sizeof(hex), "%02x", id->bytes[i]);
		strcat(path, hex);
		if (i == 0)
			strcat(path, "/");
	}
	strcat(path, ".debug");
}

static void put_debug_file(struct fixture *f, const char *dir, const struct symbols_build_id *id,
			   const char *from)
{
	cleanup(freep) uint8_t *data = NULL;
	char path[128];
	size_t length;

	debug_path(dir, id, path);
	data = slurp(from, &length);
	write_file(f->dir.fd, path, data, length);
}

/* A stripped image has the names of its debug file in its own root, if the build id is its own. */
static void test_debug_file(void **state)
{
	struct fixture *f = *state;
	struct mount_root root = {.n_references = 10, .fd = f->dir.fd};
	uint64_t address = vaddr_of(first_target);
	struct symbols_build_id id;

	for (unsigned i = 0; i < 3; i++) {
		cleanup(symbols_freep) struct symbols *s = open_symbols(NULL);
		cleanup(image_unrefp) struct image *image = make_copy(f, 10 + i, 0);
		char name[32], start[32];

		snprintf(name, sizeof(name), "copy-%u", 10 + i);
		snprintf(start, sizeof(start), "copy+0x%" PRIx64, address);
		strip_copy(f, name);
		build_id_of(s, image, &id);
		if (i == 1)
			put_debug_file(f, DEBUG_DIR, &id, "/bin/true");
		else if (i == 2)
			put_debug_file(f, DEBUG_DIR, &id, "/proc/self/exe");
		image->root = &root;
		if (i < 2)
			assert_string_equal(any_name_at(s, image, address + 1), start);
		else
			assert_string_equal(name_at(s, image, address), "first_target");
	}
}

/*
 * The machine's debug files go before those of the root that an image was seen in, and what anybody
 * may have made names only the images of who made it.
 */
static void test_debug_file_of_host(void **state)
{
	/* Who owns the debug file there, and whether it is the right one; which names are there. */
	static const struct {
		bool has_host, host_fits, is_seen, is_ours, has_own;
		uid_t owner, image_owner;
		bool want;
	} rows[] = {
		{true, true, false, false, false, 0, 0, true},
		{true, true, true, false, false, 0, 0, true},
		{true, false, true, true, true, 1000, 0, true},
		{true, false, true, false, true, 1000, 0, false},
		{true, false, true, false, true, 1000, 1000, true},
		{true, false, true, false, true, 0, 1000, true},
		{false, false, true, false, true, 1000, 0, false},
		{false, false, false, false, false, 0, 0, false},
	};
	struct fixture *f = *state;
	uint64_t address = vaddr_of(first_target);

	if (geteuid() != 0)
		skip(); /* only root can give a file to another user: chown(2) */
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mount_root host = {.n_references = 10, .is_ours = true, .fd = -1};
		struct mount_root seen = {.n_references = 10, .is_ours = rows[i].is_ours, .fd = -1};
		struct symbols_options options = {.max_bytes = 8 << 20, .deadline_ns = 60 * NS};
		cleanup(symbols_freep) struct symbols *s = NULL;
		cleanup(image_unrefp) struct image *image = make_copy(f, 20 + i, 0);
		struct symbols_build_id id;
		char name[32], path[160];

		snprintf(name, sizeof(name), "copy-%u", 20 + (unsigned)i);
		strip_copy(f, name);
		assert_int_equal(fchownat(f->dir.fd, name, rows[i].image_owner, 0, 0), 0);
		options.host_root = rows[i].has_host ? &host : NULL;
		assert_int_equal(symbols_new(&s, &options), 0);
		build_id_of(s, image, &id);
		put_debug_file(f, "host/" DEBUG_DIR, &id,
			       rows[i].host_fits ? "/proc/self/exe" : "/bin/true");
		debug_path("seen/" DEBUG_DIR, &id, path);
		if (rows[i].has_own) {
			put_debug_file(f, "seen/" DEBUG_DIR, &id, "/proc/self/exe");
			assert_int_equal(fchownat(f->dir.fd, path, rows[i].owner, 0, 0), 0);
		} else {
			put_debug_file(f, "seen/" DEBUG_DIR, &id, "/bin/true");
			assert_int_equal(unlinkat(f->dir.fd, path, 0), 0);
		}
		host.fd = openat(f->dir.fd, "host", O_PATH | O_CLOEXEC);
		seen.fd = openat(f->dir.fd, "seen", O_PATH | O_CLOEXEC);
		image->root = rows[i].is_seen ? &seen : NULL;
		if (rows[i].want)
			assert_string_equal(name_at(s, image, address), "first_target");
		else
			assert_string_not_equal(name_at(s, image, address), "first_target");
		close(host.fd);
		close(seen.fd);
	}
}

/* Debug files are opened by somebody who may wait in our place, and not again where he had to. */
static void test_slow_dir(void **state)
{
	struct fixture *f = *state;
	struct mount_root root = {.n_references = 10, .fd = f->dir.fd, .is_ours = true};
	cleanup(file_opener_freep) struct file_opener *opener = NULL;
	struct symbols_options options = {.max_bytes = 8 << 20, .deadline_ns = 60 * NS};
	cleanup(symbols_freep) struct symbols *s = NULL;
	cleanup(image_unrefp) struct image *first = make_copy(f, 10, 0);
	cleanup(image_unrefp) struct image *second = make_copy(f, 11, 0);
	cleanup(image_unrefp) struct image *third = make_copy(f, 12, 0);
	cleanup(image_unrefp) struct image *fourth = make_copy(f, 13, 0);
	uint64_t address = vaddr_of(first_target);
	struct symbols_build_id id;
	pid_t keeper;

	assert_int_equal(file_opener_new(&opener, 2 * NS), 0);
	keeper = child_of(getpid(), 0);
	options.opener = opener;
	assert_int_equal(symbols_new(&s, &options), 0);
	strip_copy(f, "copy-10");
	strip_copy(f, "copy-11");
	strip_copy(f, "copy-12");
	strip_copy(f, "copy-13");
	build_id_of(s, first, &id);
	put_debug_file(f, DEBUG_DIR, &id, "/proc/self/exe");
	first->root = second->root = third->root = fourth->root = &root;
	make(servant_of(keeper, 0), SIGSTOP, 'T');
	assert_string_equal(name_at(s, first, address), "");
	assert_int_equal(stats_of(s).slow_directories, 1);
	assert_string_equal(name_at(s, second, address), "");
	assert_int_equal(stats_of(s).slow_directories, 1);
	/* Later, he who took his place opens it. */
	root.slow_until_ns[MOUNT_ROOT_DEBUG_DIR] = 0;
	symbols_begin_window(s);
	assert_string_equal(name_at(s, third, address), "first_target");
	assert_string_equal(name_at(s, second, address), "first_target");
	/* Where anybody may have mounted FUSE, nobody looks at all. */
	root.is_ours = false;
	root.may_have_fuse = true;
	assert_string_equal(name_at(s, fourth, address), "");
}

/* A copy of this program that profd does not open. */
static struct image *make_avoided(struct fixture *f, uint64_t id, struct mount_root *root)
{
	struct image *image = make_copy(f, id, 0);
	struct stat st;

	assert_int_equal(fstat(image->fd, &st), 0);
	image->inode = st.st_ino;
	image->device_major = major(st.st_dev);
	image->device_minor = minor(st.st_dev);
	close(image->fd);
	image->fd = -1;
	image->is_avoided = true;
	image->root = root;
	free((char *)image->path);
	assert_true(asprintf((char **)&image->path, "/copy-%u", (unsigned)id) > 0);
	return image;
}

/* Names of copies; a file system that made us wait is left alone for a while. */
static void test_copies_of_avoided_images(void **state)
{
	struct fixture *f = *state;
	struct mount_root root = {
		.n_references = 20, .fd = f->dir.fd, .user_ns_fd = -1, .is_ours = true};
	cleanup(file_copier_freep) struct file_copier *copier = NULL;
	struct symbols_options options = {.max_bytes = 8 << 20, .deadline_ns = 60 * NS};
	cleanup(symbols_freep) struct symbols *s = NULL;
	uint64_t address = vaddr_of(first_target);
	pid_t keeper, servant;

	assert_int_equal(file_copier_new(&copier, 3 * NS), 0); /* a busy machine's children, too */
	keeper = child_of(getpid(), 0);
	options.copier = copier;
	assert_int_equal(symbols_new(&s, &options), 0);
	for (uint64_t id = 10; id < 14; id++) {
		cleanup(image_unrefp) struct image *image = make_avoided(f, id, &root);

		symbols_begin_window(s);
		/* 10: answered; 11: nowhere; 12: waited for in vain; 13: not asked for. */
		root.is_ours = id != 11;
		servant = servant_of(keeper, 0);
		if (id == 12)
			make(servant, SIGSTOP, 'T');
		assert_int_equal(symbols_headers(s, image), 0);
		assert_int_equal(image_has_headers(image), id == 10);
		if (id == 10)
			assert_string_equal(name_at(s, image, address), "first_target");
		if (id == 12)
			await_end(servant);
	}
}

/* A file on FUSE of somebody else, that profd does not open. */
static struct image *make_served(uint64_t id, const struct fuse_world *fuse,
				 struct mount_root *root, const char *path)
{
	struct image *image = make_image(id, IMAGE_FILE, path, 0);

	free(atomic_exchange(&image->headers, NULL));
	image->inode = FUSE_FILE;
	image->device_major = fuse->device_major;
	image->device_minor = fuse->device_minor;
	image->is_avoided = true;
	image->root = root;
	*root = (struct mount_root){.n_references = 20,
				    .fd = fuse->root_fd,
				    .user_ns_fd = fuse->user_ns_fd};
	return image;
}

/* Children that FUSE keeps: one of each file system and two of a user, until it lets go. */
static void test_children_left_behind(void **state)
{
	struct fixture *f = *state;
	cleanup(file_copier_freep) struct file_copier *copier = NULL;
	struct symbols_options options = {.max_bytes = 8 << 20, .deadline_ns = 60 * NS};
	cleanup(symbols_freep) struct symbols *s = NULL;
	struct fuse_world worlds[3] = {0};
	struct mount_root roots[3];
	unsigned n_left = 0;

	if (HAS_THREAD_SANITIZER)
		return; /* no FUSE without a user namespace; other lanes run this */
	assert_int_equal(file_copier_new(&copier, 2 * NS), 0); /* to come as far as FUSE */
	options.copier = copier;
	assert_int_equal(symbols_new(&s, &options), 0);
	for (unsigned i = 0; i < 6; i++) {
		unsigned at = i / 2; /* each is asked twice */
		cleanup(image_unrefp) struct image *image = NULL;
		char folder[160], file[176];

		snprintf(folder, sizeof(folder), "%s/fuse-%u", f->dir.path, at);
		snprintf(file, sizeof(file), "%s/file", folder);
		if (i % 2 == 0) {
			assert_int_equal(mkdir(folder, 0755), 0);
			if (!fuse_start(&worlds[at], folder, FUSE_READ, 6))
				skip();
		}
		image = make_served(10 + i, &worlds[at], &roots[at], file);
		symbols_begin_window(s);
		assert_int_equal(symbols_headers(s, image), 0);
		n_left += i % 2 == 0 && at < 2;
		assert_int_equal(stats_of(s).copiers_left, n_left);
		if (i % 2 == 0 && at < 2)
			assert_int_equal(stats_of(s).left_device_minor, image->device_minor);
	}
	for (unsigned i = 0; i < 3; i++)
		fuse_stop(&worlds[i]);
	do
		symbols_begin_window(s);
	while (stats_of(s).copiers_left);
}

/* Where no file can be had, functions by what a process has mapped of it. */
static void test_names_of_what_is_mapped(void **state)
{
	struct fixture *f = *state;
	struct mount_root root = {
		.n_references = 20, .fd = f->dir.fd, .user_ns_fd = -1, .is_ours = true};
	cleanup(file_copier_freep) struct file_copier *copier = NULL;
	struct symbols_options options = {.max_bytes = 8 << 20, .deadline_ns = 60 * NS};
	cleanup(symbols_freep) struct symbols *s = NULL;
	cleanup(image_unrefp) struct image *image = make_avoided(f, 10, &root);
	cleanup(image_unrefp) struct image *libc = make_avoided(f, 11, &root);
	uint64_t address = vaddr_of(first_target);
	char wanted[64];
	Dl_info info;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* Yama may be there, or not */
	assert_int_equal(file_copier_new(&copier, 60 * NS), 0);
	options.copier = copier;
	assert_int_equal(symbols_new(&s, &options), 0);
	assert_true(own_text_file((uintptr_t)first_target, &image->device_major,
				  &image->device_minor, &image->inode));
	image->pid = getpid();
	assert_int_equal(symbols_headers(s, image), 0);
	assert_true(image_elf(image) && image_elf(image)->build_id_length);
	snprintf(wanted, sizeof(wanted), "copy-10+0x%" PRIx64, address);
	assert_string_equal(any_name_at(s, image, address), wanted);

	/* What others may call has its name in what is mapped. */
	assert_true(own_text_file((uintptr_t)a64l, &libc->device_major, &libc->device_minor,
				  &libc->inode));
	assert_true(dladdr((void *)(uintptr_t)a64l, &info));
	libc->pid = getpid();
	assert_int_equal(symbols_headers(s, libc), 0);
	address = (uintptr_t)a64l - (uintptr_t)info.dli_fbase;
	assert_string_equal(any_name_at(s, libc, address), "a64l");
}

/* A copy without .symtab; *ret_id: its build id. */
static struct image *make_stripped(struct fixture *f, uint64_t id, struct symbols *s,
				   struct symbols_build_id *ret_id)
{
	struct image *image = make_copy(f, id, 0);
	char name[32];

	snprintf(name, sizeof(name), "copy-%u", (unsigned)id);
	strip_copy(f, name);
	build_id_of(s, image, ret_id);
	return image;
}

static uint32_t n_wanted(const struct symbols *s)
{
	struct symbols_wanted wanted;

	symbols_get_wanted(s, &wanted);
	return wanted.n;
}

static bool is_wanted(const struct symbols *s, uint32_t at, const struct symbols_build_id *id)
{
	struct symbols_wanted wanted;

	symbols_get_wanted(s, &wanted);
	return at < wanted.n && wanted.ids[at].length == id->length &&
	       memcmp(wanted.ids[at].bytes, id->bytes, id->length) == 0;
}

/* What is nowhere here is wanted, and has its names in the window after it came. */
static void test_fetched(void **state)
{
	struct fixture *f = *state;
	cleanup(symbols_freep) struct symbols *s = open_symbols(NULL);
	uint64_t address = vaddr_of(first_target);
	struct symbols_build_id id;
	cleanup(image_unrefp) struct image *image = make_stripped(f, 10, s, &id);
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s/fetched", f->path);
	assert_string_equal(name_at(s, image, address), "");
	assert_int_equal(n_wanted(s), 0); /* nobody fetches */
	symbols_set_fetched(s, dir);
	assert_string_equal(name_at(s, image, address), "");
	assert_true(is_wanted(s, 0, &id));
	assert_int_equal(n_wanted(s), 1);
	put_debug_file(f, "fetched", &id, "/proc/self/exe");
	assert_string_equal(name_at(s, image, address), ""); /* looked for once a window */
	symbols_begin_window(s);
	assert_string_equal(name_at(s, image, address), "first_target");
	assert_int_equal(n_wanted(s), 0);
	symbols_set_fetched(s, NULL);
	assert_string_equal(name_at(s, image, address), "");
	assert_int_equal(n_wanted(s), 0);
}

/* A file that came and is not the right one is neither used nor asked for again, nor read twice. */
static void test_fetched_wrong(void **state)
{
	struct fixture *f = *state;
	cleanup(symbols_freep) struct symbols *s = open_symbols(NULL);
	uint64_t address = vaddr_of(first_target), asked;
	struct symbols_build_id id;
	cleanup(image_unrefp) struct image *image = make_stripped(f, 10, s, &id);
	char dir[PATH_MAX], path[128];

	snprintf(dir, sizeof(dir), "%s/fetched", f->path);
	symbols_set_fetched(s, dir);
	/* Something that blocks when it is opened is no file. */
	put_debug_file(f, "fetched", &id, "/bin/true");
	debug_path("fetched", &id, path);
	assert_int_equal(unlinkat(f->dir.fd, path, 0), 0);
	assert_int_equal(mkfifoat(f->dir.fd, path, 0600), 0);
	assert_string_equal(name_at(s, image, address), "");
	assert_true(is_wanted(s, 0, &id));
	assert_int_equal(unlinkat(f->dir.fd, path, 0), 0);
	put_debug_file(f, "fetched", &id, "/bin/true");
	symbols_begin_window(s);
	assert_string_equal(name_at(s, image, address), "");
	assert_int_equal(n_wanted(s), 0);
	asked = stats_of(s).images_asked;
	symbols_begin_window(s);
	assert_string_equal(name_at(s, image, address), "");
	assert_int_equal(stats_of(s).images_asked, asked);
}

/* One id once, the last needed first; what has names of its own is not wanted. */
static void test_wanted(void **state)
{
	struct fixture *f = *state;
	cleanup(symbols_freep) struct symbols *s = open_symbols(NULL);
	uint64_t address = vaddr_of(first_target);
	struct symbols_build_id id, other;
	cleanup(image_unrefp) struct image *named = make_copy(f, 9, 0);
	cleanup(image_unrefp) struct image *image = make_stripped(f, 10, s, &id);
	cleanup(image_unrefp) struct image *twin = make_stripped(f, 11, s, &id);
	cleanup(image_unrefp) struct image *last = make_image(12, IMAGE_FILE, "/usr/bin/x", 0);
	const struct symbols_names *ignored;

	symbols_set_fetched(s, "/nowhere");
	assert_string_equal(name_at(s, named, address), "first_target");
	assert_int_equal(n_wanted(s), 0);
	assert_string_equal(name_at(s, image, address), "");
	assert_string_equal(name_at(s, twin, address), "");
	assert_int_equal(n_wanted(s), 1);
	/* Debian strips what it ships. */
	last->fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
	assert_true(last->fd >= 0);
	free(atomic_exchange(&last->headers, NULL));
	address = 0x2000;
	assert_int_equal(symbols_prepare(s, last, &address, 1, false, &ignored), 0);
	build_id_of(s, last, &other);
	assert_true(is_wanted(s, 0, &other));
	assert_true(is_wanted(s, 1, &id));
	assert_int_equal(n_wanted(s), 2);
	/* Needed again, though nothing has to be asked. */
	assert_string_equal(name_at(s, image, vaddr_of(first_target)), "");
	assert_true(is_wanted(s, 0, &id));
}

#define T(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_names),
		T(test_lines),
		T(test_headers),
		T(test_bound),
		T(test_short_memory),
		T(test_hostile),
		T(test_what_a_window_loses),
		T(test_wrong),
		T(test_no_worker),
		T(test_debug_file),
		T(test_debug_file_of_host),
		T(test_slow_dir),
		T(test_copies_of_avoided_images),
		T(test_children_left_behind),
		T(test_names_of_what_is_mapped),
		T(test_fetched),
		T(test_fetched_wrong),
		T(test_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

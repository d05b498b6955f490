/* SPDX-License-Identifier: MIT */
/* Names from debug files: the machine's, those of an image's own root, and what was fetched. */
#include <elf.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "daemon/resolve/file_opener.h"
#include "daemon/resolve/mount_root.h"
#include "tests/unit/output/symbols_fixture.h"
#include "tests/unit/resolve/fuse_fixture.h"

#define DEBUG_DIR "usr/lib/debug"

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

/* The path of the debug file of @id below @dir. */
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
		T(test_debug_file), T(test_debug_file_of_host), T(test_slow_dir),
		T(test_fetched),    T(test_fetched_wrong),      T(test_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Names of images that profd does not open: by copies of others, and by what is mapped. */
#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/sanitized.h"
#include "daemon/resolve/file_copier.h"
#include "daemon/resolve/mount_root.h"
#include "tests/unit/output/symbols_fixture.h"
#include "tests/unit/resolve/fuse_fixture.h"

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

/* Children that FUSE keeps: one of each file system and four of ours, until it lets go. */
static void test_children_left_behind(void **state)
{
	struct fixture *f = *state;
	cleanup(file_copier_freep) struct file_copier *copier = NULL;
	struct symbols_options options = {.max_bytes = 8 << 20, .deadline_ns = 60 * NS};
	cleanup(symbols_freep) struct symbols *s = NULL;
	struct fuse_world worlds[5] = {0};
	struct mount_root roots[5];
	unsigned n_left = 0;

	if (HAS_THREAD_SANITIZER)
		return; /* no FUSE without a user namespace; other lanes run this */
	assert_int_equal(file_copier_new(&copier, 2 * NS), 0); /* to come as far as FUSE */
	options.copier = copier;
	assert_int_equal(symbols_new(&s, &options), 0);
	for (unsigned i = 0; i < 10; i++) {
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
		n_left += i % 2 == 0 && at < 4;
		assert_int_equal(stats_of(s).copiers_left, n_left);
		if (i % 2 == 0 && at < 4)
			assert_int_equal(stats_of(s).left_device_minor, image->device_minor);
	}
	for (unsigned i = 0; i < 5; i++)
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

#define T(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_copies_of_avoided_images),
		T(test_children_left_behind),
		T(test_names_of_what_is_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

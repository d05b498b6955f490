/* SPDX-License-Identifier: MIT */
/* Images out of a folder that stands for /proc. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/resolve/image_table.h"

#define PID 7

struct fixture {
	char folder[64];
	int fd;
	struct stat file;
	struct image_table *images;
};

static void write_file(const struct fixture *f, const char *name, const char *text)
{
	int fd = openat(f->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* A process whose root is a folder with one file, "program". */
static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(f->folder, "/tmp/test_image_table.XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	f->fd = open(f->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->fd >= 0);
	assert_int_equal(mkdirat(f->fd, "7", 0700), 0);
	assert_int_equal(mkdirat(f->fd, "7/root", 0700), 0);
	write_file(f, "7/root/program", "no ELF");
	assert_int_equal(fstatat(f->fd, "7/root/program", &f->file, 0), 0);
	assert_int_equal(image_table_new(&f->images, f->fd), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	static const char *const names[] = {"7/mountinfo", "7/root/program", "7/root/other"};

	image_table_free(f->images);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unlinkat(f->fd, names[i], 0);
	unlinkat(f->fd, "7/root", AT_REMOVEDIR);
	unlinkat(f->fd, "7", AT_REMOVEDIR);
	rmdir(f->folder);
	close(f->fd);
	free(f);
	return 0;
}

static struct image *get(struct fixture *f, const char *path, uint32_t device_minor, uint64_t inode)
{
	const struct image_key key = {.path = path,
				      .device_minor = device_minor,
				      .inode = inode,
				      .pid = PID,
				      .start = 0x1000,
				      .end = 0x2000};
	struct image *image;

	assert_int_equal(image_table_get(f->images, &key, &image), 0);
	return image;
}

static void test_only_the_inode_that_was_mapped(void **state)
{
	struct fixture *f = *state;
	cleanup(image_unrefp) struct image *same = get(f, "/program", 20, f->file.st_ino);
	cleanup(image_unrefp) struct image *again = get(f, "/program", 20, f->file.st_ino);
	cleanup(image_unrefp) struct image *other = get(f, "/program", 20, f->file.st_ino + 1);

	assert_ptr_equal(same, again);
	assert_true(same->fd >= 0);
	assert_true(image_has_headers(same));
	assert_null(image_elf(same));
	assert_ptr_not_equal(same, other);
	assert_int_equal(other->fd, -1);
}

static void test_files_on_fuse_are_left_alone(void **state)
{
	struct fixture *f = *state;
	cleanup(image_unrefp) struct image *fuse = NULL, *other = NULL, *again = NULL;
	struct stat st;

	write_file(f, "7/root/other", "x");
	assert_int_equal(fstatat(f->fd, "7/root/other", &st, 0), 0);
	write_file(f, "7/mountinfo",
		   "1 0 0:20 / / rw - ext4 x rw\n2 1 0:21 / /m rw - fuse.sshfs x rw\n");
	fuse = get(f, "/program", 21, f->file.st_ino);
	assert_int_equal(fuse->fd, -1);
	assert_int_equal(image_table_avoided(f->images), 1);
	other = get(f, "/program", 20, f->file.st_ino);
	assert_true(other->fd >= 0);
	/* The verdict holds for the next file of that device. */
	unlinkat(f->fd, "7/mountinfo", 0);
	again = get(f, "/other", 21, st.st_ino);
	assert_int_equal(again->fd, -1);
	assert_int_equal(image_table_avoided(f->images), 2);
}

/* Detached, out of the process's root, or behind more mounts than are read: not in sight. */
static void test_devices_out_of_sight_may_be_fuse(void **state)
{
	struct fixture *f = *state;
	int memory = memfd_create("x", MFD_CLOEXEC);
	struct stat st;

	assert_int_equal(fstat(memory, &st), 0);
	close(memory);
	write_file(f, "7/mountinfo", "1 0 0:20 / / rw - ext4 x rw\n");
	image_unref(get(f, "/program", 21, f->file.st_ino));
	assert_int_equal(image_table_avoided(f->images), 1);
	/* Shared memory is mounted nowhere, and is the kernel's own. */
	image_unref(get(f, "/program", minor(st.st_dev), f->file.st_ino));
	assert_int_equal(image_table_avoided(f->images), 1);
}

/* A device that was no FUSE can be unmounted, and its number given to FUSE, within a moment. */
static void test_only_root_s_mounts_stay_what_they_were(void **state)
{
	struct fixture *f = *state;

	write_file(f, "7/mountinfo", "1 0 0:20 / / rw - tmpfs x rw\n");
	image_unref(get(f, "/program", 20, f->file.st_ino));
	assert_int_equal(image_table_avoided(f->images), 0);
	write_file(f, "7/mountinfo", "1 0 0:20 / / rw - fuse x rw\n");
	image_unref(get(f, "/program", 20, f->file.st_ino + 1));
	assert_int_equal(image_table_avoided(f->images), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_only_the_inode_that_was_mapped, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_files_on_fuse_are_left_alone, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_devices_out_of_sight_may_be_fuse, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_only_root_s_mounts_stay_what_they_were, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

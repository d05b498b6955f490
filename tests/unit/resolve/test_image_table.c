/* SPDX-License-Identifier: MIT */
/* Images out of a directory that stands for /proc: which are the same, and how many are open. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>

#include "common/clock.h"
#include "tests/unit/resolve/image_fixture.h"

struct fixture {
	struct world world;
	struct image_table *images;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	world_make(&f->world);
	assert_int_equal(image_table_new(&f->images, f->world.proc.fd), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	image_table_free(f->images);
	world_remove(&f->world);
	free(f);
	return 0;
}

static struct image *get_key(struct fixture *f, const struct image_key *key)
{
	struct image *image;

	assert_int_equal(image_table_get(f->images, key, &image), 0);
	return image;
}

static struct image *get(struct fixture *f, const char *path, uint32_t device_minor, uint64_t inode)
{
	struct image_key key = key_of(path, inode);

	key.device_minor = device_minor;
	return get_key(f, &key);
}

static struct image *get_file(struct fixture *f, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "7/root/%s", name);
	return get(f, path + strlen("7/root"), MINOR, inode_of(&f->world, path));
}

static void test_only_the_inode_that_was_mapped(void **state)
{
	struct fixture *f = *state;
	uint64_t inode = inode_of(&f->world, "7/root/program");
	cleanup(image_unrefp) struct image *same = get(f, "/program", MINOR, inode);
	cleanup(image_unrefp) struct image *again = get(f, "/program", MINOR, inode);
	cleanup(image_unrefp) struct image *other = get(f, "/program", MINOR, inode + 1);

	assert_ptr_equal(same, again);
	assert_true(same->fd >= 0);
	assert_non_null(same->root);
	assert_ptr_not_equal(same, other);
	assert_int_equal(other->fd, -1);
}

static void test_files_on_fuse_are_left_alone(void **state)
{
	struct fixture *f = *state;
	uint64_t inode = inode_of(&f->world, "7/root/program");
	cleanup(image_unrefp) struct image *fuse = NULL, *other = NULL;

	write_mounts(&f->world, PID, "fuse.sshfs", 21);
	fuse = get(f, "/program", 21, inode);
	assert_int_equal(fuse->fd, -1);
	assert_true(fuse->is_avoided);
	assert_int_equal(fuse->pid, PID);
	assert_int_equal(image_table_avoided(f->images), 1);
	write_mounts(&f->world, PID, "ext4", MINOR);
	other = get(f, "/program", MINOR, inode);
	assert_true(other->fd >= 0);
	assert_int_equal(image_table_avoided(f->images), 1);
}

/* Detached, out of the process's root, or behind more mounts than are read: not in sight. */
static void test_mounts_out_of_sight_may_be_fuse(void **state)
{
	struct fixture *f = *state;
	uint64_t inode = inode_of(&f->world, "7/root/program");
	cleanup(image_unrefp) struct image *shared = NULL;
	cleanup(closep) int memory = memfd_create("x", MFD_CLOEXEC);
	char target[64];
	struct stat st;

	f->world.mount++;
	write_mounts(&f->world, PID, "ext4", MINOR);
	image_unref(get(f, "/program", MINOR, inode));
	assert_int_equal(image_table_avoided(f->images), 1);
	/* Shared memory is mounted nowhere, and is the kernel's own. */
	assert_int_equal(fstat(memory, &st), 0);
	snprintf(target, sizeof(target), "/proc/self/fd/%d", memory);
	assert_int_equal(mkdirat(f->world.proc.fd, "7/map_files", 0755), 0);
	assert_int_equal(symlinkat(target, f->world.proc.fd, "7/map_files/1000-2000"), 0);
	shared = get(f, "/memfd:x", minor(st.st_dev), st.st_ino);
	assert_true(shared->fd >= 0);
	assert_int_equal(image_table_avoided(f->images), 1);
}

/* A user's file with the build id, and all else, of another one: it is another image. */
static void test_content_is_no_identity(void **state)
{
	struct fixture *f = *state;
	cleanup(image_unrefp) struct image *real = NULL, *forged = NULL, *linked = NULL;
	cleanup(closep) int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *program;

	assert_int_equal(fstat(self, &st), 0);
	program = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, self, 0);
	assert_ptr_not_equal(program, MAP_FAILED);
	write_file(f->world.proc.fd, "7/root/real", program, (size_t)st.st_size);
	write_file(f->world.proc.fd, "7/root/forged", program, (size_t)st.st_size);
	munmap(program, (size_t)st.st_size);
	real = get_file(f, "real");
	forged = get_file(f, "forged");
	assert_ptr_not_equal(real, forged);
	assert_int_not_equal(real->id, forged->id);
	assert_true(real->fd >= 0 && forged->fd >= 0);
	assert_int_equal(fstat(forged->fd, &st), 0);
	assert_int_equal(st.st_ino, inode_of(&f->world, "7/root/forged"));
	/* Nor is the path one. */
	assert_int_equal(symlinkat("real", f->world.proc.fd, "7/root/linked"), 0);
	linked = get(f, "/linked", MINOR, inode_of(&f->world, "7/root/real"));
	assert_ptr_equal(linked, real);
}

/* What only one root vouches for is an image of that root's. */
static void test_local_images(void **state)
{
	struct fixture *f = *state;
	cleanup(image_unrefp) struct image *first = NULL, *again = NULL, *second = NULL;
	struct image_key key = key_of("/program", inode_of(&f->world, "7/root/program"));

	write_text(f->world.proc.fd, "8/root/x", "");
	assert_int_equal(linkat(f->world.proc.fd, "7/root/program", f->world.proc.fd,
				"8/root/program", 0),
			 0);
	write_mounts(&f->world, PID, "overlay", MINOR + 1);
	write_mounts(&f->world, PID + 1, "overlay", MINOR + 1);
	write_mounts(&f->world, 0, "overlay", MINOR + 1);
	first = get_key(f, &key);
	assert_true(first->fd >= 0);
	again = get_key(f, &key);
	assert_ptr_equal(again, first);
	key.pid = PID + 1;
	second = get_key(f, &key);
	assert_true(second->fd >= 0);
	assert_ptr_not_equal(second, first);
	key.pid = PID;
	image_unref(again);
	again = get_key(f, &key);
	assert_ptr_equal(again, first);
	assert_int_equal(image_table_count(f->images), 2);
}

/* A family's root is looked at once: not even of a child that is gone. */
static void test_roots_are_inherited(void **state)
{
	struct fixture *f = *state;
	cleanup(image_unrefp) struct image *first = NULL, *child = NULL, *other = NULL,
					   *same = NULL;
	uint64_t root_id = 0, other_id, gone_id;
	struct image_key key = key_of("/program", inode_of(&f->world, "7/root/program"));

	write_text(f->world.proc.fd, "8/root/x", "");
	assert_int_equal(linkat(f->world.proc.fd, "7/root/program", f->world.proc.fd,
				"8/root/program", 0),
			 0);
	for (int pid = PID; pid <= PID + 1; pid++)
		write_mounts(&f->world, pid, "overlay", MINOR + 1);
	write_mounts(&f->world, 0, "overlay", MINOR + 1);
	key.root_id = &root_id;
	first = get_key(f, &key);
	assert_int_equal(root_id, first->root->id);
	gone_id = root_id;
	key.pid = 99;
	key.root_id = &gone_id;
	child = get_key(f, &key);
	assert_ptr_equal(child, first);
	/* It is in another root than its parent, by which the file is not known. */
	key.pid = PID + 1;
	key.root_id = NULL;
	other = get_key(f, &key);
	assert_ptr_not_equal(other, first);
	other_id = 12345;
	key.root_id = &other_id;
	same = get_key(f, &key);
	assert_ptr_equal(same, other);
	assert_int_equal(other_id, other->root->id);
}

static void test_a_changed_file_is_a_new_image(void **state)
{
	struct fixture *f = *state;
	struct image *old = get_file(f, "program"), *longer, *touched;
	char byte;
	int fd;

	write_text(f->world.proc.fd, "7/root/program", "a longer one");
	longer = get_file(f, "program");
	assert_ptr_not_equal(longer, old);
	/* Whoever sets the times back cannot set back when that was done. */
	usleep(20000);
	assert_int_equal(fchmodat(f->world.proc.fd, "7/root/program", 0600, 0), 0);
	touched = get_file(f, "program");
	assert_ptr_not_equal(touched, longer);
	assert_int_equal(image_table_count(f->images), 3);
	image_table_sweep(f->images);
	assert_true(old->fd >= 0 && longer->fd >= 0 && touched->fd >= 0);

	/* Replaced: what is open is the old one still. */
	assert_int_equal(unlinkat(f->world.proc.fd, "7/root/program", 0), 0);
	assert_int_equal(pread(touched->fd, &byte, 1, 0), 1);
	fd = old->fd;
	image_unref(old);
	image_unref(longer);
	image_table_sweep(f->images);
	assert_int_equal(image_table_count(f->images), 1);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	fd = touched->fd;
	assert_int_not_equal(fcntl(fd, F_GETFD), -1);
	image_unref(touched);
	image_table_sweep(f->images);
	assert_int_equal(image_table_count(f->images), 0);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

/* What was mapped before the last look, or just after it, needs no other one: of many processes,
 * one has it made. */
static void test_one_look_holds_for_what_was_mapped_before(void **state)
{
	struct fixture *f = *state;
	struct image_key key = key_of("/program", inode_of(&f->world, "7/root/program"));
	cleanup(image_unrefp) struct image *first = NULL, *before = NULL, *later = NULL;

	key.time_ns = clock_ns(CLOCK_MONOTONIC);
	first = get_key(f, &key);
	write_text(f->world.proc.fd, "7/root/program", "a longer one");
	before = get_key(f, &key);
	assert_ptr_equal(before, first);
	key.time_ns += 1000;
	image_unref(before);
	before = get_key(f, &key);
	assert_ptr_equal(before, first);
	key.time_ns = clock_ns(CLOCK_MONOTONIC) + NS_PER_S;
	later = get_key(f, &key);
	assert_ptr_not_equal(later, first);
}

#define FILES 60

static struct image *get_nth(struct fixture *f, unsigned n)
{
	char name[32], path[64];

	snprintf(name, sizeof(name), "f%u", n);
	snprintf(path, sizeof(path), "7/root/%s", name);
	if (faccessat(f->world.proc.fd, path, F_OK, 0))
		write_text(f->world.proc.fd, path, name);
	return get_file(f, name);
}

/* Half of what the process may have; those that were not used since go first. */
static void test_open_files_are_bounded(void **state)
{
	struct fixture *f = *state;
	struct rlimit before, limit;
	struct image *images[FILES], *other;
	unsigned n_open = 0;
	int borrowed;
	char text[8];

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = (struct rlimit){.rlim_cur = 64, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	image_table_free(f->images);
	assert_int_equal(image_table_new(&f->images, f->world.proc.fd), 0);

	images[0] = get_nth(f, 0);
	images[1] = get_nth(f, 1);
	borrowed = image_borrow_file(images[1]);
	assert_true(borrowed >= 0);
	images[1]->is_used = false; /* long ago */
	for (unsigned i = 2; i < FILES; i++) {
		images[i] = get_nth(f, i);
		assert_true(images[i]->fd >= 0);
		/* This one is mapped again and again. */
		other = get_nth(f, 0);
		assert_ptr_equal(other, images[0]);
		image_unref(other);
		/* And this one is used by another thread. */
		if (i > 3)
			close(image_borrow_file(images[3]));
		n_open = 0;
		for (unsigned k = 0; k <= i; k++)
			n_open += images[k]->fd >= 0;
		assert_true(n_open <= 32);
	}
	assert_int_equal(n_open, 32);
	assert_true(images[0]->fd >= 0);
	assert_true(images[3]->fd >= 0);
	assert_true(images[2]->fd < 0);
	assert_int_equal(image_borrow_file(images[2]), -1);

	/* What was lent stays open. */
	assert_true(images[1]->fd < 0);
	assert_int_equal(pread(borrowed, text, sizeof(text), 0), 2);
	assert_memory_equal(text, "f1", 2);
	close(borrowed);

	/* Mapped anew, it is there again. */
	other = get_nth(f, 2);
	assert_ptr_not_equal(other, images[2]);
	assert_true(other->fd >= 0);
	image_unref(other);
	for (unsigned i = 0; i < FILES; i++)
		image_unref(images[i]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* One who cannot have the file opened does not take it from those who can. */
static void test_a_file_may_come_later(void **state)
{
	struct fixture *f = *state;
	cleanup(image_unrefp) struct image *without = NULL, *soon = NULL, *with = NULL;
	struct image_key key = key_of("/program", inode_of(&f->world, "7/root/program"));

	key.pid = PID + 1;
	without = get_key(f, &key);
	assert_int_equal(without->fd, -1);
	key.pid = PID;
	soon = get_key(f, &key);
	assert_ptr_equal(soon, without);
	usleep(1100000);
	with = get_key(f, &key);
	assert_ptr_not_equal(with, without);
	assert_true(with->fd >= 0);
}

static void test_a_replay_opens_nothing(void **state)
{
	struct image_table *t;
	struct image_key key = key_of("/bin/sh", 5);
	struct image *image, *again;

	(void)state;
	assert_int_equal(image_table_new(&t, -1), 0);
	assert_int_equal(image_table_get(t, &key, &image), 0);
	assert_int_equal(image->fd, -1);
	assert_int_equal(image_table_get(t, &key, &again), 0);
	assert_ptr_equal(again, image);
	image_unref(again);
	image_table_free(t);
	image_unref(image);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_only_the_inode_that_was_mapped),
		TEST(test_files_on_fuse_are_left_alone),
		TEST(test_mounts_out_of_sight_may_be_fuse),
		TEST(test_content_is_no_identity),
		TEST(test_local_images),
		TEST(test_roots_are_inherited),
		TEST(test_a_changed_file_is_a_new_image),
		TEST(test_one_look_holds_for_what_was_mapped_before),
		TEST(test_open_files_are_bounded),
		TEST(test_a_file_may_come_later),
		cmocka_unit_test(test_a_replay_opens_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

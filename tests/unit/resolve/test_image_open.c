/* SPDX-License-Identifier: MIT */
/* Files that are not what they were said to be. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/unit/resolve/image_fixture.h"

struct fixture {
	struct world world;
	struct mount_roots *roots;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	world_make(&f->world);
	assert_int_equal(mount_roots_new(&f->roots, f->world.proc.fd), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	mount_roots_free(f->roots);
	world_remove(&f->world);
	free(f);
	return 0;
}

/* What opening @path, said to be the inode of @real, leads to; an open file is @real. */
static int try(struct fixture *f, const char *path, const char *real)
{
	struct image_key key = key_of(path, inode_of(&f->world, real));
	struct image_file file = {.fd = -1};
	struct stat st;
	int r = image_open(f->world.proc.fd, f->roots, &key, &file);

	assert_int_equal(r == IMAGE_OPEN_E_OK, file.fd >= 0);
	if (r == IMAGE_OPEN_E_OK) {
		assert_int_equal(fstat(file.fd, &st), 0);
		assert_int_equal(st.st_ino, key.inode);
		assert_true(S_ISREG(st.st_mode));
		assert_int_equal(st.st_size, file.size);
		assert_int_equal(fcntl(file.fd, F_GETFL) & O_ACCMODE, O_RDONLY);
		assert_int_equal(fcntl(file.fd, F_GETFD), FD_CLOEXEC);
		close(file.fd);
	}
	return r;
}

static void link_to(struct fixture *f, const char *target, const char *path)
{
	assert_int_equal(symlinkat(target, f->world.proc.fd, path), 0);
}

static void test_an_ordinary_file(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(try(f, "/program", "7/root/program"), IMAGE_OPEN_E_OK);
	assert_int_equal(try(f, "/gone", "7/root/program"), IMAGE_OPEN_E_NONE);
	write_text(f->world.proc.fd, "7/root/other", "x");
	assert_int_equal(try(f, "/other", "7/root/program"), IMAGE_OPEN_E_NONE);
}

/* An absolute link below /proc/PID/root would open the host's file, and so would "..". */
static void test_nothing_leads_out_of_the_root(void **state)
{
	struct fixture *f = *state;
	char outside[PATH_MAX];

	write_text(f->world.proc.fd, "7/outside", "secret");
	snprintf(outside, sizeof(outside), "%s/7/outside", f->world.proc.path);
	link_to(f, outside, "7/root/absolute");
	link_to(f, "../outside", "7/root/relative");
	link_to(f, "/", "7/root/top");
	assert_int_equal(try(f, outside, "7/outside"), IMAGE_OPEN_E_NONE);
	assert_int_equal(try(f, "/absolute", "7/outside"), IMAGE_OPEN_E_NONE);
	assert_int_equal(try(f, "/relative", "7/outside"), IMAGE_OPEN_E_NONE);
	assert_int_equal(try(f, "/../outside", "7/outside"), IMAGE_OPEN_E_NONE);
	assert_int_equal(try(f, "/top/../outside", "7/outside"), IMAGE_OPEN_E_NONE);
	/* Within the root they lead to what the process sees there. */
	link_to(f, "/program", "7/root/inside");
	assert_int_equal(try(f, "/inside", "7/root/program"), IMAGE_OPEN_E_OK);
	assert_int_equal(try(f, "/top/../../program", "7/root/program"), IMAGE_OPEN_E_OK);
}

static void test_only_regular_files(void **state)
{
	struct fixture *f = *state;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(mkfifoat(f->world.proc.fd, "7/root/fifo", 0644), 0);
	assert_int_equal(mkdirat(f->world.proc.fd, "7/root/folder", 0755), 0);
	assert_in_range(snprintf(address.sun_path, sizeof(address.sun_path), "%s/7/root/socket",
				 f->world.proc.path),
			1, sizeof(address.sun_path) - 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
	assert_int_equal(try(f, "/fifo", "7/root/fifo"), IMAGE_OPEN_E_NONE);
	assert_int_equal(try(f, "/folder", "7/root/folder"), IMAGE_OPEN_E_NONE);
	assert_int_equal(try(f, "/socket", "7/root/socket"), IMAGE_OPEN_E_NONE);
}

/*
 * Through map_files, a process can only have other files opened than it mapped: those are refused.
 * It may be honest, and have unloaded one library and loaded another: then the path still leads to
 * the first.
 */
static void test_a_mapping_that_was_exchanged(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(mkdirat(f->world.proc.fd, "7/map_files", 0755), 0);
	write_text(f->world.proc.fd, "7/root/other", "x");
	link_to(f, "../root/other", "7/map_files/1000-2000");
	assert_int_equal(try(f, "/program", "7/root/other"), IMAGE_OPEN_E_OK);
	assert_int_equal(try(f, "/program", "7/root/program"), IMAGE_OPEN_E_OK);
	assert_int_equal(try(f, "/gone", "7/root/program"), IMAGE_OPEN_E_NONE);
	assert_int_equal(unlinkat(f->world.proc.fd, "7/root/other", 0), 0);
	assert_int_equal(mkfifoat(f->world.proc.fd, "7/root/other", 0644), 0);
	assert_int_equal(try(f, "/program", "7/root/other"), IMAGE_OPEN_E_NONE);
}

static void test_another_file_system_over_the_path(void **state)
{
	struct fixture *f = *state;

	/* Inode numbers are the file system's choice: FUSE may name any. */
	write_mounts(&f->world, PID, "fuse.evil", MINOR + 1);
	assert_int_equal(try(f, "/program", "7/root/program"), IMAGE_OPEN_E_AVOIDED);
	write_mounts(&f->world, PID, "tmpfs", MINOR + 1);
	assert_int_equal(try(f, "/program", "7/root/program"), IMAGE_OPEN_E_NONE);
	/* A mount that is nowhere in sight may be anything. */
	f->world.mount++;
	write_mounts(&f->world, PID, "ext4", MINOR);
	assert_int_equal(try(f, "/program", "7/root/program"), IMAGE_OPEN_E_AVOIDED);
}

static void test_an_overlay_is_believed_for_itself_alone(void **state)
{
	struct fixture *f = *state;
	struct image_key key = key_of("/program", inode_of(&f->world, "7/root/program"));
	struct image_file file;

	assert_int_equal(image_open(f->world.proc.fd, f->roots, &key, &file), IMAGE_OPEN_E_OK);
	assert_false(file.is_local);
	close(file.fd);
	write_mounts(&f->world, 0, "overlay", MINOR + 1);
	assert_int_equal(image_open(f->world.proc.fd, f->roots, &key, &file), IMAGE_OPEN_E_OK);
	assert_true(file.is_local);
	close(file.fd);
}

/* The file is on an overlay of these options, in sight of @name in /proc. */
static void write_overlay(struct fixture *f, const char *name, const char *options,
			  const char *more)
{
	char path[64], text[512];

	snprintf(path, sizeof(path), "%s/mountinfo", name);
	snprintf(text, sizeof(text), "%llu 1 0:%u / / rw - overlay x rw,%s\n%s",
		 (unsigned long long)f->world.mount, MINOR, options, more);
	write_text(f->world.proc.fd, path, text);
}

/* Opening would wait for the server of FUSE as if the file were on it. */
static void test_an_overlay_over_fuse(void **state)
{
	static const char more[] = "9 1 0:90 / /a\\040b rw - fuse.evil x rw\n"
				   "10 1 0:91 / /o rw - overlay x rw,lowerdir=/a\\040b/c\n";
	static const struct {
		const char *options;
		int outcome;
	} cases[] = {
		{"lowerdir=/a:/c,upperdir=/d,workdir=/e", IMAGE_OPEN_E_OK},
		{"lowerdir=/c:/a\\040b,upperdir=/d", IMAGE_OPEN_E_AVOIDED},
		{"lowerdir=/c,upperdir=/a\\040b/d,workdir=/a\\040b/e", IMAGE_OPEN_E_AVOIDED},
		{"lowerdir+=/c,datadir+=/a\\040b/d", IMAGE_OPEN_E_AVOIDED},
		{"lowerdir=/o/x", IMAGE_OPEN_E_AVOIDED},
		{"lowerdir=l/x:l/y", IMAGE_OPEN_E_OK},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		write_overlay(f, "self", cases[i].options, more);
		assert_int_equal(try(f, "/program", "7/root/program"), cases[i].outcome);
	}
}

/* A user who may mount may have unmounted FUSE since: it must not be anywhere. */
static void test_an_overlay_of_anybody(void **state)
{
	struct fixture *f = *state;
	char ours[512];

	write_overlay(f, "7", "lowerdir=/c", "");
	write_text(f->world.proc.fd, "self/mountinfo", "9 1 0:90 / / rw - ext4 x rw\n");
	assert_int_equal(try(f, "/program", "7/root/program"), IMAGE_OPEN_E_AVOIDED);
	assert_int_equal(mkdirat(f->world.proc.fd, "connections", 0755), 0);
	snprintf(ours, sizeof(ours), "9 1 0:90 / %s/connections rw - fusectl x rw\n",
		 f->world.proc.path);
	write_text(f->world.proc.fd, "self/mountinfo", ours);
	assert_int_equal(try(f, "/program", "7/root/program"), IMAGE_OPEN_E_OK);
	write_text(f->world.proc.fd, "connections/90/waiting", "0");
	assert_int_equal(try(f, "/program", "7/root/program"), IMAGE_OPEN_E_AVOIDED);
	/* The same file system is mounted among ours, too: it is no user's. */
	snprintf(ours, sizeof(ours), "9 1 0:%u / /x rw - overlay x rw\n", MINOR);
	write_text(f->world.proc.fd, "self/mountinfo", ours);
	assert_int_equal(try(f, "/program", "7/root/program"), IMAGE_OPEN_E_OK);
}

struct swapper {
	int dir;
	atomic_bool stop;
};

/* program, fifo, link and other change places all the time. */
static void *swap(void *userdata)
{
	static const char *const names[] = {"7/root/fifo", "7/root/link", "7/root/other"};
	struct swapper *s = userdata;

	for (unsigned i = 0; !s->stop; i++)
		renameat2(s->dir, "7/root/program", s->dir, names[i % 3], RENAME_EXCHANGE);
	return NULL;
}

/* Whatever is there at which moment, nothing but the file that was mapped is ever opened. */
static void test_a_file_that_is_swapped_all_the_time(void **state)
{
	struct fixture *f = *state;
	struct swapper swapper = {.dir = f->world.proc.fd};
	struct image_key key = key_of("/program", inode_of(&f->world, "7/root/program"));
	unsigned n_good = 0, n_tries;
	pthread_t thread;

	write_text(f->world.proc.fd, "7/outside", "secret");
	write_text(f->world.proc.fd, "7/root/other", "x");
	link_to(f, "other", "7/root/link");
	assert_int_equal(mkfifoat(f->world.proc.fd, "7/root/fifo", 0644), 0);
	assert_int_equal(pthread_create(&thread, NULL, swap, &swapper), 0);
	for (n_tries = 0; n_tries < 2000 || (n_good == 0 && n_tries < 1000000); n_tries++) {
		struct image_file file;
		struct stat st;

		if (image_open(f->world.proc.fd, f->roots, &key, &file) != IMAGE_OPEN_E_OK)
			continue;
		n_good++;
		assert_int_equal(fstat(file.fd, &st), 0);
		assert_true(S_ISREG(st.st_mode));
		assert_int_equal(st.st_ino, key.inode);
		close(file.fd);
	}
	swapper.stop = true;
	pthread_join(thread, NULL);
	assert_true(n_good > 0);
}

/* Nobody waits for the holder of a lease to let go (fcntl(2)). */
static void test_a_lease(void **state)
{
	struct fixture *f = *state;
	int fd = openat(f->world.proc.fd, "7/root/program", O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	/* SIGIO would tell us of the breaker, and end us. */
	signal(SIGIO, SIG_IGN);
	if (fcntl(fd, F_SETLEASE, F_WRLCK) == 0)
		assert_int_equal(try(f, "/program", "7/root/program"), IMAGE_OPEN_E_NONE);
	else
		assert_int_equal(errno, EINVAL); /* a file system without leases */
	close(fd);
}

/* Then our own root is looked at, and what is there is taken if it is the very file. */
static void test_a_process_that_is_gone(void **state)
{
	struct fixture *f = *state;
	struct image_key key;
	struct image_file file;
	char text[128];

	write_text(f->world.proc.fd, "self/root/program", "our own");
	snprintf(text, sizeof(text), "%llu 1 0:%u / / rw - ext4 x rw\n",
		 (unsigned long long)f->world.mount, MINOR);
	write_text(f->world.proc.fd, "self/mountinfo", text);
	key = key_of("/program", inode_of(&f->world, "self/root/program"));
	key.pid = PID + 1;
	assert_int_equal(image_open(f->world.proc.fd, f->roots, &key, &file), IMAGE_OPEN_E_OK);
	close(file.fd);
	key.inode++;
	assert_int_equal(image_open(f->world.proc.fd, f->roots, &key, &file), IMAGE_OPEN_E_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_an_ordinary_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nothing_leads_out_of_the_root, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_only_regular_files, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_mapping_that_was_exchanged, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_another_file_system_over_the_path, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_an_overlay_is_believed_for_itself_alone,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_overlay_over_fuse, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_overlay_of_anybody, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_file_that_is_swapped_all_the_time, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_lease, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_process_that_is_gone, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

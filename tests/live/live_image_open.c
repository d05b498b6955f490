/* SPDX-License-Identifier: MIT */
/*
 * Files of real processes that do not mean well: mount namespaces and roots of their own, FUSE that
 * never answers over what they mapped, files that are gone. Needs root, for namespaces and for
 * /proc/PID/map_files. Nothing is skipped.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "common/worker/debug_files.h"
#include "daemon/resolve/file_opener.h"
#include "daemon/resolve/image_table.h"
#include "daemon/resolve/lent_fd.h"
#include "daemon/resolve/mount_root.h"
#include "tests/support/temp_dir.h"

#define SECONDS        20 /* whoever waits for FUSE is ended */
#define OPENER_WAIT_NS UINT64_C(200000000)
#define ANYWHERE       (FILE_OPENER_CROSS_MOUNTS | FILE_OPENER_TRUST_OVERLAYS)

struct fixture {
	struct temp_dir dir;
	char path[PATH_MAX / 2]; /* of the file that is mapped, by its name outside */
	int proc_fd;
	struct image_table *images;
	pid_t pid;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	temp_dir_make(&f->dir);
	snprintf(f->path, sizeof(f->path), "%s/program", f->dir.path);
	write_text(f->dir.fd, "program", "outside");
	f->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->proc_fd >= 0);
	assert_int_equal(image_table_new(&f->images, f->proc_fd), 0);
	alarm(SECONDS);
	*state = f;
	return 0;
}

static void end_child(struct fixture *f)
{
	if (f->pid > 0) {
		kill(f->pid, SIGKILL);
		assert_int_equal(waitpid(f->pid, NULL, 0), f->pid);
	}
	f->pid = 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	end_child(f);
	alarm(0);
	image_table_free(f->images);
	close(f->proc_fd);
	temp_dir_remove(&f->dir);
	free(f);
	return 0;
}

/* --- the child's side: all or nothing ----------------------------------------------------------
 */

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "child: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
	close(fd);
}

static void map(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	must(fd >= 0 && mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED,
	     path);
	close(fd);
}

/* A tmpfs over the directory, which nobody else sees, with a file of its own. */
static void enter_namespace(struct fixture *f)
{
	must(unshare(CLONE_NEWNS) == 0, "unshare");
	must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "private");
	must(mount("x", f->dir.path, "tmpfs", 0, NULL) == 0, "tmpfs");
	put(f->path, "inside");
}

static void map_in_namespace(struct fixture *f)
{
	enter_namespace(f);
	map(f->path);
}

static void map_and_delete(struct fixture *f)
{
	map_in_namespace(f);
	must(unlink(f->path) == 0, "unlink");
}

static void map_and_replace(struct fixture *f)
{
	char other[PATH_MAX];

	map_in_namespace(f);
	snprintf(other, sizeof(other), "%s/other", f->dir.path);
	put(other, "evil");
	must(rename(other, f->path) == 0, "rename");
}

/* Nobody reads what FUSE asks, not even at the mount. */
static void map_and_hide_below_fuse(struct fixture *f)
{
	char options[128];
	int fd = open("/dev/fuse", O_RDWR); /* stays open */

	map_in_namespace(f);
	must(fd >= 0, "/dev/fuse");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	must(mount("x", f->dir.path, "fuse.x", MS_NODEV | MS_NOSUID, options) == 0, "fuse");
}

/* The directory is its root. */
static void map_in_chroot(struct fixture *f)
{
	must(chroot(f->dir.path) == 0 && chdir("/") == 0, "chroot");
	map("/program");
}

/* What it mapped is, by its path, a link that leads to another place outside than inside. */
static void map_in_chroot_and_link(struct fixture *f)
{
	map_in_chroot(f);
	must(rename("/program", "/moved") == 0 && symlink("/etc/passwd", "/program") == 0, "link");
}

static void map_device(struct fixture *f)
{
	(void)f;
	map("/dev/zero");
}

/* --- ours ------------------------------------------------------------------------------------ */

static void start(struct fixture *f, void (*fn)(struct fixture *))
{
	int ready[2];
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	f->pid = fork();
	assert_true(f->pid >= 0);
	if (f->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(2 * SECONDS);
		fn(f);
		must(write(ready[1], "", 1) == 1, "ready");
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
}

/* The child's mapping of a path that ends in @name, as a record would have it. */
static struct image_key key_of(struct fixture *f, const char *name, char path[PATH_MAX])
{
	struct image_key key = {.pid = f->pid};
	char line[PATH_MAX + 256], maps[64];
	bool found = false;
	FILE *in;

	snprintf(maps, sizeof(maps), "/proc/%d/maps", f->pid);
	in = fopen(maps, "re");
	assert_non_null(in);
	while (!found && fgets(line, sizeof(line), in)) {
		char *deleted;

		if (sscanf(line,
			   "%" SCNx64 "-%" SCNx64 " r-xp %*x %" SCNx32 ":%" SCNx32 " %" SCNu64
			   " %4095[^\n]",
			   &key.start, &key.end, &key.device_major, &key.device_minor, &key.inode,
			   path) != 6)
			continue;
		deleted = strstr(path, " (deleted)");
		if (deleted)
			*deleted = '\0';
		found = strlen(path) >= strlen(name) &&
			strcmp(path + strlen(path) - strlen(name), name) == 0;
	}
	fclose(in);
	assert_true(found);
	key.path = path;
	return key;
}

/* As if map_files could not be had: there is no such mapping. */
static struct image_key by_path(struct image_key key)
{
	key.start = 0x1000;
	key.end = 0x2000;
	return key;
}

static void expect_text(struct fixture *f, const struct image_key *key, const char *text)
{
	cleanup(image_unrefp) struct image *image = NULL;
	struct stat st;
	char found[16] = "";

	assert_int_equal(image_table_get(f->images, key, &image), 0);
	if (!text) {
		assert_int_equal(image->fd, -1);
		return;
	}
	assert_true(image->fd >= 0);
	assert_true(pread(image->fd, found, sizeof(found) - 1, 0) > 0);
	assert_string_equal(found, text);
	assert_int_equal(fstat(image->fd, &st), 0);
	assert_int_equal(st.st_ino, key->inode);
}

static void test_its_own_file_by_either_way(void **state)
{
	struct fixture *f = *state;
	char path[PATH_MAX];
	struct image_key key;

	start(f, map_in_namespace);
	key = key_of(f, "/program", path);
	expect_text(f, &key, "inside");
	image_table_sweep(f->images);
	assert_int_equal(image_table_count(f->images), 0);
	key = by_path(key);
	expect_text(f, &key, "inside");
}

static void test_deleted_and_replaced(void **state)
{
	struct fixture *f = *state;
	char path[PATH_MAX];
	struct image_key key;

	start(f, map_and_delete);
	key = key_of(f, "/program", path);
	expect_text(f, &key, "inside");
	image_table_sweep(f->images);
	key = by_path(key);
	expect_text(f, &key, NULL);
	end_child(f);

	/* The next one may get the same device and inode numbers. */
	image_table_sweep(f->images);
	start(f, map_and_replace);
	key = key_of(f, "/program", path);
	expect_text(f, &key, "inside");
	image_table_sweep(f->images);
	key = by_path(key);
	expect_text(f, &key, NULL);
}

static void test_below_fuse_that_never_answers(void **state)
{
	struct fixture *f = *state;
	struct mount_roots *roots = NULL;
	struct mount_root *root = NULL;
	struct file_opener *opener = NULL;
	char path[PATH_MAX];
	struct image_key key;
	int fd = -1;

	start(f, map_and_hide_below_fuse);
	key = key_of(f, "/program", path);
	key = by_path(key);
	expect_text(f, &key, NULL);
	assert_int_equal(mount_roots_new(&roots, f->proc_fd), 0);
	assert_int_equal(mount_roots_get(roots, f->pid, &root), 0);
	assert_true(root->may_have_fuse);
	assert_true(root->is_ours);
	assert_int_equal(file_opener_new(&opener, OPENER_WAIT_NS), 0);
	assert_int_equal(file_opener_open(opener, root->fd, path, ANYWHERE, &fd),
			 FILE_OPENER_E_SLOW);
	assert_int_equal(file_opener_open(opener, root->fd, "/proc/version", ANYWHERE, &fd),
			 FILE_OPENER_E_OK);
	close(fd);
	file_opener_free(opener);
	mount_root_unref(root);
	mount_roots_free(roots);
	/* The file itself is not on FUSE, and map_files leads to it. */
	image_table_free(f->images);
	assert_int_equal(image_table_new(&f->images, f->proc_fd), 0);
	key = key_of(f, "/program", path);
	expect_text(f, &key, "inside");
}

static void test_links_stay_in_its_root(void **state)
{
	struct fixture *f = *state;
	char path[PATH_MAX];
	struct image_key key;
	struct stat st;

	start(f, map_in_chroot_and_link);
	key = by_path(key_of(f, "/moved", path));
	key.path = "/program";
	/* Even if the host's file has the inode that was mapped. */
	assert_int_equal(stat("/etc/passwd", &st), 0);
	key.inode = st.st_ino;
	key.device_major = major(st.st_dev);
	key.device_minor = minor(st.st_dev);
	expect_text(f, &key, NULL);
}

/* A process's files can be looked for when it has ended. */
static void test_its_root_outlives_it(void **state)
{
	struct fixture *f = *state;
	cleanup(image_unrefp) struct image *image = NULL;
	char path[PATH_MAX], text[16] = "";
	struct image_key key;
	int root, fd;

	write_text(f->dir.fd, "usr/lib/debug/x.debug", "debug");
	start(f, map_in_chroot);
	key = key_of(f, "/program", path);
	/* Seen from outside, the path has the directory in it; records tell it as the process sees
	 * it.
	 */
	key.path = "/program";
	assert_int_equal(image_table_get(f->images, &key, &image), 0);
	assert_true(image->fd >= 0);
	assert_non_null(image->root);
	end_child(f);
	image_table_sweep(f->images);
	root = lent_fd_borrow(&image->root->fd);
	assert_true(root >= 0);
	fd = debug_files_open(root, false, "/usr/lib/debug/x.debug");
	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	assert_string_equal(text, "debug");
	close(fd);
	close(root);
}

static void test_devices_are_not_opened(void **state)
{
	struct fixture *f = *state;
	char path[PATH_MAX];
	struct image_key key;

	start(f, map_device);
	key = key_of(f, "/dev/zero", path);
	expect_text(f, &key, NULL);
	image_table_sweep(f->images);
	key = by_path(key);
	expect_text(f, &key, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_its_own_file_by_either_way),    TEST(test_deleted_and_replaced),
		TEST(test_below_fuse_that_never_answers), TEST(test_links_stay_in_its_root),
		TEST(test_its_root_outlives_it),          TEST(test_devices_are_not_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

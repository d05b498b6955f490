/* SPDX-License-Identifier: MIT */
/* Roots out of a directory that stands for /proc, and descriptors that are given up while lent. */
#include <errno.h>
#include <linux/nsfs.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "daemon/resolve/lent_fd.h"
#include "tests/unit/resolve/fuse_fixture.h"
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

static struct mount_root *get(struct fixture *f, pid_t pid)
{
	struct mount_root *root = NULL;

	assert_int_equal(mount_roots_get(f->roots, pid, &root), 0);
	assert_non_null(root);
	return root;
}

static void test_one_for_all_who_share_it(void **state)
{
	struct fixture *f = *state;
	cleanup(mount_root_unrefp) struct mount_root *first = NULL, *same = NULL, *other = NULL;
	struct mount_root *gone = NULL;

	write_text(f->world.proc.fd, "9/root/program", "x");
	write_text(f->world.proc.fd, "8/comm", "x");
	assert_int_equal(symlinkat("../7/root", f->world.proc.fd, "8/root"), 0);
	first = get(f, 7);
	same = get(f, 8);
	other = get(f, 9);
	assert_ptr_equal(first, same);
	assert_ptr_not_equal(first, other);
	assert_int_not_equal(first->id, other->id);
	assert_int_equal(faccessat(first->fd, "program", F_OK, 0), 0);
	assert_int_equal(mount_roots_get(f->roots, 10, &gone), 0);
	assert_null(gone);
}

/* The same directory in another mount namespace is another root: other things are mounted there. */
static void test_namespaces_differ(void **state)
{
	struct fixture *f = *state;
	cleanup(mount_root_unrefp) struct mount_root *first = NULL, *second = NULL;

	write_text(f->world.proc.fd, "7/ns/mnt", "");
	write_text(f->world.proc.fd, "8/ns/mnt", "");
	assert_int_equal(symlinkat("../7/root", f->world.proc.fd, "8/root"), 0);
	first = get(f, 7);
	second = get(f, 8);
	assert_ptr_not_equal(first, second);
	assert_int_equal(first->ns_inode, inode_of(&f->world, "7/ns/mnt"));
}

static void test_fuse_in_sight(void **state)
{
	struct fixture *f = *state;
	cleanup(mount_root_unrefp) struct mount_root *none = NULL, *some = NULL, *unknown = NULL;
	cleanup(mount_root_unrefp) struct mount_root *hidden = NULL;

	write_text(f->world.proc.fd, "8/root/program", "x");
	write_text(f->world.proc.fd, "9/root/program", "x");
	write_text(f->world.proc.fd, "10/root/program", "x");
	write_mounts(&f->world, 10, "overlay", MINOR);
	write_mounts(&f->world, 8, "fuse.sshfs", MINOR);
	none = get(f, 7);
	some = get(f, 8);
	unknown = get(f, 9);
	assert_false(none->may_have_fuse);
	assert_true(some->may_have_fuse);
	assert_true(unknown->may_have_fuse);
	/* Nobody knows who mounted that overlay. */
	hidden = get(f, 10);
	assert_true(hidden->may_have_fuse);
}

/* Our own namespace is ours; what a /proc of the test's own says cannot be checked, and is not. */
static void test_whose_it_is(void **state)
{
	cleanup(mount_root_unrefp) struct mount_root *own = NULL, *made_up = NULL;
	cleanup(mount_roots_freep) struct mount_roots *roots = NULL;
	cleanup(closep) int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct fixture *f = *state;

	write_text(f->world.proc.fd, "7/ns/mnt", "");
	made_up = get(f, 7);
	assert_false(made_up->is_ours);
	assert_int_equal(mount_roots_new(&roots, proc_fd), 0);
	assert_int_equal(mount_roots_get(roots, 0, &own), 0);
	assert_true(own->is_ours);
	assert_int_equal(own->user_ns_fd, -1);
}

/* Process 1's where there is one. */
static void test_host(void **state)
{
	cleanup(mount_roots_freep) struct mount_roots *true_ones = NULL, *none = NULL;
	cleanup(closep) int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct fixture *f = *state;
	struct mount_root *host;

	assert_int_equal(mount_roots_new(&none, -1), 0);
	assert_null(mount_roots_host(none));
	assert_null(mount_roots_host(f->roots));
	write_text(f->world.proc.fd, "self/root/program", "x");
	host = mount_roots_host(f->roots);
	assert_non_null(host);
	assert_int_equal(faccessat(host->fd, "program", F_OK, 0), 0);
	/* Who has it has it for good. */
	write_text(f->world.proc.fd, "1/root/first", "x");
	mount_roots_sweep(f->roots);
	assert_ptr_equal(mount_roots_host(f->roots), host);
	mount_roots_free(f->roots);
	assert_int_equal(mount_roots_new(&f->roots, f->world.proc.fd), 0);
	assert_int_equal(faccessat(mount_roots_host(f->roots)->fd, "first", F_OK, 0), 0);
	assert_int_equal(mount_roots_new(&true_ones, proc_fd), 0);
	assert_true(mount_roots_host(true_ones)->is_ours);
}

/* However many others are asked for, before anybody sweeps, it stays open. */
static void test_host_stays(void **state)
{
	struct fixture *f = *state;
	struct mount_root *host;
	char name[64];

	write_text(f->world.proc.fd, "1/root/first", "x");
	host = mount_roots_host(f->roots);
	for (int pid = 20; pid < 21 + 2 * MOUNT_ROOTS_MAX; pid++) {
		snprintf(name, sizeof(name), "%d/root/program", pid);
		write_text(f->world.proc.fd, name, "x");
		mount_root_unref(get(f, pid));
	}
	assert_true(host->fd >= 0);
	mount_roots_sweep(f->roots);
	assert_true(host->fd >= 0);
	assert_ptr_equal(mount_roots_host(f->roots), host);
}

/* The user namespace of who made one for himself stays open with the root. */
static void test_user_namespaces(void **state)
{
	cleanup(mount_root_unrefp) struct mount_root *theirs = NULL;
	cleanup(mount_roots_freep) struct mount_roots *roots = NULL;
	cleanup(closep) int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int ends[2], fd;
	char is_there = 0;
	uid_t uid;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		is_there = unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
		(void)!write(ends[1], &is_there, 1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ends[0], &is_there, 1), 1);
	assert_int_equal(mount_roots_new(&roots, proc_fd), 0);
	if (is_there) {
		assert_int_equal(mount_roots_get(roots, pid, &theirs), 0);
		assert_non_null(theirs);
		assert_false(theirs->is_ours);
		fd = theirs->user_ns_fd;
		assert_int_equal(ioctl(fd, NS_GET_OWNER_UID, &uid), 0);
		assert_int_equal(uid, geteuid());
		mount_root_unref(steal_ptr(&theirs));
		mount_roots_sweep(roots);
		assert_int_equal(fcntl(fd, F_GETFD), -1);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	if (!is_there)
		skip(); /* this host does not let everybody make them */
}

/* A process whose root is @folder there, and which has mapped its file; *ret_start: where. */
static pid_t run_on_fuse(const struct fuse_world *fuse, const char *folder, uint64_t *ret_start)
{
	int ends[2], mnt, fd;
	char path[64];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", fuse->server);
	mnt = open(path, O_RDONLY | O_CLOEXEC);
	pid = fork();
	if (pid == 0) {
		if (setns(fuse->user_ns_fd, CLONE_NEWUSER) < 0 || setns(mnt, CLONE_NEWNS) < 0 ||
		    setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0 || chroot(folder) < 0)
			_exit(1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fd = open("/file", O_RDONLY | O_CLOEXEC);
		*ret_start = (uintptr_t)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		(void)!write(ends[1], ret_start, sizeof(*ret_start));
		pause();
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], ret_start, sizeof(*ret_start)), sizeof(*ret_start));
	close(ends[0]);
	close(mnt);
	return pid;
}

/* It does not even say what it is: containers are known all the same, and their files avoided. */
static void test_root_on_fuse(void **state)
{
	cleanup(mount_root_unrefp) struct mount_root *root = NULL;
	cleanup(mount_roots_freep) struct mount_roots *roots = NULL;
	cleanup(closep) int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct image_key key = {.path = "/file", .inode = FUSE_FILE};
	struct fuse_world fuse = {.ns_root = 12345};
	struct image_file file;
	struct temp_dir dir;

	(void)state;
	if (geteuid())
		skip(); /* only root can make one */
	temp_dir_make(&dir);
	if (!fuse_start(&fuse, dir.path, 0, strlen(FUSE_TEXT)))
		skip();
	key.pid = run_on_fuse(&fuse, dir.path, &key.start);
	key.end = key.start + 4096;
	key.device_major = fuse.device_major;
	key.device_minor = fuse.device_minor;
	assert_int_equal(mount_roots_new(&roots, proc_fd), 0);
	assert_int_equal(mount_roots_get(roots, key.pid, &root), 0);
	assert_non_null(root);
	assert_true(root->user_ns_fd >= 0 && root->may_have_fuse);
	assert_int_equal(root->device_minor, fuse.device_minor);
	assert_int_equal(image_open(proc_fd, roots, &key, &file), IMAGE_OPEN_E_AVOIDED);
	kill(key.pid, SIGKILL);
	waitpid(key.pid, NULL, 0);
	fuse_stop(&fuse);
	temp_dir_remove(&dir);
}

static void test_unused_ones_are_closed(void **state)
{
	struct fixture *f = *state;
	struct mount_root *root = get(f, 7);
	int fd = root->fd;
	uint64_t id = root->id;

	mount_roots_sweep(f->roots);
	assert_int_not_equal(fcntl(fd, F_GETFD), -1);
	mount_root_unref(root);
	mount_roots_sweep(f->roots);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	root = get(f, 7);
	assert_int_not_equal(root->id, id);
	mount_root_unref(root);
}

#define MANY (MOUNT_ROOTS_MAX + 10)

static void test_no_more_than_so_many(void **state)
{
	struct fixture *f = *state;
	struct mount_root *roots[MANY], *again;
	unsigned n_open = 0;
	int borrowed = -1;
	char path[64];

	for (unsigned i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), "%u/root/program", 100 + i);
		write_text(f->world.proc.fd, path, "x");
		roots[i] = get(f, (pid_t)(100 + i));
		if (i == 1)
			borrowed = lent_fd_borrow(&roots[1]->fd);
		again = get(f, 100); /* asked for all the time */
		assert_ptr_equal(again, roots[0]);
		mount_root_unref(again);
	}
	for (unsigned i = 0; i < MANY; i++)
		n_open += roots[i]->fd >= 0;
	assert_int_equal(n_open, MOUNT_ROOTS_MAX);
	assert_true(roots[0]->fd >= 0);
	assert_true(roots[1]->fd < 0);
	assert_int_equal(lent_fd_borrow(&roots[1]->fd), -1);
	assert_int_equal(faccessat(borrowed, "program", F_OK, 0), 0);
	close(borrowed);
	for (unsigned i = 0; i < MANY; i++)
		mount_root_unref(roots[i]);
}

#define BORROWERS 3
#define ROUNDS    300

struct shared {
	atomic_int fd;
	pthread_barrier_t barrier;
	atomic_uint n_borrowed;
};

static void *borrow(void *userdata)
{
	struct shared *s = userdata;
	struct stat st;
	int fd;

	pthread_barrier_wait(&s->barrier);
	while ((fd = lent_fd_borrow(&s->fd)) >= 0) {
		s->n_borrowed++;
		/* Never closed, and never another one's. */
		if (fstat(fd, &st) != 0 || st.st_size != 77)
			abort();
		close(fd);
	}
	return NULL;
}

static void test_given_up_under_way(void **state)
{
	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct shared s = {.n_borrowed = 0};
		pthread_t threads[BORROWERS];
		int fd = memfd_create("lent", MFD_CLOEXEC), other;

		assert_int_equal(ftruncate(fd, 77), 0);
		s.fd = fd;
		assert_int_equal(pthread_barrier_init(&s.barrier, NULL, BORROWERS + 1), 0);
		for (unsigned i = 0; i < BORROWERS; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, borrow, &s), 0);
		pthread_barrier_wait(&s.barrier);
		while (s.n_borrowed < round % 8)
			;
		lent_fd_give_up(&s.fd);
		lent_fd_give_up(&s.fd);
		/* If it is closed, the number is this one's now. */
		other = memfd_create("other", MFD_CLOEXEC);
		for (unsigned i = 0; i < BORROWERS; i++)
			pthread_join(threads[i], NULL);
		close(other);
		pthread_barrier_destroy(&s.barrier);
		assert_int_equal(s.fd, -1);
		assert_int_equal(fcntl(fd, F_GETFD), -1);
		assert_int_equal(errno, EBADF);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_one_for_all_who_share_it),
		TEST(test_namespaces_differ),
		TEST(test_fuse_in_sight),
		TEST(test_whose_it_is),
		TEST(test_host),
		TEST(test_host_stays),
		cmocka_unit_test(test_user_namespaces),
		cmocka_unit_test(test_root_on_fuse),
		TEST(test_unused_ones_are_closed),
		TEST(test_no_more_than_so_many),
		cmocka_unit_test(test_given_up_under_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

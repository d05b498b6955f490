/* SPDX-License-Identifier: MIT */
/* Copies of images: of ordinary files, and of files on FUSE that answers, or does not. */
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "daemon/resolve/file_copier.h"
#include "daemon/resolve/file_opener.h"
#include "tests/support/own_text.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/resolve/fuse_fixture.h"

#define MS       UINT64_C(1000000)
#define SOMEBODY 12345
#define READING  (UINT64_C(1) << CAP_SYS_PTRACE | UINT64_C(1) << CAP_DAC_READ_SEARCH)
#define KILLED   (UINT64_C(1) << (SIGKILL - 1))

struct world {
	struct temp_dir dir;
	struct file_copier *copier;
	struct stat st; /* of "file" */
	char folder[160], file[176];
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	temp_dir_make(&w->dir);
	write_file(w->dir.fd, "file", "inside", 6);
	assert_int_equal(fstatat(w->dir.fd, "file", &w->st, 0), 0);
	snprintf(w->folder, sizeof(w->folder), "%s/fuse", w->dir.path);
	snprintf(w->file, sizeof(w->file), "%s/file", w->folder);
	assert_int_equal(mkdir(w->folder, 0755), 0);
	assert_int_equal(file_copier_new(&w->copier, 0), 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	file_copier_free(w->copier);
	temp_dir_remove(&w->dir);
	free(w);
	return 0;
}

/* What comes of @image; a copy is compared with @text. */
static int copy_it(struct world *w, const struct file_copier_image *image, const char *text)
{
	cleanup(closep) int fd = -1, left = -1;
	char read_text[64] = "", link[64], target[64] = "";
	int r = file_copier_copy(w->copier, image, &fd, &left);

	assert_true((r == FILE_OPENER_E_SLOW) == (left >= 0));
	assert_true((r == FILE_OPENER_E_OK) == (fd >= 0));
	if (r)
		return r;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	assert_true(readlink(link, target, sizeof(target) - 1) > 0);
	assert_non_null(strstr(target, "memfd:profd-image"));
	assert_true(read(fd, read_text, sizeof(read_text) - 1) > 0);
	assert_string_equal(read_text, text);
	return r;
}

static struct file_copier_image ordinary_image(const struct world *w)
{
	return (struct file_copier_image){
		.root_fd = w->dir.fd,
		.user_ns_fd = -1,
		.path = "/file",
		.inode = w->st.st_ino,
		.device_major = major(w->st.st_dev),
		.device_minor = minor(w->st.st_dev),
	};
}

/* Another file of that name is not copied, nor what is too much. */
static void test_it_is_the_image(void **state)
{
	struct world *w = *state;
	struct file_copier_image image = ordinary_image(w), other;

	assert_int_equal(copy_it(w, &image, "inside"), FILE_OPENER_E_OK);
	other = image;
	other.inode++;
	assert_int_equal(copy_it(w, &other, ""), FILE_OPENER_E_NONE);
	other = image;
	other.device_minor++;
	assert_int_equal(copy_it(w, &other, ""), FILE_OPENER_E_NONE);
	other = image;
	other.path = "/none";
	assert_int_equal(copy_it(w, &other, ""), FILE_OPENER_E_NONE);
	assert_int_equal(truncate(temp_dir_at(&w->dir, "file"), FILE_COPIER_MAX + 1), 0);
	assert_int_equal(copy_it(w, &image, ""), FILE_OPENER_E_NONE);
	assert_int_equal(truncate(temp_dir_at(&w->dir, "file"), 3), 0);
	assert_int_equal(copy_it(w, &image, "ins"), FILE_OPENER_E_OK);
}

extern const char __ehdr_start[]; /* the linker's */

/* What this program has mapped of itself: where the file is not to be had, or is another one. */
static void test_what_is_mapped(void **state)
{
	struct world *w = *state;
	struct file_copier_image image = ordinary_image(w);
	struct own_text text = own_text_find();
	cleanup(closep) int fd = -1, left = -1;
	uint8_t mapped[4096], copied[sizeof(mapped)];
	Elf64_Ehdr h;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* Yama may be there, or not */
	assert_true(own_text_file((uintptr_t)the_target, &image.device_major, &image.device_minor,
				  &image.inode));
	assert_int_equal(copy_it(w, &image, ""), FILE_OPENER_E_NONE);
	image.pid = getpid();
	assert_int_equal(file_copier_copy(w->copier, &image, &fd, &left), FILE_OPENER_E_OK);
	assert_int_equal(read(fd, &h, sizeof(h)), sizeof(h));
	assert_memory_equal(h.e_ident, ELFMAG, SELFMAG);
	assert_int_equal(h.e_shoff | h.e_shnum | h.e_shstrndx, 0);
	assert_int_equal(h.e_phentsize, sizeof(Elf64_Phdr));
	assert_int_equal(h.e_entry, (uintptr_t)__ehdr_start);
	memcpy(mapped, (const void *)(uintptr_t)(text.bias + text.segment.p_vaddr), sizeof(mapped));
	assert_int_equal(pread(fd, copied, sizeof(copied), (off_t)text.segment.p_offset),
			 sizeof(copied));
	assert_memory_equal(mapped, copied, sizeof(mapped));
	/* Of another file there is nothing, nor of a process that is gone. */
	image.inode++;
	assert_int_equal(copy_it(w, &image, ""), FILE_OPENER_E_NONE);
	image.inode--;
	image.pid = INT_MAX;
	assert_int_equal(copy_it(w, &image, ""), FILE_OPENER_E_NONE);
}

static struct file_copier_image fuse_image(const struct world *w, const struct fuse_world *fuse)
{
	return (struct file_copier_image){
		.root_fd = fuse->root_fd,
		.user_ns_fd = fuse->user_ns_fd,
		.path = w->file,
		.inode = FUSE_FILE,
		.device_major = fuse->device_major,
		.device_minor = fuse->device_minor,
	};
}

/* In its namespace alone; who went there does not come back to open other files. */
static void test_fuse_that_answers(void **state)
{
	struct world *w = *state;
	struct file_copier_image image, ordinary = ordinary_image(w);
	struct fuse_world fuse = {0};

	if (!fuse_start(&fuse, w->folder, 0, strlen(FUSE_TEXT)))
		skip();
	image = fuse_image(w, &fuse);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(copy_it(w, &image, FUSE_TEXT), FILE_OPENER_E_OK);
		assert_int_equal(copy_it(w, &ordinary, "inside"), FILE_OPENER_E_OK);
	}
	image.user_ns_fd = -1;
	assert_int_equal(copy_it(w, &image, ""), FILE_OPENER_E_NONE);
	image.user_ns_fd = w->dir.fd;
	assert_int_equal(copy_it(w, &image, ""), FILE_OPENER_E_NONE);
	assert_int_equal(copy_it(w, &ordinary, "inside"), FILE_OPENER_E_OK);
	fuse_stop(&fuse);
}

/* Whatever it leaves unanswered: what follows is answered, and the child stays as long as it has
 * to. */
static void test_fuse_that_does_not(void **state)
{
	static const uint32_t requests[] = {FUSE_LOOKUP, FUSE_OPEN, FUSE_READ, FUSE_FLUSH};
	struct pollfd left = {.fd = -1};
	int fd = -1;
	struct world *w = *state;
	struct file_copier_image image, ordinary = ordinary_image(w);
	struct fuse_world fuse = {0};

	file_copier_free(w->copier);
	assert_int_equal(file_copier_new(&w->copier, 100 * MS), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(requests); i++) {
		if (!fuse_start(&fuse, w->folder, requests[i], strlen(FUSE_TEXT)))
			skip();
		image = fuse_image(w, &fuse);
		assert_int_equal(file_copier_copy(w->copier, &image, &fd, &left.fd),
				 FILE_OPENER_E_SLOW);
		/* Busy machines may be late, too. */
		while (copy_it(w, &ordinary, "inside") == FILE_OPENER_E_SLOW)
			;
		assert_int_equal(poll(&left, 1, 0), 0);
		fuse_stop(&fuse);
		assert_int_equal(poll(&left, 1, -1), 1);
		assert_int_equal(left.revents, POLLHUP);
		close(left.fd);
	}
}

/* FUSE answers the ids of its namespace, and ours are not among those. */
static void test_fuse_of_another_user(void **state)
{
	struct world *w = *state;
	struct fuse_world fuse = {.ns_root = SOMEBODY};
	struct file_copier_image image;

	if (geteuid())
		skip(); /* only root can make one */
	if (!fuse_start(&fuse, w->folder, 0, strlen(FUSE_TEXT)))
		skip();
	image = fuse_image(w, &fuse);
	assert_int_equal(copy_it(w, &image, FUSE_TEXT), FILE_OPENER_E_OK);
	fuse_stop(&fuse);
}

/* As root of the namespace. */
static void assert_is_out_of_reach(const struct fuse_world *fuse, pid_t pid)
{
	pid_t child = fork();
	char path[64];
	int status;

	if (child == 0) {
		snprintf(path, sizeof(path), "/proc/%d/mem", pid);
		if (setns(fuse->user_ns_fd, CLONE_NEWUSER) < 0 || setresgid(0, 0, 0) < 0 ||
		    setresuid(0, 0, 0) < 0 || kill(pid, 0) < 0)
			_exit(1);
		if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0 || errno != EPERM)
			_exit(2);
		_exit(open(path, O_RDONLY) >= 0 || errno != EACCES ? 3 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void assert_has_no_socket(pid_t pid)
{
	char path[64], target[64];
	unsigned n = 0;

	for (int fd = 0; fd < 1024; fd++) {
		ssize_t length;

		snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
		length = readlink(path, target, sizeof(target) - 1);
		if (length < 0)
			continue;
		target[length] = '\0';
		assert_null(strstr(target, "socket:"));
		n++;
	}
	assert_true(n > 0);
}

/* A child in somebody's namespace, with root in there, or our id, as its root. */
static void try_child_inside(struct world *w, uid_t ns_root)
{
	struct fuse_world fuse = {.ns_root = ns_root};
	pid_t keeper, servant;
	struct file_copier_image image;
	struct pollfd left = {.fd = -1};
	int fd = -1;

	if (!fuse_start(&fuse, w->folder, FUSE_READ, strlen(FUSE_TEXT)))
		skip();
	image = fuse_image(w, &fuse);
	assert_int_equal(file_copier_new(&w->copier, 500 * MS), 0);
	keeper = child_of(getpid(), fuse.server);
	servant = servant_of(keeper, 0);
	make(keeper, SIGSTOP, 'T');
	assert_int_equal(file_copier_copy(w->copier, &image, &fd, &left.fd), FILE_OPENER_E_SLOW);
	assert_is_out_of_reach(&fuse, servant);
	assert_has_no_socket(servant);
	assert_int_equal(status_field(servant, "CapEff", 16) & ~READING, 0);
	/* It still ends with its keeper. */
	assert_int_equal(status_field(servant, "SigPnd", 16) & KILLED, 0);
	make(keeper, SIGKILL, 'Z');
	assert_int_equal(status_field(servant, "SigPnd", 16) & KILLED, KILLED);
	fuse_stop(&fuse);
	assert_int_equal(poll(&left, 1, -1), 1);
	assert_int_equal(left.revents, POLLHUP);
	close(left.fd);
	file_copier_free(w->copier);
	w->copier = NULL;
}

static void test_child_inside(void **state)
{
	struct world *w = *state;

	if (geteuid())
		skip(); /* it would be the user's own */
	file_copier_free(w->copier);
	try_child_inside(w, 0);
	try_child_inside(w, SOMEBODY);
}

/* Entering namespaces is its alone; at work it has what it reads with. */
static void test_confined(void **state)
{
	const uint64_t kept = READING | UINT64_C(1) << CAP_SYS_ADMIN;
	pid_t keeper = child_of(getpid(), 0);

	(void)state;
	assert_confined(servant_of(keeper, 0), 2, kept);
	assert_confined(keeper, 1, kept);
}

static bool is_refused(long r)
{
	return r == -1 && errno == EPERM;
}

/* Each returns the number of the first thing that is not as it should be; 0: none. */
static int try_namespaces(void)
{
	pid_t child;
	int status, ns = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);

	if (file_copier_forbid_others())
		return 1;
	if (!is_refused(unshare(CLONE_NEWUSER)) || !is_refused(setns(ns, CLONE_NEWUSER)))
		return 2;
	child = (pid_t)syscall(SYS_clone, SIGCHLD | CLONE_NEWUSER, NULL, NULL, NULL, NULL);
	if (child == 0)
		_exit(0);
	if (!is_refused(child))
		return 3;
	child = fork();
	if (child == 0)
		_exit(is_refused(unshare(CLONE_NEWUSER)) ? 0 : 1);
	return waitpid(child, &status, 0) == child && status == 0 ? 0 : 4;
}

/* The copier, which was there before, enters them all the same. */
static void test_others_stay_out(void **state)
{
	struct world *w = *state;
	struct fuse_world fuse = {0};
	struct file_copier_image image;
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(try_namespaces());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	if (!fuse_start(&fuse, w->folder, 0, strlen(FUSE_TEXT)))
		skip();
	child = fork();
	if (child == 0) {
		image = fuse_image(w, &fuse);
		if (file_copier_forbid_others())
			_exit(1);
		assert_int_equal(copy_it(w, &image, FUSE_TEXT), FILE_OPENER_E_OK);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	fuse_stop(&fuse);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_it_is_the_image),    T(test_what_is_mapped),       T(test_fuse_that_answers),
		T(test_fuse_that_does_not), T(test_fuse_of_another_user), T(test_child_inside),
		T(test_confined),           T(test_others_stay_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* The opener with real processes and files. One that is stuck is one that was stopped. */
#include <errno.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

#include "daemon/resolve/file_opener.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/resolve/keeper_fixture.h"

#define MS UINT64_C(1000000)

struct world {
	struct temp_dir dir;
	struct file_opener *opener;
	pid_t keeper;
};

static void start_opener(struct world *w, uint64_t wait_ns)
{
	assert_int_equal(file_opener_new(&w->opener, wait_ns), 0);
	w->keeper = child_of(getpid(), 0);
	assert_true(w->keeper > 0);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	temp_dir_make(&w->dir);
	write_file(w->dir.fd, "usr/file", "inside", 6);
	write_file(w->dir.fd, "usr/other", "another", 7);
	start_opener(w, 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	file_opener_free(w->opener);
	/* Nobody is left behind. */
	assert_int_equal(child_of(getpid(), 0), 0);
	temp_dir_remove(&w->dir);
	free(w);
	return 0;
}

/* What comes of @path; a file is compared with @text. */
static int open_it(struct world *w, const char *path, const char *text)
{
	cleanup(closep) int fd = -1;
	char read_text[64] = "";
	int r = file_opener_open(w->opener, w->dir.fd, path, FILE_OPENER_TRUST_OVERLAYS, &fd);

	assert_true((r == FILE_OPENER_E_OK) == (fd >= 0));
	if (r == FILE_OPENER_E_OK) {
		assert_true(read(fd, read_text, sizeof(read_text) - 1) > 0);
		assert_string_equal(read_text, text);
		assert_int_equal(fcntl(fd, F_GETFL) & (O_ACCMODE | O_PATH), O_RDONLY);
		assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	}
	return r;
}

/* The same; a busy machine's children may be late, so late that their keeper counts as lost. */
static int open_at_last(struct world *w, const char *path, const char *text)
{
	int r;

	while ((r = open_it(w, path, text)) == FILE_OPENER_E_SLOW || r == FILE_OPENER_E_LOST)
		nanosleep(&(struct timespec){.tv_nsec = MS}, NULL);
	return r;
}

static void test_opens_below_the_root(void **state)
{
	struct world *w = *state;
	char path[PATH_MAX + 8];

	assert_int_equal(symlinkat("/usr/file", w->dir.fd, "link"), 0);
	assert_int_equal(symlinkat("/etc/passwd", w->dir.fd, "out"), 0);
	assert_int_equal(mkfifoat(w->dir.fd, "fifo", 0600), 0);
	assert_int_equal(open_it(w, "/usr/file", "inside"), FILE_OPENER_E_OK);
	assert_int_equal(open_it(w, "usr/other", "another"), FILE_OPENER_E_OK);
	assert_int_equal(open_it(w, "/link", "inside"), FILE_OPENER_E_OK);
	assert_int_equal(open_it(w, "/../../usr/file", "inside"), FILE_OPENER_E_OK);
	assert_int_equal(open_it(w, "/out", ""), FILE_OPENER_E_NONE);
	assert_int_equal(open_it(w, "/../../../etc/passwd", ""), FILE_OPENER_E_NONE);
	assert_int_equal(open_it(w, "/fifo", ""), FILE_OPENER_E_NONE);
	assert_int_equal(open_it(w, "/usr", ""), FILE_OPENER_E_NONE);
	assert_int_equal(open_it(w, "", ""), FILE_OPENER_E_NONE);
	assert_int_equal(open_it(w, "/none", ""), FILE_OPENER_E_NONE);
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(open_it(w, path, ""), FILE_OPENER_E_NONE);
	path[PATH_MAX - 1] = '\0';
	assert_int_equal(open_it(w, path, ""), FILE_OPENER_E_NONE);
	assert_int_equal(open_it(w, "/usr/file", "inside"), FILE_OPENER_E_OK);
}

/* What is left alone without a flag; what there is of it the host decides. */
static void test_flags(void **state)
{
	struct world *w = *state;
	cleanup(closep) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(closep) int fd = -1;
	cleanup(closep) int other = -1;
	struct statfs fs;
	int r;

	assert_int_equal(statfs("/etc/passwd", &fs), 0);
	r = file_opener_open(w->opener, root, "/etc/passwd", FILE_OPENER_CROSS_MOUNTS, &fd);
	assert_int_equal(r, fs.f_type == OVERLAYFS_SUPER_MAGIC ? FILE_OPENER_E_NONE
							       : FILE_OPENER_E_OK);
	r = file_opener_open(w->opener, root, "/proc/version", FILE_OPENER_TRUST_OVERLAYS, &other);
	assert_int_equal(r, FILE_OPENER_E_NONE);
	r = file_opener_open(w->opener, root, "/proc/version", FILE_OPENER_CROSS_MOUNTS, &other);
	assert_int_equal(r, FILE_OPENER_E_OK);
}

/* Each file is opened in time, or given up; the answer to one that was is nobody else's. */
static void test_a_stuck_one_is_replaced(void **state)
{
	struct world *w = *state;
	pid_t servant;

	file_opener_free(w->opener);
	start_opener(w, 100 * MS);
	for (unsigned i = 0; i < 3; i++) {
		servant = servant_of(w->keeper, 0);
		make(servant, SIGSTOP, 'T');
		assert_int_equal(open_it(w, "/usr/file", ""), FILE_OPENER_E_SLOW);
		await_end(servant);
		servant_of(w->keeper, servant);
		assert_int_equal(open_at_last(w, "/usr/other", "another"), FILE_OPENER_E_OK);
	}
	/* One that goes on in time has done no harm. */
	file_opener_free(w->opener);
	start_opener(w, 0);
	servant = servant_of(w->keeper, 0);
	make(servant, SIGSTOP, 'T');
	kill(servant, SIGCONT);
	assert_int_equal(open_it(w, "/usr/file", "inside"), FILE_OPENER_E_OK);
	assert_int_equal(servant_of(w->keeper, 0), servant);
}

static void test_lost_ones_come_back(void **state)
{
	struct world *w = *state;
	pid_t servant, keeper = w->keeper;

	file_opener_free(w->opener);
	start_opener(w, 100 * MS);
	keeper = w->keeper;
	servant = servant_of(keeper, 0);
	make(servant, SIGKILL, 'Z');
	assert_int_equal(open_it(w, "/usr/file", ""), FILE_OPENER_E_SLOW);
	servant_of(keeper, servant);
	assert_int_equal(open_at_last(w, "/usr/file", "inside"), FILE_OPENER_E_OK);
	servant = servant_of(keeper, 0);
	make(keeper, SIGKILL, 'Z');
	await_end(servant);
	assert_int_equal(open_it(w, "/usr/file", ""), FILE_OPENER_E_LOST);
	assert_int_equal(open_at_last(w, "/usr/file", "inside"), FILE_OPENER_E_OK);
	assert_int_not_equal(child_of(getpid(), 0), keeper);
}

static void test_children_are_confined(void **state)
{
	const struct world *w = *state;
	const uint64_t kept = UINT64_C(1) << CAP_SYS_PTRACE | UINT64_C(1) << CAP_DAC_READ_SEARCH |
			      UINT64_C(1) << CAP_CHECKPOINT_RESTORE;

	assert_confined(servant_of(w->keeper, 0), 2, kept);
	assert_confined(w->keeper, 1, kept);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_opens_below_the_root),    T(test_flags),
		T(test_a_stuck_one_is_replaced), T(test_lost_ones_come_back),
		T(test_children_are_confined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

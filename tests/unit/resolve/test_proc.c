/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "daemon/resolve/proc.h"
#include "tests/support/temp_dir.h"

static void test_stat(void **state)
{
	static const char good[] = "4242 (a) R (b) c) S 17 4242 4242 0 -1 2097216 0 0 0 0 1 2 3 4 "
				   "20 0 1 0 987654321 0 0 18446744073709551615\n";
	struct proc_stat stat;

	(void)state;
	assert_int_equal(proc_parse_stat(good, &stat), PROC_E_OK);
	assert_int_equal(stat.pid, 4242);
	assert_int_equal(stat.ppid, 17);
	assert_int_equal(stat.state, 'S');
	assert_string_equal(stat.comm, "a) R (b) c");
	assert_int_equal(stat.flags, 2097216);
	assert_true(stat.flags & PROC_STAT_KERNEL_THREAD);
	assert_int_equal(stat.n_threads, 1);
	assert_int_equal(stat.start_ticks, 987654321);
	/* Anything cut before the end of field 22 is refused or, cut within it, shorter. */
	for (size_t n = 0; n < sizeof(good) - 1; n++) {
		char *copy = strndup(good, n);

		assert_non_null(copy);
		assert_int_equal(proc_parse_stat(copy, &stat),
				 strstr(good, "987654321") + 1 > good + n ? PROC_E_GONE
									  : PROC_E_OK);
		free(copy);
	}
	assert_int_equal(proc_parse_stat("1 2 3", &stat), PROC_E_GONE);
	assert_int_equal(proc_parse_stat("1 )x(", &stat), PROC_E_GONE);
}

static void test_status(void **state)
{
	static const char text[] = "Name:\tUid:\\nx\nUmask:\t0022\nTgid:\t7\nPid:\t700\nPPid:\t1\n"
				   "Uid:\t1\t1000\t3\t4294967294\nGid:\t5\t6\t7\t8\n"
				   "CapInh:\t0000000000000001\nCapPrm:\t000001ffffffffff\n";
	struct proc_status status;

	(void)state;
	proc_parse_status(text, &status);
	assert_int_equal(status.tgid, 7);
	assert_int_equal(status.inner_pid, 700);
	assert_true(status.has_uids && status.has_gids);
	assert_int_equal(status.uids[1], 1000);
	assert_int_equal(status.uids[3], 4294967294U);
	assert_int_equal(status.gids[3], 8);
	assert_int_equal(status.capabilities, 0x1ffffffffff);
	proc_parse_status("Uid:\t0\t0\t0\t0\nPid:\t700\nNSpid:\t700\t30\t2\nNSpgid:\t9\n", &status);
	assert_int_equal(status.inner_pid, 2);
	assert_int_equal(status.tgid, 0);
	assert_true(status.has_uids && !status.has_gids);
	proc_parse_status("Tgid:\t1\nUid:\t1\t1\t1\nGid:\t1\t1\t1\t1\n", &status);
	assert_true(!status.has_uids && status.has_gids);
	proc_parse_status("", &status);
	assert_false(status.tgid || status.inner_pid || status.has_uids || status.has_gids);
	assert_int_equal(status.capabilities, UINT64_MAX); /* it may have any */
}

/* This process itself, with a name made to confuse. */
static void test_self(void **state)
{
	cleanup(closep) int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct proc_status status;
	struct proc_stat stat;

	(void)state;
	prctl(PR_SET_NAME, ") R 1 (");
	assert_int_equal(proc_read_stat(proc_fd, getpid(), &stat), PROC_E_OK);
	assert_int_equal(stat.pid, getpid());
	assert_int_equal(stat.ppid, getppid());
	assert_string_equal(stat.comm, ") R 1 (");
	assert_false(stat.flags & PROC_STAT_KERNEL_THREAD);
	assert_true(stat.start_ticks > 0);
	assert_int_equal(proc_read_status(proc_fd, getpid(), &status), PROC_E_OK);
	assert_int_equal(status.tgid, getpid());
	assert_int_equal(status.uids[1], geteuid());
	assert_int_equal(status.owner, geteuid());
	assert_int_equal(proc_read_status(proc_fd, INT_MAX, &status), PROC_E_GONE);
}

struct texts {
	unsigned n;
	char text[8][PATH_MAX];
};

static void note_path(void *userdata, const struct process_event *event)
{
	struct texts *paths = userdata;

	assert_true(paths->n < 8);
	assert_int_equal(event->kind, PROCESS_EVENT_MMAP);
	assert_int_equal(event->map.length, 0x1000);
	assert_int_equal(event->map.device_major, 0xfe);
	assert_int_equal(event->map.device_minor, 1);
	strcpy(paths->text[paths->n++], event->map.path);
}

static void test_mappings(void **state)
{
	static const char head[] = "1000-2000 r-xp 0 fe:1 9 ";
	static char text[3 * PATH_MAX];
	static struct texts paths;
	const struct source_sink sink = {.process_event = note_path, .userdata = &paths};
	struct temp_dir dir;
	int n;

	(void)state;
	temp_dir_make(&dir);
	assert_int_equal(mkdirat(dir.fd, "7", 0700), 0);
	n = snprintf(text, sizeof(text),
		     "%s/x\\012y\\z (deleted)\n%s\nnonsense\n1000-2000 rw-p 0 fe:1 9 /data\n%s",
		     head, head, head);
	memset(text + n, 'p', PATH_MAX - 1);
	n += PATH_MAX - 1;
	n += snprintf(text + n, sizeof(text) - (size_t)n, "\n%sq", head);
	memset(text + n, 'q', PATH_MAX - 1);
	/* Of a line that was cut the path may be another one. */
	snprintf(text + n + PATH_MAX - 1, 64, "\n%s/cut", head);
	write_text(dir.fd, "7/maps", text);
	assert_int_equal(proc_emit_mappings(dir.fd, 7, 1, &sink), PROC_E_OK);
	assert_int_equal(paths.n, 4);
	assert_string_equal(paths.text[0], "/x\\012y\\z (deleted)");
	assert_string_equal(paths.text[1], "//anon");
	assert_int_equal(strlen(paths.text[2]), PATH_MAX - 1);
	assert_int_equal(strlen(paths.text[3]), PATH_MAX - 1);
	assert_int_equal(proc_emit_mappings(dir.fd, 8, 1, &sink), PROC_E_GONE);
	temp_dir_remove(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stat),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_mappings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

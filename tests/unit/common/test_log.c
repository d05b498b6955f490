/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/log.h"

/* What one message makes of a pipe in the place of standard error. */
static void say(bool is_journal, char *text, size_t size)
{
	cleanup(closep) int before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	char stream[64];
	struct stat st;
	int pipes[2];
	ssize_t n;

	assert_true(before >= 0);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(fstat(pipes[1], &st), 0);
	snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev,
		 (uintmax_t)st.st_ino + !is_journal);
	setenv("JOURNAL_STREAM", stream, 1);
	dup2(pipes[1], STDERR_FILENO);
	errno = ENOTDIR;
	log_error("two\nlines and %d", 3);
	assert_int_equal(errno, ENOTDIR);
	dup2(before, STDERR_FILENO);
	unsetenv("JOURNAL_STREAM");
	n = read(pipes[0], text, size - 1);
	assert_true(n > 0);
	text[n] = '\0';
	close(pipes[0]);
	close(pipes[1]);
}

static void test_journal(void **state)
{
	char text[256];

	(void)state;
	say(true, text, sizeof(text));
	assert_string_equal(text, "<3>two lines and 3\n");
}

/* Standard error was connected to something else since. */
static void test_elsewhere(void **state)
{
	char text[256], wanted[256];

	(void)state;
	say(false, text, sizeof(text));
	snprintf(wanted, sizeof(wanted), "%s: two lines and 3\n", program_invocation_short_name);
	assert_string_equal(text, wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_journal),
		cmocka_unit_test(test_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

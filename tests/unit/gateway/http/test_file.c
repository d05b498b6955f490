/* SPDX-License-Identifier: MIT */
/* Files with secrets, by whom they belong to and who may read and write them. */
#include "client/gateway/http/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/says.h"

static void read_file(const char *path, mode_t mode, const char *fault, bool is_public)
{
	cleanup(http_file_freep) struct http_file *f = NULL;
	struct http_message message = {""};
	int r;

	assert_int_equal(chmod(path, mode), 0);
	r = (is_public ? http_file_read_public : http_file_read)(&f, path, &message);
	assert_int_equal(r, fault ? HTTP_FILE_E_BAD : HTTP_FILE_E_OK);
	if (fault)
		assert_says(message.text, fault);
	else
		assert_string_equal(f->text, "text");
}

static void test_modes(void **state)
{
	char path[] = "/tmp/profd-file-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(write(fd, "text", 4), 4);
	close(fd);
	read_file(path, 0660, NULL, false);
	read_file(path, 0664, "read by every user", false);
	read_file(path, 0662, "written by every user", false);
	read_file(path, 0664, NULL, true);
	read_file(path, 0666, "written by every user", true);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 1, (gid_t)-1), 0);
		read_file(path, 0660, "another user", false);
		read_file(path, 0664, NULL, true);
	}
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

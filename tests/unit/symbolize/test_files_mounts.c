/* SPDX-License-Identifier: MIT */
/* Which mount a path is on, and whether one should go there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/symbolize/files.h"

static const char text[] = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
			   "23 22 0:21 / /proc rw - proc proc rw\n"
			   "30 22 0:30 / /home rw shared:3 master:4 - ext4 /dev/sdb1 rw\n"
			   "31 30 0:31 / /home/a\\040b/remote rw - fuse.sshfs host: rw\n"
			   "32 31 8:3 / /home/a\\040b/remote/disk rw - ext4 /dev/sdc1 rw\n"
			   "33 22 0:33 / /net rw - autofs auto rw\n"
			   "34 33 0:34 / /net/host rw - nfs4 host:/ rw\n"
			   "35 22 0:35 / /media rw - fuseblk /dev/sdd1 rw\n"
			   "36 22 0:36 / /media rw - vfat /dev/sde1 rw\n"
			   "this is no line of mountinfo\n"
			   "37 22 0:37 / /cut rw - fuse";

static bool has_slow(const char *lines)
{
	return files_has_slow_mount(lines, strlen(lines));
}

static void assert_mount(const char *lines, const char *path, const char *point, bool is_slow)
{
	bool slow;
	size_t n = files_mount_of(lines, strlen(lines), path, &slow);

	if (n != (strcmp(point, "/") == 0 ? 0 : strlen(point)) || slow != is_slow)
		fail_msg("%s: %zu bytes, %d", path, n, slow);
}

static void test_find(void **state)
{
	static const struct {
		const char *path, *point;
		bool is_slow;
	} cases[] = {
		{"/usr/bin/x", "/", false},
		{"/home/x", "/home", false},
		{"/home", "/home", false},
		{"/homely/x", "/", false},
		{"/home/a b/remote/x", "/home/a b/remote", true},
		{"/home/a b/remoter", "/home", false},
		{"/home/a b/remote/disk/x", "/home/a b/remote/disk", true},
		{"/net/other/x", "/net", true},
		{"/net/host/x", "/net/host", false},
		{"/media/x", "/media", false},
		{"/cut/x", "/", false},
	};

	(void)state;
	assert_true(has_slow(text));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_mount(text, cases[i].path, cases[i].point, cases[i].is_slow);
}

static void test_root_is_what_we_run_on(void **state)
{
	static const char lines[] = "1 0 0:5 / / rw - fuse.fuse-overlayfs fuse-overlayfs rw\n"
				    "2 1 0:6 / /tmp rw - tmpfs tmpfs rw\n";

	(void)state;
	assert_false(has_slow(lines));
	assert_mount(lines, "/usr/bin/x", "/", false);
	assert_mount(lines, "/", "/", false);
}

static void test_nothing(void **state)
{
	(void)state;
	assert_false(has_slow(""));
	assert_mount("", "/x", "/", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_root_is_what_we_run_on),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

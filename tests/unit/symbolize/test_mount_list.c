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

static struct mount_list *parse(const char *lines)
{
	struct mount_list *m = NULL;

	assert_int_equal(mount_list_new(&m, lines, strlen(lines)), 0);
	return m;
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
	cleanup(mount_list_freep) struct mount_list *m = parse(text);

	(void)state;
	assert_true(mount_list_has_slow(m));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool is_slow;

		assert_string_equal(mount_list_find(m, cases[i].path, &is_slow), cases[i].point);
		if (is_slow != cases[i].is_slow)
			fail_msg("%s", cases[i].path);
	}
}

static void test_root_is_what_we_run_on(void **state)
{
	cleanup(mount_list_freep) struct mount_list *m = parse(
		"1 0 0:5 / / rw - fuse.fuse-overlayfs fuse-overlayfs rw\n"
		"2 1 0:6 / /tmp rw - tmpfs tmpfs rw\n");
	bool is_slow;

	(void)state;
	assert_false(mount_list_has_slow(m));
	assert_string_equal(mount_list_find(m, "/usr/bin/x", &is_slow), "/");
	assert_false(is_slow);
}

static void test_nothing(void **state)
{
	cleanup(mount_list_freep) struct mount_list *m = parse("");
	bool is_slow;

	(void)state;
	assert_false(mount_list_has_slow(m));
	assert_string_equal(mount_list_find(m, "/x", &is_slow), "/");
	assert_false(is_slow);
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

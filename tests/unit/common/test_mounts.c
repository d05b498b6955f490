/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/mounts.h"

static const char text[] = "22 28 0:20 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n"
			   "36 35 98:0 /a\\040-\\040b /mnt\\040x rw master:1 shared:2 - ext3 "
			   "/dev/root rw,errors=continue\n"
			   "40 28 0:51 / /home/u/ssh rw,nosuid - fuse.sshfs u@h:/ rw,user_id=1000\n"
			   "41 28 0:5 / /dev rw - devtmpfs fuse rw\n"
			   "nonsense 0:60 - fuse\n"
			   "42 28 0:52 / /last rw - fuse x rw";

static bool has_mount(const char *at, size_t length, uint64_t id)
{
	struct mounts_mount mount;

	return mounts_find(at, length, id, &mount);
}

static void test_absent(void **state)
{
	(void)state;
	assert_true(has_mount(text, strlen(text), 22));
	assert_true(has_mount(text, strlen(text), 42));
	assert_false(has_mount(text, strlen(text), 20));
	assert_false(has_mount(text, strlen(text), 60));
	/* Cut in the type: that is not another type. */
	for (size_t n = strlen(" x rw") + 1; n <= strlen("fuse x rw"); n++)
		assert_false(has_mount(text, strlen(text) - n, 42));
}

/* Wherever it is cut, nothing behind the cut is read; sanitizers watch. */
static void test_cut_anywhere(void **state)
{
	(void)state;
	for (size_t n = 0; n <= strlen(text); n++) {
		char cut[sizeof(text)];

		memcpy(cut + sizeof(cut) - n, text, n);
		assert_int_equal(has_mount(cut + sizeof(cut) - n, n, 42), n + 4 >= strlen(text));
		assert_false(has_mount(cut + sizeof(cut) - n, n, 7));
	}
	assert_false(has_mount("", 0, 40));
}

static void test_by_number(void **state)
{
	static const char overlay[] = "7 1 0:9 / / rw - overlay o rw\n"
				      "8 1 0:9 / / rw - overlays o rw\n";
	struct mounts_mount mount;

	(void)state;
	assert_true(mounts_find(text, strlen(text), 36, &mount));
	assert_int_equal(mount.device_major, 98);
	assert_int_equal(mount.device_minor, 0);
	assert_false(mount.is_fuse || mount.is_overlay);
	assert_true(mounts_find(text, strlen(text), 40, &mount));
	assert_true(mount.is_fuse);
	assert_false(mounts_find(text, strlen(text), 28, &mount));
	assert_false(mounts_find(text, strlen(text) - 5, 42, &mount));
	assert_true(mounts_find(overlay, strlen(overlay), 7, &mount));
	assert_true(mount.is_overlay);
	assert_true(mounts_find(overlay, strlen(overlay), 8, &mount));
	assert_false(mount.is_overlay);
}

/* Of what serves files, only the list of connections is the kernel's own. */
static void test_types(void **state)
{
	static const struct {
		const char *type;
		bool is_fuse, is_autofs;
	} cases[] = {
		{"fuse", true, false},     {"fuse.a", true, false},
		{"fuseblk", true, false},  {"fuseblk.ntfs", true, false},
		{"fusectl", false, false}, {"fusectl.a", false, false},
		{"fus", false, false},     {"autofs", false, true},
		{"autofs4", false, false}, {"ext4", false, false},
		{".fuse", false, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct mounts_mount mount;
		char line[128];

		snprintf(line, sizeof(line), "1 0 0:5 / /at rw - %s x rw\n", cases[i].type);
		assert_true(mounts_find(line, strlen(line), 1, &mount));
		assert_int_equal(mount.is_fuse, cases[i].is_fuse);
		assert_int_equal(mount.is_autofs, cases[i].is_autofs);
		assert_int_equal(mounts_may_have_fuse(line, strlen(line)), cases[i].is_fuse);
	}
}

/* Options as overlayfs writes them: its own backslashes, and octal numbers. */
static void test_overlay_over_fuse(void **state)
{
	static const struct {
		const char *point, *options;
		bool is_over;
	} cases[] = {
		{"/f", "rw,lowerdir=/a:/f:/b,upperdir=/u,workdir=/w", true},
		{"/f", "rw,lowerdir=/a,upperdir=/f/u,workdir=/w", true},
		{"/f", "rw,lowerdir+=/a,lowerdir+=/f/b,xino=off", true},
		{"/f", "rw,lowerdir=/fa:/a/f,upperdir=/ff", false},
		{"/f", "rw,lowerdir=f:./f,redirect_dir=on", false},
		{"/", "rw,lowerdir=/a", true},
		{"/f\\040g", "rw,lowerdir=/a:/f\\040g", true},
		{"/f,g", "rw,lowerdir=/f\\054g", true},
		{"/f:g", "rw,lowerdir=/f\\134:g", true},
		{"/g", "rw,lowerdir=/f\\134:/g", false},
		{"/f\\134g", "rw,lowerdir=/f\\134\\134g", true},
		{"/f=g", "rw,lowerdir=/f=g", true},
		{"/f", "rw", false},
		{"/f", "", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char lines[256];
		struct mounts_mount mount;

		snprintf(lines, sizeof(lines),
			 "1 0 0:5 / %s rw - fuse x rw\n2 0 0:6 / /o rw - "
			 "overlay x %s",
			 cases[i].point, cases[i].options);
		assert_true(mounts_find(lines, strlen(lines), 2, &mount));
		assert_int_equal(mounts_overlay_has_fuse(&mount, lines, strlen(lines)),
				 cases[i].is_over);
	}
}

static void test_any_fuse(void **state)
{
	static const char none[] = "22 28 0:20 / /sys rw - sysfs sysfs rw\n"
				   "41 28 0:5 / /fuse rw - devtmpfs fuse rw\n";
	static const char some[] = "22 28 0:20 / /sys rw - sysfs sysfs rw\n"
				   "40 28 0:51 / /home rw - fuse.sshfs u@h:/ rw\n";

	(void)state;
	assert_false(mounts_may_have_fuse(none, strlen(none)));
	assert_true(mounts_may_have_fuse(some, strlen(some)));
	/* What is not there may be anything. */
	for (size_t n = 0; n < strlen(none); n++)
		if (n == 0 || none[n - 1] != '\n')
			assert_true(mounts_may_have_fuse(none, n));
	assert_true(mounts_may_have_fuse(text, strlen(text)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_absent),    cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_by_number), cmocka_unit_test(test_types),
		cmocka_unit_test(test_any_fuse),  cmocka_unit_test(test_overlay_over_fuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

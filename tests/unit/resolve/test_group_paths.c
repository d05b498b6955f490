/* SPDX-License-Identifier: MIT */
/* Groups of a real hierarchy by their ids, opened by the child that does so for the main thread. */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "daemon/resolve/group_paths.h"
#include "daemon/resolve/proc_door.h"
#include "tests/support/temp_dir.h"

#define PLACE "/sys/fs/cgroup"
#define NAME  "profd test: group"

static char top[128]; /* a group of our own */

/* Only root can. */
static bool is_mounted;

/* In a mount namespace of its own, where version 2 is what there is. */
static int mount_groups(void **state)
{
	(void)state;
	is_mounted = !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
		     !mount("cgroup2", PLACE, "cgroup2", 0, NULL);
	return 0;
}

static uint64_t id_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

static void find_in(const char *root)
{
	cleanup(closep) int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(proc_door_freep) struct proc_door *door = NULL;
	cleanup(group_paths_freep) struct group_paths *groups = NULL;
	char inner[PATH_MAX + 16], name[PATH_MAX];
	uint64_t id;

	assert_int_equal(proc_door_new(&door, proc_fd), 0);
	assert_int_equal(group_paths_new(&groups, door), 0);
	assert_int_equal(group_paths_find(groups, id_of(root), name, sizeof(name)), 0);
	assert_string_equal(name, "/");
	snprintf(inner, sizeof(inner), "%s/b.service", top);
	assert_int_equal(mkdir(inner, 0755), 0);
	id = id_of(inner);
	assert_int_equal(group_paths_find(groups, id, name, sizeof(name)), 0);
	assert_string_equal(name, inner + strlen(root));
	assert_int_equal(group_paths_find(groups, id, name, strlen(inner) - strlen(root)),
			 GROUP_PATHS_E_NONE);
	assert_int_equal(rmdir(inner), 0);
	assert_int_equal(group_paths_find(groups, id, name, sizeof(name)), GROUP_PATHS_E_NONE);
	assert_int_equal(group_paths_find(groups, UINT64_MAX, name, sizeof(name)),
			 GROUP_PATHS_E_NONE);
}

static void test_paths(void **state)
{
	(void)state;
	if (!is_mounted)
		skip();
	snprintf(top, sizeof(top), PLACE "/" NAME " %d", getpid());
	assert_int_equal(mkdir(top, 0755), 0);
	find_in(PLACE);
	assert_int_equal(rmdir(top), 0);
}

/* What is outside of the part that is mounted has no path there. */
static void test_a_part_is_mounted(void **state)
{
	cleanup(closep) int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(proc_door_freep) struct proc_door *door = NULL;
	cleanup(group_paths_freep) struct group_paths *groups = NULL;
	uint64_t outside = id_of(PLACE), inside;
	char name[PATH_MAX];

	(void)state;
	if (!is_mounted)
		skip();
	snprintf(top, sizeof(top), PLACE "/" NAME " %d", getpid());
	assert_int_equal(mkdir(top, 0755), 0);
	inside = id_of(top);
	assert_int_equal(mount(top, PLACE, NULL, MS_BIND, NULL), 0);
	assert_int_equal(proc_door_new(&door, proc_fd), 0);
	assert_int_equal(group_paths_new(&groups, door), 0);
	assert_int_equal(group_paths_find(groups, inside, name, sizeof(name)), 0);
	assert_string_equal(name, "/");
	assert_int_equal(group_paths_find(groups, outside, name, sizeof(name)), GROUP_PATHS_E_NONE);
	assert_int_equal(umount2(PLACE, MNT_DETACH), 0);
	assert_int_equal(rmdir(top), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_a_part_is_mounted),
	};

	return cmocka_run_group_tests(tests, mount_groups, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Whom policy lets look into a process, beside the kernel's own answer: a child with the user's ids
 * and no capabilities opens the target's maps, for which the kernel asks what it asks for ptrace(2)
 * (PTRACE_MODE_READ), but not Yama, whose answer depends on the machine and on who is whose child.
 * Where Yama does not answer, PTRACE_SEIZE is asked as well.
 */
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/control/policy.h"
#include "tests/support/start.h"
#include "tests/support/temp_dir.h"

#define USER    1000u
#define OTHER   1001u
#define COMMAND "sleep"
#define SECONDS "1000"

static struct temp_dir dir;

static bool become(uid_t uid, gid_t gid)
{
	return setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 &&
	       setresuid(uid, uid, uid) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

/* --- targets: each makes the calling process one ---------------------------------------------- */

static bool target_plain(void)
{
	return become(USER, USER);
}

static bool target_other(void)
{
	return become(OTHER, OTHER);
}

static bool target_root(void)
{
	return true;
}

static bool target_other_group(void)
{
	return become(USER, OTHER);
}

static bool target_more_groups(void)
{
	const gid_t groups[] = {0, OTHER};

	return setgroups(2, groups) == 0 && setresgid(USER, USER, USER) == 0 &&
	       setresuid(USER, USER, USER) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

static bool target_ids(uid_t real, uid_t effective, uid_t saved, gid_t real_group,
		       gid_t effective_group, gid_t saved_group)
{
	return setgroups(0, NULL) == 0 &&
	       setresgid(real_group, effective_group, saved_group) == 0 &&
	       setresuid(real, effective, saved) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

static bool target_real_uid(void)
{
	return target_ids(OTHER, USER, USER, USER, USER, USER);
}

static bool target_effective_uid(void)
{
	return target_ids(USER, OTHER, USER, USER, USER, USER);
}

static bool target_saved_uid(void)
{
	return target_ids(USER, USER, OTHER, USER, USER, USER);
}

static bool target_real_gid(void)
{
	return target_ids(USER, USER, USER, OTHER, USER, USER);
}

static bool target_effective_gid(void)
{
	return target_ids(USER, USER, USER, USER, OTHER, USER);
}

static bool target_saved_gid(void)
{
	return target_ids(USER, USER, USER, USER, USER, OTHER);
}

static bool target_not_dumpable(void)
{
	return become(USER, USER) && prctl(PR_SET_DUMPABLE, 0) == 0;
}

/* As a service with User= and AmbientCapabilities=: one capability, permitted or effective too. */
static bool target_capable_of(uint32_t permitted, uint32_t effective)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct sets[2] = {
		{.permitted = permitted, .effective = effective}};

	return prctl(PR_SET_KEEPCAPS, 1) == 0 && become(USER, USER) &&
	       syscall(SYS_capset, &header, sets) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

static bool target_permitted(void)
{
	return target_capable_of(1u << CAP_NET_RAW, 0);
}

static bool target_effective(void)
{
	return target_capable_of(1u << CAP_NET_RAW, 1u << CAP_NET_RAW);
}

static bool write_proc(const char *path, const char *text)
{
	cleanup(closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* In a user namespace of the user's own: as its root, and with no capabilities left. */
static bool target_own_namespace(void)
{
	return become(USER, USER) && unshare(CLONE_NEWUSER) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

static bool drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct sets[2] = {{0}};

	return syscall(SYS_capset, &header, sets) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

/* Files are opened as another user; the kernel does not look at that. */
static bool target_file_ids(void)
{
	if (!target_capable_of(1u << CAP_SETUID, 1u << CAP_SETUID))
		return false;
	setfsuid(OTHER);
	return drop_capabilities();
}

static bool target_own_namespace_plain(void)
{
	return target_own_namespace() && drop_capabilities();
}

static bool target_nested_namespace(void)
{
	return target_own_namespace() && write_proc("/proc/self/setgroups", "deny") &&
	       write_proc("/proc/self/uid_map", "1000 1000 1\n") &&
	       write_proc("/proc/self/gid_map", "1000 1000 1\n") && unshare(CLONE_NEWUSER) == 0 &&
	       prctl(PR_SET_DUMPABLE, 1) == 0;
}

/* A container that root made, in which the user's number is the user's. */
static bool target_container(void)
{
	int ready[2], done[2];
	bool good;
	char byte;
	pid_t parent = getpid(), child;

	if (pipe(ready) < 0 || pipe(done) < 0)
		return false;
	child = fork();
	if (child == 0) {
		char uids[32], gids[32];

		snprintf(uids, sizeof(uids), "/proc/%d/uid_map", parent);
		snprintf(gids, sizeof(gids), "/proc/%d/gid_map", parent);
		good = read(ready[0], &byte, 1) == 1 && write_proc(uids, "0 0 2000\n") &&
		       write_proc(gids, "0 0 2000\n");
		_exit(write(done[1], &good, 1) != 1);
	}
	good = unshare(CLONE_NEWUSER) == 0 && write(ready[1], "", 1) == 1 &&
	       read(done[0], &good, 1) == 1 && good;
	return waitpid(child, NULL, 0) == child && good && become(USER, USER);
}

static bool target_container_root(void)
{
	return target_container() && unshare(CLONE_NEWUSER) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

/* --- programs with more rights than the user, who starts them ----------------------------------
 */

/* A copy of sleep(1), of which @change makes something else; *path is where it is. */
static void copy_command(const char *name, char path[256])
{
	cleanup(closep) int from = open("/bin/" COMMAND, O_RDONLY | O_CLOEXEC), to = -1;
	char block[1 << 16];
	ssize_t n;

	snprintf(path, 256, "%s/%s", dir.path, name);
	to = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0755);
	assert_true(from >= 0 && to >= 0);
	while ((n = read(from, block, sizeof(block))) > 0)
		assert_int_equal(write(to, block, (size_t)n), n);
	assert_int_equal(fchmod(to, 0755), 0);
}

static bool run_command(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir.path, name);
	if (!become(USER, USER))
		return false;
	execl(path, path, SECONDS, NULL);
	return false;
}

static bool target_program(void)
{
	return run_command("plain");
}

static bool target_setuid(void)
{
	return run_command("setuid");
}

static bool target_setgid(void)
{
	return run_command("setgid");
}

static bool target_file_capability(void)
{
	return run_command("capable");
}

/* One that its user may not read. */
static bool target_unreadable(void)
{
	return run_command("unreadable");
}

static int make_commands(void **state)
{
	const struct vfs_cap_data capable = {
		.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
		.data[0].permitted = 1u << CAP_NET_RAW,
	};
	char path[256];

	(void)state;
	temp_dir_make(&dir);
	assert_int_equal(fchmod(dir.fd, 0755), 0);
	copy_command("plain", path);
	copy_command("setuid", path);
	assert_int_equal(chmod(path, 04755), 0);
	copy_command("setgid", path);
	assert_int_equal(chmod(path, 02755), 0);
	copy_command("unreadable", path);
	assert_int_equal(chmod(path, 0711), 0);
	copy_command("capable", path);
	if (geteuid() == 0)
		assert_int_equal(
			setxattr(path, "security.capability", &capable, XATTR_CAPS_SZ_2, 0), 0);
	return 0;
}

static int remove_commands(void **state)
{
	(void)state;
	temp_dir_remove(&dir);
	return 0;
}

/* --- the answers ------------------------------------------------------------------------------ */

static const struct target {
	const char *name;
	bool (*make)(void);
	bool kernel_allows, policy_allows;
} targets[] = {
	{"the user's own", target_plain, true, true},
	{"with other supplementary groups", target_more_groups, true, true},
	{"a program", target_program, true, true},
	{"in a user namespace of the user's", target_own_namespace, true, true},
	{"the same without capabilities", target_own_namespace_plain, true, true},
	{"in a namespace within such a one", target_nested_namespace, true, true},
	/* Stricter than the kernel. */
	{"opens files as another user", target_file_ids, true, false},
	{"another user's", target_other, false, false},
	{"root's", target_root, false, false},
	{"in another group", target_other_group, false, false},
	{"another real uid", target_real_uid, false, false},
	{"another effective uid", target_effective_uid, false, false},
	{"another saved uid", target_saved_uid, false, false},
	{"another real gid", target_real_gid, false, false},
	{"another effective gid", target_effective_gid, false, false},
	{"another saved gid", target_saved_gid, false, false},
	{"not dumpable", target_not_dumpable, false, false},
	{"a permitted capability", target_permitted, false, false},
	{"an effective capability", target_effective, false, false},
	{"in a container that root made", target_container, false, false},
	{"in the user's namespace in such a one", target_container_root, false, false},
	{"a set-user-ID program", target_setuid, false, false},
	{"a set-group-ID program", target_setgid, false, false},
	{"a program with capabilities", target_file_capability, false, false},
	{"a program that may not be read", target_unreadable, false, false},
};

/* When it returns, the target is made, or is being executed. */
static pid_t start_target(const struct target *target)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (!target->make())
			_exit(1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	(void)!read(ready[0], &byte, 1);
	close(ready[0]);
	return pid;
}

static bool open_maps(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	return open(path, O_RDONLY | O_CLOEXEC) >= 0;
}

static bool seize_process(pid_t pid)
{
	return ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0;
}

/* What the kernel says to the user. Of an exec it waits for the end. */
static bool kernel_allows(bool (*ask)(pid_t pid), pid_t target)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(!become(USER, USER) ? 2 : !ask(target));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return !WEXITSTATUS(status);
}

static bool policy_allows(pid_t target)
{
	cleanup(closep) int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), pidfd = -1;
	Profd__Control__Start r = START("", "", .target = TARGET_PID, .number = target);
	const struct peer peer = {.uid = USER, .gid = USER};
	struct source_message why;
	int outcome = policy_check_start(&peer, proc_fd, 0, &r, &pidfd, &why);

	assert_true(outcome == 0 || outcome == CONTROL_ERROR_DENIED);
	return outcome == 0;
}

/* Yama leaves PTRACE_SEIZE to the others where it is not there, or its level is 0. */
static bool yama_is_silent(void)
{
	cleanup(closep) int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
	char level = '0';

	return fd < 0 || (read(fd, &level, 1) == 1 && level == '0');
}

/* Never more than the kernel, and the same but for what is named. Without root, nobody is another.
 */
static void test_beside_the_kernel(void **state)
{
	bool may_seize = yama_is_silent();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(targets) && geteuid() == 0; i++) {
		const struct target *target = &targets[i];
		pid_t pid = start_target(target);
		bool maps = kernel_allows(open_maps, pid);
		bool seized = may_seize ? kernel_allows(seize_process, pid) : maps;
		bool lives = waitpid(pid, NULL, WNOHANG) == 0;
		bool policy = lives && policy_allows(pid);

		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		if (!lives)
			fail_msg("%s: could not be made", target->name);
		if (maps != target->kernel_allows || seized != maps)
			fail_msg("%s: the kernel says %d and %d", target->name, maps, seized);
		if (policy > maps || policy != target->policy_allows)
			fail_msg("%s: policy says %d", target->name, policy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_beside_the_kernel, make_commands,
						remove_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * sandbox_try [--nobody | --capable] [--unfiltered]: tries to get out of an image worker's sandbox,
 * each try in a child of its own that enters it as a worker does. Prints "ok NAME: how it ended" or
 * "not ok NAME", and ends with 1 if any try succeeded. So that a try that never could succeed
 * proves nothing, those that anybody may make are made outside of the sandbox first, where they
 * have to.
 * --nobody: as a user without privileges; else as whoever we are. --unfiltered: without the filter
 * of system calls, those tries that the rest of the sandbox has to withstand alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/sanitized.h"
#include "common/worker/protocol.h"
#include "daemon/worker/sandbox.h"

#define MEMORY_BYTES (UINT64_C(1) << 30)

/* Open before it is entered, as what a worker is sent. */
enum { FD_FILE = 6, FD_DIR, FD_SOCKET, N_FDS };

/* Each returns 0 or more if it got what it wanted, else -1. */
static long try_open(void)
{
	return open("/etc/passwd", O_RDONLY);
}

static long try_open_old(void)
{
#ifdef SYS_open
	return syscall(SYS_open, "/etc/passwd", O_RDONLY);
#else
	return syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
#endif
}

static long try_openat(void)
{
	return openat(FD_DIR, "passwd", O_RDONLY);
}

static long try_openat2(void)
{
	const uint64_t how[3] = {O_RDONLY, 0, 0};

	return syscall(SYS_openat2, FD_DIR, "passwd", how, sizeof(how));
}

static long try_create(void)
{
	return open("/tmp", O_TMPFILE | O_RDWR, 0600);
}

static long try_proc(void)
{
	return open("/proc/self/maps", O_RDONLY);
}

static long try_stat(void)
{
	struct stat st;

	return syscall(SYS_newfstatat, AT_FDCWD, "/etc/passwd", &st, 0);
}

static long try_readlink(void)
{
	char target[64];

	return readlink("/proc/self/exe", target, sizeof(target));
}

static long try_getdents(void)
{
	char entries[1024];

	return syscall(SYS_getdents64, FD_DIR, entries, sizeof(entries));
}

static long try_unlink(void)
{
	return unlink("/tmp/there-is-none") < 0 && errno == ENOENT ? 0 : -1;
}

static long try_chdir(void)
{
	return fchdir(FD_DIR);
}

static long try_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}

static long try_socket_unix(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static long try_socketpair(void)
{
	int ends[2];

	return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
}

static long try_connect(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	/* The family alone: a connection to nobody, which is one. */
	return connect(FD_SOCKET, (struct sockaddr *)&address, sizeof(sa_family_t)) < 0 &&
			       errno != EINVAL
		       ? -1
		       : 0;
}

static long try_send_elsewhere(void)
{
	struct iovec data = {.iov_base = (void *)(uintptr_t) "x", .iov_len = 1};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};

	return sendmsg(FD_SOCKET, &message, MSG_DONTWAIT) < 0 && errno != ENOTCONN ? -1 : 0;
}

static long try_exec(void)
{
	char *const argv[] = {(char *)(uintptr_t) "true", NULL};

	execve("/bin/true", argv, NULL);
	return -1;
}

static long try_fork(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0)
		_exit(0);
	return pid;
}

static long try_clone3(void)
{
	const uint64_t arguments[8] = {[4] = SIGCHLD};
	long pid = syscall(SYS_clone3, arguments, sizeof(arguments));

	if (pid == 0)
		_exit(0);
	return pid;
}

static long try_unshare(void)
{
	return unshare(CLONE_NEWUSER);
}

static long try_setns(void)
{
	return setns(FD_FILE, 0) < 0 && errno == EINVAL ? 0 : -1;
}

static long try_kill(void)
{
	return kill(getppid(), 0);
}

static long try_tgkill(void)
{
	return syscall(SYS_tgkill, 1, 1, 0);
}

static long try_ptrace(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static long try_read_memory(void)
{
	long word = 0;
	struct iovec here = {.iov_base = &word, .iov_len = sizeof(word)};

	return syscall(SYS_process_vm_readv, getpid(), &here, 1, &here, 1, 0);
}

static long try_pidfd(void)
{
	return syscall(SYS_pidfd_open, 1, 0);
}

static long try_mount(void)
{
	return mount("none", "/proc", "proc", MS_REMOUNT, NULL);
}

static long try_chroot(void)
{
	return chroot("/");
}

static long try_bpf(void)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = 4;
	attr.value_size = 4;
	attr.max_entries = 1;
	return syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
}

static long try_perf_event(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static long try_io_uring(void)
{
	uint64_t parameters[15] = {0};

	return syscall(SYS_io_uring_setup, 1, parameters);
}

static long try_keyring(void)
{
	return syscall(SYS_keyctl, 0, -3, 1, 0, 0);
}

static long try_userfaultfd(void)
{
	return syscall(SYS_userfaultfd, O_CLOEXEC | 1);
}

static long try_prlimit(void)
{
	struct rlimit limit;

	return syscall(SYS_prlimit64, getppid(), RLIMIT_NOFILE, NULL, &limit);
}

static long try_setuid(void)
{
	return setresuid((uid_t)-1, getuid(), (uid_t)-1);
}

static long try_dumpable(void)
{
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static long try_map_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, FD_FILE, 0) == MAP_FAILED ? -1
											      : 0;
}

static long try_map_file(void)
{
	return mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, FD_FILE, 0) == MAP_FAILED ? -1 : 0;
}

static long try_map_anonymous_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0) == MAP_FAILED
		       ? -1
		       : 0;
}

static long try_make_code(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return page == MAP_FAILED ? -1 : mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

static long try_ioctl(void)
{
	int n;

	return ioctl(FD_SOCKET, FIONREAD, &n);
}

static long try_chmod(void)
{
	return fchmod(WORKER_ANSWER_FD, 0600);
}

static long try_duplicate(void)
{
	return dup2(FD_FILE, 20);
}

/* Whoever leaves these two cannot be killed by everybody any more. */
static long try_close_leash(void)
{
	return close(WORKER_LEASH_FD);
}

static long try_close_leashes(void)
{
	return (long)close_range(3, 4, 0);
}

static long try_untie_leash(void)
{
	return fcntl(WORKER_LEASH_FD, F_SETFL, 0);
}

static long try_disown_leash(void)
{
	return fcntl(WORKER_LEASH_FD, F_SETOWN, 0);
}

static long try_catch_signals(void)
{
	return signal(SIGUSR1, SIG_DFL) == SIG_ERR ? -1 : 0;
}

/* Any is one too many, in whichever set. */
static long try_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	uint32_t any = 0;

	if (syscall(SYS_capget, &header, data) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(data); i++)
		any |= data[i].effective | data[i].permitted | data[i].inheritable;
	for (unsigned long i = 0; i < 64; i++)
		any |= prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, i, 0, 0) == 1;
	return any ? 0 : -1;
}

/* Past RLIMIT_FSIZE. */
static long try_large_file(void)
{
	return lseek(WORKER_ANSWER_FD, WORKER_ANSWER_MAX, SEEK_SET) < 0 ||
			       write(WORKER_ANSWER_FD, "", 1) < 0
		       ? -1
		       : 0;
}

/* Memory that counts as nobody's for as long as it likes. */
static long try_memfd(void)
{
	return memfd_create("mine", MFD_CLOEXEC);
}

static long try_many_files(void)
{
	return fcntl(FD_FILE, F_DUPFD_CLOEXEC, SANDBOX_FILES_MAX);
}

static long try_much_memory(void)
{
	return mmap(NULL, MEMORY_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		    0) == MAP_FAILED
		       ? -1
		       : 0;
}

static const struct
try {
	const char *name;
	long (*run)(void);
	bool by_anybody; /* it succeeds outside, whoever tries */
	bool unfiltered; /* it fails without the filter as well */
}
tries[] = {
	{"open", try_open, true, true},
	{"open (old)", try_open_old, true, true},
	{"openat", try_openat, true, true},
	{"openat2", try_openat2, true, true},
	{"create", try_create, true, true},
	{"/proc", try_proc, true, true},
	{"stat", try_stat, true, false},
	{"readlink", try_readlink, true, false},
	{"getdents", try_getdents, true, false},
	{"unlink", try_unlink, true, false},
	{"fchdir", try_chdir, true, false},
	{"socket", try_socket, true, false},
	{"socket (unix)", try_socket_unix, true, false},
	{"socketpair", try_socketpair, true, false},
	{"connect", try_connect, true, false},
	{"sendmsg elsewhere", try_send_elsewhere, true, false},
	{"execve", try_exec, true, true},
	{"fork", try_fork, true, true},
	{"clone3", try_clone3, true, true},
	{"unshare", try_unshare, false, false},
	{"setns", try_setns, true, false},
	{"kill", try_kill, false, true},
	{"tgkill", try_tgkill, false, true},
	{"ptrace", try_ptrace, true, false},
	{"process_vm_readv", try_read_memory, true, false},
	{"pidfd_open", try_pidfd, true, false},
	{"mount", try_mount, false, true},
	{"chroot", try_chroot, false, true},
	{"bpf", try_bpf, false, true},
	{"perf_event_open", try_perf_event, false, false},
	{"io_uring", try_io_uring, false, false},
	{"keyctl", try_keyring, false, false},
	{"userfaultfd", try_userfaultfd, false, false},
	{"prlimit", try_prlimit, false, false},
	{"setresuid", try_setuid, true, false},
	{"prctl", try_dumpable, true, false},
	{"mmap code", try_map_code, true, false},
	{"mmap a file", try_map_file, true, false},
	{"mmap anonymous code", try_map_anonymous_code, true, false},
	{"mprotect code", try_make_code, true, false},
	{"ioctl", try_ioctl, true, false},
	{"fchmod", try_chmod, true, false},
	{"dup2", try_duplicate, true, false},
	{"close the leash", try_close_leash, true, false},
	{"close_range", try_close_leashes, true, false},
	{"untie the leash", try_untie_leash, true, false},
	{"disown the leash", try_disown_leash, true, false},
	{"sigaction", try_catch_signals, !IS_SANITIZED, false},
	{"capabilities", try_capabilities, false, true},
	{"large file", try_large_file, true, true},
	{"memfd", try_memfd, true, false},
	{"many files", try_many_files, true, true},
	{"much memory", try_much_memory, true, true},
};

struct mode {
	bool as_nobody, capable, unfiltered;
};

static bool is_promised(const struct try *t, const struct mode *mode)
{
	if (mode->unfiltered && !t->unfiltered)
		return false;
	/* What only a build with sanitizers lets through: daemon/worker/sandbox.c. */
	return !IS_SANITIZED ||
	       (t->run != try_much_memory && t->run != try_stat && t->run != try_catch_signals);
}

static void put_fd(int fd, int where)
{
	if (fd < 0 || dup2(fd, where) < 0) {
		perror("sandbox_try");
		_exit(2);
	}
	if (fd != where)
		close(fd);
}

#define SOME_CAPABILITY CAP_DAC_READ_SEARCH

/* Another user with a capability in each of its sets; takes root. */
static void become_capable(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};

	data[0].effective = data[0].permitted = data[0].inheritable = 1u << SOME_CAPABILITY;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setresuid(1, 1, 1) < 0 ||
	    syscall(SYS_capset, &header, data) < 0 ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, SOME_CAPABILITY, 0, 0) < 0 ||
	    try_capabilities() < 0)
		_exit(2);
}

/* As the client leaves it to the program. */
static void prepare(const struct mode *mode)
{
	int worker[2], leash[2];

	if (mode->capable)
		become_capable();
	if (mode->as_nobody && setresuid(SANDBOX_NOBODY, SANDBOX_NOBODY, SANDBOX_NOBODY) < 0 &&
	    geteuid() == 0)
		_exit(2);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, worker) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, leash) < 0)
		_exit(2);
	/* The other ends stay open, far away. */
	put_fd(worker[1], 30);
	put_fd(leash[1], 31);
	put_fd(fcntl(worker[0], F_DUPFD, 40), WORKER_SOCKET_FD);
	put_fd(fcntl(leash[0], F_DUPFD, 40), WORKER_LEASH_FD);
	put_fd(open("/bin/true", O_RDONLY), FD_FILE);
	put_fd(open("/etc", O_RDONLY | O_DIRECTORY), FD_DIR);
	put_fd(socket(AF_UNIX, SOCK_DGRAM, 0), FD_SOCKET);
	put_fd(memfd_create("try", 0), WORKER_ANSWER_FD);
	put_fd(open("/dev/null", O_RDONLY), STDIN_FILENO);
}

enum { ESCAPED = 100, NO_SANDBOX };

/* Returns the status of the child that tried. */
static int attempt(const struct try *t, bool sandboxed, const struct mode *mode)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		alarm(20);
		prepare(mode);
		if (sandboxed && (mode->unfiltered ? sandbox_restrict(MEMORY_BYTES)
						   : sandbox_enter(MEMORY_BYTES)) < 0)
			_exit(NO_SANDBOX);
		errno = 0;
		_exit(t->run() >= 0 ? ESCAPED : errno & 63);
	}
	waitpid(pid, &status, 0);
	return status;
}

static bool has_escaped(const struct try *t, int status)
{
	/* A program that took the child's place ends as it does. */
	return WIFEXITED(status) &&
	       (WEXITSTATUS(status) == ESCAPED || (t->run == try_exec && !WEXITSTATUS(status)));
}

static bool check(const struct try *t, const struct mode *mode)
{
	int status;

	if (t->by_anybody && !has_escaped(t, attempt(t, false, mode))) {
		printf("not ok %s: fails outside of the sandbox as well\n", t->name);
		return false;
	}
	status = attempt(t, true, mode);
	if (has_escaped(t, status) || (WIFEXITED(status) && WEXITSTATUS(status) == NO_SANDBOX)) {
		printf("not ok %s\n", t->name);
		return false;
	}
	if (WIFSIGNALED(status))
		printf("ok %s: killed by %s\n", t->name, strsignal(WTERMSIG(status)));
	else
		printf("ok %s: %s\n", t->name, strerror(WEXITSTATUS(status)));
	return true;
}

int main(int argc, char **argv)
{
	struct mode mode = {0};
	bool ok = true;

	for (int i = 1; i < argc; i++) {
		mode.as_nobody |= strcmp(argv[i], "--nobody") == 0;
		mode.capable |= strcmp(argv[i], "--capable") == 0;
		mode.unfiltered |= strcmp(argv[i], "--unfiltered") == 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(tries); i++)
		if (is_promised(&tries[i], &mode))
			ok &= check(&tries[i], &mode);
	return ok ? 0 : 1;
}

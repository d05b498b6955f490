/* SPDX-License-Identifier: MIT */
/*
 * kill_at_call LIST N COMMAND...: runs COMMAND under ptrace(2) and kills it at the N-th system call
 * on files of a flush, before the call is done; N 0 lets it live. A flush begins when some thread
 * opens a file that is named .tmp-*; from then on that thread's calls on files count.
 *
 * LIST gets a line for each call that counted: its number, its name, the path where it has one.
 * Exit status: 0 if COMMAND was killed at N (or N is 0 and it ended with 0), 1 if it ended before,
 * 2 for anything else.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_SIZE 128
#define OPTIONS \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC)

/* Calls on files; `path` is the index of the argument that holds one, or -1. */
struct call {
	unsigned long number;
	const char *name;
	int path;
};

#define CALL(name, path)                \
	{                               \
		SYS_##name, #name, path \
	}

static const struct call calls[] = {
	CALL(openat, 1),     CALL(close, -1),      CALL(read, -1),    CALL(pread64, -1),
	CALL(write, -1),     CALL(pwrite64, -1),   CALL(writev, -1),  CALL(lseek, -1),
	CALL(fstat, -1),     CALL(newfstatat, 1),  CALL(statx, 1),    CALL(fchmod, -1),
	CALL(fchown, -1),    CALL(fsetxattr, -1),  CALL(setxattr, 0), CALL(fsync, -1),
	CALL(fdatasync, -1), CALL(syncfs, -1),     CALL(renameat, 3), CALL(renameat2, 3),
	CALL(unlinkat, 1),   CALL(mkdirat, 1),     CALL(linkat, 3),   CALL(ftruncate, -1),
	CALL(fallocate, -1), CALL(getdents64, -1),
};

struct tracer {
	FILE *list;
	unsigned long wanted, counted;
	pid_t command;
	pid_t flusher; /* thread that flushes, 0 before */
	bool killed;
};

static const struct call *find_call(uint64_t number)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].number == number)
			return &calls[i];
	return NULL;
}

/* Up to the end of the page that the text begins in: what lies behind may not be readable. */
static void read_text(pid_t tid, uint64_t address, char ret[PATH_SIZE])
{
	size_t size = 4096 - address % 4096;
	struct iovec to = {.iov_base = ret, .iov_len = PATH_SIZE - 1};
	struct iovec from = {.iov_base = (void *)(uintptr_t)address};
	ssize_t n;

	from.iov_len = size < to.iov_len ? size : to.iov_len;
	n = process_vm_readv(tid, &to, 1, &from, 1, 0);
	ret[n > 0 ? n : 0] = '\0';
}

/* A thread stands before a system call. */
static void on_entry(struct tracer *t, pid_t tid)
{
	struct __ptrace_syscall_info info;
	char path[PATH_SIZE] = "";
	const struct call *call;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) < 0 ||
	    info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	call = find_call(info.entry.nr);
	if (!call || (t->flusher && t->flusher != tid))
		return;
	if (call->path >= 0)
		read_text(tid, info.entry.args[call->path], path);
	if (!t->flusher) {
		if (call->number != SYS_openat || strncmp(path, ".tmp-", 5) != 0)
			return;
		t->flusher = tid;
	}
	t->counted++;
	fprintf(t->list, "%lu %s %s\n", t->counted, call->name, path);
	if (t->counted == t->wanted) {
		t->killed = true;
		kill(t->command, SIGKILL);
	}
}

/* Handles one stop; the signal that is to be delivered is returned. */
static int on_stop(struct tracer *t, pid_t tid, int status)
{
	int sig = WSTOPSIG(status);

	if (sig == (SIGTRAP | 0x80)) {
		on_entry(t, tid);
		return 0;
	}
	/* Events of ptrace, and the stop with which a new thread begins. */
	if (sig == SIGTRAP || sig == SIGSTOP)
		return 0;
	return sig;
}

static int trace(struct tracer *t)
{
	int status, result = 2;
	pid_t tid;

	while ((tid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		if (tid > 0 && WIFSTOPPED(status)) {
			int sig = on_stop(t, tid, status);

			ptrace(PTRACE_SYSCALL, tid, 0, (void *)(intptr_t)sig);
		} else if (tid == t->command) {
			if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
				result = t->wanted ? 1 : 0;
			else if (WIFSIGNALED(status) && t->killed)
				result = 0;
		}
	}
	return result;
}

static pid_t spawn(char **command)
{
	pid_t pid = fork();

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execvp(command[0], command);
		_exit(127);
	}
	return pid;
}

int main(int argc, char **argv)
{
	struct tracer t = {0};
	int status, result;

	if (argc < 4) {
		fputs("usage: kill_at_call LIST N COMMAND...\n", stderr);
		return 2;
	}
	t.wanted = strtoul(argv[2], NULL, 10);
	t.list = fopen(argv[1], "we");
	t.command = t.list ? spawn(argv + 3) : -1;
	if (t.command < 0 || waitpid(t.command, &status, 0) < 0 ||
	    ptrace(PTRACE_SETOPTIONS, t.command, 0, OPTIONS) < 0 ||
	    ptrace(PTRACE_SYSCALL, t.command, 0, 0) < 0) {
		perror("kill_at_call");
		return 2;
	}
	result = trace(&t);
	if (fclose(t.list) != 0)
		return 2;
	return result;
}

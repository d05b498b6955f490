/* SPDX-License-Identifier: MIT */
/*
 * What is left of the kernel's interface: memory that nothing executes, reading and measuring what
 * is open, writing memfds and sealing them, the one socket, the clock, the end. No path is named by
 * any of these calls. Memory comes without files behind it: what is mapped of a file that its owner
 * cuts short raises SIGBUS, so files are read.
 *
 * What glibc 2.36 calls by itself in between: sysinfo in qsort(3), madvise and mremap in malloc(3).
 */
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/worker/protocol.h"
#include "daemon/worker/sandbox.h"

/* An allowed call, and what one of its arguments must be (seccomp_rule_add(3)). */
struct call {
	int number;
	enum scmp_compare op; /* 0: whatever its arguments are */
	unsigned argument;
	uint64_t datum_a, datum_b;
};

#define ANY(name)                SCMP_SYS(name), 0, 0, 0, 0
#define FD(name, op, fd)         SCMP_SYS(name), SCMP_CMP_##op, 0, fd, 0
#define IS(name, n, value)       SCMP_SYS(name), SCMP_CMP_EQ, n, value, 0
#define BITS(name, n, mask, set) SCMP_SYS(name), SCMP_CMP_MASKED_EQ, n, mask, set

static const struct call calls[] = {
	{ANY(brk)},
	{ANY(munmap)},
	{ANY(mremap)},
	{ANY(madvise)},
	{ANY(sysinfo)},
	{ANY(pread64)},
	{ANY(lseek)},
	{ANY(fstat)},
	{FD(recvmsg, EQ, WORKER_SOCKET_FD)},
	{FD(sendmsg, EQ, WORKER_SOCKET_FD)},
	/* The socket and the leash stay. */
	{FD(close, GE, WORKER_LEASH_FD + 1)},
	{ANY(memfd_create)},
	{ANY(ftruncate)},
	{ANY(write)},
	{IS(fcntl, 1, F_ADD_SEALS)},
	{IS(fcntl, 1, F_GETFL)},
	{IS(fcntl, 1, F_GETFD)},
	{IS(fcntl, 1, F_DUPFD_CLOEXEC)},
	{ANY(clock_gettime)},
	{ANY(exit_group)},
#if SANDBOX_SANITIZED
	/* What a sanitizer calls, and what it calls before it says what it found. */
	{BITS(mprotect, 2, PROT_EXEC, 0)},
	{ANY(newfstatat)},
	{ANY(futex)},
	{ANY(getrandom)},
	{ANY(getpid)},
	{ANY(gettid)},
	{ANY(sigaltstack)},
	{ANY(rt_sigaction)},
	{ANY(rt_sigprocmask)},
	{ANY(sched_yield)},
#endif
};

/* mmap: anonymous memory, not executable. Two arguments, so it is no line of the table. */
static int sandbox_allow_mmap(scmp_filter_ctx filter)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
				SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
				SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS));
}

static int sandbox_allow_call(scmp_filter_ctx filter, const struct call *c)
{
	struct scmp_arg_cmp argument = {
		.arg = c->argument,
		.op = c->op,
		.datum_a = c->datum_a,
		.datum_b = c->datum_b,
	};

	return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, c->number, c->op ? 1 : 0, &argument);
}

/*
 * Refused, where all others kill: libdw asks for the name behind a descriptor, and for the files
 * that DWARF names (*.dwo, dwz's), and does without when it gets none.
 */
static const int refused[] = {
#ifdef __NR_open
	SCMP_SYS(open),   SCMP_SYS(readlink),
#endif
	SCMP_SYS(openat), SCMP_SYS(readlinkat),
#if SANDBOX_SANITIZED
	SCMP_SYS(ioctl),  SCMP_SYS(clone),      SCMP_SYS(prlimit64),
#endif
};

static int sandbox_refuse_calls(scmp_filter_ctx filter)
{
	int r = 0;

	for (size_t i = 0; !r && i < ARRAY_SIZE(refused); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), refused[i], 0);
	return r;
}

static int sandbox_fill_filter(scmp_filter_ctx filter)
{
	int r;

	/* Another architecture's calls (x32, i386) end it as well. */
	r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS)
		    ?: sandbox_allow_mmap(filter);
	for (size_t i = 0; !r && i < ARRAY_SIZE(calls); i++)
		r = sandbox_allow_call(filter, &calls[i]);
	return r ?: sandbox_refuse_calls(filter);
}

int sandbox_filter_calls(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r;

	if (!filter)
		return error_origin(-ENOMEM);
	r = sandbox_fill_filter(filter) ?: seccomp_load(filter);
	seccomp_release(filter);
	return r ? error_origin(r) : 0;
}

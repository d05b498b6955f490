/* SPDX-License-Identifier: MIT */
/*
 * The steps of sandbox.h, in their order: each needs something that a later one takes away.
 *
 * What the last one leaves of the kernel's interface: memory that nothing executes, reading and
 * measuring what is open, writing the answers' memfd, the one socket, the clock, the end. No
 * path is named by any of these calls. Memory comes without files behind it: what is mapped of a
 * file that its owner cuts short raises SIGBUS, so files are read.
 *
 * What glibc 2.36 calls by itself in between: sysinfo in qsort(3), madvise and mremap in malloc(3).
 */
#include "daemon/worker/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/helper/confine.h"
#include "common/helper/enclose.h"
#include "common/privileges.h"
#include "common/sanitized.h"
#include "common/worker/protocol.h"

#define STACK_BYTES (8u << 20)
/* Besides what it may use: the program and its libraries, most of which is never touched. */
#define PROGRAM_BYTES (UINT64_C(8) << 20)

static uint64_t sandbox_address_space(uint64_t memory_bytes)
{
	return IS_SANITIZED ? RLIM_INFINITY : PROGRAM_BYTES + memory_bytes;
}

static int sandbox_limit_resources(uint64_t memory_bytes)
{
	const struct enclose_limit limits[] = {
		{RLIMIT_AS, sandbox_address_space(memory_bytes)},
		{RLIMIT_STACK, STACK_BYTES},
		{RLIMIT_CPU, SANDBOX_CPU_MAX_S},
		{RLIMIT_FSIZE, worker_answer_max(memory_bytes)},
		{RLIMIT_NOFILE, SANDBOX_FILES_MAX},
		{RLIMIT_NPROC, 0},
		{RLIMIT_CORE, 0},
		{RLIMIT_MEMLOCK, 0},
		{RLIMIT_MSGQUEUE, 0},
	};

	return enclose_limit_resources(limits, ARRAY_SIZE(limits));
}

/*
 * The kernel sends what F_SETSIG names to who F_SETOWN names, with the rights of the one who called
 * F_SETOWN (fs/fcntl.c, sigio_perm()): so, as ourselves to ourselves. SIGKILL is a signal as good
 * as another there. The filter leaves no call to undo it.
 */
static int sandbox_arm_leash(void)
{
	if (fcntl(WORKER_LEASH_FD, F_SETOWN, getpid()) < 0 ||
	    fcntl(WORKER_LEASH_FD, F_SETSIG, SIGKILL) < 0 ||
	    fcntl(WORKER_LEASH_FD, F_SETFL, O_ASYNC | O_NONBLOCK) < 0)
		return error_origin(-errno);
	return 0;
}

static const struct confine_call calls[] = {
#if !IS_SANITIZED
	CONFINE_IF_BOTH(prlimit64, CONFINE_IS(0, 0), CONFINE_IS(1, RLIMIT_AS)),
#endif
	CONFINE_ANY(brk),
	CONFINE_ANY(munmap),
	CONFINE_ANY(mremap),
	CONFINE_ANY(madvise),
	CONFINE_ANY(sysinfo),
	CONFINE_ANY(pread64),
	CONFINE_ANY(lseek),
	CONFINE_ANY(fstat),
	CONFINE_IF(recvmsg, CONFINE_IS(0, WORKER_SOCKET_FD)),
	CONFINE_IF(sendmsg, CONFINE_IS(0, WORKER_SOCKET_FD)),
	/* The sockets and the answers' file stay. */
	CONFINE_IF(close, CONFINE_AT_LEAST(0, WORKER_ANSWER_FD + 1)),
	CONFINE_ANY(write),
	CONFINE_IF(fcntl, CONFINE_IS(1, F_GETFL)),
	CONFINE_IF(fcntl, CONFINE_IS(1, F_GETFD)),
	CONFINE_IF(fcntl, CONFINE_IS(1, F_DUPFD_CLOEXEC)),
	CONFINE_ANY(clock_gettime),
	CONFINE_ANY(exit_group),
	/* Anonymous memory, not executable. */
	CONFINE_IF_BOTH(mmap, CONFINE_BITS(2, PROT_EXEC, 0),
			CONFINE_BITS(3, MAP_ANONYMOUS, MAP_ANONYMOUS)),
/*
 * Refused, where all others kill: libdw asks for the name behind a descriptor, and for the files
 * that DWARF names (*.dwo, dwz's), and does without when it gets none.
 */
#ifdef __NR_open
	CONFINE_REFUSE(open, EACCES),
	CONFINE_REFUSE(readlink, EACCES),
#endif
	CONFINE_REFUSE(openat, EACCES),
	CONFINE_REFUSE(readlinkat, EACCES),
#if IS_SANITIZED
	CONFINE_REFUSE(clone, EACCES),
#endif
};

static int sandbox_filter_calls(void)
{
	const struct confine_table table = {calls, ARRAY_SIZE(calls)};
	cleanup(confine_filter_freep) struct confine_filter *filter = NULL;
	int r = confine_compile(&filter, &table, 1, SCMP_ACT_KILL_PROCESS);

	return r ? r : error_origin(confine_enter(filter));
}

int sandbox_restrict(uint64_t memory_bytes)
{
	int r = sandbox_limit_resources(memory_bytes);

	if (r)
		return r;
	enclose_offer_to_end();
	/* Who stays uid 0 can open nothing that it owns in here. */
	r = privileges_drop(&privileges_nobody);
	if (r >= 0)
		r = sandbox_arm_leash();
	if (r)
		return r;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return error_origin(-errno);
	return enclose_deny_files();
}

int sandbox_enter(uint64_t memory_bytes)
{
	int r = sandbox_restrict(memory_bytes);

	if (r)
		return r;
	/*
	 * What the parser of a stranger's file says would be the stranger's word, in our log or on
	 * somebody's terminal; a sanitizer's report is wanted. Standard input is /dev/null.
	 */
	if (!IS_SANITIZED && dup2(STDIN_FILENO, STDERR_FILENO) < 0)
		return error_origin(-errno);
	return sandbox_filter_calls();
}

void sandbox_allow_memory(uint64_t memory_bytes)
{
	struct rlimit limit;

	if (IS_SANITIZED || getrlimit(RLIMIT_AS, &limit) < 0)
		return;
	limit.rlim_cur = sandbox_address_space(memory_bytes);
	if (limit.rlim_cur > limit.rlim_max)
		limit.rlim_cur = limit.rlim_max;
	(void)!setrlimit(RLIMIT_AS, &limit);
}

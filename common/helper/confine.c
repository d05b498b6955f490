/* SPDX-License-Identifier: MIT */
/*
 * A filter is made in two steps. Compiling, where memory can be had: libseccomp turns tables into
 * instructions, which it writes to a memory file, the only way it has to hand them over. Entering,
 * between fork and work, where only system calls may be made: the instructions are given to the
 * kernel. A sanitizer calls more than the program does; that is added to every table.
 *
 * Compiling asks the kernel what it has, so it fails on a kernel without filters: there the result
 * is an empty filter, which cannot be entered.
 */
#include "common/helper/confine.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/error.h"
#include "common/helper/memory_file.h"
#include "common/sanitized.h"

struct confine_filter {
	unsigned short n;                      /* 0: the kernel has no filters */
	struct sock_filter code[BPF_MAXINSNS]; /* allocated as far as there is some */
};

/* What a sanitizer calls, and what it calls before it says what it found. */
static const struct confine_call sanitizers[] = {
	CONFINE_IF(mprotect, CONFINE_BITS(2, PROT_EXEC, 0)),
	CONFINE_IF_BOTH(mmap, CONFINE_BITS(2, PROT_EXEC, 0),
			CONFINE_BITS(3, MAP_ANONYMOUS, MAP_ANONYMOUS)),
	CONFINE_ANY(munmap),
	CONFINE_ANY(madvise),
	CONFINE_ANY(newfstatat),
	CONFINE_ANY(futex),
	CONFINE_ANY(getrandom),
	CONFINE_ANY(getpid),
	CONFINE_ANY(gettid),
	CONFINE_ANY(sigaltstack),
	CONFINE_ANY(rt_sigaction),
	CONFINE_ANY(rt_sigprocmask),
	CONFINE_ANY(sched_yield),
	CONFINE_REFUSE(ioctl, EACCES),
	CONFINE_REFUSE(prlimit64, EACCES),
};

static int confine_add_table(scmp_filter_ctx filter, const struct confine_table *table)
{
	int r = 0;

	for (size_t i = 0; i < table->n && !r; i++) {
		const struct confine_call *c = &table->calls[i];

		r = seccomp_rule_add_array(filter, c->instead ? c->instead : SCMP_ACT_ALLOW,
					   c->number, c->n_conditions, c->conditions);
	}
	return r;
}

static int confine_fill(scmp_filter_ctx filter, const struct confine_table *tables, size_t n,
			uint32_t otherwise)
{
	int r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);

	for (size_t i = 0; i < n && !r; i++)
		r = confine_add_table(filter, &tables[i]);
	if (IS_SANITIZED && !r && otherwise != SCMP_ACT_ALLOW)
		r = confine_add_table(filter,
				      &(struct confine_table){sanitizers, ARRAY_SIZE(sanitizers)});
	return r;
}

/* What libseccomp would load it can also write to a file (seccomp_export_bpf(3)). */
static int confine_export(scmp_filter_ctx filter, struct confine_filter **ret)
{
	cleanup(closep) int fd = memory_file_new("profd-filter");
	struct confine_filter *smaller;
	ssize_t length;
	int r;

	if (fd < 0)
		return fd;
	r = seccomp_export_bpf(filter, fd);
	if (r)
		return r;
	*ret = malloc(sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	length = pread(fd, (*ret)->code, sizeof((*ret)->code), 0);
	if (length < 0)
		return -errno;
	(*ret)->n = (unsigned short)((size_t)length / sizeof((*ret)->code[0]));
	smaller = realloc(*ret, offsetof(struct confine_filter, code) + (size_t)length);
	*ret = smaller ? smaller : *ret;
	return 0;
}

bool confine_is_available(void)
{
	uint32_t action = SECCOMP_RET_ALLOW;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0 ||
	       (errno != ENOSYS && errno != EINVAL);
}

int confine_compile(struct confine_filter **ret, const struct confine_table *tables, size_t n,
		    uint32_t otherwise)
{
	cleanup(confine_filter_freep) struct confine_filter *compiled = NULL;
	scmp_filter_ctx filter;
	int r;

	if (!confine_is_available()) {
		*ret = calloc(1, offsetof(struct confine_filter, code));
		return *ret ? 0 : error_origin(-ENOMEM);
	}
	filter = seccomp_init(otherwise);
	if (!filter)
		return error_origin(-ENOMEM);
	r = confine_fill(filter, tables, n, otherwise) ?: confine_export(filter, &compiled);
	seccomp_release(filter);
	if (r)
		return error_origin(r);
	*ret = steal_ptr(&compiled);
	return 0;
}

void confine_filter_free(struct confine_filter *filter)
{
	free(filter);
}

int confine_enter(const struct confine_filter *filter)
{
	const struct sock_fprog program = {.len = filter->n,
					   .filter = (void *)(uintptr_t)filter->code};

	if (!filter->n)
		return -ENOSYS;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return -errno;
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* without_seccomp COMMAND...: runs it as on a kernel that has no filters of system calls. */
#include <errno.h>
#include <seccomp.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	if (argc < 2 || !filter ||
	    seccomp_rule_add(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(seccomp), 0) ||
	    seccomp_load(filter))
		return 126;
	execv(argv[1], argv + 1);
	return 127;
}

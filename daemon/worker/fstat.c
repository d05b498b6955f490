/* SPDX-License-Identifier: MIT */
/*
 * fstat(2) for this program and its libraries. glibc 2.33 to 2.38 makes it of newfstatat(2) with
 * an empty path, and a filter of system calls cannot see that a path is empty: allowed, it would
 * measure any file by its name.
 */
#undef _FILE_OFFSET_BITS /* which makes one name of the two */
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/sanitized.h"

#if !IS_SANITIZED
int fstat(int fd, struct stat *ret)
{
	return (int)syscall(SYS_fstat, fd, ret);
}

int fstat64(int fd, struct stat64 *ret)
{
	return (int)syscall(SYS_fstat, fd, ret);
}
#endif

/* SPDX-License-Identifier: MIT */
/*
 * exec(3): the profile's file is written before the program becomes another one. In a child of
 * vfork(2) the profile is the parent's, and nothing is done.
 *
 * The C library's own functions call each other inside: each one has to be stood before.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include "client/shim/hooks.h"
#include "client/shim/shim.h"

/* POSIX wants 4096 bytes of arguments at least. */
#define ARGUMENTS_MAX 4096

typedef int plain_function(const char *, char *const[]);
typedef int with_environment_function(const char *, char *const[], char *const[]);
typedef int by_fd_function(int, char *const[], char *const[]);
typedef int at_function(int, const char *, char *const[], char *const[], int);

HOOKS_FIND(plain_function, execv, "execv")
HOOKS_FIND(plain_function, execvp, "execvp")
HOOKS_FIND(with_environment_function, execve, "execve")
HOOKS_FIND(with_environment_function, execvpe, "execvpe")
HOOKS_FIND(by_fd_function, fexecve, "fexecve")
HOOKS_FIND(at_function, execveat, "execveat")

void hooks_exec_begin(void)
{
	find_execv();
	find_execvp();
	find_execve();
	find_execvpe();
	find_fexecve();
	find_execveat();
}

/* What @call returns is that it failed. */
#define EXEC(call)                  \
	({                          \
		shim_exec_begin();  \
		int r = (call);     \
                                    \
		shim_exec_failed(); \
		r;                  \
	})

EXPORTED int execve(const char *path, char *const arguments[], char *const environment[])
{
	return EXEC(find_execve()(path, arguments, environment));
}

EXPORTED int execv(const char *path, char *const arguments[])
{
	return EXEC(find_execv()(path, arguments));
}

EXPORTED int execvp(const char *file, char *const arguments[])
{
	return EXEC(find_execvp()(file, arguments));
}

EXPORTED int execvpe(const char *file, char *const arguments[], char *const environment[])
{
	return EXEC(find_execvpe()(file, arguments, environment));
}

EXPORTED int fexecve(int fd, char *const arguments[], char *const environment[])
{
	return EXEC(find_fexecve()(fd, arguments, environment));
}

EXPORTED int execveat(int fd, const char *path, char *const arguments[], char *const environment[],
		      int flags)
{
	return EXEC(find_execveat()(fd, path, arguments, environment, flags));
}

/* Of execl(3) and its kin: from @first on, up to NULL. False: there are too many, errno says so. */
static bool gather_arguments(const char *first, va_list *list, char *ret[ARGUMENTS_MAX])
{
	size_t n = 0;

	ret[n++] = (char *)(uintptr_t)first;
	while (ret[n - 1]) {
		if (n == ARGUMENTS_MAX) {
			errno = E2BIG;
			return false;
		}
		ret[n++] = va_arg(*list, char *);
	}
	return true;
}

/* @call with the @arguments of a list that begins with @first; what is behind them is in @list. */
#define WITH_ARGUMENTS(first, call)                              \
	({                                                       \
		char *arguments[ARGUMENTS_MAX];                  \
		va_list list;                                    \
		int r = -1;                                      \
                                                                 \
		va_start(list, first);                           \
		if (gather_arguments((first), &list, arguments)) \
			r = (call);                              \
		va_end(list);                                    \
		r;                                               \
	})

EXPORTED int execl(const char *path, const char *argument, ...)
{
	return WITH_ARGUMENTS(argument, execv(path, arguments));
}

EXPORTED int execlp(const char *file, const char *argument, ...)
{
	return WITH_ARGUMENTS(argument, execvp(file, arguments));
}

/* The environment is the argument behind the NULL. */
EXPORTED int execle(const char *path, const char *argument, ...)
{
	return WITH_ARGUMENTS(argument, execve(path, arguments, va_arg(list, char *const *)));
}

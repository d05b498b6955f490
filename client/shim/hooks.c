/* SPDX-License-Identifier: MIT */
/*
 * What is called in place of the C library's functions: the beginning and the end of the process,
 * threads, libraries, exec(3), signals. For the rest of the program each of these functions does
 * what it always did: it is found before one of the C library's, or of another library's that was
 * loaded for the same purpose, and hands on to it. Those are asked for once, at the beginning:
 * dlsym(3) takes a lock, which in a forked process may have no owner.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include "client/shim/core/threads.h"
#include "client/shim/shim.h"
#include "client/shim/signals.h"

/* POSIX wants 4096 bytes of arguments at least. */
#define ARGUMENTS_MAX 4096

/* Names that the program's calls find before the C library's. */
#define EXPORTED __attribute__((visibility("default")))

/* A call whose frame the callee takes over. */
#ifdef __clang__
#define JUMPS
#define JUMP __attribute__((musttail))
#else
#define JUMPS __attribute__((optimize("optimize-sibling-calls")))
#define JUMP
#endif

typedef void (*handler)(int);
typedef handler signal_function(int, handler);

/* X(name): what is called behind our own function of that name. */
#define HOOKS(X)          \
	X(pthread_create) \
	X(thrd_create)    \
	X(execv)          \
	X(execvp)         \
	X(execve)         \
	X(execvpe)        \
	X(fexecve)        \
	X(execveat)       \
	X(daemon)         \
	X(sigaction)      \
	X(signal)         \
	X(__sysv_signal)  \
	X(sigprocmask)    \
	X(pthread_sigmask)

/* find_NAME(): that function. */
#define HOOKS_FIND(name)                                                     \
	static __typeof__(name) *find_##name(void)                           \
	{                                                                    \
		static __typeof__(name) *_Atomic real;                       \
		__typeof__(name) *found = atomic_load(&real);                \
                                                                             \
		if (!found) {                                                \
			found = (__typeof__(name) *)dlsym(RTLD_NEXT, #name); \
			atomic_store(&real, found);                          \
		}                                                            \
		return found;                                                \
	}

HOOKS(HOOKS_FIND)

__attribute__((constructor)) static void hooks_begin(void)
{
#define HOOKS_FIND_NOW(name) find_##name();
	HOOKS(HOOKS_FIND_NOW)
	/* quick_exit(3) calls it last, and no destructors. */
	at_quick_exit(shim_end);
	shim_begin();
}

__attribute__((destructor)) static void hooks_end(void)
{
	shim_end();
}

static void *run_thread(void *slot)
{
	struct thread *thread = slot;
	void *(*start)(void *) = thread->start;
	void *argument = thread->argument;

	shim_thread_begin(thread);
	return start(argument);
}

EXPORTED int pthread_create(pthread_t *ret, const pthread_attr_t *attributes,
			    void *(*start)(void *), void *argument)
{
	__typeof__(pthread_create) *real = find_pthread_create();
	struct thread *thread = shim_thread_prepare(start, argument);
	int r;

	if (!thread)
		return real(ret, attributes, start, argument);
	r = real(ret, attributes, run_thread, thread);
	if (r)
		threads_release(thread);
	return r;
}

/* C11's threads return a number. */
static int run_thrd(void *slot)
{
	struct thread *thread = slot;
	thrd_start_t start = (thrd_start_t)(void (*)(void))thread->start;
	void *argument = thread->argument;

	shim_thread_begin(thread);
	return start(argument);
}

EXPORTED int thrd_create(thrd_t *ret, thrd_start_t start, void *argument)
{
	__typeof__(thrd_create) *real = find_thrd_create();
	struct thread *thread = shim_thread_prepare((void *(*)(void *))(void (*)(void))start,
						    argument);
	int r;

	if (!thread)
		return real(ret, start, argument);
	r = real(ret, run_thrd, thread);
	if (r != thrd_success)
		threads_release(thread);
	return r;
}

/* Whether the loader looks for a library's @name where an object of @map's says. */
static bool has_search_path(const struct link_map *map)
{
	for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_RPATH || entry->d_tag == DT_RUNPATH)
			return true;
	return false;
}

/*
 * The loader looks at the caller of dlopen(3): it looks for the name where the caller's object
 * says, and puts the library into the caller's namespace. When that could matter the call must be
 * left to the caller; what was loaded is seen a little later then.
 */
__attribute__((noinline)) static bool may_call_dlopen(const char *file, const void *caller)
{
	struct dl_find_object object;

	if (!file)
		return false;
	if (strchr(file, '/'))
		return !strchr(file, '$');
	if (has_search_path(_r_debug.r_map) ||
	    _dl_find_object((void *)(uintptr_t)caller, &object) != 0)
		return false;
	/* The main program, which no object has loaded. */
	return object.dlfo_link_map == _r_debug.r_map;
}

JUMPS EXPORTED void *dlopen(const char *file, int mode)
{
	__typeof__(dlopen) *real = (__typeof__(dlopen) *)dlsym(RTLD_NEXT, "dlopen");
	void *handle;

	/* A jump, which leaves the caller's return address where it is. */
	if (mode & RTLD_NOLOAD || !may_call_dlopen(file, __builtin_return_address(0)))
		JUMP return real(file, mode);
	handle = real(file, mode);
	if (handle)
		shim_libraries_changed();
	return handle;
}

/* Runs no destructors. After a vfork(2) this is the child, and the profile its parent's. */
EXPORTED void _exit(int status)
{
	shim_end();
	for (;;)
		syscall(SYS_exit_group, status);
}

EXPORTED void _Exit(int status)
{
	_exit(status);
}

/* Ends the parent inside the C library, which calls nothing of ours there. */
EXPORTED int daemon(int keeps_directory, int keeps_files)
{
	shim_flush();
	return find_daemon()(keeps_directory, keeps_files);
}

/* --- exec ------------------------------------------------------------------------------------- */

/*
 * exec(3): the profile's file is written before the program becomes another one. In a child of
 * vfork(2) the profile is the parent's, and nothing is done.
 *
 * The C library's own functions call each other inside: each one has to be stood before.
 */

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

/* --- signals ---------------------------------------------------------------------------------- */

/*
 * Signals: the program is not to see which ones we have taken (signals.h), and threads that block
 * all of them go on being sampled. Else their ticks would be what sigwait(3) returns.
 */

int hooks_sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
	return find_sigaction()(number, action, before);
}

EXPORTED int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
	int r;

	if (shim_has_signal(number)) {
		program_action(action, before);
		return 0;
	}
	r = hooks_sigaction(number, action, before);
	if (r == 0 && before && fatal_is(before))
		*before = (struct sigaction){.sa_handler = SIG_DFL};
	return r;
}

static handler set_handler(signal_function *real, int number, handler action, int flags)
{
	struct sigaction now = {.sa_handler = action, .sa_flags = flags}, before;
	bool was_ours;
	handler r;

	if (action != SIG_ERR && shim_has_signal(number)) {
		if (!(flags & SA_NODEFER))
			sigaddset(&now.sa_mask, number);
		program_action(&now, &before);
		return before.sa_handler;
	}
	was_ours = hooks_sigaction(number, NULL, &before) == 0 && fatal_is(&before);
	r = real(number, action);
	return was_ours && r != SIG_ERR ? SIG_DFL : r;
}

EXPORTED handler signal(int number, handler action)
{
	return set_handler(find_signal(), number, action, SA_RESTART);
}

/* signal(3) of programs that are compiled for X/Open. */
EXPORTED handler __sysv_signal(int number, handler action)
{
	return set_handler(find___sysv_signal(), number, action, (int)SA_RESETHAND | SA_NODEFER);
}

/* @set without the tick's signal, in @room; or as it is. */
static const sigset_t *admit_ticks(int how, const sigset_t *set, sigset_t *room)
{
	int tick = shim_tick_signal();

	if (!set || how == SIG_UNBLOCK || !tick || sigismember(set, tick) != 1)
		return set;
	*room = *set;
	sigdelset(room, tick);
	return room;
}

EXPORTED int sigprocmask(int how, const sigset_t *set, sigset_t *before)
{
	sigset_t room;

	return find_sigprocmask()(how, admit_ticks(how, set, &room), before);
}

EXPORTED int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
	sigset_t room;

	return find_pthread_sigmask()(how, admit_ticks(how, set, &room), before);
}

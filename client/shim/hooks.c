/* SPDX-License-Identifier: MIT */
/*
 * What is called in place of the C library's functions: the beginning and the end of the process,
 * threads, libraries. For the rest of the program each of these functions does what it always did.
 */
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include "client/shim/core/threads.h"
#include "client/shim/hooks.h"
#include "client/shim/shim.h"

/* A call whose frame the callee takes over. */
#ifdef __clang__
#define JUMPS
#define JUMP __attribute__((musttail))
#else
#define JUMPS __attribute__((optimize("optimize-sibling-calls")))
#define JUMP
#endif

typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
typedef int thrd_function(thrd_t *, thrd_start_t, void *);
typedef void *open_function(const char *, int);

HOOKS_FIND(create_function, create, "pthread_create")
HOOKS_FIND(thrd_function, thrd_create, "thrd_create")

__attribute__((constructor)) static void hooks_begin(void)
{
	find_create();
	find_thrd_create();
	hooks_signal_begin();
	hooks_exec_begin();
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
	create_function *real = find_create();
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
	thrd_function *real = find_thrd_create();
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
	open_function *real = (open_function *)dlsym(RTLD_NEXT, "dlopen");
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

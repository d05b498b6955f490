/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_SHIM_HOOKS_H
#define PROFD_CLIENT_SHIM_HOOKS_H

/*
 * What hooks*.c share: each of their functions is found before one of the C library's, or of
 * another library's that was loaded for the same purpose, and hands on to it. Those are asked for
 * once, at the beginning: dlsym(3) takes a lock, which in a forked process may have no owner.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>

/* Names that the program's calls find before the C library's. */
#define EXPORTED __attribute__((visibility("default")))

/* find_NAME(): the function behind our own, of that type, called @symbol. */
#define HOOKS_FIND(type, name, symbol)                            \
	static type *find_##name(void)                            \
	{                                                         \
		static type *_Atomic real;                        \
		type *found = atomic_load(&real);                 \
                                                                  \
		if (!found) {                                     \
			found = (type *)dlsym(RTLD_NEXT, symbol); \
			atomic_store(&real, found);               \
		}                                                 \
		return found;                                     \
	}

void hooks_signal_begin(void);
void hooks_exec_begin(void);

/* sigaction(2), behind our own. */
int hooks_sigaction(int number, const struct sigaction *action, struct sigaction *before);

#endif

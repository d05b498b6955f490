/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_SHIM_LOCK_H
#define PROFD_CLIENT_SHIM_LOCK_H

/*
 * The library's lock. A thread that holds it has all signals blocked: so no handler of the
 * program's can want it in the same thread, or leave with it by a longjmp. Handlers may take it;
 * the one that samples does not.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/futex.h>

struct lock {
	_Atomic int word; /* 0 free, 1 held, 2 held and waited for */
};

/* The kernel's own call: ours (hooks.c) would not block all. @ret may be NULL. */
static inline void lock_set_mask(const sigset_t *mask, sigset_t *ret)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, mask, ret, _NSIG / 8);
}

/* @ret_mask: for lock_release(). Not a cancellation point. */
static inline void lock_take(struct lock *lock, sigset_t *ret_mask)
{
	int word = 0;
	sigset_t all;

	sigfillset(&all);
	lock_set_mask(&all, ret_mask);
	if (atomic_compare_exchange_strong(&lock->word, &word, 1))
		return;
	while (atomic_exchange(&lock->word, 2) != 0)
		syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

/* Where all signals are blocked already. False: somebody has it. */
static inline bool lock_try(struct lock *lock)
{
	int word = 0;

	return atomic_compare_exchange_strong(&lock->word, &word, 1);
}

/* After lock_try(). */
static inline void lock_release_only(struct lock *lock)
{
	if (atomic_exchange(&lock->word, 0) == 2)
		syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static inline void lock_release(struct lock *lock, const sigset_t *mask)
{
	lock_release_only(lock);
	lock_set_mask(mask, NULL);
}

#endif

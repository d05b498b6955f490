/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_SHIM_LOCK_H
#define PROFD_CLIENT_SHIM_LOCK_H

/*
 * The library's lock. Whoever holds it has all signals blocked: so no handler of the program's can
 * want it in the same thread, or leave with it by a longjmp. Handlers may take it; the one that
 * samples does not.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/futex.h>

struct lock {
	_Atomic int word; /* 0 free, 1 held, 2 held and waited for */
};

/* @ret_mask: for lock_release(). Not a cancellation point. */
static inline void lock_take(struct lock *lock, sigset_t *ret_mask)
{
	int word = 0;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, ret_mask);
	if (atomic_compare_exchange_strong(&lock->word, &word, 1))
		return;
	while (atomic_exchange(&lock->word, 2) != 0)
		syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static inline void lock_release(struct lock *lock, const sigset_t *mask)
{
	if (atomic_exchange(&lock->word, 0) == 2)
		syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	pthread_sigmask(SIG_SETMASK, mask, NULL);
}

#endif

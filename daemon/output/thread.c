/* SPDX-License-Identifier: MIT */
#include "daemon/output/thread.h"

#include <signal.h>

#include "common/error.h"

int thread_start(pthread_t *ret, const char *name, void *(*run)(void *userdata), void *userdata)
{
	sigset_t all, before;
	pthread_t thread;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&thread, NULL, run, userdata);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r)
		return error_origin(-r);
	pthread_setname_np(thread, name);
	*ret = thread;
	return 0;
}

int thread_lock_init(struct thread_lock *lock)
{
	int r = pthread_mutex_init(&lock->mutex, NULL);

	if (r)
		return error_origin(-r);
	r = pthread_cond_init(&lock->wake, NULL);
	if (r) {
		pthread_mutex_destroy(&lock->mutex);
		return error_origin(-r);
	}
	lock->is_init = true;
	return 0;
}

void thread_lock_deinit(struct thread_lock *lock)
{
	if (!lock->is_init)
		return;
	pthread_cond_destroy(&lock->wake);
	pthread_mutex_destroy(&lock->mutex);
	lock->is_init = false;
}

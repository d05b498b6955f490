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

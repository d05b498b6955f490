/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/lent_fd.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

/* Between reading a number and copying its descriptor, nobody closes it: it would be another's. */
static pthread_mutex_t lent_fd_lock = PTHREAD_MUTEX_INITIALIZER;

int lent_fd_borrow(const atomic_int *fd)
{
	int copy = -1;

	pthread_mutex_lock(&lent_fd_lock);
	if (*fd >= 0)
		copy = fcntl(*fd, F_DUPFD_CLOEXEC, 0);
	pthread_mutex_unlock(&lent_fd_lock);
	return copy;
}

void lent_fd_give_up(atomic_int *fd)
{
	pthread_mutex_lock(&lent_fd_lock);
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	pthread_mutex_unlock(&lent_fd_lock);
}

/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/lent_fd.h"

#include <unistd.h>

#define GIVEN_UP (1u << 31)

/*
 * The descriptor is read before it is counted as lent: there is only one in a lifetime, and
 * counting fails once it was given up.
 */
int lent_fd_borrow(struct lent_fd l)
{
	int fd = atomic_load(l.fd);
	unsigned n = atomic_load(l.n_lent);

	if (fd < 0)
		return -1;
	do {
		if (n & GIVEN_UP)
			return -1;
	} while (!atomic_compare_exchange_weak(l.n_lent, &n, n + 1));
	return fd;
}

void lent_fd_return(struct lent_fd l, int fd)
{
	if (fd >= 0 && atomic_fetch_sub(l.n_lent, 1) == (GIVEN_UP | 1))
		close(fd);
}

void lent_fd_give_up(struct lent_fd l)
{
	int fd = atomic_exchange(l.fd, -1);

	if (fd >= 0 && atomic_fetch_or(l.n_lent, GIVEN_UP) == 0)
		close(fd);
}

/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/lent_fd.h"

#include <unistd.h>

#define GIVEN_UP (1u << 31)

/*
 * The descriptor is read before it is counted as lent: there is only one in a lifetime, and
 * counting fails once it was given up.
 */
int lent_fd_borrow(atomic_int *fd, atomic_uint *n_lent)
{
	int lent = atomic_load(fd);
	unsigned n = atomic_load(n_lent);

	if (lent < 0)
		return -1;
	do {
		if (n & GIVEN_UP)
			return -1;
	} while (!atomic_compare_exchange_weak(n_lent, &n, n + 1));
	return lent;
}

void lent_fd_return(atomic_uint *n_lent, int fd)
{
	if (fd >= 0 && atomic_fetch_sub(n_lent, 1) == (GIVEN_UP | 1))
		close(fd);
}

void lent_fd_give_up(atomic_int *fd, atomic_uint *n_lent)
{
	int given_up = atomic_exchange(fd, -1);

	if (given_up >= 0 && atomic_fetch_or(n_lent, GIVEN_UP) == 0)
		close(given_up);
}

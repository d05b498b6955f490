/* SPDX-License-Identifier: MIT */
#include "client/report/slip.h"

bool slip_is(const char *a, size_t n_a, const char *b, size_t n_b)
{
	while (n_a && n_b && *a == *b)
		a++, b++, n_a--, n_b--;
	while (n_a && n_b && a[n_a - 1] == b[n_b - 1])
		n_a--, n_b--;
	return (n_a <= 1 && n_b <= 1) || (n_a == 2 && n_b == 2 && a[0] == b[1] && a[1] == b[0]);
}

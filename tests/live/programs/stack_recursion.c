/* SPDX-License-Identifier: MIT */
/* leaf < recurse, as many times as the argument says < main. */
#include <stdlib.h>

#include "stack_burn.h"

KEEP void leaf(void)
{
	for (unsigned i = 0; i < 100; i++)
		BURN();
}

KEEP void recurse(unsigned more)
{
	if (more > 1)
		recurse(more - 1);
	else
		leaf();
	burn_sink++;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 1;

	say_ready();
	while (again())
		recurse(n);
}

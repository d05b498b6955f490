/* SPDX-License-Identifier: MIT */
/*
 * Where calls lead that leave the program: "plt", to a library through the linkage table (b_entry <
 * loop_plt < main, b_entry being short); "vdso", to clock_gettime; "read", into the kernel.
 */
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "stack_burn.h"

void b_entry(unsigned n);

KEEP void loop_plt(void)
{
	for (;;)
		b_entry(0);
}

KEEP void loop_vdso(void)
{
	struct timespec t;

	for (;;)
		clock_gettime(CLOCK_MONOTONIC, &t);
}

KEEP void loop_read(void)
{
	static char memory[1 << 18];
	int fd = open("/dev/zero", O_RDONLY);

	while (read(fd, memory, sizeof(memory)) > 0)
		burn_sink++;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	say_ready();
	if (strcmp(how, "plt") == 0)
		loop_plt();
	else if (strcmp(how, "vdso") == 0)
		loop_vdso();
	else
		loop_read();
	return 0;
}

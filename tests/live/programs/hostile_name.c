/* SPDX-License-Identifier: MIT */
/* Spins in a function whose name is HTML: hostile_name SECONDS, for ever without. */
#include <stdlib.h>
#include <time.h>

volatile unsigned long hostile_sink;

__attribute__((noinline)) void hostile_spin(void) __asm__("\"</script><b>'&\"");

void hostile_spin(void)
{
	for (unsigned i = 0; i < 1000000; i++)
		hostile_sink = hostile_sink * 31 + i;
}

int main(int argc, char **argv)
{
	time_t end = argc > 1 ? time(NULL) + atoi(argv[1]) : 0;

	while (!end || time(NULL) < end)
		hostile_spin();
	return 0;
}

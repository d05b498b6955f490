/* SPDX-License-Identifier: MIT */
/*
 * pulse N SECONDS: N processes, each of which works for about 1 ms in every 300 ms, so that all of
 * them are sampled in a window and the machine still has time for others.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void beat(unsigned phase, double seconds)
{
	const struct timespec pause = {.tv_nsec = 300000000};
	double end = now() + seconds;
	uint64_t x = phase;

	usleep(phase * 1000);
	while (now() < end) {
		for (unsigned i = 0; i < 800000; i++)
			x = x * 6364136223846793005u + 1442695040888963407u;
		sink = x;
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	double seconds = argc > 2 ? atof(argv[2]) : 1;

	for (unsigned i = 0; i < n; i++) {
		if (fork() == 0) {
			beat(i, seconds);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		continue;
	return 0;
}

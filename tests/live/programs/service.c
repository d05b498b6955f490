/* SPDX-License-Identifier: MIT */
/*
 * A process of a service, under any name: `service HEX MODE`, where HEX are the bytes of the name.
 *
 *   spin                 uses a CPU, now and then
 *   parent MS            sleeps but for starting a child that uses a CPU for MS milliseconds, over
 *                        and over; "exec" behind it: the child is another program
 *   enter MS DIR      the same, but the child enters that control group before, by the name of
 *                        sv-entered
 *   enter MS DIR N       the same, but each child another one of DIR/s0.service to
 * DIR/sN-1.service, and as sv-scattered many DIR N MS     N children, each in DIR/mI.service: says
 * "ready", and after each line on its input each child uses a CPU for MS milliseconds
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;

static uint64_t cpu_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

__attribute__((noinline)) static void burn(uint64_t ms)
{
	uint64_t end = cpu_us() + ms * 1000, x = 1;

	do
		for (unsigned i = 0; i < 50000; i++)
			x = x * 6364136223846793005u + 1442695040888963407u;
	while (cpu_us() < end);
	sink = x;
}

static void take_name(const char *hex)
{
	char name[16] = "";
	unsigned byte;

	for (size_t i = 0; i < sizeof(name) - 1 && sscanf(hex + 2 * i, "%2x", &byte) == 1; i++) {
		name[i] = (char)byte;
		if (!hex[2 * i + 2])
			break;
	}
	prctl(PR_SET_NAME, name);
}

static void be_parent(char **argv, int is_exec)
{
	for (;;) {
		pid_t child = fork();

		if (child == 0 && is_exec)
			execl("/proc/self/exe", argv[0], argv[1], "once", argv[3], NULL);
		if (child == 0) {
			burn(strtoul(argv[3], NULL, 10));
			_exit(0);
		}
		waitpid(child, NULL, 0);
		usleep(2000);
	}
}

static int enter(const char *dir)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	f = fopen(path, "w");
	return !f || fprintf(f, "0\n") < 0 || fclose(f);
}

static void be_entering(char **argv)
{
	unsigned n_groups = argv[5] ? (unsigned)strtoul(argv[5], NULL, 10) : 0;
	char dir[4096];

	for (unsigned i = 0;; i++) {
		pid_t child = fork();

		snprintf(dir, sizeof(dir), n_groups ? "%s/s%u.service" : "%s", argv[4],
			 n_groups ? i % n_groups : 0);
		if (child == 0 && enter(dir))
			_exit(1);
		if (child == 0) {
			prctl(PR_SET_NAME, n_groups ? "sv-scattered" : "sv-entered");
			burn(strtoul(argv[3], NULL, 10));
			_exit(0);
		}
		waitpid(child, NULL, 0);
		usleep(2000);
	}
}

static void on_signal(int number)
{
	(void)number;
}

static void be_one_of_many(const char *dir, unsigned i, uint64_t ms)
{
	sigset_t set;
	char path[4096];
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	snprintf(path, sizeof(path), "%s/m%u.service", dir, i);
	if (enter(path))
		_exit(1);
	for (;;)
		if (sigwait(&set, &number) == 0)
			burn(ms);
}

static int be_many(char **argv)
{
	unsigned n = (unsigned)strtoul(argv[4], NULL, 10);
	sigset_t set;
	int c;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGUSR1, on_signal);
	for (unsigned i = 0; i < n; i++) {
		pid_t child = fork();

		if (child < 0)
			return 1;
		if (child == 0)
			be_one_of_many(argv[3], i, strtoul(argv[5], NULL, 10));
	}
	puts("ready");
	fflush(stdout);
	while ((c = getchar()) != EOF)
		if (c == '\n')
			kill(0, SIGUSR1);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	take_name(argv[1]);
	if (strcmp(argv[2], "once") == 0)
		burn(strtoul(argv[3], NULL, 10));
	else if (strcmp(argv[2], "parent") == 0)
		be_parent(argv, argc > 4);
	else if (strcmp(argv[2], "enter") == 0)
		be_entering(argv);
	else if (strcmp(argv[2], "many") == 0)
		return be_many(argv);
	else
		for (;;) {
			burn(3);
			usleep(60000);
		}
	return 0;
}

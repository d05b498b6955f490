/* SPDX-License-Identifier: MIT */
/*
 * Children that are born all the time. "vfork": leaf < in_child < family < main, in the child of a
 * vfork, on its parent's stack. "fork": the same in an ordinary child. "spawn PROGRAM": children
 * that run PROGRAM with the argument 5. "births": threads that end at once, of births < family <
 * main. However fast the machine is, a child has some 8 ms of CPU time: an event that it inherits
 * begins with a whole period, and shorter ones are in no sample.
 */
#include <pthread.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "stack_burn.h"

extern char **environ;

static unsigned long burns = 100;

KEEP void leaf(void)
{
	for (unsigned long i = 0; i < burns; i++)
		BURN();
}

static unsigned long cpu_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (unsigned long)now.tv_sec * 1000000 + (unsigned long)now.tv_nsec / 1000;
}

static void measure(void)
{
	unsigned long before = cpu_us();

	leaf();
	burns = burns * 8000 / (cpu_us() - before + 1) + 1;
}

KEEP void in_child(void)
{
	leaf();
	burn_sink++;
}

static void *nothing(void *argument)
{
	return argument;
}

KEEP void births(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, nothing, NULL) == 0)
		pthread_join(thread, NULL);
	burn_sink++;
}

/* The parent's share of the time is nothing: it waits. */
KEEP void family(const char *how, char *program)
{
	char *arguments[] = {program, (char[]){"5"}, NULL};
	pid_t pid = -1;

	if (strcmp(how, "vfork") == 0) {
		pid = vfork();
		if (pid == 0) {
			in_child();
			_exit(0);
		}
	} else if (strcmp(how, "fork") == 0) {
		pid = fork();
		if (pid == 0) {
			in_child();
			_exit(0);
		}
	} else if (strcmp(how, "births") == 0) {
		births();
	} else {
		posix_spawn(&pid, program, NULL, NULL, arguments, environ);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	measure();
	say_ready();
	for (;;)
		family(argc > 1 ? argv[1] : "fork", argc > 2 ? argv[2] : NULL);
}

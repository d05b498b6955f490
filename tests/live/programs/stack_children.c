/* SPDX-License-Identifier: MIT */
/*
 * Children that are born all the time. "vfork": leaf < in_child < family < main, in the child of a
 * vfork, on its parent's stack. "fork": the same in an ordinary child. "spawn PROGRAM": children
 * that run PROGRAM with the argument 5.
 */
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "stack_burn.h"

extern char **environ;

KEEP void leaf(void)
{
	for (unsigned i = 0; i < 100; i++)
		BURN();
}

KEEP void in_child(void)
{
	leaf();
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
	} else {
		posix_spawn(&pid, program, NULL, NULL, arguments, environ);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	say_ready();
	for (;;)
		family(argc > 1 ? argv[1] : "fork", argc > 2 ? argv[2] : NULL);
}

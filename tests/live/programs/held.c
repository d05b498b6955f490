/* SPDX-License-Identifier: MIT */
/*
 * held exec|thread FILE: executes a program, from its first thread or another one, while FILE is
 * open and its server, which knows the name "held", does not answer when it is closed. The kernel
 * holds exec_update_lock for as long.
 */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static void *become_another(void *unused)
{
	(void)unused;
	execl("/bin/sleep", "sleep", "1000", (char *)0);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 3 || open(argv[2], O_RDONLY | O_CLOEXEC) < 0)
		return 2;
	prctl(PR_SET_NAME, "held");
	if (!strcmp(argv[1], "thread") && !pthread_create(&thread, 0, become_another, 0))
		pthread_join(thread, 0);
	become_another(0);
	return 1;
}

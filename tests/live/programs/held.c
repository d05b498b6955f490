/* SPDX-License-Identifier: MIT */
/*
 * held exec|thread FILE: executes a program, from its first thread or another one, while FILE is
 * open and its server, which knows the name "held", does not answer when it is closed. The kernel
 * holds exec_update_lock for as long.
 *
 * held memory FILE: maps FILE again while a page of it is being read, for which the server has no
 * answer either: what is not cached is mapped only when no page is left of it (fs/fuse/file.c), and
 * the kernel waits for that one with mmap_lock held. Meanwhile it runs in code that it has made.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define SIZE 4096

static int file;
static void *mapped;
static volatile pid_t waiting;

static void *become_another(void *unused)
{
	(void)unused;
	execl("/bin/sleep", "sleep", "1000", (char *)0);
	return 0;
}

static void *read_page(void *unused)
{
	waiting = gettid();
	return *(volatile char *)mapped ? unused : 0;
}

static void *map_again(void *unused)
{
	(void)unused;
	waiting = gettid();
	return mmap(mapped, SIZE, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0);
}

/* Another thread in @fn, which the kernel does not let go on. */
static void leave_waiting(void *(*fn)(void *))
{
	char path[64], text[512] = "", *state = 0;
	pthread_t thread;

	waiting = 0;
	pthread_create(&thread, 0, fn, 0);
	while (!waiting)
		;
	snprintf(path, sizeof(path), "/proc/self/task/%d/status", waiting);
	while (!state || state[strlen("State:\t")] == 'R') {
		int fd = open(path, O_RDONLY);
		ssize_t n = read(fd, text, sizeof(text) - 1);

		text[n > 0 ? n : 0] = 0;
		close(fd);
		state = strstr(text, "State:\t");
	}
}

static void hold_memory(void)
{
#ifdef __aarch64__
	static const unsigned char code[] = {0, 0, 0, 0x14};
#else
	static const unsigned char code[] = {0xeb, 0xfe};
#endif
	void *made;

	/* What samples it is in memory from now on: what is not would have to be mapped, too. */
	while (clock() < CLOCKS_PER_SEC / 10)
		;
	made = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(made, code, sizeof(code));
	mprotect(made, SIZE, PROT_READ | PROT_EXEC);
	__builtin___clear_cache(made, (char *)made + SIZE);
	mapped = mmap(0, SIZE, PROT_READ, MAP_PRIVATE, file, 0);
	leave_waiting(read_page);
	leave_waiting(map_again);
	((void (*)(void))made)();
}

int main(int argc, char **argv)
{
	int is_memory = argc == 3 && !strcmp(argv[1], "memory");
	pthread_t thread;

	file = argc == 3 ? open(argv[2], O_RDONLY | O_CLOEXEC | (is_memory ? O_DIRECT : 0)) : -1;
	if (file < 0)
		return 2;
	prctl(PR_SET_NAME, "held");
	if (is_memory)
		hold_memory();
	if (!strcmp(argv[1], "thread") && !pthread_create(&thread, 0, become_another, 0))
		pthread_join(thread, 0);
	become_another(0);
	return 1;
}

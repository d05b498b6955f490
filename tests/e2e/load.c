/* SPDX-License-Identifier: MIT */
/*
 * load system      system calls, page faults and a loop of its own, in turns
 * load generated   runs code that it made, and has named in /tmp/perf-PID.map
 * load pid N       "system" in a child that is process N, in the pid namespace outside of ours, too
 * All run until they are ended.
 */
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURN        20000
#define FAULT_BYTES (4u << 20)
#define PAGE_BYTES  4096u

/* A countdown of 2^20 in a frame of its own. */
#ifdef __aarch64__
static const unsigned code[] = {0xa9bf7bfd, 0x910003fd, 0xd2a00200, 0xf1000400,
				0x54ffffe1, 0xa8c17bfd, 0xd65f03c0};
#else
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xb9, 0,    0,   0x10,
				     0,    0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};
#endif

__attribute__((noinline)) void load_user(volatile unsigned *counter)
{
	for (unsigned i = 0; i < 50 * TURN; i++)
		*counter += i;
}

__attribute__((noinline)) void load_calls(void)
{
	for (unsigned i = 0; i < TURN; i++)
		syscall(SYS_getppid);
}

__attribute__((noinline)) void load_faults(void)
{
	char *memory = mmap(NULL, FAULT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	if (memory == MAP_FAILED)
		exit(EXIT_FAILURE);
	for (size_t i = 0; i < FAULT_BYTES; i += PAGE_BYTES)
		memory[i] = 1;
	munmap(memory, FAULT_BYTES);
}

static void run_system(void)
{
	volatile unsigned counter = 0;

	for (;;) {
		load_user(&counter);
		load_calls();
		load_faults();
	}
}

static void run_generated(void)
{
	void *memory = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	FILE *map;

	if (memory == MAP_FAILED)
		exit(EXIT_FAILURE);
	memcpy(memory, code, sizeof(code));
	__builtin___clear_cache(memory, (char *)memory + sizeof(code));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (!map ||
	    fprintf(map, "%lx %zx load_generated\n", (unsigned long)memory, sizeof(code)) < 0 ||
	    fclose(map))
		exit(EXIT_FAILURE);
	for (;;)
		((void (*)(void))memory)();
}

/* clone3(2), "set_tid": the pid in our namespace first, then outwards. */
static int run_as(pid_t pid)
{
	const pid_t ids[] = {pid, pid};
	struct clone_args args = {.exit_signal = SIGCHLD,
				  .set_tid = (uintptr_t)ids,
				  .set_tid_size = sizeof(ids) / sizeof(ids[0])};
	long child = syscall(SYS_clone3, &args, sizeof(args));

	if (child < 0) {
		perror("clone3");
		return EXIT_FAILURE;
	}
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run_system();
	}
	waitpid((pid_t)child, NULL, 0);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "system") == 0)
		run_system();
	if (argc == 2 && strcmp(argv[1], "generated") == 0)
		run_generated();
	if (argc == 3 && strcmp(argv[1], "pid") == 0)
		return run_as(atoi(argv[2]));
	fputs("usage: load system|generated|pid N\n", stderr);
	return 2;
}

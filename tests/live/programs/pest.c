/* SPDX-License-Identifier: MIT */
/*
 * pest MODE: what an ordinary user can do to a machine that is profiled, without end.
 *
 *   forks, execs, threads   births and ends, as fast as they go
 *   names                   another name for itself, again and again
 *   maps                    its own file mapped as code, and unmapped
 *   code                    functions that nobody has seen, each called for a while, with ever
 *                           longer names in its perf map
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE        4096
#define PAGES       4096
#define NAME_LENGTH 60000
#define CALLS       20

static void spoil_by_forks(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static void spoil_by_execs(void)
{
	char *argv[] = {"true", NULL};
	pid_t pid;

	if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, argv + 1) == 0)
		waitpid(pid, NULL, 0);
}

static void *end_at_once(void *unused)
{
	return unused;
}

static void spoil_by_threads(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, end_at_once, NULL) == 0)
		pthread_join(thread, NULL);
}

static void spoil_by_names(void)
{
	static unsigned n;
	char name[16];

	snprintf(name, sizeof(name), "%u\033[2J%%s", n++ % 100000);
	prctl(PR_SET_NAME, name);
}

static void spoil_by_maps(void)
{
	static int fd = -1;
	void *at;

	if (fd < 0)
		fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	at = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (at != MAP_FAILED)
		munmap(at, PAGE);
}

/* A loop of a million turns, and back. */
#if defined(__x86_64__)
static const unsigned char code[] = {0xb8, 0x40, 0x42, 0x0f, 0, 0xff, 0xc8, 0x75, 0xfc, 0xc3};
#else
static const uint32_t code[] = {0xd2884800, 0xf2a001e0, 0xf1000400, 0x54ffffe1, 0xd65f03c0};
#endif

static void spoil_by_code(void)
{
	static unsigned char *area;
	static char name[NAME_LENGTH + 1];
	static FILE *map;
	static unsigned n;
	unsigned char *at;

	if (!area) {
		char path[64];

		area = mmap(NULL, (size_t)PAGE * PAGES, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
		map = fopen(path, "w");
		if (area == MAP_FAILED || !map)
			exit(1);
	}
	at = area + (size_t)(n % PAGES) * PAGE + n / PAGES % (PAGE / 64) * 64;
	memcpy(at, code, sizeof(code));
	__builtin___clear_cache((char *)at, (char *)at + sizeof(code));
	memset(name, 'a' + (int)(n % 26), n % NAME_LENGTH);
	fprintf(map, "%lx %zx made_%u_%.*s\n", (unsigned long)at, sizeof(code), n,
		(int)(n % NAME_LENGTH), name);
	fflush(map);
	for (int i = 0; i < CALLS; i++)
		((void (*)(void))at)();
	n++;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*spoil)(void);
	} modes[] = {
		{"forks", spoil_by_forks}, {"execs", spoil_by_execs}, {"threads", spoil_by_threads},
		{"names", spoil_by_names}, {"maps", spoil_by_maps},   {"code", spoil_by_code},
	};

	for (unsigned i = 0; argc == 2 && i < sizeof(modes) / sizeof(modes[0]); i++)
		while (strcmp(argv[1], modes[i].name) == 0)
			modes[i].spoil();
	return 2;
}

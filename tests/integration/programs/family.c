/* SPDX-License-Identifier: MIT */
/*
 * family WHAT...: what programs do that `profctl run` has to live with. Times are CPU time.
 *
 *   threads N MS   N threads, named work-0 ..., burn MS milliseconds each
 *   kill MS        burns, then kills itself
 *   forks N MS     N children burn MS each, one after the other, without executing anything
 *   scribble MS    burns, and writes over its ring all the while
 *   fill MS        the same with records that look right, faster than they can be read
 *   term MS        burns until it is sent SIGTERM, then ends with 3
 *   close MS       closes all descriptors that it did not open, opens others, and burns
 *   load FILE MS   burns in the library FILE, profiled_library.c
 *   unload FILE MS the same, and closes the library again
 *   generate N MS  burns MS each in N pieces of code that it makes one after the other, and names
 * in a perf map, then kills itself
 *   siblings N MS  N children, one after the other, do so in one piece, which has another name in
 * each, and lies at the same place
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/shim/ring_layout.h"

#define CODE_BYTES 4096
#define SPIN_BYTES 256 /* more than it is long */

static volatile uint64_t sink;
static volatile sig_atomic_t is_told;

static double cpu_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

__attribute__((noinline)) static void work(double ms)
{
	double end = cpu_ms() + ms;

	while (cpu_ms() < end && !is_told)
		for (unsigned i = 0; i < 20000; i++)
			sink = sink * 31 + i;
}

static void *run_thread(void *userdata)
{
	work(*(double *)userdata);
	return NULL;
}

static int threads(int n, double ms)
{
	pthread_t all[64];
	char name[16];

	for (int i = 0; i < n && i < 64; i++) {
		if (pthread_create(&all[i], NULL, run_thread, &ms))
			return 1;
		snprintf(name, sizeof(name), "work-%d", i);
		pthread_setname_np(all[i], name);
	}
	for (int i = 0; i < n && i < 64; i++)
		pthread_join(all[i], NULL);
	return 0;
}

static int forks(int n, double ms)
{
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			work(ms);
			exit(0);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	return 0;
}

/* Where this process has its ring; *ret_length bytes. */
static uint8_t *find_ring(size_t *ret_length)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char line[4096];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "/memfd:profd-ring") ||
		    sscanf(line, "%lx-%lx", &start, &end) != 2)
			continue;
		fclose(maps);
		*ret_length = end - start;
		return (uint8_t *)start;
	}
	exit(9);
}

static int scribble(double ms)
{
	double end = cpu_ms() + ms;
	size_t length;
	uint8_t *ring = find_ring(&length);
	uint64_t seed = 1;

	while (cpu_ms() < end) {
		for (unsigned i = 0; i < 1000; i++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
			memcpy(ring + (seed >> 20) % (length / 8) * 8, &seed, sizeof(seed));
			memcpy(ring + (seed >> 33) % 64 * 8, &seed, sizeof(seed));
		}
		work(1);
	}
	return 0;
}

static int fill(double ms)
{
	double end = cpu_ms() + ms;
	size_t length;
	struct ring_page *page = (void *)find_ring(&length);
	_Atomic uint64_t *words = (void *)((uint8_t *)page + RING_PAGE);
	uint64_t mask = (length - RING_PAGE) / 8 - 1, i = 0;

	while (cpu_ms() < end) {
		uint64_t head = atomic_fetch_add(&page->head, 8);

		while (head + 8 - atomic_load(&page->tail) > mask && cpu_ms() < end)
			;
		atomic_store(&words[(head + 2) & mask], 1 + i % 3);
		atomic_store(&words[(head + 3) & mask], 99 << 16);
		atomic_store(&words[(head + 6) & mask], i++);
		atomic_store(&words[(head + 7) & mask], i * 4099);
		atomic_store(&words[head & mask], RING_HEAD(RING_SAMPLE, 8) | RING_COMMITTED);
	}
	return 0;
}

static void on_term(int number)
{
	(void)number;
	is_told = 1;
}

/* What comes by the same numbers is the program's own, and nothing may be written to it. */
static int close_all(double ms)
{
	char path[] = "/tmp/family-XXXXXX";
	int fd = mkstemp(path);
	off_t length;

	unlink(path);
	for (int i = 3; i < 1024; i++)
		if (i != fd)
			dup2(fd, i);
	work(ms);
	length = lseek(fd, 0, SEEK_END);
	return length == 0 ? 0 : 1;
}

static int load(const char *path, double ms, int is_unloaded)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*burn)(long) = library ? (void (*)(long))dlsym(library, "burn_library") : NULL;

	if (!burn)
		return 1;
	burn((long)ms);
	return is_unloaded ? dlclose(library) : 0;
}

/* Wherever it lies: nothing but its stack is touched. */
__attribute__((noinline, aligned(64))) static void spin(unsigned n)
{
	for (volatile unsigned i = 0; i < n; i++)
		;
}

static int generate(int first, int n, double ms)
{
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	for (int i = first; i < first + n; i++) {
		uint8_t *code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		double end = cpu_ms() + ms;

		if (code == MAP_FAILED || !map)
			return 1;
		fprintf(map, "%lx %x made_%d\n", (unsigned long)code, SPIN_BYTES, i);
		fflush(map);
		/* Else it and the next one are one mapping. */
		mmap(NULL, CODE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memcpy(code, (const void *)(uintptr_t)spin, SPIN_BYTES);
		__builtin___clear_cache((char *)code, (char *)code + SPIN_BYTES);
		while (cpu_ms() < end)
			((void (*)(unsigned))(uintptr_t)code)(100000);
	}
	return raise(SIGKILL);
}

static int siblings(int n, double ms)
{
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0)
			exit(generate(i, 1, ms));
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	double ms = atof(argv[argc - 1]);

	if (!strcmp(what, "threads"))
		return threads(atoi(argv[2]), ms);
	if (!strcmp(what, "forks"))
		return forks(atoi(argv[2]), ms);
	if (!strcmp(what, "scribble"))
		return scribble(ms);
	if (!strcmp(what, "generate"))
		return generate(0, atoi(argv[2]), ms);
	if (!strcmp(what, "siblings"))
		return siblings(atoi(argv[2]), ms);
	if (!strcmp(what, "fill"))
		return fill(ms);
	if (!strcmp(what, "close"))
		return close_all(ms);
	if (!strcmp(what, "load") || !strcmp(what, "unload"))
		return load(argv[2], ms, what[0] == 'u');
	if (!strcmp(what, "term"))
		signal(SIGTERM, on_term);
	work(ms);
	if (!strcmp(what, "kill"))
		raise(SIGKILL);
	return !strcmp(what, "term") ? 3 : 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * storm SECONDS LIBRARY: 16 threads that fork, exec, spawn, load and unload LIBRARY, throw, allocate
 * and make threads, all at random, while their profile is being made. Prints how often each was
 * done, and what went wrong: "forks N ... lost N".
 *
 * storm -e STATUS: what is exec'ed; burns a little and returns STATUS.
 */
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern char **environ;
/* There only if a library of the profiler's is. */
extern "C" void ProfilerFlush(void) __attribute__((weak));

static const int n_threads = 16;
static std::atomic<bool> is_over;
static std::atomic<unsigned> n_lost; /* exit statuses that were not what they should be, and such */
static const char *program, *library;
static volatile unsigned long sink;

static long now_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void burn(long ms)
{
	long end = now_ms(CLOCK_THREAD_CPUTIME_ID) + ms;

	while (now_ms(CLOCK_THREAD_CPUTIME_ID) < end)
		for (int i = 0; i < 20000; i++)
			sink = sink + (unsigned long)i;
}

static void lose(const char *what, int value)
{
	fprintf(stderr, "%s: %d\n", what, value);
	n_lost++;
}

static void expect(pid_t pid, int status)
{
	int have = 0;

	if (pid < 0 || waitpid(pid, &have, 0) != pid || !WIFEXITED(have) ||
	    WEXITSTATUS(have) != status)
		lose("a child's status", pid < 0 ? -1 : have);
}

__attribute__((noinline)) static unsigned throw_from(unsigned depth)
{
	std::string local(depth * 7 + 20, 'x');

	if (!depth)
		throw std::runtime_error(local);
	return throw_from(depth - 1) + (unsigned)local.size();
}

static void throw_some(unsigned random)
{
	for (unsigned i = 0; i < 20; i++) {
		try {
			sink = sink + throw_from((random + i) % 40);
			lose("nothing was thrown", (int)i);
		} catch (const std::runtime_error &error) {
			if (strlen(error.what()) != 20)
				lose("something else was thrown", (int)strlen(error.what()));
		}
	}
}

static void allocate(unsigned random)
{
	std::vector<std::vector<char>> all;

	for (unsigned i = 0; i < 200; i++)
		all.emplace_back((random + i * 7919) % 20000, 'x');
	for (auto &one : all)
		one.resize(one.size() * 2 + 1);
}

static void fork_one(unsigned random)
{
	pid_t pid = fork();
	int status = (int)(random % 100);

	if (!pid) {
		/* AddressSanitizer's memory has locks that a fork leaves as they are. */
#ifndef __SANITIZE_ADDRESS__
		allocate(random);
		throw_some(random);
#endif
		burn(random % 3);
		/* exit(3) takes the loader's lock, which a thread that is not here may have had. */
		if (random & 1024)
			_exit(status);
		_Exit(status);
	}
	expect(pid, status);
}

/* By fork(2) and exec, or by posix_spawn(3). */
static void exec_one(unsigned random)
{
	std::string status = std::to_string(random % 100), name = program;
	char option[] = "-e", *argv[] = {&name[0], option, &status[0], NULL};
	pid_t pid = -1;

	if (random & 1024) {
		if (posix_spawn(&pid, program, NULL, NULL, argv, environ))
			pid = -1;
	} else {
		pid = fork();
		if (!pid) {
			execv(program, argv);
			_exit(127);
		}
	}
	expect(pid, (int)(random % 100));
}

static void load(unsigned random)
{
	void *handle = dlopen(library, random & 1024 ? RTLD_NOW : RTLD_LAZY);
	void (*work)(long) = handle ? (void (*)(long))dlsym(handle, "burn_library") : NULL;

	if (!work)
		return lose("there is no library", 0);
	work(1);
	dlclose(handle);
}

static void *short_life(void *arg)
{
	burn(1);
	return arg;
}

static void thread_one(unsigned random)
{
	void *result = NULL;
	pthread_t id;

	if (pthread_create(&id, NULL, short_life, &result))
		return lose("there is no thread", 0);
	pthread_join(id, &result);
	if (result != &result)
		lose("a thread's result", (int)random);
}

static void just_burn(unsigned random)
{
	burn(random % 5);
}

struct action {
	void (*act)(unsigned random);
	const char *name;
};
static const struct action actions[] = {
	{fork_one, "forks"},  {exec_one, "execs"},      {load, "loads"},  {throw_some, "throws"},
	{allocate, "allocs"}, {thread_one, "threads"}, {just_burn, "burns"},
};
static const unsigned n_actions = sizeof(actions) / sizeof(actions[0]);
static std::atomic<unsigned> n_done[n_actions];

static void *storm(void *arg)
{
	unsigned state = (unsigned)(uintptr_t)arg * 2654435761u + 1;

	while (!is_over) {
		state = state * 1664525 + 1013904223;
		unsigned random = state >> 8, which = random % n_actions;

		actions[which].act(random / n_actions);
		n_done[which]++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t ids[n_threads];
	long end;

	if (argc != 3)
		return 2;
	if (!strcmp(argv[1], "-e")) {
		burn(2);
		return atoi(argv[2]);
	}
	program = argv[0];
	library = argv[2];
	end = now_ms(CLOCK_MONOTONIC) + atol(argv[1]) * 1000;
	for (int i = 0; i < n_threads; i++)
		pthread_create(&ids[i], NULL, storm, (void *)(uintptr_t)i);
	while (now_ms(CLOCK_MONOTONIC) < end) {
		usleep(100000);
		if (ProfilerFlush)
			ProfilerFlush();
	}
	is_over = true;
	for (int i = 0; i < n_threads; i++)
		pthread_join(ids[i], NULL);
	for (unsigned i = 0; i < n_actions; i++)
		printf("%s %u ", actions[i].name, n_done[i].load());
	printf("lost %u\n", n_lost.load());
	return n_lost ? 1 : 0;
}

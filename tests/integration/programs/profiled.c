/* SPDX-License-Identifier: MIT */
/*
 * profiled CASE FILE...: a program that knows of the profiler what its interface says, and no more.
 * What it prints must be the same whoever made the library that it is linked with; what it burns,
 * in functions of its own, is for the profile.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/integration/programs/burn.h"

#include <gperftools/profiler.h>

extern char **environ;

BURN(burn_main)
BURN(burn_child)
BURN(burn_first)
BURN(burn_second)
BURN(burn_third)

static void print_state(const char *when, const char *file)
{
	struct ProfilerState state;

	ProfilerGetCurrentState(&state);
	printf("%s: enabled %d, for all %d, name %d, time %d, samples %d\n", when, state.enabled,
	       ProfilingIsEnabledForAllThreads(), !strcmp(state.profile_name, file),
	       !!state.start_time, state.samples_gathered > 0);
}

static long size_of(const char *file)
{
	struct stat st;

	return stat(file, &st) ? -1 : (long)st.st_size;
}

static int say_yes(void *arg)
{
	return *(volatile int *)arg;
}

static void interface(const char *file)
{
	int yes = 0;
	struct ProfilerOptions options = {.filter_in_thread = say_yes,
					  .filter_in_thread_arg = &yes};

	print_state("before", "");
	ProfilerStop();
	ProfilerFlush();
	ProfilerRegisterThread();
	printf("start in no folder %d\n", ProfilerStart("/nonexistent/folder/file"));
	printf("start %d\n", !!ProfilerStart(file));
	printf("start again %d, with options %d\n", ProfilerStart("/dev/null"),
	       ProfilerStartWithOptions("/dev/null", &options));
	ProfilerRegisterThread();
	burn_main(300);
	print_state("running", file);
	ProfilerDisable();
	print_state("disabled", file);
	ProfilerEnable();
	ProfilerFlush();
	print_state("flushed", file);
	printf("written %d\n", size_of(file) > 64);
	burn_main(100);
	ProfilerStop();
	print_state("stopped", "");
	burn_main(50);
	printf("again %d\n", !!ProfilerStartWithOptions(file, &options));
	burn_main(100);
	print_state("filtered", file);
	yes = 1;
	burn_main(100);
	print_state("unfiltered", file);
	ProfilerStop();
	print_state("end", "");
}

static void count(const char *file)
{
	struct ProfilerState state;
	int *counter, before;

	ProfilerGetCurrentState(&state);
	ProfilerStart(file);
	memcpy(&counter, state.profile_name + strlen(state.profile_name) + 1, sizeof(counter));
	before = *counter;
	burn_main(200);
	printf("counted %d\n", *(volatile int *)counter > before);
	ProfilerStop();
}

struct work {
	void (*burn)(long ms);
	long ms, cpu;
};

static void *work(void *arg)
{
	struct work *w = arg;

	w->burn(w->ms);
	w->cpu = cpu_ms(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

/* Two threads, so long. */
static void threads(const char *file, char **ms)
{
	struct work works[] = {{burn_first, atol(ms[0]), 0}, {burn_second, atol(ms[1]), 0}};
	pthread_t ids[2];

	ProfilerStart(file);
	for (int i = 0; i < 2; i++)
		pthread_create(&ids[i], NULL, work, &works[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(ids[i], NULL);
	ProfilerStop();
	printf("burn_first %ld burn_second %ld\n", works[0].cpu, works[1].cpu);
}

static atomic_int turn;

static void *wait_and_work(void *arg)
{
	while (!atomic_load(&turn))
		usleep(1000);
	return work(arg);
}

/* A thread that was there before, and one with all signals blocked. */
static void older(const char *file)
{
	struct work works[] = {{burn_first, 300, 0}, {burn_second, 300, 0}};
	pthread_t ids[2];
	sigset_t all;

	pthread_create(&ids[0], NULL, wait_and_work, &works[0]);
	usleep(20000);
	ProfilerStart(file);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	pthread_create(&ids[1], NULL, wait_and_work, &works[1]);
	atomic_store(&turn, 1);
	for (int i = 0; i < 2; i++)
		pthread_join(ids[i], NULL);
	ProfilerStop();
}

/* How children begin and end: each one's own way. */
static void family(const char *how)
{
	pid_t pid;

	burn_main(200);
	pid = !strcmp(how, "vfork") ? vfork() : fork();
	if (!pid && !strcmp(how, "vfork"))
		_exit(0);
	if (!pid) {
		burn_child(200);
		if (!strcmp(how, "exit"))
			exit(0);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	printf("%d\n", pid);
	burn_main(200);
}

static void spawn(char **argv)
{
	pid_t pid;

	burn_main(100);
	if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ))
		exit(1);
	waitpid(pid, NULL, 0);
	printf("%d\n", pid);
	burn_main(100);
}

static void library(const char *file, const char *name)
{
	void *handle;
	void (*burn)(long ms);

	ProfilerStart(file);
	handle = dlopen(name, RTLD_NOW);
	burn = handle ? (void (*)(long))dlsym(handle, "burn_library") : NULL;
	if (!burn)
		exit(1);
	burn(300);
	dlclose(handle);
	burn_main(50);
	ProfilerStop();
}

static sigjmp_buf back;
static volatile sig_atomic_t n_handled;

static void on_alarm(int number)
{
	(void)number;
	burn_second(5); /* longer than from tick to tick */
	if (++n_handled % 2)
		siglongjmp(back, 1);
}

/* On a busy machine the kernel merges what a timer had due: signals are counted, not time. */
#define HANDLED 50

/* Signals of the program's own on an alternate stack, which are left by longjmp as well. */
static void handlers(const char *file)
{
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_ONSTACK};
	stack_t stack = {.ss_size = 65536, .ss_sp = malloc(65536)};
	timer_t timer;
	struct itimerspec when = {{0, 10000000}, {0, 10000000}};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	ProfilerStart(file);
	/* By CPU time: one that is due while its handler is left would begin on that stack. */
	timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer);
	sigsetjmp(back, 1);
	if (!n_handled)
		timer_settime(timer, 0, &when, NULL);
	while (n_handled < HANDLED)
		burn_first(1);
	timer_delete(timer);
	ProfilerStop();
	printf("handled\n");
}

static void *stack_addresses[32];
static int n_addresses;

__attribute__((noinline)) static void on_trace(int number, siginfo_t *info, void *uc)
{
	(void)number;
	(void)info;
	n_addresses = ProfilerGetStackTrace(stack_addresses, 32, 0, uc);
}

/* The addresses of a handler's stack, relative to the program's. */
__attribute__((noinline)) void traced(void);
void traced(void)
{
	raise(SIGUSR2);
	__asm__ volatile("");
}

static void trace(const char *file)
{
	struct sigaction action = {.sa_sigaction = on_trace, .sa_flags = SA_SIGINFO};
	Dl_info info;

	sigaction(SIGUSR2, &action, NULL);
	ProfilerStart(file);
	traced();
	for (int i = 0; i < n_addresses; i++)
		if (dladdr((char *)stack_addresses[i] - 1, &info) && info.dli_sname)
			printf("%s ", info.dli_sname);
	printf("\n%d\n", ProfilerGetStackTrace(stack_addresses, 1, 0, NULL));
	ProfilerStop();
}

static void *churn(void *arg)
{
	for (int i = 0; i < 300; i++) {
		void *memory = malloc((size_t)(i * 37 % 5000));
		pid_t pid = i % 100 ? 1 : fork();

		if (!pid)
			_exit(0);
		if (pid > 1)
			waitpid(pid, NULL, 0);
		free(memory);
		burn_first(1);
	}
	return arg;
}

static void short_threads(int n)
{
	pthread_t id;

	for (int i = 0; i < n; i++) {
		struct work w = {burn_third, 1, 0};

		pthread_create(&id, NULL, work, &w);
		pthread_join(id, NULL);
	}
}

/* Everything at once. */
static void storm(const char *file)
{
	pthread_t ids[8];

	ProfilerStart(file);
	for (int i = 0; i < 8; i++)
		pthread_create(&ids[i], NULL, churn, NULL);
	for (int i = 0; i < 50; i++) {
		void *handle = dlopen("libm.so.6", RTLD_NOW);

		short_threads(2);
		if (handle)
			dlclose(handle);
		ProfilerFlush();
		if (i % 10 == 9 && i < 40) {
			ProfilerStop();
			ProfilerStart(file);
		}
	}
	for (int i = 0; i < 8; i++)
		pthread_join(ids[i], NULL);
	ProfilerStop();
	printf("done\n");
}

/* Ticks wake up who sleeps. */
static void wait_for(long ms)
{
	long end = cpu_ms(CLOCK_MONOTONIC) + ms;

	while (cpu_ms(CLOCK_MONOTONIC) < end)
		usleep(100000);
}

/* How many of its sleeps end early. */
static void *work_asleep(void *ret)
{
	for (int i = 0; i < 20; i++)
		*(int *)ret += usleep(30000) != 0;
	return NULL;
}

static void sleepers(const char *file)
{
	int n_early = 0;
	pthread_t id;

	ProfilerStart(file);
	pthread_create(&id, NULL, work_asleep, &n_early);
	pthread_join(id, NULL);
	ProfilerStop();
	printf("early %d\n", n_early);
}

static void owner(const char *file)
{
	signal(SIGPROF, on_alarm);
	printf("start %d, ", ProfilerStart(file));
	printf("mine %d\n", signal(SIGPROF, SIG_IGN) == on_alarm);
}

/* By another process; what it has sent is there when that has ended. */
static void have_sent(int number)
{
	pid_t pid = fork();

	if (!pid)
		_exit(kill(getppid(), number));
	waitpid(pid, NULL, 0);
}

static void foreign(const char *file)
{
	ProfilerStart(file);
	have_sent(SIGPROF);
	printf("alive during a profile, ");
	ProfilerStop();
	have_sent(SIGPROF);
	printf("and after one\n");
}

/* The switching signal, four times. */
static void switched(int number)
{
	for (int i = 0; i < 4; i++) {
		raise(number);
		burn_main(150);
	}
	printf("enabled %d\n", ProfilingIsEnabledForAllThreads());
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "", *arg = argc > 2 ? argv[2] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(what, "interface"))
		interface(arg);
	else if (!strcmp(what, "count"))
		count(arg);
	else if (!strcmp(what, "burn"))
		burn_main(atol(arg));
	else if (!strcmp(what, "wait"))
		wait_for(atol(arg));
	else if (!strcmp(what, "threads") && argc > 4)
		threads(arg, argv + 3);
	else if (!strcmp(what, "older"))
		older(arg);
	else if (!strcmp(what, "family"))
		family(arg);
	else if (!strcmp(what, "spawn"))
		spawn(argv + 2);
	else if (!strcmp(what, "exec"))
		return burn_main(100), execvp(arg, argv + 2);
	else if (!strcmp(what, "library") && argc > 3)
		library(arg, argv[3]);
	else if (!strcmp(what, "handlers"))
		handlers(arg);
	else if (!strcmp(what, "trace"))
		trace(arg);
	else if (!strcmp(what, "storm"))
		storm(arg);
	else if (!strcmp(what, "sleepers"))
		sleepers(arg);
	else if (!strcmp(what, "foreign"))
		foreign(arg);
	else if (!strcmp(what, "owner"))
		owner(arg);
	else if (!strcmp(what, "switched"))
		switched(atoi(arg));
	else
		return 2;
	return 0;
}

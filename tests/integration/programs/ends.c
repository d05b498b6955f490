/* SPDX-License-Identifier: MIT */
/*
 * ends CASE [ARGUMENT...]: programs that end, and threads and code that begin, in ways that nobody
 * tells a profiler of. They are profiled by CPUPROFILE and call nothing of it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "tests/integration/programs/burn.h"

extern char **environ;

BURN(burn_main)
BURN(burn_first)
BURN(burn_second)
BURN(burn_third)

/* --- ends --------------------------------------------------------------------------------- */

static volatile int zero;
static char *volatile nowhere;

static int end_by(const char *how)
{
	if (getenv("CPUPROFILE")) /* nobody sees it else */
		burn_main(300);
	if (!strcmp(how, "abort"))
		abort();
	else if (!strcmp(how, "segv"))
		*nowhere = 1;
	else if (!strcmp(how, "fpe"))
		return (int)sink / zero;
	else if (!strcmp(how, "ill"))
		__builtin_trap();
	else if (!strcmp(how, "quick"))
		quick_exit(3);
	else if (!strcmp(how, "daemon"))
		return daemon(1, 1) ? 1 : (burn_first(300), 4);
	else
		kill(getpid(), atoi(how));
	return 0;
}

static void on_segv(int number)
{
	_exit(number);
}

/* What a program sees of signals that it does not handle, and that what it handles is its own. */
static int dispositions(void)
{
	struct sigaction have, mine = {.sa_handler = on_segv};

	sigaction(SIGTERM, NULL, &have);
	printf("TERM %d flags %d, ", have.sa_handler == SIG_DFL, have.sa_flags);
	printf("INT %d %d, ", signal(SIGINT, SIG_IGN) == SIG_DFL,
	       signal(SIGINT, SIG_DFL) == SIG_IGN);
	sigaction(SIGSEGV, &mine, &have);
	printf("SEGV %d\n", have.sa_handler == SIG_DFL);
	fflush(stdout);
	*nowhere = 1;
	return 0;
}

static void *fault(void *arg)
{
	burn_first(200);
	*nowhere = 1;
	return arg;
}

/* In another thread, on a small stack of its own for signals. */
static int end_in_thread(void)
{
	pthread_t id;

	pthread_create(&id, NULL, fault, NULL);
	burn_main(2000);
	pthread_join(id, NULL);
	return 0;
}

/* By each function of the family, or without the library. First one that fails. */
static int exec_by(const char *how, char **argv)
{
	burn_main(200);
	execl("/nonexistent/program", "program", (char *)NULL);
	burn_first(200);
	if (!strcmp(how, "bare"))
		unsetenv("LD_PRELOAD");
	if (!strcmp(how, "execl"))
		execl(argv[0], argv[0], argv[1], argv[2], (char *)NULL);
	else if (!strcmp(how, "execlp"))
		execlp(argv[0], argv[0], argv[1], argv[2], (char *)NULL);
	else if (!strcmp(how, "execle"))
		execle(argv[0], argv[0], argv[1], argv[2], (char *)NULL, environ);
	else if (!strcmp(how, "execv"))
		execv(argv[0], argv);
	else if (!strcmp(how, "execvpe"))
		execvpe(argv[0], argv, environ);
	else
		execve(argv[0], argv, environ);
	return errno;
}

/* --- threads ------------------------------------------------------------------------------ */

static int work_thrd(void *arg)
{
	burn_first(*(long *)arg);
	return 7;
}

static int by_thrd(void)
{
	long ms = 400;
	thrd_t id;
	int result = 0;

	if (thrd_create(&id, work_thrd, &ms) != thrd_success || thrd_join(id, &result))
		return 1;
	return result == 7 ? 0 : 2;
}

static atomic_int is_done;

static int work_clone(void *arg)
{
	burn_second((long)(size_t)arg);
	atomic_store(&is_done, 1);
	return 0;
}

/* Nobody sees it begin. */
static int by_clone(void)
{
	size_t size = 1 << 20;
	char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* The library has looked for threads by then, and looks a second later at the earliest. */
	burn_main(50);
	if (clone(work_clone, stack + size,
		  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
		  (void *)2500) < 0)
		return 1;
	while (!atomic_load(&is_done))
		burn_main(10);
	return 0;
}

static void *work_blocked(void *arg)
{
	struct timespec none = {0};
	sigset_t all, have;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	burn_first(300);
	sigprocmask(SIG_SETMASK, &all, &have);
	burn_second(300);
	*(int *)arg = sigtimedwait(&all, NULL, &none) < 0 && errno == EAGAIN &&
		      sigismember(&have, SIGTERM);
	return NULL;
}

static int by_blocking(void)
{
	int good = 0;
	pthread_t id;

	pthread_create(&id, NULL, work_blocked, &good);
	pthread_join(id, NULL);
	return !good;
}

static void *work_short(void *arg)
{
	burn_third(2);
	return arg;
}

static int by_short_threads(void)
{
	pthread_t id;

	for (int i = 0; i < 500; i++) {
		pthread_create(&id, NULL, work_short, NULL);
		pthread_join(id, NULL);
	}
	return 0;
}

/* --- without timers of threads ------------------------------------------------------------ */

/* timer_create(2) is refused from now on, here and in what is exec'ed. */
static bool refuse_timers(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_timer_create, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 4, .filter = filter};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void *work_first(void *arg)
{
	burn_first(500);
	return arg;
}

/* The timer has nobody to tell it to any more: blocked as the library cannot see. */
static int by_rest(int before_ms)
{
	uint64_t tick = UINT64_C(1) << (SIGPROF - 1);

	burn_main(before_ms);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &tick, NULL, sizeof(tick));
	burn_first(300);
	printf("%ld\n", cpu_ms(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}

static int without_timers(void)
{
	pthread_t id;
	pid_t pid;
	int status;

	pthread_create(&id, NULL, work_first, NULL);
	burn_main(500);
	pthread_join(id, NULL);
	pid = fork();
	if (!pid) {
		burn_third(300);
		_exit(5);
	}
	waitpid(pid, &status, 0);
	printf("%d %ld\n", pid, cpu_ms(CLOCK_PROCESS_CPUTIME_ID));
	return !(WIFEXITED(status) && WEXITSTATUS(status) == 5);
}

/* --- code --------------------------------------------------------------------------------- */

/* Code that is written and run, as JIT compilers do; prints where it is. */
static int by_jit(void)
{
#if defined(__x86_64__)
	/* 1: dec %rdi; jnz 1b; ret */
	static const unsigned char code[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};
	unsigned char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long end = cpu_ms(CLOCK_THREAD_CPUTIME_ID) + 600;

	if (memory == MAP_FAILED)
		return 1;
	memcpy(memory, code, sizeof(code));
	while (cpu_ms(CLOCK_THREAD_CPUTIME_ID) < end)
		((void (*)(unsigned long))(size_t)memory)(1000000);
	printf("%p\n", (void *)memory);
	return 0;
#else
	return 77;
#endif
}

/* ARGUMENT: a library that loads another one by its name alone, which lies beside it. */
static int by_library(const char *name)
{
	void *handle = dlopen(name, RTLD_NOW);
	int (*work)(long) = handle ? (int (*)(long))dlsym(handle, "load_and_burn") : NULL;

	return work ? work(600) : 1;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "end") && argc > 2)
		return end_by(argv[2]);
	if (!strcmp(what, "end-in-thread"))
		return end_in_thread();
	if (!strcmp(what, "dispositions"))
		return dispositions();
	if (!strcmp(what, "exec") && argc > 5)
		return exec_by(argv[2], argv + 3);
	if (!strcmp(what, "burn") && argc > 2)
		return burn_second(atol(argv[2])), 0;
	if (!strcmp(what, "thrd"))
		return by_thrd();
	if (!strcmp(what, "clone"))
		return by_clone();
	if (!strcmp(what, "blocking"))
		return by_blocking();
	if (!strcmp(what, "short"))
		return by_short_threads();
	if (!strcmp(what, "refused") && argc > 2)
		return refuse_timers() ? execv(argv[2], argv + 2) : 1;
	if (!strcmp(what, "without-timers"))
		return without_timers();
	if (!strcmp(what, "rest"))
		return by_rest(200);
	if (!strcmp(what, "unmet"))
		return by_rest(0);
	if (!strcmp(what, "unmet-exec")) {
		by_rest(0);
		fflush(stdout);
		execl("/none", "none", NULL);
		return execl("/bin/true", "true", NULL);
	}
	if (!strcmp(what, "jit"))
		return by_jit();
	if (!strcmp(what, "library") && argc > 2)
		return by_library(argv[2]);
	return 2;
}

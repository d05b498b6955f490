/* SPDX-License-Identifier: MIT */
/*
 * handler_cost FILE FRAMES ROUNDS [cold]: how long a signal takes whose handler is the profiler's,
 * and one whose handler does nothing, in turns, on a stack of FRAMES frames of different functions.
 * Prints the medians in nanoseconds: "profiler NS empty NS".
 *
 * The signals are sent by the program to itself, as copies of a tick that a timer of the profiler's
 * has sent. cold: before each, the program reads more than the caches of a CPU hold.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <gperftools/profiler.h>

#define ROUNDS_MAX 100000
#define COLD_BYTES (8u << 20)
/* _start and two functions of the C library, main, measure(). */
#define FRAMES_OWN 5

static volatile unsigned long sink;
static siginfo_t tick;
/* As the kernel has it (rt_sigaction(2)): sigaction(2) does not show or replace libprofd's handler.
 */
static struct kernel_action {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
} profiler;
static volatile sig_atomic_t has_tick;
static unsigned rounds;
static unsigned char *cold;
static uint32_t took[2][ROUNDS_MAX];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void on_first(int number, siginfo_t *info, void *ucontext)
{
	(void)ucontext;
	if (!has_tick)
		tick = *info;
	has_tick = number;
}

static void on_nothing(int number, siginfo_t *info, void *ucontext)
{
	(void)number;
	(void)info;
	(void)ucontext;
}

/* Without a frame: the leaf is the caller. */
static inline long queue(int number)
{
	long process = getpid(), thread = gettid();
#if defined(__x86_64__)
	/* No call may follow: this is no callee's to keep. */
	register long info __asm__("r10") = (long)&tick;
	long r = SYS_rt_tgsigqueueinfo;

	__asm__ volatile("syscall"
			 : "+a"(r)
			 : "D"(process), "S"(thread), "d"((long)number), "r"(info)
			 : "rcx", "r11", "memory");
	return r;
#else
	return syscall(SYS_rt_tgsigqueueinfo, process, thread, number, &tick);
#endif
}

__attribute__((always_inline)) static inline uint32_t send(int number)
{
	uint64_t begin;

	for (unsigned i = 0; cold && i < COLD_BYTES; i += 64)
		sink += cold[i];
	begin = now_ns();
	queue(number);
	return (uint32_t)(now_ns() - begin);
}

__attribute__((noinline)) static void measure(void)
{
	for (unsigned i = 0; i < rounds; i++) {
		took[0][i] = send(has_tick);
		took[1][i] = send(SIGUSR1);
	}
}

static void go_deeper(unsigned more);

/* Of different lengths, with frames of different sizes. */
#define FUNCTION(n)                                                   \
	__attribute__((noinline)) static void deep_##n(unsigned more) \
	{                                                             \
		volatile char room[16 + (n * 7919 % 23) * 16];        \
                                                                      \
		room[more % sizeof(room)] = (char)more;               \
		go_deeper(more - 1);                                  \
		sink += (unsigned long)room[more % sizeof(room)] + n; \
	}
#define TEN(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
#define ALL(X)    TEN(X, 1) TEN(X, 2) TEN(X, 3) TEN(X, 4) TEN(X, 5) TEN(X, 6) TEN(X, 7) TEN(X, 8)
ALL(FUNCTION)

#define NAMED(n) deep_##n,
static void (*const functions[])(unsigned more) = {ALL(NAMED)};

/* Inlined, or not a frame of its own at least: a jump. */
__attribute__((always_inline)) static inline void go_deeper(unsigned more)
{
	if (more)
		functions[more * 37 % (sizeof(functions) / sizeof(functions[0]))](more);
	else
		measure();
}

static int compare(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

static uint32_t median(uint32_t *values)
{
	qsort(values, rounds, sizeof(*values), compare);
	return values[rounds / 2];
}

static long set_action(int number, const struct kernel_action *action, struct kernel_action *before)
{
	return syscall(SYS_rt_sigaction, number, action, before, sizeof(action->mask));
}

/* The profiler's handler keeps its flags and mask; the empty one gets the same. */
static bool capture(void)
{
	struct kernel_action first;
	int number = getenv("CPUPROFILE_REALTIME") ? SIGALRM : SIGPROF;

	if (set_action(number, NULL, &profiler) || !profiler.handler)
		return false;
	first = profiler;
	first.handler = on_first;
	set_action(number, &first, NULL);
	for (uint64_t end = now_ns() + 3000000000; !has_tick && now_ns() < end;)
		sink++;
	set_action(number, &profiler, NULL);
	profiler.handler = on_nothing;
	set_action(SIGUSR1, &profiler, NULL);
	return has_tick;
}

int main(int argc, char **argv)
{
	unsigned frames;

	if (argc < 4)
		return 2;
	frames = (unsigned)atoi(argv[2]);
	rounds = (unsigned)atoi(argv[3]);
	if (frames < FRAMES_OWN || frames > 1000 || !rounds || rounds > ROUNDS_MAX)
		return 2;
	if (argc > 4) {
		cold = malloc(COLD_BYTES);
		memset(cold, 1, COLD_BYTES);
	}
	if (!ProfilerStart(argv[1]) || !capture())
		return 1;
	go_deeper(frames - FRAMES_OWN);
	ProfilerStop();
	printf("profiler %u empty %u\n", median(took[0]), median(took[1]));
	return 0;
}

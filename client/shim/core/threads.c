/* SPDX-License-Identifier: MIT */
/*
 * A slot is free, claimed or a thread's, as its tid says. Its timer counts the thread's CPU time
 * from a random phase on; what the kernel has not reported by the end is computed from that clock.
 * Calls of the kernel are made as such: its library's take locks, or allocate.
 */
#include "client/shim/core/threads.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/error.h"

/* linux/posix-timers.h: the CPU clock of one thread, by its number. */
#define CLOCK_OF_THREAD(tid) ((clockid_t)(~(unsigned)(tid) << 3 | 6))
#define DIRECTORY_BYTES      4096
/* What our timers' signals carry: this, and the slot's number. Programs have timers, too. */
#define VALUE_OURS  0x70f10000
#define VALUE_SLOTS 0x10000

static_assert(THREADS_MAX <= VALUE_SLOTS, "a slot's number is a part of the value");

struct threads {
	_Atomic int n; /* slots that were ever used */
	struct thread at[THREADS_MAX];
};

int threads_new(struct threads **ret)
{
	struct threads *threads = mmap(NULL, sizeof(*threads), PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (threads == MAP_FAILED)
		return error_origin(-ENOMEM);
	/* The program's core files are not to be larger for us. */
	madvise(threads, sizeof(*threads), MADV_DONTDUMP);
	*ret = threads;
	return 0;
}

struct thread *threads_claim(struct threads *threads)
{
	int n = atomic_load(&threads->n), i;

	for (i = 0; i < THREADS_MAX; i++) {
		struct thread *thread = &threads->at[i];
		int none = 0;

		if (!atomic_compare_exchange_strong(&thread->tid, &none, -1))
			continue;
		while (n <= i && !atomic_compare_exchange_weak(&threads->n, &n, i + 1))
			;
		return thread;
	}
	return NULL;
}

void threads_release(struct thread *thread)
{
	thread->low = thread->end = 0;
	thread->first_ns = 0;
	thread->n_frames = 0;
	thread->start = NULL;
	atomic_store(&thread->tid, 0);
}

struct thread *threads_at(struct threads *threads, int number)
{
	return number >= 0 && number < atomic_load(&threads->n) ? &threads->at[number] : NULL;
}

bool threads_is_value(int value)
{
	return (value & ~(VALUE_SLOTS - 1)) == VALUE_OURS;
}

struct thread *threads_of_value(struct threads *threads, int value)
{
	return threads_at(threads, value & (VALUE_SLOTS - 1));
}

struct thread *threads_find(struct threads *threads, int tid)
{
	for (int i = 0; i < atomic_load(&threads->n); i++)
		if (atomic_load(&threads->at[i].tid) == tid)
			return &threads->at[i];
	return NULL;
}

static uint64_t period_of(uint32_t frequency)
{
	return frequency ? NS_PER_S / frequency : 0;
}

/* Above 0 and up to @period_ns: any. */
static uint64_t random_phase_ns(uint64_t period_ns)
{
	uint64_t number = clock_ns(CLOCK_MONOTONIC);

	/* Where it may not be asked, the clock's will do. */
	syscall(SYS_getrandom, &number, sizeof(number), GRND_NONBLOCK);
	return 1 + number % period_ns;
}

/* The kernel's own calls: its library takes a lock to make a timer. */
bool threads_arm(struct threads *threads, struct thread *thread,
		 const struct threads_timing *timing)
{
	int tid = atomic_load(&thread->tid), timer;
	uint64_t period_ns = period_of(timing->frequency);
	clockid_t clock = timing->is_realtime ? CLOCK_MONOTONIC : CLOCK_OF_THREAD(tid);
	uint64_t first_ns = clock_ns(clock) + random_phase_ns(period_ns);
	const struct itimerspec when = {
		.it_interval = clock_timespec(period_ns),
		.it_value = clock_timespec(first_ns),
	};
	struct sigevent event = {0};

	if (thread->has_timer || (timing->is_main_only && tid != getpid()))
		return true;
	event.sigev_notify = SIGEV_THREAD_ID;
	event.sigev_signo = timing->signal;
	event.sigev_value.sival_int = VALUE_OURS | (int)(thread - threads->at);
	event._sigev_un._tid = tid;
	if (syscall(SYS_timer_create, clock, &event, &timer) < 0)
		return false;
	thread->first_ns = timing->is_realtime ? 0 : first_ns;
	atomic_store(&thread->frequency, timing->frequency);
	atomic_store(&thread->n_told, 0);
	thread->n_frames = 0;
	if (syscall(SYS_timer_settime, timer, TIMER_ABSTIME, &when, NULL) < 0) {
		syscall(SYS_timer_delete, timer);
		return false;
	}
	thread->timer = timer;
	thread->has_timer = true;
	return true;
}

/* A thread that holds the lock may end the timer meanwhile: its number is of no use then. */
void threads_retime(struct thread *thread, uint32_t frequency)
{
	uint64_t period_ns = period_of(frequency);
	const struct itimerspec when = {
		.it_interval = clock_timespec(period_ns),
		.it_value = clock_timespec(period_ns),
	};

	if (thread->first_ns)
		thread->first_ns = clock_ns(CLOCK_OF_THREAD(gettid())) + period_ns;
	atomic_store(&thread->n_told, 0);
	atomic_store(&thread->frequency, frequency);
	syscall(SYS_timer_settime, thread->timer, 0, &when, NULL);
}

void threads_disarm(struct thread *thread)
{
	if (thread->has_timer)
		syscall(SYS_timer_delete, thread->timer);
	thread->has_timer = false;
}

void threads_disarm_all(struct threads *threads)
{
	for (int i = 0; i < atomic_load(&threads->n); i++)
		threads_disarm(&threads->at[i]);
}

uint64_t threads_missed_ticks(const struct thread *thread)
{
	uint64_t period_ns = period_of(atomic_load(&thread->frequency)), now_ns, n;
	int tid = atomic_load(&thread->tid);

	if (tid <= 0 || !thread->first_ns || !period_ns)
		return 0;
	now_ns = clock_ns(CLOCK_OF_THREAD(tid));
	if (now_ns < thread->first_ns)
		return 0;
	n = 1 + (now_ns - thread->first_ns) / period_ns;
	return n > atomic_load(&thread->n_told) ? n - atomic_load(&thread->n_told) : 0;
}

/* False: it has got no timer. */
static bool threads_scan_one(struct threads *threads, int tid, const struct threads_timing *timing)
{
	struct thread *thread = threads_find(threads, tid);

	if (!thread) {
		thread = threads_claim(threads);
		if (!thread)
			return false;
		atomic_store(&thread->tid, tid);
	}
	return threads_arm(threads, thread, timing);
}

/* Of threads that ended unseen. */
static void threads_release_gone(struct threads *threads)
{
	int pid = getpid();

	for (int i = 0; i < atomic_load(&threads->n); i++) {
		struct thread *thread = &threads->at[i];
		int tid = atomic_load(&thread->tid);

		if (tid > 0 && syscall(SYS_tgkill, pid, tid, 0) < 0 && errno == ESRCH) {
			threads_disarm(thread);
			threads_release(thread);
		}
	}
}

/* readdir(3) allocates. */
unsigned threads_scan(struct threads *threads, const struct threads_timing *timing, bool *ret_any)
{
	_Alignas(struct dirent64) char bytes[DIRECTORY_BYTES];
	cleanup(closep) int fd = -1;
	unsigned n_without = 0, n_with = 0;
	long n;

	threads_release_gone(threads);
	fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		*ret_any = threads_scan_one(threads, (int)syscall(SYS_gettid), timing);
		return *ret_any ? 0 : 1;
	}
	while ((n = syscall(SYS_getdents64, fd, bytes, sizeof(bytes))) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent64 *entry = (const void *)(bytes + at);
			int tid = atoi(entry->d_name);

			if (tid > 0)
				*(threads_scan_one(threads, tid, timing) ? &n_with
									 : &n_without) += 1;
			at += entry->d_reclen;
		}
	}
	*ret_any = n_with;
	return n_without;
}

void threads_after_fork(struct threads *threads, struct thread *mine, int tid)
{
	for (int i = 0; i < atomic_load(&threads->n); i++) {
		struct thread *thread = &threads->at[i];

		thread->has_timer = false;
		if (thread != mine)
			threads_release(thread);
	}
	if (mine)
		atomic_store(&mine->tid, tid);
}

/* --- the process's timer ---------------------------------------------------------------------- */

static bool itimer_set(uint32_t frequency)
{
	uint32_t period_us = frequency ? 1000000 / frequency : 0;
	struct timeval period = {
		.tv_sec = (time_t)(period_us / 1000000),
		.tv_usec = (suseconds_t)(period_us % 1000000),
	};
	const struct itimerval when = {.it_interval = period, .it_value = period};

	return setitimer(ITIMER_PROF, &when, NULL) == 0;
}

bool itimer_start(struct itimer *itimer, uint32_t frequency)
{
	struct itimerval now;

	if (getitimer(ITIMER_PROF, &now) < 0 || now.it_value.tv_sec || now.it_value.tv_usec)
		return false;
	atomic_store(&itimer->frequency, frequency);
	atomic_store(&itimer->told_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	itimer->is_on = itimer_set(frequency);
	return itimer->is_on;
}

void itimer_retime(struct itimer *itimer, uint32_t frequency)
{
	atomic_store(&itimer->told_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	atomic_store(&itimer->frequency, frequency);
	itimer_set(frequency);
}

void itimer_stop(struct itimer *itimer)
{
	if (itimer->is_on)
		itimer_set(0);
	itimer->is_on = false;
}

uint32_t itimer_take(struct itimer *itimer)
{
	uint64_t told = atomic_load(&itimer->told_ns), now = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
		 period_ns, n;
	uint32_t frequency = atomic_load(&itimer->frequency);

	if (!frequency)
		return 0;
	period_ns = NS_PER_S / frequency;
	do {
		n = now > told ? (now - told) / period_ns : 0;
		if (!n || n > INT32_MAX)
			return 0;
	} while (!atomic_compare_exchange_weak(&itimer->told_ns, &told, told + n * period_ns));
	return (uint32_t)n;
}

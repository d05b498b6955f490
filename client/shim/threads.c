/* SPDX-License-Identifier: MIT */
#include "client/shim/threads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/error.h"

/* linux/posix-timers.h: the CPU clock of one thread, by its number. */
#define CLOCK_OF_THREAD(tid) ((clockid_t)(~(unsigned)(tid) << 3 | 6))
#define DIRECTORY_BYTES      4096

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
	*ret = threads;
	return 0;
}

void threads_free(struct threads *threads)
{
	if (threads)
		munmap(threads, sizeof(*threads));
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
	atomic_store(&thread->tid, 0);
}

struct thread *threads_at(struct threads *threads, int number)
{
	return number >= 0 && number < atomic_load(&threads->n) ? &threads->at[number] : NULL;
}

struct thread *threads_find(struct threads *threads, int tid)
{
	for (int i = 0; i < atomic_load(&threads->n); i++)
		if (atomic_load(&threads->at[i].tid) == tid)
			return &threads->at[i];
	return NULL;
}

static struct itimerspec times_of(uint32_t frequency)
{
	uint64_t period_ns = frequency ? 1000000000 / frequency : 0;
	const struct timespec period = {
		.tv_sec = (time_t)(period_ns / 1000000000),
		.tv_nsec = (long)(period_ns % 1000000000),
	};

	return (struct itimerspec){.it_interval = period, .it_value = period};
}

/* The kernel's own calls: its library takes a lock to make a timer. */
bool threads_arm(struct threads *threads, struct thread *thread,
		 const struct threads_timing *timing)
{
	int tid = atomic_load(&thread->tid), timer;
	const struct itimerspec when = times_of(timing->frequency);
	struct sigevent event = {0};

	if (thread->has_timer)
		return true;
	event.sigev_notify = SIGEV_THREAD_ID;
	event.sigev_signo = timing->signal;
	event.sigev_value.sival_int = (int)(thread - threads->at);
	event._sigev_un._tid = tid;
	if (syscall(SYS_timer_create, timing->is_realtime ? CLOCK_MONOTONIC : CLOCK_OF_THREAD(tid),
		    &event, &timer) < 0)
		return false;
	if (syscall(SYS_timer_settime, timer, 0, &when, NULL) < 0) {
		syscall(SYS_timer_delete, timer);
		return false;
	}
	thread->timer = timer;
	atomic_store(&thread->frequency, timing->frequency);
	thread->has_timer = true;
	return true;
}

/* Who holds the lock may end the timer meanwhile: its number is of no use then. */
void threads_retime(struct thread *thread, uint32_t frequency)
{
	const struct itimerspec when = times_of(frequency);

	syscall(SYS_timer_settime, thread->timer, 0, &when, NULL);
	atomic_store(&thread->frequency, frequency);
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

/* False: it has got no timer. */
static bool scan_one(struct threads *threads, int tid, const struct threads_timing *timing)
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

/* Of threads that nobody told us were ending. */
static void release_the_gone(struct threads *threads)
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
unsigned threads_scan(struct threads *threads, const struct threads_timing *timing)
{
	_Alignas(struct dirent64) char bytes[DIRECTORY_BYTES];
	cleanup(closep) int fd = -1;
	unsigned n_without = 0;
	long n;

	release_the_gone(threads);
	fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return scan_one(threads, (int)syscall(SYS_gettid), timing) ? 0 : 1;
	while ((n = syscall(SYS_getdents64, fd, bytes, sizeof(bytes))) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent64 *entry = (const void *)(bytes + at);
			int tid = atoi(entry->d_name);

			if (tid > 0 && !scan_one(threads, tid, timing))
				n_without++;
			at += entry->d_reclen;
		}
	}
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

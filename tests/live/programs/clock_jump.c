/* SPDX-License-Identifier: MIT */
/*
 * A library to preload: what clock_gettime() returns is the kernel's clock and what the file
 * $CLOCK_JUMP adds, which a test writes. Timers (timerfd) that are armed for a moment of these
 * clocks follow: a thread looks at the file each millisecond, and arms them anew. So an hour of a
 * program that waits takes as long as what it does in it. A program that it starts has the same
 * clocks.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define FDS_MAX 1024
#define NS      1000000000LL

struct jump {
	_Atomic int64_t monotonic_ns, realtime_ns;
	_Atomic uint32_t turn, seen; /* by the test, once it has set the others; by the thread */
};

struct timer {
	clockid_t clock;
	int flags;
	int64_t at_ns; /* of the program's clock; 0: not armed */
	struct itimerspec spec;
};

static struct jump none, *jump = &none;
static struct timer timers[FDS_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

__attribute__((constructor)) static void jump_open(void)
{
	const char *path = getenv("CLOCK_JUMP");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *map = fd < 0 ? MAP_FAILED
			   : mmap(NULL, sizeof(*jump), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		abort();
	jump = map;
	close(fd);
}

static int64_t jump_of(clockid_t clock)
{
	switch (clock) {
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_BOOTTIME:
	case CLOCK_BOOTTIME_ALARM:
		return jump->monotonic_ns;
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_REALTIME_ALARM:
		return jump->realtime_ns;
	default:
		return 0;
	}
}

static struct timespec timespec_of(int64_t ns)
{
	return (struct timespec){ns / NS, ns % NS};
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	if (syscall(SYS_clock_gettime, clock, ret) < 0)
		return -1;
	*ret = timespec_of(ret->tv_sec * NS + ret->tv_nsec + jump_of(clock));
	return 0;
}

/* --- timers ---------------------------------------------------------------------------------- */

static int timer_arm(int fd, struct timer *t, struct itimerspec *old)
{
	struct itimerspec spec = t->spec;
	int64_t at_ns = t->at_ns - jump_of(t->clock);

	if (t->at_ns && t->flags & TFD_TIMER_ABSTIME)
		spec.it_value = timespec_of(at_ns > 0 ? at_ns : 1);
	return (int)syscall(SYS_timerfd_settime, fd, t->flags, &spec, old);
}

static void *jump_follow(void *unused)
{
	const struct timespec pause = {.tv_nsec = NS / 1000};

	for (;; nanosleep(&pause, NULL)) {
		uint32_t turn = jump->turn;

		if (turn == jump->seen)
			continue;
		pthread_mutex_lock(&lock);
		for (int fd = 0; fd < FDS_MAX; fd++)
			/* One that has passed is not to pass again. */
			if (timers[fd].at_ns && timers[fd].flags & TFD_TIMER_ABSTIME &&
			    timer_arm(fd, &timers[fd], NULL) < 0)
				timers[fd].at_ns = 0;
		pthread_mutex_unlock(&lock);
		jump->seen = turn;
	}
	return unused;
}

static void jump_start(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, jump_follow, NULL))
		abort();
	pthread_detach(thread);
}

int timerfd_create(clockid_t clock, int flags)
{
	int fd = (int)syscall(SYS_timerfd_create, clock, flags);

	if (fd >= FDS_MAX)
		abort();
	if (fd >= 0)
		timers[fd] = (struct timer){.clock = clock};
	return fd;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *spec, struct itimerspec *old)
{
	struct timer *t = &timers[fd];
	int r;

	pthread_once(&once, jump_start);
	pthread_mutex_lock(&lock);
	t->flags = flags;
	t->spec = *spec;
	t->at_ns = spec->it_value.tv_sec * NS + spec->it_value.tv_nsec;
	r = timer_arm(fd, t, old);
	pthread_mutex_unlock(&lock);
	return r;
}

/* SPDX-License-Identifier: MIT */
/*
 * A pool as servers have one: workers that compute and then wait for a lock that another one of
 * them holds asleep, one that reads from a pipe that nobody writes to, others that were never given
 * any work, and a loop without events. Ends when it is killed.
 */
#include <pthread.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define N_WORKERS 3
#define N_IDLE    4

static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER, queue = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_work = PTHREAD_COND_INITIALIZER;
static volatile unsigned long sum;

static __attribute__((noinline)) void pool_compute(void)
{
	for (unsigned long i = 0; i < 3000000; i++)
		sum += i;
}

static __attribute__((noinline)) void pool_put(void)
{
	const struct timespec while_ = {.tv_nsec = 20000000};

	pthread_mutex_lock(&cache);
	nanosleep(&while_, NULL);
	pthread_mutex_unlock(&cache);
	sum++;
}

static __attribute__((noinline)) void pool_pop(void)
{
	pthread_mutex_lock(&queue);
	for (;;)
		pthread_cond_wait(&has_work, &queue);
}

static __attribute__((noinline)) void pool_read(int fd)
{
	char byte;

	while (read(fd, &byte, 1) > 0)
		sum++;
}

static __attribute__((noinline)) void pool_loop(int fd)
{
	struct epoll_event event;

	while (epoll_wait(fd, &event, 1, -1) >= 0)
		sum++;
}

static void *pool_worker(void *name)
{
	pthread_setname_np(pthread_self(), name);
	for (;;) {
		pool_compute();
		pool_put();
	}
	return NULL;
}

static void *pool_idle(void *name)
{
	pthread_setname_np(pthread_self(), name);
	pool_pop();
	return NULL;
}

static void *pool_events(void *name)
{
	pthread_setname_np(pthread_self(), name);
	pool_loop(epoll_create1(0));
	return NULL;
}

int main(void)
{
	pthread_t thread;
	int fds[2];

	for (int i = 0; i < N_WORKERS; i++)
		pthread_create(&thread, NULL, pool_worker, "worker");
	for (int i = 0; i < N_IDLE; i++)
		pthread_create(&thread, NULL, pool_idle, "idle");
	pthread_create(&thread, NULL, pool_events, "events");
	if (!pipe(fds))
		pool_read(fds[0]);
	return 0;
}

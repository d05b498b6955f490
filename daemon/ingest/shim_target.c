/* SPDX-License-Identifier: MIT */
#include "daemon/ingest/shim_target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"

/* Reads of a bell in one turn: a process may ring without end. */
#define HEAR_MAX   4
#define HEAR_BYTES 256

/*
 * CPU time of all threads that the process ever had. The kernel lets anybody ask
 * (kernel/time/posix-cpu-timers.c, pid_for_clock()). False: it is gone, and has been waited for.
 */
static bool cpu_time(pid_t pid, uint64_t *ret_ns)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &ts) < 0)
		return false;
	*ret_ns = (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
	return true;
}

int shim_target_new(struct shim_target **ret, const struct source_shim_process *process, int pidfd,
		    uint32_t n_words)
{
	cleanup(shim_target_freep) struct shim_target *t = calloc(1, sizeof(*t));
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), cpu_ns;
	int r;

	if (!t) {
		close(pidfd);
		return error_origin(-ENOMEM);
	}
	t->process = *process;
	t->pidfd = pidfd;
	t->ring = ATTACH_RING_NONE;
	if (!cpu_time(process->pid, &cpu_ns))
		return SOURCE_E_GONE;
	shim_account_begin(&t->account, cpu_ns);
	t->attached_ns = t->looked_ns = now_ns;
	if (attach_ring_init(&t->ring, n_words) < 0)
		return SOURCE_E_FULL;
	r = ring_reader_new(&t->reader, t->ring.memory, t->ring.length);
	if (r)
		return r;
	*ret = steal_ptr(&t);
	return 0;
}

void shim_target_leave(struct shim_target *t)
{
	ring_reader_free(t->reader);
	t->reader = NULL;
	attach_ring_deinit(&t->ring);
	t->frequency = 0;
}

void shim_target_free(struct shim_target *t)
{
	if (!t)
		return;
	shim_target_leave(t);
	closep(&t->pidfd);
	free(t);
}

void shim_target_set_frequency(struct shim_target *t, uint32_t hz)
{
	if (!t->reader || hz == t->frequency)
		return;
	t->frequency = hz;
	if (hz)
		t->last = hz;
	ring_reader_set_frequency(t->reader, hz);
}

bool shim_target_hear(struct shim_target *t)
{
	uint8_t bytes[HEAR_BYTES];

	for (int i = 0; i < HEAR_MAX; i++) {
		ssize_t n = recv(t->ring.bell, bytes, sizeof(bytes), MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		if (n == 0)
			return false;
	}
	return true;
}

/* What all CPUs together had since the last look: more it cannot have used. */
static uint64_t most_cpu_time(const struct shim_target *t, uint64_t now_ns)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return t->account.cpu_ns + (now_ns - t->looked_ns) * (n > 0 ? (uint64_t)n : 1);
}

void shim_target_look_at_account(struct shim_target *t, uint64_t now_ns)
{
	uint64_t cpu_ns;

	if (t->looked_ns >= now_ns)
		return;
	if (!cpu_time(t->process.pid, &cpu_ns))
		cpu_ns = most_cpu_time(t, now_ns);
	t->looked_ns = now_ns;
	shim_account_look(&t->account, cpu_ns, NS_PER_S / (t->last ? t->last : 1));
}

/* SPDX-License-Identifier: MIT */
/*
 * An event is opened, given its kind's ring and switched on, CPU by CPU; one that fails takes back
 * the rest of its attachment. Closing switches off first, so that the count that is read has all of
 * what came into the ring.
 */
#include "daemon/ingest/own_events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <utlist.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/error.h"
#include "daemon/ingest/perf_admin.h"
#include "daemon/ingest/sources.h"

int own_events_try(bool *ret_kernel, struct source_message *message)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
	};
	int fd = perf_admin_open(&attr, 0, 0);

	*ret_kernel = fd >= 0;
	if (fd == -EACCES || fd == -EPERM) {
		attr.exclude_kernel = 1;
		fd = perf_admin_open(&attr, 0, 0);
	}
	if (fd >= 0) {
		close(fd);
		if (!*ret_kernel)
			snprintf(message->text, sizeof(message->text),
				 "kernel.perf_event_paranoid = %d: kernel time of your processes "
				 "is not sampled, and counts as skipped; set it to 1 to sample it",
				 event_paranoid_level());
		return SOURCE_E_OK;
	}
	if (fd != -EACCES && fd != -EPERM && fd != -ENOSYS)
		return error_origin(fd);
	return source_refuse(
		message, SOURCE_E_DENIED,
		"the kernel forbids sampling even your own processes (kernel.perf_event_paranoid "
		"= %d): only programs with libprofd are sampled; sysctl "
		"kernel.perf_event_paranoid=2, then restart profd",
		event_paranoid_level());
}

void own_events_deinit(struct own_events *e)
{
	free(e->closed);
}

int own_events_set_cpus(struct own_events *e, const struct cpus *cpus)
{
	size_t n = e->n_cpus;

	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++)
		if (cpu >= n && cpus_has(cpus, cpu))
			n = cpu + 1;
	if (n > e->n_cpus) {
		void *closed = reallocarray(e->closed, n, sizeof(*e->closed));

		if (!closed)
			return error_origin(-ENOMEM);
		e->closed = closed;
		memset(e->closed + e->n_cpus, 0, (n - e->n_cpus) * sizeof(*e->closed));
		e->n_cpus = n;
	}
	e->online = *cpus;
	return 0;
}

void own_events_set_kind(struct own_events *e, unsigned kind, const struct perf_event_attr *attr)
{
	e->attrs[kind] = *attr;
	for (size_t i = 0; i < e->n_cpus; i++)
		e->closed[i][kind] = 0;
}

static void attachment_close(struct own_events *e, struct attachment *a)
{
	uint64_t count;

	for (size_t i = 0; i < e->n_cpus; i++) {
		if (a->events[i].fd < 0)
			continue;
		/* Its own and its heirs': no tick comes that the count does not hold. */
		ioctl(a->events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
		if (read(a->events[i].fd, &count, sizeof(count)) == sizeof(count))
			e->closed[i][a->kind] += count;
		close(a->events[i].fd);
		a->events[i].fd = -1;
		e->n_open--;
	}
}

void attachment_unref(struct own_events *e, struct attachment *a)
{
	if (--a->n_tasks)
		return;
	attachment_close(e, a);
	DL_DELETE(e->attachments, a);
	free(a);
}

static int open_event(struct own_events *e, struct attachment *a, unsigned cpu)
{
	int ring = e->ring(e->userdata, a->kind, cpu), opened;
	cleanup(closep) int fd = -1;

	if (ring < 0)
		return 0;
	opened = perf_admin_open(&e->attrs[a->kind], a->tid, (int)cpu);
	if (opened < 0)
		return opened == -ENODEV ? 0 : opened;
	fd = opened;
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ID, &a->events[cpu].id) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	a->events[cpu].fd = steal_fd(&fd);
	e->n_open++;
	return 0;
}

int attachment_new(struct own_events *e, unsigned kind, pid_t tid, struct attachment **ret)
{
	struct attachment *a = calloc(1, sizeof(*a) + e->n_cpus * sizeof(a->events[0]));
	int r = 0;

	if (!a)
		return -ENOMEM;
	a->kind = kind;
	a->tid = tid;
	a->n_tasks = 1;
	for (unsigned cpu = 0; cpu < e->n_cpus; cpu++)
		a->events[cpu].fd = -1;
	for (unsigned cpu = 0; !r && cpu < e->n_cpus; cpu++)
		if (cpus_has(&e->online, cpu))
			r = open_event(e, a, cpu);
	if (r) {
		attachment_close(e, a);
		free(a);
		return r;
	}
	a->since_ns = clock_ns(CLOCK_MONOTONIC);
	DL_APPEND(e->attachments, a);
	*ret = a;
	return 0;
}

uint64_t own_events_read(const struct own_events *e, unsigned kind, unsigned cpu)
{
	const struct attachment *a;
	uint64_t sum, count;

	if (cpu >= e->n_cpus)
		return 0;
	sum = e->closed[cpu][kind];
	DL_FOREACH(e->attachments, a)
	{
		if (a->kind == kind && a->events[cpu].fd >= 0 &&
		    read(a->events[cpu].fd, &count, sizeof(count)) == sizeof(count))
			sum += count;
	}
	return sum;
}

bool attachment_has(const struct own_events *e, const struct attachment *a, uint64_t id)
{
	for (size_t i = 0; i < e->n_cpus; i++)
		if (a->events[i].id == id)
			return true;
	return false;
}

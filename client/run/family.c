/* SPDX-License-Identifier: MIT */
/*
 * One event loop serves everything: the socket, connections that have not sent their request,
 * members, and the command itself. A timer drains every ring; a bell, rung when a ring is half
 * full, drains that ring at once. When the command ends, all rings are read to their ends.
 */
#include "client/run/family.h"

#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/run/family_private.h"
#include "client/run/launch.h"
#include "common/error.h"
#include "common/unixsock.h"

#define DRAIN_NS UINT64_C(100000000)

/* --- the loop -------------------------------------------------------------------------------- */

static int family_on_timer(sd_event_source *source, uint64_t now_us, void *userdata)
{
	struct family *f = userdata;
	bool more = family_drain_members(f);

	(void)now_us;
	family_age_connections(f);
	/* A little later, so that whoever writes all the time is not all that is read. */
	sd_event_source_set_time_relative(source, more ? DRAIN_NS / 20000 : DRAIN_NS / 1000);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* What a terminal sends it sends to the command as well. */
static int family_on_signal(sd_event_source *source, const struct signalfd_siginfo *info,
			    void *userdata)
{
	struct family *f = userdata;

	(void)source;
	if (info->ssi_code <= 0)
		kill(f->pid, (int)info->ssi_signo);
	return 0;
}

static int family_on_command_exit(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct family *f = userdata;

	(void)source;
	(void)fd;
	(void)events;
	/* Stopped ones do not make a pidfd readable. */
	if (waitpid(f->pid, &f->status, WNOHANG) != f->pid)
		return 0;
	return sd_event_exit(f->loop, 0);
}

static int family_watch(struct family *f, int pidfd)
{
	sigset_t signals;
	int r;

	launch_signals(&signals);
	r = sd_event_add_io(f->loop, NULL, pidfd, EPOLLIN, family_on_command_exit, f);
	if (r < 0)
		return r;
	for (int i = 1; i < NSIG && r >= 0; i++)
		if (sigismember(&signals, i) == 1)
			r = sd_event_add_signal(f->loop, NULL, i, family_on_signal, f);
	if (r >= 0)
		r = sd_event_add_time_relative(f->loop, NULL, CLOCK_MONOTONIC, DRAIN_NS / 1000,
					       1000, family_on_timer, f);
	return r < 0 ? r : 0;
}

int family_serve(struct family *f, pid_t pid, int *ret_status)
{
	cleanup(closep) int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int r;

	if (pidfd < 0)
		return error_origin(-errno);
	f->pid = pid;
	r = family_watch(f, pidfd) ?: sd_event_loop(f->loop);
	if (r >= 0)
		r = family_finish_members(f);
	if (r < 0)
		return error_origin(r);
	*ret_status = f->status;
	return 0;
}

/* --- its beginning and its end --------------------------------------------------------------- */

int family_new(struct family **ret, struct gather *gather, uint32_t frequency)
{
	cleanup(family_freep) struct family *f = calloc(1, sizeof(*f));
	const char *below = getenv("TMPDIR");
	int r;

	if (!f)
		return error_origin(-ENOMEM);
	f->listener = -1;
	f->gather = gather;
	f->frequency = frequency;
	if (!(below && *below == '/' && run_folder_make(&f->folder, below)) &&
	    !run_folder_make(&f->folder, "/tmp"))
		return error_origin(-errno);
	snprintf(f->socket, sizeof(f->socket), "%s/" RUN_FOLDER_SOCKET, f->folder.path);
	r = unixsock_listen(f->socket, 0600, (gid_t)-1, &f->listener);
	if (r)
		return r < 0 ? r : error_origin(-EACCES);
	r = sd_event_new(&f->loop);
	if (r >= 0)
		r = sd_event_add_io(f->loop, NULL, f->listener, EPOLLIN, family_on_connect, f);
	if (r < 0)
		return error_origin(r);
	*ret = steal_ptr(&f);
	return 0;
}

void family_free(struct family *f)
{
	if (!f)
		return;
	family_drop_connections(f);
	family_drop_members(f);
	closep(&f->listener);
	sd_event_unref(f->loop);
	run_folder_remove(&f->folder);
	free(f);
}

const char *family_socket(const struct family *f)
{
	return f->socket;
}

void family_get_totals(const struct family *f, struct family_totals *ret)
{
	*ret = f->totals;
}

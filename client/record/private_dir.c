/* SPDX-License-Identifier: MIT */
/*
 * Up to three processes: ours, the keeper, and the program. The keeper waits for the program's end
 * or for ours, whose end of a socket is closed then, stops the program, reports that by shutting
 * its own end down, and removes the directory when we are gone as well.
 */
#include "client/record/private_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "common/helper/child.h"

#define END_MS 10000

struct private_dir {
	char path[PRIVATE_DIR_SIZE];
	pid_t keeper;
	int life; /* closed when we end; readable when the program has ended */
};

/* --- the keeper ------------------------------------------------------------------------------- */

/* What the keeper needs; it shares nothing else with us. */
struct charge {
	const struct private_program *program;
	const char *dir;
	int life;      /* the other end */
	sigset_t mask; /* of signals, as it was */
};

static int remove_tree_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	remove(path);
	return 0;
}

int private_dir_open(const char *dir, const char *name, int flags)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static _Noreturn void become_program(const struct charge *c, pid_t keeper)
{
	int log = private_dir_open(c->dir, "log", O_WRONLY | O_CREAT | O_APPEND);

	if (log < 0 || dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0)
		_exit(1);
	/* If the keeper is killed, the program is as well. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != keeper)
		_exit(1);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("LISTEN_FDS");
	sigprocmask(SIG_SETMASK, &c->mask, NULL);
	execv(c->program->path, (char *const *)c->program->argv);
	fprintf(stderr, "%s: %s\n", c->program->path, strerror(errno));
	_exit(1);
}

static void keeper_run_program(const struct charge *c)
{
	struct pollfd fds[2] = {{.fd = c->life, .events = POLLIN}, {.events = POLLIN}};
	struct child child = CHILD_NONE;
	pid_t self = getpid(), pid = fork();
	int status;

	if (pid == 0)
		become_program(c, self);
	if (pid > 0)
		child = child_of(pid);
	fds[1].fd = child.pidfd;
	while (child.pid && poll(fds, 2, -1) < 0 && errno == EINTR)
		;
	if (child.pid && fds[0].revents)
		kill(pid, SIGTERM);
	if (!child_reap(&child, END_MS, &status)) {
		kill(pid, SIGKILL);
		child_reap(&child, INT_MAX, &status);
	}
	shutdown(c->life, SHUT_WR);
}

static _Noreturn void private_keeper_main(const struct charge *c)
{
	struct pollfd fd = {.fd = c->life, .events = POLLIN};
	int null;

	setsid();
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; i <= STDERR_FILENO; i++)
		dup2(null, i);
	for (int i = STDERR_FILENO + 1; i < c->life; i++)
		close(i);
	syscall(SYS_close_range, c->life + 1, ~0u, 0);
	if (c->program)
		keeper_run_program(c);
	/* The log is still to be read. */
	while (!fd.revents && poll(&fd, 1, -1) < 0 && errno == EINTR)
		;
	nftw(c->dir, remove_tree_entry, 8, FTW_DEPTH | FTW_PHYS);
	_exit(0);
}

/* --- its maker -------------------------------------------------------------------------------- */

static bool make_base_directory(struct private_dir *d, const char *below, const char *name)
{
	int n = snprintf(d->path, sizeof(d->path), "%s/profd-%s-XXXXXX", below, name);

	/* 0700, as mkdtemp(3) makes it. */
	if (n < (int)sizeof(d->path) && mkdtemp(d->path))
		return true;
	d->path[0] = '\0';
	return false;
}

int private_dir_new(struct private_dir **ret, const char *name)
{
	cleanup(private_dir_freep) struct private_dir *d = calloc(1, sizeof(*d));
	const char *below = getenv("TMPDIR");

	if (!d)
		return error_origin(-ENOMEM);
	d->life = -1;
	if (!(below && *below == '/' && make_base_directory(d, below, name)) &&
	    !make_base_directory(d, "/tmp", name))
		return error_origin(-errno);
	*ret = steal_ptr(&d);
	return 0;
}

int private_dir_keep(struct private_dir *d, const struct private_program *program)
{
	struct charge charge = {.program = program, .dir = d->path};
	int ends[2], error;
	sigset_t all;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return error_origin(-errno);
	d->life = ends[0];
	charge.life = ends[1];
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &charge.mask);
	d->keeper = fork();
	error = errno;
	if (d->keeper == 0)
		private_keeper_main(&charge);
	sigprocmask(SIG_SETMASK, &charge.mask, NULL);
	close(charge.life);
	return d->keeper < 0 ? error_origin(-error) : 0;
}

void private_dir_free(struct private_dir *d)
{
	if (!d)
		return;
	closep(&d->life);
	if (d->keeper > 0)
		while (waitpid(d->keeper, NULL, 0) < 0 && errno == EINTR)
			;
	else if (*d->path)
		nftw(d->path, remove_tree_entry, 8, FTW_DEPTH | FTW_PHYS);
	free(d);
}

const char *private_dir_path(const struct private_dir *d)
{
	return d->path;
}

int private_dir_life(const struct private_dir *d)
{
	return d->life;
}

/* SPDX-License-Identifier: MIT */
/*
 * A child is started with posix_spawn(3): profd may be large and have threads. Waiting is done on
 * its pidfd, in slices, so that it also works where the kernel has none. Nothing is ever waited for
 * without a limit.
 */
#include "common/helper/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"

#define POLL_MS 5

/* What a program begins with. */
struct child_setup {
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
};

/* Returns 0 or a positive errno, as posix_spawn(3)'s family does. */
static int child_setup_files(struct child_setup *setup, const int *fds, size_t n_fds)
{
	posix_spawn_file_actions_t *actions = &setup->actions;
	int r = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
			?: posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null",
							    O_WRONLY, 0);

	for (size_t i = 0; !r && i < n_fds; i++)
		r = posix_spawn_file_actions_adddup2(actions, fds[i], CHILD_FIRST_FD + (int)i);
	return r ?: posix_spawn_file_actions_addclosefrom_np(actions, CHILD_FIRST_FD + (int)n_fds);
}

static int child_setup_signals(struct child_setup *setup)
{
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	return posix_spawnattr_setsigmask(&setup->attributes, &none) ?:
	       posix_spawnattr_setsigdefault(&setup->attributes, &all) ?:
	       posix_spawnattr_setflags(&setup->attributes, POSIX_SPAWN_SETSIGMASK |
								    POSIX_SPAWN_SETSIGDEF |
								    POSIX_SPAWN_SETSID);
}

static int child_spawn(const struct child_program *program, const int *fds, pid_t *ret)
{
	struct child_setup setup;
	int r = posix_spawn_file_actions_init(&setup.actions);

	if (r)
		return r;
	r = posix_spawnattr_init(&setup.attributes);
	if (!r) {
		r = child_setup_files(&setup, fds, program->n_sockets + !!program->file) ?:
		    child_setup_signals(&setup) ?:
		    posix_spawn(ret, program->path, &setup.actions, &setup.attributes,
				program->argv, program->environment);
		posix_spawnattr_destroy(&setup.attributes);
	}
	posix_spawn_file_actions_destroy(&setup.actions);
	return r;
}

struct child child_of(pid_t pid)
{
	return (struct child){.pid = pid, .pidfd = (int)syscall(SYS_pidfd_open, pid, 0)};
}

/* The child's end is above the numbers that it will have: none overwrites another. */
static int child_make_socket(int type, int above, int *ret_ours, int *ret_theirs)
{
	int ends[2];

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) < 0)
		return errno;
	*ret_ours = ends[0];
	*ret_theirs = fcntl(ends[1], F_DUPFD_CLOEXEC, above);
	close(ends[1]);
	return *ret_theirs < 0 ? errno : 0;
}

int child_start(struct child *ret, const struct child_program *program, int *ret_sockets)
{
	const int above = CHILD_FIRST_FD + CHILD_SOCKETS_MAX + 1;
	int ours[CHILD_SOCKETS_MAX] = {-1, -1}, theirs[CHILD_SOCKETS_MAX + 1] = {-1, -1, -1}, r = 0;
	pid_t pid;

	for (size_t i = 0; !r && i < program->n_sockets; i++)
		r = child_make_socket(program->sockets[i], above, &ours[i], &theirs[i]);
	if (!r && program->file) {
		theirs[program->n_sockets] = fcntl(*program->file, F_DUPFD_CLOEXEC, above);
		r = theirs[program->n_sockets] < 0 ? errno : 0;
	}
	if (!r)
		r = child_spawn(program, theirs, &pid);
	for (size_t i = 0; i < ARRAY_SIZE(theirs); i++)
		closep(&theirs[i]);
	for (size_t i = 0; i < program->n_sockets; i++) {
		if (r)
			closep(&ours[i]);
		else
			ret_sockets[i] = ours[i];
	}
	if (!r)
		*ret = child_of(pid);
	return -r;
}

bool child_reap(struct child *c, int timeout_ms, int *ret_status)
{
	struct pollfd ended = {.fd = c->pidfd, .events = POLLIN};
	pid_t r;

	if (!c->pid)
		return true;
	for (int left_ms = timeout_ms;; left_ms -= POLL_MS) {
		r = waitpid(c->pid, ret_status, WNOHANG);
		if (r > 0 || (r < 0 && errno != EINTR))
			break;
		if (left_ms <= 0)
			return false;
		/* Without a pidfd it only sleeps. */
		(void)!poll(&ended, 1, left_ms < POLL_MS ? left_ms : POLL_MS);
	}
	if (r < 0)
		*ret_status = 0;
	if (c->pidfd >= 0)
		close(c->pidfd);
	*c = CHILD_NONE;
	return true;
}

static bool child_keeps_variable(const char *variable, const char *const *kept, size_t n_kept,
				 const char *added)
{
	if (added && strncmp(variable, added, strcspn(added, "=") + 1) == 0)
		return false;
	for (size_t i = 0; kept && i < n_kept; i++)
		if (strncmp(variable, kept[i], strlen(kept[i])) == 0)
			return true;
	return !kept;
}

int child_environment(char ***ret, const char *const *kept, size_t n_kept, char *added)
{
	size_t n = 0, at = 0;
	char **made;

	while (environ && environ[n])
		n++;
	made = reallocarray(NULL, n + 2, sizeof(*made));
	if (!made)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (child_keeps_variable(environ[i], kept, n_kept, added))
			made[at++] = environ[i];
	if (added)
		made[at++] = added;
	made[at] = NULL;
	*ret = made;
	return 0;
}

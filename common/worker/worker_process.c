/* SPDX-License-Identifier: MIT */
#include "common/worker/worker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/program_path.h"
#include "common/worker/protocol.h"

#define PROGRAM "profd-image-worker"

/* Above those that the program expects, so that none of these is overwritten by another. */
#define SAFE_FD (WORKER_LEASH_FD + 1)

void worker_process_init(struct worker_process *p)
{
	*p = (struct worker_process){.socket = -1, .leash = -1, .pidfd = -1};
}

int worker_process_path(char **ret)
{
	return program_path("PROFD_IMAGE_WORKER", PROGRAM, ret);
}

/* What the program begins with. */
struct birth {
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
};

/* Returns 0 or a positive errno, as posix_spawn(3)'s family does. */
static int worker_spawn_set_files(struct birth *birth, int socket, int leash)
{
	posix_spawn_file_actions_t *actions = &birth->actions;
	int r;

	r = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!r)
		r = posix_spawn_file_actions_adddup2(actions, STDIN_FILENO, STDOUT_FILENO);
	if (!r)
		r = posix_spawn_file_actions_adddup2(actions, socket, WORKER_SOCKET_FD);
	if (!r)
		r = posix_spawn_file_actions_adddup2(actions, leash, WORKER_LEASH_FD);
	if (!r)
		r = posix_spawn_file_actions_addclosefrom_np(actions, WORKER_LEASH_FD + 1);
	return r;
}

static int worker_spawn_set_signals(struct birth *birth)
{
	sigset_t none, all;
	int r;

	sigemptyset(&none);
	sigfillset(&all);
	r = posix_spawnattr_setsigmask(&birth->attributes, &none);
	if (!r)
		r = posix_spawnattr_setsigdefault(&birth->attributes, &all);
	if (!r)
		r = posix_spawnattr_setflags(&birth->attributes, POSIX_SPAWN_SETSIGMASK |
									 POSIX_SPAWN_SETSIGDEF |
									 POSIX_SPAWN_SETSID);
	return r;
}

/*
 * Without LANG and its like no locale is loaded, without LD_* no strangers' library. The
 * sanitizers' options are for builds that have them.
 */
static const char *const kept[] = {"ASAN_OPTIONS=", "UBSAN_OPTIONS="};

static void worker_spawn_environment(char *ret[ARRAY_SIZE(kept) + 1])
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		char **at = environ;

		while (at && *at && strncmp(*at, kept[i], strlen(kept[i])) != 0)
			at++;
		if (at && *at)
			ret[n++] = *at;
	}
	ret[n] = NULL;
}

static int worker_spawn(pid_t *ret, const char *path, char *const *argv, int socket, int leash)
{
	char *environment[ARRAY_SIZE(kept) + 1];
	struct birth birth;
	int r;

	worker_spawn_environment(environment);
	r = posix_spawn_file_actions_init(&birth.actions);
	if (r)
		return r;
	r = posix_spawnattr_init(&birth.attributes);
	if (!r) {
		r = worker_spawn_set_files(&birth, socket, leash);
		if (!r)
			r = worker_spawn_set_signals(&birth);
		if (!r)
			r = posix_spawn(ret, path, &birth.actions, &birth.attributes, argv,
					environment);
		posix_spawnattr_destroy(&birth.attributes);
	}
	posix_spawn_file_actions_destroy(&birth.actions);
	return r;
}

/* Moves *fd out of the way of the program's own. */
static int worker_spawn_raise_fd(int *fd)
{
	int lifted;

	if (*fd >= SAFE_FD)
		return 0;
	lifted = fcntl(*fd, F_DUPFD_CLOEXEC, SAFE_FD);
	if (lifted < 0)
		return -errno;
	close(*fd);
	*fd = lifted;
	return 0;
}

int worker_process_start(struct worker_process *p, const char *path, const char *name,
			 uint64_t memory_bytes, uint64_t keep_bytes)
{
	int sockets[2], leash[2], r;
	char title[64], memory[32], keep[32];
	char *const argv[] = {title, memory, keep, NULL};
	pid_t pid;

	snprintf(title, sizeof(title), PROGRAM ": %s", name);
	snprintf(memory, sizeof(memory), "%llu", (unsigned long long)memory_bytes);
	snprintf(keep, sizeof(keep), "%llu", (unsigned long long)keep_bytes);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, leash) < 0) {
		r = -errno;
		close(sockets[0]);
		close(sockets[1]);
		return r;
	}
	r = worker_spawn_raise_fd(&sockets[1]);
	if (!r)
		r = worker_spawn_raise_fd(&leash[0]);
	if (!r)
		r = -worker_spawn(&pid, path, argv, sockets[1], leash[0]);
	close(sockets[1]);
	close(leash[0]);
	if (r) {
		close(sockets[0]);
		close(leash[1]);
		return r;
	}
	*p = (struct worker_process){.pid = pid, .socket = sockets[0], .leash = leash[1]};
	p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return 0;
}

/*
 * kill(2) is refused where we are uid 0 without CAP_KILL and the worker has become nobody; the
 * leash is not (protocol.h). One of them reaches it in each moment of its life.
 */
void worker_process_kill(struct worker_process *p)
{
	if (!p->pid || p->socket < 0)
		return;
	kill(p->pid, SIGKILL);
	(void)!send(p->leash, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	close(p->leash);
	close(p->socket);
	p->leash = p->socket = -1;
}

bool worker_process_reap(struct worker_process *p, int timeout_ms, int *ret_status)
{
	struct pollfd ended = {.fd = p->pidfd, .events = POLLIN};
	pid_t r;

	if (!p->pid)
		return true;
	if (p->pidfd >= 0)
		(void)!poll(&ended, 1, timeout_ms);
	do
		r = waitpid(p->pid, ret_status, WNOHANG);
	while (r < 0 && errno == EINTR);
	if (!r)
		return false;
	if (r < 0) /* somebody else waited for it, or SIGCHLD is ignored */
		*ret_status = 0;
	closep(&p->pidfd);
	worker_process_init(p);
	return true;
}

uint64_t worker_process_starved_ns(const struct worker_process *p)
{
	char path[32], text[128];
	unsigned long long ran_ns, starved_ns;
	cleanup(closep) int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)p->pid);
	fd = p->pid ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	return sscanf(text, "%llu %llu", &ran_ns, &starved_ns) == 2 ? starved_ns : 0;
}

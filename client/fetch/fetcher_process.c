/* SPDX-License-Identifier: MIT */
#include "client/fetch/fetcher_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "client/fetch/fetch_protocol.h"
#include "client/fetch/fetcher.h"
#include "common/cleanup.h"
#include "common/error.h"

#define URLS_VARIABLE "DEBUGINFOD_URLS="
#define END_MS        2000
#define KILLED_MS     1000
#define POLL_MS       5 /* where the kernel has no pidfds */

/* The socket first: it may have the number of one of the others. */
static int fetcher_prepare_files(posix_spawn_file_actions_t *actions, int socket)
{
	int r = posix_spawn_file_actions_adddup2(actions, socket, FETCH_SOCKET_FD);

	if (!r)
		r = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY,
						     0);
	if (!r)
		r = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY,
						     0);
	if (!r)
		r = posix_spawn_file_actions_addclosefrom_np(actions, FETCH_SOCKET_FD + 1);
	return r;
}

static int fetcher_prepare_signals(posix_spawnattr_t *attributes)
{
	sigset_t none, all;
	int r;

	sigemptyset(&none);
	sigfillset(&all);
	r = posix_spawnattr_setsigmask(attributes, &none);
	if (!r)
		r = posix_spawnattr_setsigdefault(attributes, &all);
	if (!r)
		r = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK |
								 POSIX_SPAWN_SETSIGDEF |
								 POSIX_SPAWN_SETSID);
	return r;
}

/* All that says how a fetcher with a folder of its own works, but for its arguments. */
static bool fetcher_keeps_variable(const char *variable, const struct fetcher_options *options)
{
	static const char *const kept[] = {
		"http_proxy=",    "https_proxy=",    "HTTPS_PROXY=",  "all_proxy=",
		"ALL_PROXY=",     "no_proxy=",       "NO_PROXY=",     "SSL_CERT_DIR=",
		"SSL_CERT_FILE=", "JOURNAL_STREAM=", "ASAN_OPTIONS=", "UBSAN_OPTIONS=",
	};

	if (options->urls && strncmp(variable, URLS_VARIABLE, strlen(URLS_VARIABLE)) == 0)
		return false;
	if (!options->cache_directory)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (strncmp(variable, kept[i], strlen(kept[i])) == 0)
			return true;
	return false;
}

/* malloc'ed; its texts are borrowed from @urls and from our own environment. */
static int make_environment(char ***ret, char *urls, const struct fetcher_options *options)
{
	size_t n = 0, at = 0;
	char **made;

	while (environ && environ[n])
		n++;
	made = reallocarray(NULL, n + 2, sizeof(*made));
	if (!made)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (fetcher_keeps_variable(environ[i], options))
			made[at++] = environ[i];
	if (urls)
		made[at++] = urls;
	made[at] = NULL;
	*ret = made;
	return 0;
}

/* Returns 0 or a positive errno, as posix_spawn(3)'s family does. */
static int fetcher_spawn(pid_t *ret, const char *path, char *const *argv, char *const *environment,
			 int socket)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int r;

	r = posix_spawn_file_actions_init(&actions);
	if (r)
		return r;
	r = posix_spawnattr_init(&attributes);
	if (!r) {
		r = fetcher_prepare_files(&actions, socket);
		if (!r)
			r = fetcher_prepare_signals(&attributes);
		if (!r)
			r = posix_spawn(ret, path, &actions, &attributes, argv, environment);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

int fetcher_process_start(struct fetcher_process *p, const char *path, const char *mode,
			  const struct fetcher_options *options)
{
	char *const argv[] = {(char *)(uintptr_t) "profd-gateway", (char *)(uintptr_t)mode,
			      (char *)(uintptr_t)(options->cache_directory ? "--cache-directory"
									   : NULL),
			      (char *)(uintptr_t)options->cache_directory, NULL};
	cleanup(freep) char **environment = NULL;
	cleanup(freep) char *urls = NULL;
	int sockets[2], r;
	pid_t pid;

	if (options->urls && asprintf(&urls, URLS_VARIABLE "%s", options->urls) < 0) {
		urls = NULL;
		return -ENOMEM;
	}
	r = make_environment(&environment, urls, options);
	if (r)
		return r;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	r = -fetcher_spawn(&pid, path, argv, environment, sockets[1]);
	close(sockets[1]);
	if (r) {
		close(sockets[0]);
		return r;
	}
	*p = (struct fetcher_process){.pid = pid, .socket = sockets[0]};
	return 0;
}

/* Whether it ended within @timeout_ms. */
static bool fetcher_wait_exit(pid_t pid, int timeout_ms, int *ret_status)
{
	cleanup(closep) int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};

	for (int left_ms = timeout_ms; left_ms > 0; left_ms -= POLL_MS) {
		pid_t r = waitpid(pid, ret_status, WNOHANG);

		if (r == pid)
			return true;
		if (r < 0 && errno != EINTR) { /* somebody else waited for it */
			*ret_status = -1;
			return true;
		}
		/* An fd that never is readable is poll(2)'s way to sleep. */
		(void)!poll(&ended, 1, POLL_MS);
	}
	return false;
}

int fetcher_process_end(struct fetcher_process *p)
{
	int status = -1;

	if (p->socket >= 0)
		close(p->socket);
	/* Where it became another user, and we may not signal that, the socket has to do. */
	if (p->pid && !fetcher_wait_exit(p->pid, END_MS, &status)) {
		kill(p->pid, SIGKILL);
		(void)!fetcher_wait_exit(p->pid, KILLED_MS, &status);
	}
	*p = (struct fetcher_process){.socket = -1};
	return status;
}

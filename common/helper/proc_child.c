/* SPDX-License-Identifier: MIT */
/*
 * A request is one packet: the directory's descriptor, whether the text is wanted, and the path.
 * The answer is one byte, with a descriptor if it could be opened; texts are read by the child,
 * into memory. Each child has a socket of its own: what one that was given up still answers,
 * nobody receives.
 *
 * The child is forked for the first request, while its parent is small, and again only when one was
 * given up or killed.
 */
#include "common/helper/proc_child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "common/helper/fd_packet.h"
#include "common/helper/memory_file.h"
#include "common/proc.h"

#define CHILD_DIED (PROC_E_HELD_UP + 1) /* before it answered */
#define TEXT_MAX   (32u << 20)          /* proc_read_file() */

struct proc_request {
	bool text;
	char path[PATH_MAX]; /* sent as far as it is long */
};

struct proc_child {
	struct proc_opener opener;
	struct proc_request request; /* the child's, and ours to send */
	uint64_t wait_ns;
	int socket; /* -1: no child */
	pid_t pid;
	pid_t left[PROC_CHILD_LEFT_MAX]; /* killed, not waited for */
	size_t n_left;
};

/* --- the child -------------------------------------------------------------------------------- */

static int open_request(int dir_fd, const struct proc_request *request)
{
	if (request->text)
		return memory_file_read("profd-text", dir_fd, request->path, TEXT_MAX);
	return openat(dir_fd, request->path, O_PATH | O_CLOEXEC);
}

/* Until the other end is closed. */
static void proc_child_serve(int socket, struct proc_request *request)
{
	for (;;) {
		cleanup(fd_packet_deinit) struct fd_packet packet;
		cleanup(closep) int fd = -1;

		if (fd_packet_receive(socket, request, sizeof(*request), 0, &packet) ||
		    packet.n_fds != 1 || packet.length < offsetof(struct proc_request, path) ||
		    packet.length == sizeof(*request))
			return;
		((char *)request)[packet.length] = '\0';
		fd = open_request(packet.fds[0], request);
		if (fd_packet_send(socket, "", 1, &fd, fd >= 0, 0))
			return;
	}
}

/* Without what its parent has open: others wait for the ends of that. */
static _Noreturn void proc_child_run(struct proc_child *c, int socket)
{
	prctl(PR_SET_NAME, "profd-looking");
	if (dup2(socket, STDIN_FILENO) < 0 || close_range(STDIN_FILENO + 1, ~0u, 0) < 0)
		_exit(1);
	proc_child_serve(STDIN_FILENO, &c->request);
	_exit(0);
}

/* --- its parent ------------------------------------------------------------------------------- */

static void proc_child_reap(struct proc_child *c)
{
	for (size_t i = c->n_left; i-- > 0;)
		if (waitpid(c->left[i], NULL, WNOHANG))
			c->left[i] = c->left[--c->n_left];
}

/* There is room for it. */
static void proc_child_give_up(struct proc_child *c)
{
	if (c->socket < 0)
		return;
	kill(c->pid, SIGKILL);
	close(steal_fd(&c->socket));
	c->left[c->n_left++] = c->pid;
}

/* Returns PROC_E_OK, PROC_E_HELD_UP: too many are stuck, or negative errno. */
static int proc_child_fork(struct proc_child *c)
{
	int ends[2];

	proc_child_reap(c);
	if (c->n_left == PROC_CHILD_LEFT_MAX)
		return PROC_E_HELD_UP;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_origin(-errno);
	c->pid = fork();
	if (c->pid == 0)
		proc_child_run(c, ends[1]);
	close(ends[1]);
	if (c->pid < 0) {
		close(ends[0]);
		return error_origin(-ENOMEM);
	}
	c->socket = ends[0];
	return PROC_E_OK;
}

/* The answer to what was sent: PROC_E_*, or CHILD_DIED. */
static int proc_child_await(struct proc_child *c, int *ret)
{
	cleanup(fd_packet_deinit) struct fd_packet packet = {0};
	char answer;

	if (!fd_packet_await(c->socket, clock_ns(CLOCK_MONOTONIC) + c->wait_ns))
		return PROC_E_HELD_UP;
	if (fd_packet_receive(c->socket, &answer, 1, MSG_DONTWAIT, &packet))
		return CHILD_DIED;
	if (!packet.n_fds)
		return PROC_E_GONE;
	*ret = steal_fd(&packet.fds[0]);
	return PROC_E_OK;
}

static int proc_child_ask(struct proc_child *c, int dir_fd, size_t size, int *ret)
{
	int r = c->socket < 0 ? proc_child_fork(c) : 0;

	if (r)
		return r;
	r = fd_packet_send(c->socket, &c->request, size, &dir_fd, 1, MSG_DONTWAIT)
		    ? CHILD_DIED
		    : proc_child_await(c, ret);
	if (r == PROC_E_HELD_UP || r == CHILD_DIED)
		proc_child_give_up(c);
	return r;
}

static int proc_child_open(void *userdata, int dir_fd, pid_t id, const char *path, bool text,
			   int *ret)
{
	struct proc_child *c = userdata;
	size_t length = strlen(path), size = offsetof(struct proc_request, path) + length;
	int r;

	(void)id;
	if (length >= sizeof(c->request.path))
		return PROC_E_GONE;
	c->request.text = text;
	memcpy(c->request.path, path, length);
	r = proc_child_ask(c, dir_fd, size, ret);
	/* A child that somebody killed says nothing of the process: the next one is asked. */
	if (r == CHILD_DIED)
		r = proc_child_ask(c, dir_fd, size, ret);
	return r == CHILD_DIED ? PROC_E_GONE : r;
}

int proc_child_new(struct proc_child **ret, uint64_t wait_ns)
{
	cleanup(proc_child_freep) struct proc_child *c = calloc(1, sizeof(*c));

	if (!c)
		return error_origin(-ENOMEM);
	c->wait_ns = wait_ns ? wait_ns : PROC_CHILD_WAIT_NS;
	c->socket = -1;
	c->opener = (struct proc_opener){proc_child_open, c};
	proc_open_by(&c->opener);
	*ret = steal_ptr(&c);
	return 0;
}

void proc_child_free(struct proc_child *c)
{
	if (!c)
		return;
	proc_open_by(NULL);
	proc_child_give_up(c);
	proc_child_reap(c);
	free(c);
}

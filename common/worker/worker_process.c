/* SPDX-License-Identifier: MIT */
#include "common/worker/worker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/program_path.h"
#include "common/worker/protocol.h"

#define PROGRAM "profd-image-worker"

_Static_assert(WORKER_SOCKET_FD == CHILD_FIRST_FD && WORKER_LEASH_FD == CHILD_FIRST_FD + 1,
	       "descriptors of the worker");

int worker_process_path(char **ret)
{
	return program_path("PROFD_IMAGE_WORKER", PROGRAM, ret);
}

/*
 * Without LANG and its like no locale is loaded, without LD_* no strangers' library. The
 * sanitizers' options are for builds that have them.
 */
static const char *const kept[] = {"ASAN_OPTIONS=", "UBSAN_OPTIONS="};

int worker_process_start(struct worker_process *p, const char *path, const char *name,
			 uint64_t memory_bytes, uint64_t keep_bytes)
{
	cleanup(closep) int socket = -1, peer = -1, leash = -1, leash_peer = -1;
	cleanup(freep) char **environment = NULL;
	char title[64], memory[32], keep[32];
	char *const argv[] = {title, memory, keep, NULL};
	int sockets[2], leashes[2], r;

	snprintf(title, sizeof(title), PROGRAM ": %s", name);
	snprintf(memory, sizeof(memory), "%llu", (unsigned long long)memory_bytes);
	snprintf(keep, sizeof(keep), "%llu", (unsigned long long)keep_bytes);
	r = child_environment(&environment, kept, ARRAY_SIZE(kept), NULL);
	if (r)
		return r;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	socket = sockets[0];
	peer = sockets[1];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, leashes) < 0)
		return -errno;
	leash = leashes[0];
	leash_peer = leashes[1];
	r = child_start(&p->child, &(struct child_program){
					   .path = path,
					   .argv = argv,
					   .environment = environment,
					   .fds = (const int[]){peer, leash_peer},
					   .n_fds = 2,
				   });
	if (r)
		return r;
	p->socket = steal_fd(&socket);
	p->leash = steal_fd(&leash);
	return 0;
}

/*
 * kill(2) is refused where we are uid 0 without CAP_KILL and the worker has become nobody; the
 * leash is not (protocol.h). One of them reaches it in each moment of its life.
 */
void worker_process_kill(struct worker_process *p)
{
	kill(p->child.pid, SIGKILL);
	(void)!send(p->leash, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	close(steal_fd(&p->leash));
	close(steal_fd(&p->socket));
}

uint64_t worker_process_starved_ns(const struct worker_process *p)
{
	char path[32], text[128];
	unsigned long long ran_ns, starved_ns;
	cleanup(closep) int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)p->child.pid);
	fd = p->child.pid ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	return sscanf(text, "%llu %llu", &ran_ns, &starved_ns) == 2 ? starved_ns : 0;
}

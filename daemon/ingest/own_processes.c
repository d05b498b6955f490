/* SPDX-License-Identifier: MIT */
#include "daemon/ingest/own_processes.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define GENERATIONS 3
/* proc_pid_children(5): some numbers. */
#define TEXT_BYTES 4096

struct family {
	struct members *own;
	int proc_fd;
};

static int own_processes_add_tree(const struct family *f, pid_t pid, unsigned generations)
{
	char path[64], text[TEXT_BYTES], *rest = text, *end;
	cleanup(closep) int fd = -1;
	ssize_t n = 0;
	int r = members_add(f->own, OWN_SAMPLER, pid, true);

	if (r || !generations)
		return r;
	snprintf(path, sizeof(path), "%d/task/%d/children", pid, pid);
	fd = openat(f->proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		n = read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	for (long child; !r && (child = strtol(rest, &end, 10)) > 0; rest = end)
		r = own_processes_add_tree(f, (pid_t)child, generations - 1);
	return r;
}

int own_processes_add(struct members *own, int proc_fd, pid_t pid)
{
	return own_processes_add_tree(&(struct family){.own = own, .proc_fd = proc_fd}, pid,
				      GENERATIONS);
}

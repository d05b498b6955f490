/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/file_opener.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/worker/debug_files.h"
#include "daemon/resolve/keeper.h"

struct request {
	uint64_t id;
	uint32_t flags;
	char path[PATH_MAX]; /* sent as far as it is long */
};

struct file_opener {
	struct keeper_job job;
	struct keeper keeper;
	uint64_t wait_ns, next_id;
	struct request request; /* the servant's, and ours to send */
};

/* Sends @length bytes of @data, and @fd unless it is -1. */
static ssize_t send_with_fd(int socket, const void *data, size_t length, int fd, int flags)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec piece = {.iov_base = (void *)data, .iov_len = length};
	struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};

	if (fd >= 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
	}
	return sendmsg(socket, &message, flags | MSG_NOSIGNAL);
}

/* *ret_fd: -1 if none came. */
static ssize_t receive_with_fd(int socket, void *data, size_t size, int flags, int *ret_fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec piece = {.iov_base = data, .iov_len = size};
	struct msghdr message = {.msg_iov = &piece,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	ssize_t r = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
	struct cmsghdr *header = r > 0 ? CMSG_FIRSTHDR(&message) : NULL;

	*ret_fd = -1;
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(header), sizeof(int));
	return r;
}

/* --- the servant, async-signal-safe ----------------------------------------------------------- */

static bool is_refused_filesystem(int named, unsigned flags)
{
	struct statfs fs;

	if (fstatfs(named, &fs) < 0)
		return true;
	return fs.f_type == FUSE_SUPER_MAGIC ||
	       (fs.f_type == OVERLAYFS_SUPER_MAGIC && !(flags & FILE_OPENER_TRUST_OVERLAYS));
}

static int open_requested_file(int root_fd, const struct request *request)
{
	bool cross_mounts = request->flags & FILE_OPENER_CROSS_MOUNTS;
	cleanup(closep) int named = debug_files_open_path(root_fd, cross_mounts, request->path);

	if (named < 0 || is_refused_filesystem(named, request->flags))
		return -1;
	return debug_files_reopen(named);
}

static void file_opener_serve(int data_fd, uint64_t first_id, void *memory)
{
	struct request *request = memory;
	int root_fd, fd;
	ssize_t r;

	for (;;) {
		r = receive_with_fd(data_fd, request, sizeof(*request), 0, &root_fd);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < (ssize_t)offsetof(struct request, path) || r == sizeof(*request))
			return;
		((char *)request)[r] = '\0';
		fd = -1;
		if (root_fd >= 0 && request->id >= first_id) {
			fd = open_requested_file(root_fd, request);
			while (send_with_fd(data_fd, &request->id, sizeof(request->id), fd, 0) < 0)
				if (errno != EINTR)
					return;
		}
		/* Not FUSE, so that this asks nobody. */
		closep(&fd);
		closep(&root_fd);
	}
}

/* --- profd's side ----------------------------------------------------------------------------- */

int file_opener_new(struct file_opener **ret, uint64_t wait_ns)
{
	cleanup(file_opener_freep) struct file_opener *o = calloc(1, sizeof(*o));
	int r;

	if (!o)
		return error_origin(-ENOMEM);
	o->job = (struct keeper_job){
		.keeper_name = "profd-opening",
		.servant_name = "profd-opener",
		.serve = file_opener_serve,
		.memory = &o->request,
	};
	o->wait_ns = wait_ns ? wait_ns : FILE_OPENER_WAIT_NS;
	o->next_id = 1;
	r = keeper_init(&o->keeper, &o->job);
	if (r)
		return error_origin(r);
	*ret = steal_ptr(&o);
	return 0;
}

void file_opener_free(struct file_opener *o)
{
	if (!o)
		return;
	keeper_deinit(&o->keeper);
	free(o);
}

/* Returns FILE_OPENER_E_OK: an answer, whose file is *ret_fd or -1; or _SLOW or _LOST. */
static int await_answer(struct file_opener *o, uint64_t id, int *ret_fd)
{
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + o->wait_ns, now, answered;
	struct pollfd data = {.fd = o->keeper.data_fd, .events = POLLIN};
	struct timespec left;
	ssize_t r;

	for (;;) {
		now = clock_ns(CLOCK_MONOTONIC);
		if (now >= until_ns)
			return FILE_OPENER_E_SLOW;
		left.tv_sec = (time_t)((until_ns - now) / NS_PER_S);
		left.tv_nsec = (long)((until_ns - now) % NS_PER_S);
		if (ppoll(&data, 1, &left, NULL) <= 0)
			continue;
		r = receive_with_fd(data.fd, &answered, sizeof(answered), MSG_DONTWAIT, ret_fd);
		if (r < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (r != sizeof(answered))
			return FILE_OPENER_E_LOST;
		if (answered == id)
			return FILE_OPENER_E_OK;
		closep(ret_fd); /* of one that was given up */
	}
}

int file_opener_open(struct file_opener *o, int root_fd, const char *path, unsigned flags, int *ret)
{
	size_t length = strlen(path);
	int fd = -1, r;

	if (length >= sizeof(o->request.path))
		return FILE_OPENER_E_NONE;
	if (o->keeper.data_fd < 0)
		keeper_refork(&o->keeper, clock_ns(CLOCK_MONOTONIC));
	if (o->keeper.data_fd < 0)
		return FILE_OPENER_E_LOST;
	o->request.id = o->next_id++;
	o->request.flags = flags;
	memcpy(o->request.path, path, length);
	/* One is under way at most: there is room. */
	if (send_with_fd(o->keeper.data_fd, &o->request, offsetof(struct request, path) + length,
			 root_fd, MSG_DONTWAIT) < 0) {
		keeper_lose(&o->keeper);
		return FILE_OPENER_E_LOST;
	}
	r = await_answer(o, o->request.id, &fd);
	if (r == FILE_OPENER_E_SLOW)
		keeper_replace(&o->keeper, o->next_id);
	if (r == FILE_OPENER_E_LOST)
		keeper_lose(&o->keeper);
	if (r)
		return r;
	if (fd < 0)
		return FILE_OPENER_E_NONE;
	*ret = fd;
	return FILE_OPENER_E_OK;
}

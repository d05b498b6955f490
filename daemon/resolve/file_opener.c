/* SPDX-License-Identifier: MIT */
/*
 * Requests go to the servant one at a time, each with the root's descriptor and a number; the
 * answer has that number, and the file's descriptor if there is one. When it takes too long, the
 * servant is replaced, and answers to older numbers are dropped.
 */
#include "daemon/resolve/file_opener.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/helper/confine.h"
#include "common/helper/fd_packet.h"
#include "common/helper/memory_file.h"
#include "common/worker/debug_files.h"
#include "daemon/resolve/keeper.h"
#include "daemon/resolve/package_lists.h"

/* Flags of our own: not a path, a group; a directory of lists, and behind its NUL paths. */
#define OPEN_GROUP (1u << 31)
#define OPEN_LISTS (1u << 30)

struct file_opener_request {
	uint64_t id, group;
	uint32_t flags;
	char path[PATH_MAX]; /* sent as far as it is long */
};

struct file_opener {
	struct keeper keeper;
	uint64_t wait_ns, next_id;
	struct file_opener_request request; /* the servant's, and ours to send */
};

/* --- the servant, async-signal-safe ----------------------------------------------------------- */

/* /proc/PID/map_files, since Linux 5.9 (proc(5)). */
#define OPEN_MAP_FILES (UINT64_C(1) << CAP_CHECKPOINT_RESTORE)

#define NO_WRITING (O_ACCMODE | O_CREAT | O_TRUNC)

/* Nothing is opened to be written; what openat2(2) is told the filter cannot see. */
static const struct confine_call calls[] = {
	CONFINE_ANY(recvmsg),
	CONFINE_ANY(sendmsg),
	CONFINE_IF(openat, CONFINE_BITS(2, NO_WRITING, O_RDONLY)),
	CONFINE_IF(open_by_handle_at, CONFINE_BITS(2, NO_WRITING, O_RDONLY)),
	CONFINE_ANY(openat2),
	CONFINE_ANY(statx),
	CONFINE_ANY(fstatfs),
	CONFINE_ANY(memfd_create),
	CONFINE_ANY(read),
	CONFINE_ANY(getdents64),
	CONFINE_ANY(write),
	CONFINE_ANY(lseek),
	CONFINE_ANY(close),
	CONFINE_ANY(exit_group),
};
static const struct confine_table opener_calls = {calls, ARRAY_SIZE(calls)};

static bool is_refused_filesystem(int named, unsigned flags)
{
	struct statfs fs;

	if (fstatfs(named, &fs) < 0)
		return true;
	return fs.f_type == FUSE_SUPER_MAGIC ||
	       (fs.f_type == OVERLAYFS_SUPER_MAGIC && !(flags & FILE_OPENER_TRUST_OVERLAYS));
}

/* What can be trusted not to ask anybody when it is closed or measured, or -1. */
static int open_regular_file(int root_fd, const struct file_opener_request *request)
{
	bool cross_mounts = request->flags & FILE_OPENER_CROSS_MOUNTS;
	cleanup(closep) int named = debug_files_open_path(root_fd, cross_mounts, request->path);

	if (named < 0 || is_refused_filesystem(named, request->flags))
		return -1;
	return debug_files_reopen(named);
}

/* FILEID_KERNFS of include/linux/exportfs.h, since Linux 5.5: the number of what is meant. */
static int open_group(int groups_fd, uint64_t id)
{
	struct {
		struct file_handle head;
		uint64_t id;
	} handle = {{.handle_bytes = sizeof(id), .handle_type = 0xfe}, id};

	return open_by_handle_at(groups_fd, &handle.head, O_PATH | O_CLOEXEC);
}

static int search_lists(int root_fd, const struct file_opener_request *request)
{
	const bool cross_mounts = request->flags & FILE_OPENER_CROSS_MOUNTS;
	cleanup(closep) int named = debug_files_find(root_fd, cross_mounts, request->path);
	cleanup(closep) int dir = -1;
	cleanup(closep) int to = -1;

	if (named < 0 || is_refused_filesystem(named, request->flags))
		return -1;
	dir = openat(named, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	to = dir < 0 ? -1 : memory_file_new("profd-packages");
	if (to < 0 ||
	    package_lists_search(dir, cross_mounts, request->path + strlen(request->path) + 1,
				 to) ||
	    lseek(to, 0, SEEK_SET) < 0)
		return -1;
	return steal_fd(&to);
}

static int open_requested_file(int root_fd, const struct file_opener_request *request)
{
	if (request->flags & OPEN_GROUP)
		return open_group(root_fd, request->group);
	if (request->flags & OPEN_LISTS)
		return search_lists(root_fd, request);
	if (request->flags & FILE_OPENER_NAME)
		return openat(root_fd, request->path, O_PATH | O_CLOEXEC);
	if (request->flags & FILE_OPENER_TEXT)
		return memory_file_read("profd-text", root_fd, request->path, FILE_OPENER_TEXT_MAX);
	return open_regular_file(root_fd, request);
}

static void file_opener_serve(int data_fd, uint64_t first_id, void *memory)
{
	struct file_opener_request *request = memory;

	for (;;) {
		cleanup(fd_packet_deinit) struct fd_packet packet;
		cleanup(closep) int fd = -1; /* not FUSE, so that closing asks nobody */

		if (fd_packet_receive(data_fd, request, sizeof(*request), 0, &packet) ||
		    packet.length < offsetof(struct file_opener_request, path) ||
		    packet.length == sizeof(*request))
			return;
		((char *)request)[packet.length] = '\0';
		if (packet.n_fds != 1 || request->id < first_id)
			continue;
		fd = open_requested_file(packet.fds[0], request);
		if (fd_packet_send(data_fd, &request->id, sizeof(request->id), &fd, fd >= 0, 0))
			return;
	}
}

/* --- profd's side ----------------------------------------------------------------------------- */

int file_opener_new(struct file_opener **ret, uint64_t wait_ns)
{
	cleanup(file_opener_freep) struct file_opener *o = calloc(1, sizeof(*o));
	int r;

	if (!o)
		return error_origin(-ENOMEM);
	o->wait_ns = wait_ns ? wait_ns : FILE_OPENER_WAIT_NS;
	o->next_id = 1;
	r = keeper_init(&o->keeper,
			&(struct keeper_job){
				.keeper_name = "profd-opening",
				.servant_name = "profd-opener",
				.serve = file_opener_serve,
				.memory = &o->request,
				.calls = &opener_calls,
				.capabilities = UINT64_C(1) << CAP_SYS_PTRACE |
						UINT64_C(1) << CAP_DAC_READ_SEARCH | OPEN_MAP_FILES,
			});
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
static int file_opener_await(struct file_opener *o, uint64_t id, int *ret_fd)
{
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + o->wait_ns, answered;
	int r;

	while (fd_packet_await(o->keeper.data_fd, until_ns)) {
		cleanup(fd_packet_deinit) struct fd_packet packet;

		r = fd_packet_receive(o->keeper.data_fd, &answered, sizeof(answered), MSG_DONTWAIT,
				      &packet);
		if (r == FD_PACKET_E_LATER)
			continue;
		if (r || packet.length != sizeof(answered))
			return FILE_OPENER_E_LOST;
		if (answered != id)
			continue; /* of one that was given up */
		*ret_fd = packet.n_fds == 1 ? steal_fd(&packet.fds[0]) : -1;
		return FILE_OPENER_E_OK;
	}
	return FILE_OPENER_E_SLOW;
}

/* The request's other fields are the caller's. */
static int file_opener_ask(struct file_opener *o, int root_fd, size_t path_length, int *ret)
{
	int fd = -1, r;

	o->request.id = o->next_id++;
	if (!keeper_send(&o->keeper, &o->request,
			 offsetof(struct file_opener_request, path) + path_length, &root_fd, 1))
		return FILE_OPENER_E_LOST;
	r = file_opener_await(o, o->request.id, &fd);
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

int file_opener_open(struct file_opener *o, int root_fd, const char *path, unsigned flags, int *ret)
{
	size_t length = strlen(path);

	if (length >= sizeof(o->request.path))
		return FILE_OPENER_E_NONE;
	o->request.flags = flags;
	memcpy(o->request.path, path, length);
	return file_opener_ask(o, root_fd, length, ret);
}

int file_opener_search_lists(struct file_opener *o, int root_fd, const char *path,
			     const char *paths, unsigned flags, int *ret)
{
	const size_t length = strlen(path) + 1, n_paths = strlen(paths);

	if (length >= sizeof(o->request.path) || n_paths >= sizeof(o->request.path) - length)
		return FILE_OPENER_E_NONE;
	o->request.flags = flags | OPEN_LISTS;
	memcpy(o->request.path, path, length);
	memcpy(o->request.path + length, paths, n_paths);
	return file_opener_ask(o, root_fd, length + n_paths, ret);
}

int file_opener_open_group(struct file_opener *o, int groups_fd, uint64_t id, int *ret)
{
	o->request.flags = OPEN_GROUP;
	o->request.group = id;
	return file_opener_ask(o, groups_fd, 0, ret);
}

/* SPDX-License-Identifier: MIT */
/*
 * Requests go to the servant one at a time, each with the root's descriptor and a number; the
 * answer has that number, and the file's descriptor if there is one. When it takes too long, the
 * servant is replaced, and answers to older numbers are dropped.
 */
#include "daemon/resolve/file_opener.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/helper/confine.h"
#include "common/helper/fd_packet.h"
#include "common/helper/memory_file.h"
#include "common/maps.h"
#include "common/worker/debug_files.h"
#include "daemon/resolve/keeper.h"

/* A flag of ours: see file_opener_copy(). */
#define OPENER_COPY (1u << 31)

/* Its descriptors; the lifeline is closed by the child's end. */
enum { COPY_ROOT, COPY_MEMORY, COPY_LIFELINE, COPY_USER_NS, N_COPY_FDS };

struct file_opener_request {
	uint64_t id;
	uint32_t flags;
	int32_t pid; /* from here on, of OPENER_COPY */
	uint32_t device_major, device_minor;
	uint64_t inode;
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

/* Nothing is opened to be written; what openat2(2) is told the filter cannot see. */
static const struct confine_call calls[] = {
	CONFINE_ANY(recvmsg),
	CONFINE_ANY(sendmsg),
	CONFINE_IF(openat, CONFINE_BITS(2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY)),
	CONFINE_ANY(openat2),
	CONFINE_ANY(statx),
	CONFINE_ANY(fstatfs),
	CONFINE_ANY(memfd_create),
	CONFINE_ANY(pread64),
	CONFINE_ANY(pwrite64),
	CONFINE_IF(setns, CONFINE_IS(1, CLONE_NEWUSER)),
	CONFINE_ANY(read),
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

static bool is_requested_image(int named, const struct file_opener_request *request)
{
	struct statx stx;

	return statx(named, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx) == 0 &&
	       stx.stx_ino == request->inode && stx.stx_dev_major == request->device_major &&
	       stx.stx_dev_minor == request->device_minor && stx.stx_size <= FILE_OPENER_COPY_MAX;
}

/* What can be read of the mapping in @memory, up to @max bytes; returns how many, or -1. */
static ssize_t copy_mapping(int to, int memory, const struct maps_line *line, size_t max)
{
	uint8_t part[16384];
	size_t length = line->end - line->start < max ? line->end - line->start : max, at = 0;

	while (at < length) {
		size_t size = length - at < sizeof(part) ? length - at : sizeof(part);
		ssize_t n = pread(memory, part, size, (off_t)(line->start + at));

		if (n <= 0)
			break;
		if (pwrite(to, part, (size_t)n, (off_t)(line->offset + at)) != n)
			return -1;
		at += (size_t)n;
	}
	return (ssize_t)at;
}

/*
 * Section headers are mapped nowhere, or by chance. @first: where the file's first byte is mapped.
 * False: no ELF file.
 */
static bool change_header(int to, uint64_t first)
{
	static const uint8_t none[8];
	uint8_t h[EI_NIDENT] = {0};
	bool is_64;

	if (lseek(to, 0, SEEK_SET) < 0 || read(to, h, sizeof(h)) != sizeof(h) ||
	    memcmp(h, ELFMAG, SELFMAG) != 0)
		return false;
	is_64 = h[EI_CLASS] == ELFCLASS64;
	return pwrite(to, &first, is_64 ? 8 : 4,
		      is_64 ? offsetof(Elf64_Ehdr, e_entry) : offsetof(Elf32_Ehdr, e_entry)) > 0 &&
	       pwrite(to, none, is_64 ? 8 : 4,
		      is_64 ? offsetof(Elf64_Ehdr, e_shoff) : offsetof(Elf32_Ehdr, e_shoff)) > 0 &&
	       /* And, right behind it, e_shstrndx. */
	       pwrite(to, none, 4,
		      is_64 ? offsetof(Elf64_Ehdr, e_shnum) : offsetof(Elf32_Ehdr, e_shnum)) > 0 &&
	       lseek(to, 0, SEEK_SET) == 0;
}

static bool is_mapping_of_image(const struct maps_line *line,
				const struct file_opener_request *request)
{
	uint64_t device = (uint64_t)request->device_major << 32 | request->device_minor;
	uint64_t length = line->end - line->start;

	return line->inode == request->inode && line->device == device &&
	       (line->prot & (PROT_READ | PROT_WRITE)) == PROT_READ &&
	       length <= FILE_OPENER_COPY_MAX && line->offset <= FILE_OPENER_COPY_MAX - length;
}

struct mapped_copy {
	int to, memory;
	size_t left;    /* bytes */
	uint64_t first; /* the address of the file's first byte; 0: not seen yet */
};

/* Copies of the mappings in the lines from @text on; returns where they end. */
static const char *copy_mappings(struct mapped_copy *c, const struct file_opener_request *request,
				 const char *text, const char *end)
{
	const char *newline;

	for (; (newline = memchr(text, '\n', (size_t)(end - text))); text = newline + 1) {
		struct maps_line line;
		ssize_t n;

		if (!maps_parse(text, newline, &line) || !is_mapping_of_image(&line, request))
			continue;
		n = copy_mapping(c->to, c->memory, &line, c->left);
		c->left -= n < 0 ? c->left : (size_t)n;
		if (line.offset == 0 && !c->first)
			c->first = line.start;
	}
	return text;
}

/*
 * Of a file that lets nobody else in. Its pages may have to be asked for, too. By way of
 * /proc/PID/mem, because waits for the lock of somebody's memory can be killed there.
 */
static bool copy_mapped_image(int to, const struct file_opener_request *request)
{
	char path[32], text[16384];
	cleanup(closep) int maps = -1, memory = -1;
	struct mapped_copy c;
	size_t length = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/maps", request->pid);
	maps = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/mem", request->pid);
	memory = maps < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (memory < 0)
		return false;
	c = (struct mapped_copy){.to = to, .memory = memory, .left = FILE_OPENER_COPY_MAX};
	while ((n = read(maps, text + length, sizeof(text) - length)) > 0 && c.left) {
		const char *end = text + length + n, *rest;

		rest = copy_mappings(&c, request, text, end);
		length = (size_t)(end - rest);
		memmove(text, rest, length);
	}
	return change_header(to, c.first);
}

/* It is closed before anybody knows of the copy: who waits for that is late, too. */
static bool copy_image_file(int to, int root_fd, int user_ns_fd,
			    const struct file_opener_request *request)
{
	cleanup(closep) int named = -1;
	char again[32];

	if (user_ns_fd >= 0 && setns(user_ns_fd, CLONE_NEWUSER) < 0)
		return false;
	named = debug_files_open_path(root_fd, true, request->path);
	if (named < 0 || !is_requested_image(named, request))
		return false;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", named);
	return memory_file_fill(to, AT_FDCWD, again, FILE_OPENER_COPY_MAX) == 0;
}

/* Returns the copy, or -1. */
static int copy_requested_image(struct fd_packet *packet, const struct file_opener_request *request)
{
	int user_ns = packet->n_fds == N_COPY_FDS ? packet->fds[COPY_USER_NS] : -1;
	int to = packet->fds[COPY_MEMORY];

	if (!copy_image_file(to, packet->fds[COPY_ROOT], user_ns, request) &&
	    (request->pid <= 0 || !copy_mapped_image(to, request)))
		return -1;
	return steal_fd(&packet->fds[COPY_MEMORY]);
}

static int open_requested_file(int root_fd, const struct file_opener_request *request)
{
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
		bool is_copy, joins;
		size_t n_fds;

		if (fd_packet_receive(data_fd, request, sizeof(*request), 0, &packet) ||
		    packet.length < offsetof(struct file_opener_request, path) ||
		    packet.length == sizeof(*request))
			return;
		((char *)request)[packet.length] = '\0';
		is_copy = request->flags & OPENER_COPY;
		joins = is_copy && packet.n_fds == N_COPY_FDS;
		n_fds = is_copy ? N_COPY_FDS - !joins : 1;
		if (packet.n_fds != n_fds || request->id < first_id)
			continue;
		fd = is_copy ? copy_requested_image(&packet, request)
			     : open_requested_file(packet.fds[0], request);
		/* There is no way back from another user namespace. */
		if (fd_packet_send(data_fd, &request->id, sizeof(request->id), &fd, fd >= 0, 0) ||
		    joins)
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

/* Sends o->request, all but its number and @path being there, with @fds, and has the answer. */
static int file_opener_ask(struct file_opener *o, const char *path, const int *fds, size_t n_fds,
			   int *ret)
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
	memcpy(o->request.path, path, length);
	/* One is under way at most: there is room. */
	if (fd_packet_send(o->keeper.data_fd, &o->request,
			   offsetof(struct file_opener_request, path) + length, fds, n_fds,
			   MSG_DONTWAIT)) {
		keeper_lose(&o->keeper);
		return FILE_OPENER_E_LOST;
	}
	r = file_opener_await(o, o->request.id, &fd);
	/* One that entered a namespace ends of itself. */
	if (r == FILE_OPENER_E_SLOW || (r == FILE_OPENER_E_OK && n_fds == N_COPY_FDS))
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
	o->request.flags = flags;
	return file_opener_ask(o, path, &root_fd, 1, ret);
}

int file_opener_copy(struct file_opener *o, const struct file_opener_image *image, int *ret,
		     int *ret_left)
{
	cleanup(closep) int copy = memory_file_new("profd-image"), left = -1, lifeline = -1;
	int ends[2], r;

	if (copy < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return FILE_OPENER_E_LOST;
	left = ends[0];
	lifeline = ends[1];
	o->request.flags = OPENER_COPY;
	o->request.pid = image->pid;
	o->request.inode = image->inode;
	o->request.device_major = image->device_major;
	o->request.device_minor = image->device_minor;
	const int fds[N_COPY_FDS] = {
		[COPY_ROOT] = image->root_fd,
		[COPY_MEMORY] = copy,
		[COPY_LIFELINE] = lifeline,
		[COPY_USER_NS] = image->user_ns_fd,
	};

	r = file_opener_ask(o, image->path, fds, N_COPY_FDS - (image->user_ns_fd < 0), ret);
	if (r == FILE_OPENER_E_SLOW) {
		/* It may be killed only later. */
		fcntl(copy, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_WRITE);
		(void)!ftruncate(copy, 0);
		*ret_left = steal_fd(&left);
	}
	return r;
}

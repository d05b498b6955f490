/* SPDX-License-Identifier: MIT */
/*
 * A servant serves one request: it has given up what it was given for that, and there is no way
 * back from another user namespace. All that it reports is that there is a copy: a byte through the
 * pipe, whose end means that it has ended.
 */
#include "daemon/resolve/file_copier.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/helper/confine.h"
#include "common/helper/fd_packet.h"
#include "common/helper/memory_file.h"
#include "common/maps.h"
#include "common/privileges.h"
#include "common/worker/debug_files.h"
#include "daemon/resolve/file_opener.h"
#include "daemon/resolve/keeper.h"

/* A request's descriptors; the last one may be missing. */
enum { COPY_ROOT, COPY_MEMORY, COPY_DONE, COPY_USER_NS, N_COPY_FDS };

struct file_copier_request {
	uint64_t id, inode;
	uint32_t device_major, device_minor;
	int32_t pid;
	char path[PATH_MAX]; /* sent as far as it is long */
};

struct file_copier {
	struct keeper keeper;
	uint64_t wait_ns, next_id;
	struct file_copier_request request; /* the servant's, and ours to send */
};

/* --- the servant, async-signal-safe ----------------------------------------------------------- */

/* For files, and for what is mapped of them; in another namespace as well. */
#define READ_FILES (UINT64_C(1) << CAP_SYS_PTRACE | UINT64_C(1) << CAP_DAC_READ_SEARCH)
/* Used up before any file is looked at. */
#define ENTER_NAMESPACES (UINT64_C(1) << CAP_SYS_ADMIN)

static const struct confine_call calls[] = {
	CONFINE_ANY(recvmsg),
	CONFINE_ANY(close),
	CONFINE_IF(prctl, CONFINE_IS(0, PR_SET_DUMPABLE)),
	CONFINE_IF(prctl, CONFINE_IS(0, PR_SET_PDEATHSIG)),
	CONFINE_ANY(getppid),
	CONFINE_IF(setns, CONFINE_IS(1, CLONE_NEWUSER)),
	CONFINE_IF(setfsuid, CONFINE_IS(0, 0)),
	CONFINE_IF(setfsgid, CONFINE_IS(0, 0)),
	CONFINE_ANY(capget),
	CONFINE_ANY(capset),
	CONFINE_IF(openat, CONFINE_BITS(2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY)),
	CONFINE_ANY(openat2), /* whose flags the filter cannot see */
	CONFINE_ANY(statx),
	CONFINE_ANY(read),
	CONFINE_ANY(pread64),
	CONFINE_ANY(write),
	CONFINE_ANY(pwrite64),
	CONFINE_ANY(lseek),
	CONFINE_ANY(exit_group),
};
static const struct confine_table copier_calls = {calls, ARRAY_SIZE(calls)};

static bool is_requested_image(int named, const struct file_copier_request *request)
{
	struct statx stx;

	return statx(named, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx) == 0 &&
	       stx.stx_ino == request->inode && stx.stx_dev_major == request->device_major &&
	       stx.stx_dev_minor == request->device_minor && stx.stx_size <= FILE_COPIER_MAX;
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
				const struct file_copier_request *request)
{
	uint64_t device = (uint64_t)request->device_major << 32 | request->device_minor;
	uint64_t length = line->end - line->start;

	return line->inode == request->inode && line->device == device &&
	       (line->prot & (PROT_READ | PROT_WRITE)) == PROT_READ && length <= FILE_COPIER_MAX &&
	       line->offset <= FILE_COPIER_MAX - length;
}

struct mapped_copy {
	int to, memory;
	size_t left;    /* bytes */
	uint64_t first; /* the address of the file's first byte; 0: not seen yet */
};

/* Copies of the mappings in the lines from @text on; returns where they end. */
static const char *copy_mappings(struct mapped_copy *c, const struct file_copier_request *request,
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
static bool copy_mapped_image(int to, const struct file_copier_request *request)
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
	c = (struct mapped_copy){.to = to, .memory = memory, .left = FILE_COPIER_MAX};
	while ((n = read(maps, text + length, sizeof(text) - length)) > 0 && c.left) {
		const char *end = text + length + n, *rest;

		rest = copy_mappings(&c, request, text, end);
		length = (size_t)(end - rest);
		memmove(text, rest, length);
	}
	return change_header(to, c.first);
}

/* proc_sys_fs(5): where it is 1, changing ids makes processes dumpable (commit_creds()). */
static bool stays_undumpable(void)
{
	cleanup(closep) int fd = open("/proc/sys/fs/suid_dumpable", O_RDONLY | O_CLOEXEC);
	char value;

	return fd >= 0 && read(fd, &value, 1) == 1 && value != '1';
}

/*
 * FUSE answers only ids that its namespace has (fuse_get_req()): files are asked for as its root,
 * or, where there is none, as before. All other ids stay ours, so that the keeper can kill us, and
 * a process that merely has root's id cannot.
 */
static bool enter_user_namespace(int user_ns_fd)
{
	pid_t keeper = getppid();

	if (!stays_undumpable() || setns(user_ns_fd, CLONE_NEWUSER) < 0)
		return false;
	syscall(SYS_setfsgid, 0);
	syscall(SYS_setfsuid, 0);
	/* Changing credentials took it away. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != keeper)
		_exit(1);
	return true;
}

/* It is closed before the copy is reported: a wait for that counts, too. */
static bool copy_image_file(int to, int root_fd, const struct file_copier_request *request)
{
	cleanup(closep) int named = debug_files_open_path(root_fd, true, request->path);
	char again[32];

	if (named < 0 || !is_requested_image(named, request))
		return false;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", named);
	return memory_file_fill(to, AT_FDCWD, again, FILE_COPIER_MAX) == 0;
}

static bool copy_requested_image(const struct fd_packet *packet,
				 const struct file_copier_request *request)
{
	int to = packet->fds[COPY_MEMORY];
	bool is_inside = packet->n_fds < N_COPY_FDS ||
			 enter_user_namespace(packet->fds[COPY_USER_NS]);

	if (privileges_keep(READ_FILES))
		return false;
	return (is_inside && copy_image_file(to, packet->fds[COPY_ROOT], request)) ||
	       (request->pid > 0 && copy_mapped_image(to, request));
}

static void file_copier_serve(int data_fd, uint64_t first_id, void *memory)
{
	struct file_copier_request *request = memory;
	struct fd_packet packet;
	bool is_ours;

	prctl(PR_SET_DUMPABLE, 0);
	do {
		if (fd_packet_receive(data_fd, request, sizeof(*request), 0, &packet) ||
		    packet.length < offsetof(struct file_copier_request, path) ||
		    packet.length == sizeof(*request))
			return;
		is_ours = request->id >= first_id && packet.n_fds >= N_COPY_FDS - 1;
		if (!is_ours)
			fd_packet_deinit(&packet);
	} while (!is_ours);
	close(data_fd);
	((char *)request)[packet.length] = '\0';
	if (copy_requested_image(&packet, request))
		(void)!write(packet.fds[COPY_DONE], "", 1);
}

/* --- profd's side ----------------------------------------------------------------------------- */

int file_copier_new(struct file_copier **ret, uint64_t wait_ns)
{
	cleanup(file_copier_freep) struct file_copier *c = calloc(1, sizeof(*c));
	uint64_t capabilities = READ_FILES;
	int r;

	if (!c)
		return error_origin(-ENOMEM);
	c->wait_ns = wait_ns ? wait_ns : FILE_OPENER_WAIT_NS;
	c->next_id = 1;
	if (keeper_is_confined())
		capabilities |= ENTER_NAMESPACES;
	r = keeper_init(&c->keeper, &(struct keeper_job){
					    .keeper_name = "profd-copying",
					    .servant_name = "profd-copier",
					    .serve = file_copier_serve,
					    .memory = &c->request,
					    .calls = &copier_calls,
					    .capabilities = capabilities,
				    });
	if (r)
		return error_origin(r);
	*ret = steal_ptr(&c);
	return 0;
}

void file_copier_free(struct file_copier *c)
{
	if (!c)
		return;
	keeper_deinit(&c->keeper);
	free(c);
}

/* What clone3(2) is to do a filter cannot see; the C library does without. */
int file_copier_forbid_others(void)
{
	static const struct confine_call refused[] = {
		{SCMP_SYS(clone),
		 1,
		 {CONFINE_BITS(0, CLONE_NEWUSER, CLONE_NEWUSER)},
		 SCMP_ACT_ERRNO(EPERM)},
		CONFINE_REFUSE(clone3, ENOSYS),
		CONFINE_REFUSE(unshare, EPERM),
		CONFINE_REFUSE(setns, EPERM),
	};
	const struct confine_table table = {refused, ARRAY_SIZE(refused)};
	cleanup(confine_filter_freep) struct confine_filter *filter = NULL;
	int r = confine_compile(&filter, &table, 1, SCMP_ACT_ALLOW);

	if (r)
		return r;
	r = confine_enter(filter);
	return !r || r == -ENOSYS ? 0 : error_origin(r);
}

/* Hands @fds and c->request over, all but its number and @path being there. */
static int file_copier_ask(struct file_copier *c, const char *path, const int *fds, size_t n_fds)
{
	size_t length = strlen(path);

	if (length >= sizeof(c->request.path))
		return FILE_OPENER_E_NONE;
	c->request.id = c->next_id++;
	memcpy(c->request.path, path, length);
	length += offsetof(struct file_copier_request, path);
	return keeper_send(&c->keeper, &c->request, length, fds, n_fds) ? FILE_OPENER_E_OK
									: FILE_OPENER_E_LOST;
}

/* What comes through the pipe at @fd, our only end of it; the servant is replaced in any case. */
static int file_copier_await(struct file_copier *c, int fd)
{
	bool has_come = fd_packet_await(fd, clock_ns(CLOCK_MONOTONIC) + c->wait_ns);
	bool is_done = has_come && read(fd, &(char){0}, 1) == 1;

	if (!keeper_replace(&c->keeper, c->next_id) && !is_done)
		return FILE_OPENER_E_LOST;
	return is_done ? FILE_OPENER_E_OK : has_come ? FILE_OPENER_E_NONE : FILE_OPENER_E_SLOW;
}

int file_copier_copy(struct file_copier *c, const struct file_copier_image *image, int *ret,
		     int *ret_left)
{
	cleanup(closep) int copy = memory_file_new("profd-image"), left = -1, done = -1;
	int ends[2], r;

	if (copy < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return FILE_OPENER_E_LOST;
	left = ends[0];
	done = ends[1];
	c->request.pid = image->pid;
	c->request.inode = image->inode;
	c->request.device_major = image->device_major;
	c->request.device_minor = image->device_minor;
	const int fds[N_COPY_FDS] = {
		[COPY_ROOT] = image->root_fd,
		[COPY_MEMORY] = copy,
		[COPY_DONE] = done,
		[COPY_USER_NS] = image->user_ns_fd,
	};

	r = file_copier_ask(c, image->path, fds, N_COPY_FDS - (image->user_ns_fd < 0));
	close(steal_fd(&done));
	if (!r)
		r = file_copier_await(c, left);
	if (r == FILE_OPENER_E_SLOW) {
		/* It may be killed only later. */
		fcntl(copy, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_WRITE);
		(void)!ftruncate(copy, 0);
		*ret_left = steal_fd(&left);
	}
	if (r == FILE_OPENER_E_OK)
		*ret = steal_fd(&copy);
	return r;
}

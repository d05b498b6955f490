/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_RESOLVE_FUSE_FIXTURE_H
#define PROFD_TESTS_UNIT_RESOLVE_FUSE_FIXTURE_H

/*
 * A FUSE file system in a user namespace of its own, as rootless containers have them: its only
 * file is "file". It answers everything but one kind of request (linux/fuse.h), which waits until
 * the process that serves it is killed.
 */
#include <errno.h>
#include <linux/fuse.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "tests/unit/resolve/keeper_fixture.h"

#define FUSE_TEXT "served"
#define FUSE_FILE 2 /* its inode */

struct fuse_world {
	pid_t server;
	uid_t ns_root; /* and gid: root's there, which only root can choose; 0: ours */
	int root_fd, user_ns_fd;
	uint32_t device_major, device_minor;
};

static inline bool fuse_write(const char *path, const char *text)
{
	cleanup(closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Of @pid's namespace: its root alone, who is @id outside. */
static inline void fuse_map_ids(pid_t pid, uid_t uid, gid_t gid)
{
	char path[64], map[32];

	snprintf(path, sizeof(path), "/proc/%d/setgroups", pid);
	fuse_write(path, "deny");
	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	snprintf(map, sizeof(map), "0 %u 1", uid);
	fuse_write(path, map);
	snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	fuse_write(path, map);
}

/* Enters one of its own; what maps its ids to others is a process that stays behind. */
static inline bool fuse_unshare(uid_t ns_root)
{
	uid_t uid = getuid();
	gid_t gid = getgid();
	int ends[2], status = -1;
	pid_t child;
	char is_there;

	if (!ns_root) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
			return false;
		fuse_map_ids(getpid(), uid, gid);
		return true;
	}
	if (pipe(ends) < 0 || (child = fork()) < 0)
		return false;
	if (child == 0) {
		if (read(ends[0], &is_there, 1) == 1)
			fuse_map_ids(getppid(), ns_root, ns_root);
		_exit(0);
	}
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 || write(ends[1], "", 1) != 1 ||
	    waitpid(child, &status, 0) != child)
		return false;
	return status == 0;
}

static inline struct fuse_attr fuse_attr_of(uint64_t node, uint64_t size)
{
	return (struct fuse_attr){
		.ino = node,
		.size = node == FUSE_FILE ? size : 0,
		.mode = node == FUSE_FILE ? S_IFREG | 0755 : S_IFDIR | 0755,
		.nlink = 1,
		.blksize = 4096,
	};
}

/* Opened with O_DIRECT, it is mapped only when no page of it is cached (fs/fuse/file.c). */
static inline uint32_t fuse_open_flags(const struct fuse_open_in *in)
{
	return in->flags & O_DIRECT ? FOPEN_DIRECT_IO : 0;
}

/* The answer to @request into @body; its length, or -errno. */
static inline int fuse_answer(const struct fuse_in_header *request, uint64_t size, void *body)
{
	const char *text = FUSE_TEXT;

	switch (request->opcode) {
	case FUSE_INIT:
		*(struct fuse_init_out *)body = (struct fuse_init_out){
			.major = 7, .minor = 31, .max_readahead = 4096, .max_write = 4096};
		return sizeof(struct fuse_init_out);
	case FUSE_LOOKUP:
		*(struct fuse_entry_out *)body = (struct fuse_entry_out){
			.nodeid = FUSE_FILE, .attr = fuse_attr_of(FUSE_FILE, size)};
		return sizeof(struct fuse_entry_out);
	case FUSE_GETATTR:
		*(struct fuse_attr_out *)body = (struct fuse_attr_out){
			.attr = fuse_attr_of(request->nodeid, size)};
		return sizeof(struct fuse_attr_out);
	case FUSE_OPEN:
		*(struct fuse_open_out *)body = (struct fuse_open_out){
			.fh = 1, .open_flags = fuse_open_flags((const void *)(request + 1))};
		return sizeof(struct fuse_open_out);
	case FUSE_READ:
		memcpy(body, text, strlen(text));
		return (int)strlen(text);
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		return 0;
	default:
		return -ENOSYS;
	}
}

static inline void fuse_serve(int fd, uint32_t unanswered, uint64_t size)
{
	static uint8_t in[1 << 17], out[1 << 13];
	const struct fuse_in_header *request = (void *)in;
	struct fuse_out_header *answer = (void *)out;

	while (read(fd, in, sizeof(in)) > 0) {
		int n;

		if (request->opcode == unanswered || request->opcode == FUSE_FORGET ||
		    request->opcode == FUSE_BATCH_FORGET || request->opcode == FUSE_INTERRUPT)
			continue;
		n = fuse_answer(request, size, answer + 1);
		*answer = (struct fuse_out_header){
			.len = (uint32_t)(sizeof(*answer) + (n > 0 ? (size_t)n : 0)),
			.error = n < 0 ? n : 0,
			.unique = request->unique,
		};
		(void)!write(fd, out, answer->len);
	}
}

/* Never returns; says on @ready whether there is a file system. */
static inline void fuse_run(const char *folder, uid_t ns_root, uint32_t unanswered, uint64_t size,
			    int ready)
{
	char options[128], is_there = 0;
	int fd = -1;

	if (fuse_unshare(ns_root)) {
		fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
		snprintf(options, sizeof(options),
			 "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd);
		is_there = fd >= 0 &&
			   mount("test", folder, "fuse", MS_NOSUID | MS_NODEV, options) == 0;
		if (ns_root)
			is_there &= setresgid(0, 0, 0) == 0 && setresuid(0, 0, 0) == 0;
	}
	/* A test that fails leaves nobody waiting, other programs that look at /proc neither. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(300);
	(void)!write(ready, &is_there, 1);
	if (is_there)
		fuse_serve(fd, unanswered, size);
	_exit(0);
}

/*
 * At @folder, with a file that says it has @size bytes. False: this host does
 * not let us mount FUSE.
 */
static inline bool fuse_start(struct fuse_world *w, const char *folder, uint32_t unanswered,
			      uint64_t size)
{
	char path[64], is_there = 0;
	struct statx stx;
	int ends[2], mounted;

	assert_int_equal(pipe(ends), 0);
	w->server = fork();
	assert_true(w->server >= 0);
	if (w->server == 0)
		fuse_run(folder, w->ns_root, unanswered, size, ends[1]);
	close(ends[1]);
	assert_int_equal(read(ends[0], &is_there, 1), 1);
	close(ends[0]);
	if (!is_there) {
		waitpid(w->server, NULL, 0);
		return false;
	}
	snprintf(path, sizeof(path), "/proc/%d/root", w->server);
	w->root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/ns/user", w->server);
	w->user_ns_fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(w->root_fd >= 0 && w->user_ns_fd >= 0);
	/* The mount's root is in the kernel's cache, and asks nobody. */
	mounted = openat(w->root_fd, folder + 1, O_PATH | O_CLOEXEC);
	assert_true(mounted >= 0);
	assert_int_equal(statx(mounted, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &stx), 0);
	close(mounted);
	w->device_major = stx.stx_dev_major;
	w->device_minor = stx.stx_dev_minor;
	return true;
}

static inline void fuse_stop(struct fuse_world *w)
{
	kill(w->server, SIGKILL);
	waitpid(w->server, NULL, 0);
	close(w->root_fd);
	close(w->user_ns_fd);
}

#endif

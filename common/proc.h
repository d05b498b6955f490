/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROC_H
#define PROFD_COMMON_PROC_H

/*
 * Files of /proc about one process or thread. Functions that read take a directory fd of /proc; a
 * process that is gone, or may not be looked at, is PROC_E_GONE. Those that parse are pure, over
 * texts that end in NUL.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	PROC_E_OK,
	PROC_E_GONE,
	PROC_E_HELD_UP, /* of some openers: it cannot be read now, its locks are held */
};

/*
 * The file @name of @id, or its first 32 MiB: *ret is malloc'ed and ends in NUL. Returns PROC_E_*,
 * or -ENOMEM, -EMFILE or -ENFILE, as all that read do.
 */
int proc_read_file(int proc_fd, pid_t id, const char *name, char **ret, size_t *ret_length);
/* The same of what is at @path below @dir_fd, a directory about @id or /proc. */
int proc_read_text(int dir_fd, pid_t id, const char *path, char **ret, size_t *ret_length);
/* A name (O_PATH) of that. */
int proc_open_name(int dir_fd, pid_t id, const char *path, int *ret);

/*
 * Who opens for a thread. Most files about a process wait for locks that its owner can hold for as
 * long as he likes, the process's own (exec_update_lock, in Linux's fs/proc/base.c) or its memory's
 * (mmap_lock).
 */
struct proc_opener {
	/*
	 * As proc_open_name(); with @text, a file with what is to be read there, at its beginning:
	 * of a directory, its names, a line each.
	 */
	int (*open)(void *userdata, int dir_fd, pid_t id, const char *path, bool text, int *ret);
	void *userdata;
};
/* From now on @opener (borrowed) opens for this thread; NULL: the thread itself. */
void proc_open_by(const struct proc_opener *opener);

typedef int (*proc_each_fn)(void *userdata, int dir_fd, pid_t id);

/*
 * Calls @fn for each process, or each thread of a process, with a descriptor of the directory that
 * has it, until it returns nonzero, which is returned. PROC_E_GONE and
 * errno: the directory cannot be opened.
 */
int proc_each_process(int proc_fd, proc_each_fn fn, void *userdata);
int proc_each_thread(int proc_fd, pid_t pid, proc_each_fn fn, void *userdata);

/* /proc/PID/stat (proc(5)). */
struct proc_stat {
	pid_t pid, ppid;
	char state;
	char comm[64];  /* workers of the kernel have longer names than 15 characters */
	uint32_t flags; /* PF_* of include/linux/sched.h, of which these are two */
#define PROC_STAT_KERNEL_THREAD 0x00200000u
#define PROC_STAT_EXITING       0x00000004u
	uint32_t n_threads;
	/* In 1 / sysconf(_SC_CLK_TCK) seconds: since boot; CPU time of children it waited for. */
	uint64_t start_ticks, ended_ticks;
};

/* Pure. PROC_E_GONE: it is malformed, of which *ret holds nothing. */
int proc_parse_stat(const char *text, struct proc_stat *ret);
int proc_read_stat(int proc_fd, pid_t id, struct proc_stat *ret);

/* What numbers processes have in a /proc, for the caller. */
enum proc_pids {
	PROC_PIDS_INITIAL, /* those of the initial pid namespace, which is the caller's too */
	PROC_PIDS_INNER,   /* those of the caller's, which is another one */
	PROC_PIDS_FOREIGN, /* not those of the caller's */
};
enum proc_pids proc_pids(int proc_fd);
#define PROC_PIDS_MOUNT  "mount its own (mount -t proc proc /proc)"
#define PROC_PIDS_REMEDY "give the container the host's pid namespace (docker run --pid=host)"

/* /proc/PID/status (proc(5)), of a process or thread. */
struct proc_status {
	pid_t tgid; /* 0: not said */
	/*
	 * Its pid inside of its own pid namespace: the last one of the line NSpid. A kernel without
	 * pid namespaces has no such line, and one pid only. 0: not said.
	 */
	pid_t inner_pid;
	bool has_uids, has_gids;
	uint32_t uids[4], gids[4]; /* real, effective, saved, file system */
	uint64_t capabilities;     /* permitted, in its user namespace */
	/*
	 * Who may look into it: the user whom the file belongs to, which is root where the process
	 * may not be dumped.
	 */
	uid_t owner;
	bool in_own_namespace; /* its user namespace is ours */
	/* Who made it, or the outermost one around it that is not around us; -1: unknown. */
	uid_t namespace_owner;
};

/* Pure: all but the owners. */
void proc_parse_status(const char *text, struct proc_status *ret);
int proc_read_status(int proc_fd, pid_t id, struct proc_status *ret);
/*
 * Whether @uid may look into the process without capabilities, as the kernel decides for ptrace(2)
 * (kernel/ptrace.c, __ptrace_may_access(); security/commoncap.c, cap_ptrace_access_check()): it
 * runs as this user alone, in one group, may be dumped, and either has no capabilities and is in
 * our user namespace, or is in one that this user made. The kernel lets only those look that are in
 * that group, which is for the caller to judge.
 */
bool proc_may_look(const struct proc_status *status, uid_t uid);

enum proc_life {
	PROC_LIFE_ALIVE,
	PROC_LIFE_LEADER_GONE, /* the first thread has ended, others run */
	PROC_LIFE_ENDED,       /* or is about to */
};
enum proc_life proc_life(int proc_fd, pid_t pid);
/* Whether the process of @pidfd has ended (pidfd_open(2): it is readable then); -1: it has not. */
bool pidfd_has_ended(int pidfd);

#endif

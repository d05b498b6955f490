/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_JIT_FILES_H
#define PROFD_RESOLVE_JIT_FILES_H

/*
 * Finds the files in which processes tell profilers the names of the code that they generate
 * (daemon/worker/jit/jit_names.h):
 *
 *   perf map  /tmp/perf-PID.map, in the process's own mount namespace and with the pid that it has
 *             in its own pid namespace
 *   jitdump   jit-PID.dump, wherever it lies: the process maps it to be found by (perf-inject(1))
 *
 * /tmp is everybody's, so a name there means nothing. A file is believed if it is regular, has no
 * other name, belongs to the user as whom the process runs or to root, can be written by nobody
 * else, and was written since the program began: one of an earlier process with the same pid lies
 * about this one. It is neither reached nor read through FUSE, whose server could keep us waiting:
 * the directory is found and judged once, then kept (mount_root.h), and its files are looked for in
 * it alone, not behind links or mounts. That also works when the process has just ended.
 *
 * A file is open since the process was first sampled in such code, so it still has names when the
 * process has ended or the file was deleted. At most JIT_FILES_MAX are open; the one that was not
 * looked for during the longest time gives way, of users' that of who has the most (fair_share.h).
 *
 * Main thread only, but for what is said of files. Never blocks, but for the disk.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "daemon/resolve/image.h"

#define JIT_FILES_MAX 128
/*
 * Samples make us look at a process once in such a time: while there is nothing to be found, less
 * often. At the end of a window, when the file may have come just now, only what is as good as the
 * same time counts as once: several sessions' windows end together.
 */
#define JIT_LOOK_NS     (250 * NS_PER_MS)
#define JIT_LOOK_END_NS (10 * NS_PER_MS)
#define JIT_LOOK_MAX_NS (4 * NS_PER_S)

struct mount_roots;
struct process;

/*
 * Shared between the main thread (processes) and the output thread (snapshots) by an atomic
 * reference count. What it names changes, as the process goes on writing; what it is does not.
 */
struct jit_file {
	atomic_uint n_references;
	uint64_t id; /* never reused */
	bool is_jitdump;
	char *path; /* as the process sees it, nearly: for messages */
	uint64_t device, inode;
	atomic_int fd;      /* read-only, or -1: it had to make room; see lent_fd.h */
	atomic_bool is_bad; /* an image worker died of it: nobody asks again */
	/* The main thread's: the process's user; the number of the newest look that found it. */
	uid_t uid;
	uint64_t used;
};

/* Both take NULL. Any thread. */
struct jit_file *jit_file_ref(struct jit_file *file);
void jit_file_unref(struct jit_file *file);
DEFINE_CLEANUP(struct jit_file *, jit_file_unref)

/*
 * Whether what is mapped there is code that was generated: anonymous memory, or memory that is
 * mapped twice, to be written through one mapping and run through the other, and has a name
 * therefore (memfd_create(2), shm_open(3) of a file that is deleted at once, shmget(2)). A library
 * that was loaded from such memory is an ELF file, and none.
 */
bool jit_file_is_for(const struct image *image);

/* What is known of one process. */
struct jit_process {
	struct jit_file *perf_map, *jitdump; /* references, or NULL */
	bool is_inherited;                   /* they are of the process that it was forked from */
	bool is_wanted;                      /* it ran generated code since its last window's end */
	uint64_t looked_ns;                  /* CLOCK_MONOTONIC, of the last look; 0 none */
	uint64_t pause_ns;                   /* until the next one, if nothing was found */
	/* As it was when it was last looked at and alive: */
	pid_t inner_pid;         /* in its own pid namespace; 0: not known yet */
	uid_t uid;               /* the effective one */
	struct mount_root *root; /* a reference, or NULL */
	uint32_t version;        /* of the mappings that were searched for a jitdump; 0 none */
	bool map_refused, dump_refused; /* such a file was, which counts once */
};

/* Takes NULL. */
void jit_process_free(struct jit_process *jit);

struct jit_files;

/* @proc_fd: a directory fd of /proc; -1: nothing is opened. Both are borrowed. */
int jit_files_new(struct jit_files **ret, int proc_fd, struct mount_roots *roots);
void jit_files_free(struct jit_files *files);
DEFINE_CLEANUP(struct jit_files *, jit_files_free)

/*
 * @p was sampled in generated code at @now_ns (CLOCK_MONOTONIC): makes p->jit, and looks for its
 * files if it has none and it is time to. Returns 0 or negative errno.
 */
int jit_files_see_sample(struct jit_files *files, struct process *p, uint64_t now_ns);
/*
 * A window ends that counts @p: looks again if it was sampled so, for files that came or were
 * replaced. What was found before stays if there is nothing new. Returns 0 or negative errno.
 */
int jit_files_complete(struct jit_files *files, struct process *p, uint64_t now_ns);
/* @p was forked from @parent: it runs the same code, which its parent has named. */
int jit_files_inherit(struct process *p, const struct process *parent);
/* Closes what nobody refers to. */
void jit_files_sweep(struct jit_files *files);
/*
 * Total: processes with a perf map, and with a jitdump, that bears the right name and was not read,
 * because it is not believed or cannot be opened. Where the directory itself is out of reach there
 * is no telling, so it counts as a perf map.
 */
uint64_t jit_files_refused(const struct jit_files *files);

#endif

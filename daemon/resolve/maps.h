/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_MAPS_H
#define PROFD_RESOLVE_MAPS_H

/*
 * The texts of /proc/PID/maps and /proc/PID/stat (proc(5)). The process that they describe chose
 * the paths and the name in them. Pure; texts need not end in NUL.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MAPS_PATH_SIZE 4096
#define MAPS_COMM_SIZE 64

/* The flag PF_KTHREAD of include/linux/sched.h, in maps_stat.flags. */
#define MAPS_STAT_KERNEL_THREAD 0x00200000u
/* The same of PF_EXITING. */
#define MAPS_STAT_EXITING 0x00000004u

/* One executable mapping. */
struct maps_line {
	uint64_t start, end; /* addresses [start, end) */
	uint64_t offset;     /* of start in the file, bytes */
	uint64_t inode;      /* 0: no file */
	uint32_t device_major, device_minor;
	uint32_t prot;  /* PROT_* of mmap(2) */
	uint32_t flags; /* MAP_SHARED or MAP_PRIVATE */
	bool deleted;   /* the path ended in " (deleted)", which is not part of @path */
	/*
	 * As the process sees it; "" for anonymous memory; other names as the kernel has them:
	 * "[vdso]", "[anon:x]", "/memfd:x", "anon_inode:x". What is no name of a file that could be
	 * opened because it is too long reads "//toolong", as in the kernel's own mmap records.
	 */
	char path[MAPS_PATH_SIZE];
};

/* Initialize with maps_reader_init(); @text is borrowed until the last maps_reader_next(). */
struct maps_reader {
	const char *text;
	size_t length, position;
	uint64_t n_malformed; /* lines that were no maps lines */
};

void maps_reader_init(struct maps_reader *reader, const char *text, size_t length);
/* The next executable mapping, in the order of the text. False at the end. */
bool maps_reader_next(struct maps_reader *reader, struct maps_line *ret);

struct maps_stat {
	pid_t pid, ppid;
	char state;
	char comm[MAPS_COMM_SIZE]; /* workers of the kernel have longer names than 15 characters */
	uint32_t flags;            /* PF_* of include/linux/sched.h */
	uint32_t n_threads;
	uint64_t start_ticks; /* since boot, in 1 / sysconf(_SC_CLK_TCK) seconds */
};

enum {
	MAPS_E_OK,
	MAPS_E_MALFORMED,
};

/* Returns MAPS_E_*. */
int maps_parse_stat(const char *text, size_t length, struct maps_stat *ret);

#endif

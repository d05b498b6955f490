/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_SHIM_CORE_PROFILE_FILE_H
#define PROFD_CLIENT_SHIM_CORE_PROFILE_FILE_H

/*
 * The file of a profile. It is opened at the start, because later the program may have another root
 * directory or other privileges, and because the caller wants to know whether there will be one.
 * Each writing makes it whole: by a new file that takes its place where that is possible, else in
 * place. What is no regular file is written once, at the end.
 *
 * Programs close descriptors that they do not know: it is looked at before it is used.
 */
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct profile_file {
	char path[PATH_MAX]; /* absolute */
	int fd;              /* -1: not opened yet */
	dev_t device;
	ino_t inode;
};

/*
 * Makes it, empty, or empties what is the user's own (common/own_file.h). @file->path is set.
 * False: it cannot be, errno says why.
 */
bool profile_file_open(struct profile_file *file);
/* Writes all of it; opens it if it is not. @is_last: nothing follows. False: errno says why. */
bool profile_file_write(struct profile_file *file, const uint8_t *bytes, size_t length,
			bool is_last);
/* Closes it, if the descriptor still is its. */
void profile_file_close(struct profile_file *file);

struct images;
struct tally;

/*
 * X(name): what became of the ticks, each as often as its timer had run out.
 *
 *   seen = complete + truncated + broken + filtered + unseen + what was lost before the walk
 */
#define PROFILE_COUNTERS(X)                                                                \
	X(seen)                                                                            \
	X(complete)                                                                        \
	X(truncated) /* more frames than there is room for */                              \
	X(broken)    /* no root was reached */                                             \
	X(filtered)  /* the program's own filter would not have it */                      \
	X(cut)       /* the table of stacks is full: only the leaf was kept */             \
	X(lost)      /* the same, of the leaf as well; or the mappings just changed */     \
	X(unseen)    /* of threads too short for a tick: count for what they began with */ \
	X(repeated)  /* of those seen: count for the last stack of a thread */

#define PROFILE_COUNTER_FIELD(name) _Atomic uint64_t name;
struct profile_counters {
	PROFILE_COUNTERS(PROFILE_COUNTER_FIELD)
};

/*
 * The legacy CPU profile (common/profile/cpuprofile.h), with our own account. *ret is malloc'ed.
 * Returns 0 or negative errno.
 */
int profile_encode(const struct tally *tally, struct images *images, uint64_t period_us,
		   const struct profile_counters *counters, uint8_t **ret, size_t *ret_length);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_SYMBOLS_PRIVATE_H
#define PROFD_OUTPUT_SYMBOLS_PRIVATE_H

/* The helpers of symbols.c: who is asked, where else to look, and names of the kernel. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/symbols/symtab.h"
#include "common/worker/answer.h"
#include "common/worker/debug_files.h"
#include "common/worker/worker.h"
#include "daemon/output/symbols.h"
#include "daemon/resolve/mount_root.h"

/* --- asker.c ---------------------------------------------------------------------------------- */

/*
 * Questions to the image worker for symbols. A new worker inspects our own vdso first (the probe):
 * one that cannot do that is no good for any file, so that no file is blamed for it; and one that
 * could and dies later was killed by a file, so that its successor begins at once (worker.h rests
 * only after workers that never answered) and the images behind that file have their names in the
 * same window.
 */
struct asker {
	struct worker *worker;
	int proven;           /* process of the worker that has inspected the vdso */
	uint64_t deadline_ns; /* for one answer */
	uint64_t lost_ns;     /* in this window, see asker_has_time() */
	int vdso_fd;          /* read-only, or -1 */
	bool has_vdso;
	struct elf_summary vdso;
	struct symbols_stats stats; /* but for the worker's own */
};

/* The file, or the code, that a question is about: it is bad if the worker is lost over it. */
struct asker_file {
	atomic_bool *is_bad;
	const char *path; /* for messages */
};

/* Answers besides negative errno. */
enum {
	ASK_OK,
	ASK_NOT_NOW, /* no answer in this window */
	ASK_DIED,    /* of this request */
};

int asker_init(struct asker *a, const struct worker_options *options);
void asker_deinit(struct asker *a);
/* Whether this window has not lost too much to files that workers die of and slow directories. */
bool asker_has_time(const struct asker *a);
/* The reply is the worker's until the next request. */
int asker_ask(struct asker *a, const struct worker_request *request, struct worker_reply *ret);
/*
 * WORKER_SYMBOLS or _JIT, @request, for @addresses (@n). *ret_outcome, and where that is
 * WORKER_DONE *ret, borrowed like a reply.
 */
int asker_ask_names(struct asker *a, struct worker_request *request, const struct asker_file *file,
		    const uint64_t *addresses, size_t n, enum worker_outcome *ret_outcome,
		    struct answer_names *ret);
/* WORKER_INSPECT of @fd. *ret is written if *ret_outcome is WORKER_DONE. */
int asker_inspect(struct asker *a, int fd, const struct asker_file *file, struct worker_image *ret,
		  enum worker_outcome *ret_outcome);
/* Code objects as WORKER_FUNCTIONS has them, @n of them with @n_offsets in all. */
struct asker_objects {
	const uint8_t *payload;
	size_t length, n, n_offsets;
};

/* @file: the one that it is; NULL where there are several. The rest as asker_ask_names(). */
int asker_ask_functions(struct asker *a, const struct asker_objects *objects,
			const struct asker_file *file, enum worker_outcome *ret_outcome,
			struct answer_functions *ret);
/*
 * WORKER_PACKAGE of @fd, for @names of packages (@n of them, @length bytes with their NULs). *ret:
 * as many texts, borrowed like a reply, if that is ASK_OK. A database that cannot be read has none.
 */
int asker_ask_packages(struct asker *a, int fd, const char *names, size_t length, size_t n,
		       const char **ret);
/* The headers of the [vdso], or NULL if they cannot be had (now). */
const struct elf_summary *asker_vdso(struct asker *a);

/* The one of @s, for questions that it keeps no answers to. */
struct asker *symbols_asker(struct symbols *s);

/* --- symbols_debug.c -------------------------------------------------------------------------- */

/*
 * An image's separate debug files (debug_files.h), looked for on the machine, then in the mount
 * namespace that the image was seen in. All who map an image have its names, and the first process
 * that mapped it may control that namespace: in one of a user namespace that is not ours, only
 * files of root or of the image's owner count.
 *
 * What is in neither another process may fetch: we publish the build ids that are wanted and look,
 * once a window, whether they have arrived. Fetched files are in one directory by build id, and are
 * as trusted as any other: the image worker reads them, and they count if it finds the build id in
 * them.
 */
enum { SYMBOLS_FUNCTIONS, SYMBOLS_LINES, N_SYMBOLS_DEPTHS };

/* A file system that was asked for copies of images. */
struct copy_connection {
	uid_t uid; /* who owns the user namespace; -1: ours */
	uint32_t device_major, device_minor;
	unsigned n_asked, n_waits; /* 0: no file system; times in vain, as far as they count */
	bool is_left;              /* the child that was given up is still there, and */
	int left_fd;               /* hangs up when it has ended */
	uint64_t again_ns;         /* CLOCK_MONOTONIC: not asked before then */
	uint64_t window, spent_ns; /* in that window */
};

#define COPY_CONNECTIONS_MAX 64

/* What all images share. */
struct debug_finder {
	struct asker *asker;
	struct file_opener *opener; /* as in symbols.h */
	struct file_copier *copier; /* the same */
	struct mount_root *host;    /* a reference, or NULL */
	const char *fetched_path;   /* the same; NULL: none */
	int fetched_fd;             /* it, as a place; -1: not there yet */
	uint64_t window;
	unsigned n_open; /* images with open debug files */
	struct copy_connection copies[COPY_CONNECTIONS_MAX];
};

/* What is known of one image's; zeroed, but for its choice, which is closed. */
struct image_debug {
	struct debug_choice choice;
	bool has_looked[N_SYMBOLS_DEPTHS];
	struct worker_image
		*facts;    /* inspected, and not used yet to look for them; owned, or NULL */
	uint64_t given_up; /* the window in which a directory was too slow to look in it; 0: none */
	struct symbols_build_id wanted; /* of a file that is not here; length 0: none */
	uint64_t asked_after;           /* the window in which it was looked for last */
};

/*
 * Sees to it that the files are open, if there are any and it takes them to answer a question of
 * @depth; @fd: the image's file. *ret_nameless: the image cannot have names. Returns ASK_* or
 * negative errno.
 */
int debug_finder_look(struct debug_finder *f, struct image_debug *d, struct image *image, int fd,
		      unsigned depth, bool *ret_nameless);
bool image_debug_is_open(const struct image_debug *d);
void debug_finder_close(struct debug_finder *f, struct image_debug *d);
/*
 * Whether there may be files now that were not there: what is wanted has come (looked for once a
 * window), or a directory in which it took too long can be looked in again.
 */
bool debug_finder_may_have_more(struct debug_finder *f, struct image_debug *d,
				const struct image *image);

/* A question to the opener about the files below an image's root. */
struct root_question {
	struct debug_finder *finder;
	struct mount_root *root;
	enum mount_root_place where;
	unsigned flags;   /* for it, FILE_OPENER_* */
	bool is_given_up; /* there may be more than was found */
	uint64_t begin_ns;
};

/* Whether it may be asked: not of roots that may be of FUSE, or while something does not answer. */
bool root_question_begin(struct root_question *q);
/* What came of it, FILE_OPENER_E_*. */
void root_question_end(struct root_question *q, int r);

/* --- symbols_packages.c ----------------------------------------------------------------------- */

/* symbols_find_packages() */
int debug_finder_find_packages(struct debug_finder *f, struct symbols_package *all, size_t n);

/* --- symbols_copy.c --------------------------------------------------------------------------- */

/*
 * A copy of an image whose file profd avoids, for one question: the fd, the caller's, or -1. A
 * child makes it, that may be given up; what that takes is bounded for each user.
 */
int debug_finder_copy_image(struct debug_finder *f, const struct image *image);
/* Counts the children that were given up and are still there: symbols_stats.copiers_left. */
void debug_finder_reap_left(struct debug_finder *f);
/* As they are. */
void debug_finder_forget_left(struct debug_finder *f);

/* --- kernel_names.c --------------------------------------------------------------------------- */

/*
 * Names from kallsyms. Adds to @names what @symtab (NULL: there are no symbols) says of @addresses
 * (@n, ascending), none of which is known. Returns 0 or negative errno.
 */
int kernel_names_add(struct asker *asker, const struct symtab *symtab, const uint64_t *addresses,
		     size_t n, struct symbols_names *names);

#endif

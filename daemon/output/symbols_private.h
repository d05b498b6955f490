/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_SYMBOLS_PRIVATE_H
#define PROFD_OUTPUT_SYMBOLS_PRIVATE_H

/* What the parts of symbols.h share: the cache (symbols.c), the worker, the kernel, debug files. */
#include <sys/types.h>
#include <uthash.h>

#include "common/symbols/symtab.h"
#include "common/worker/answer.h"
#include "common/worker/debug_choice.h"
#include "common/worker/worker.h"
#include "daemon/output/symbols.h"

#define SYMBOLS_FILES_MAX 16u
/* What a window may lose to files that workers die of, and to folders that do not answer. */
#define SYMBOLS_LOST_MAX_NS UINT64_C(10000000000)

enum symbols_domain { SYMBOLS_IMAGE, SYMBOLS_KERNEL, SYMBOLS_VDSO, SYMBOLS_JIT };

struct symbols_key {
	uint64_t id;
	uint64_t domain; /* enum symbols_domain; as wide as id, so that there is no padding */
};

enum { SYMBOLS_FUNCTIONS, SYMBOLS_LINES, N_SYMBOLS_DEPTHS };

/* An image. */
struct symbols_entry {
	struct symbols_key key;
	struct symbols_names *names[N_SYMBOLS_DEPTHS]; /* NULL: nothing was asked for yet */
	bool is_nameless;                              /* no file that names could be read from */
	uint64_t window;  /* in which its headers were asked for last */
	uint64_t counted; /* the window in which it counted as asked for */
	/* What was inspected and not used yet to look for debug files; owned, or NULL. */
	struct worker_image *facts;
	bool has_looked[N_SYMBOLS_DEPTHS]; /* for debug files */
	struct debug_choice debug;         /* separate debug files */
	uint64_t given_up; /* the window in which a folder was too slow to look in it; 0: none */
	struct symbols_build_id wanted; /* of a debug file that is not here; length 0: none */
	uint64_t asked_after;           /* the window in which it was looked for last */
	struct symtab *symtab;          /* kernel images; NULL also: no symbols */
	bool has_read;                  /* kernel images: symtab is what there is */
	off_t file_size;                /* jit files: as it was when it was read */
	struct timespec file_mtime;
	size_t bytes;
	UT_hash_handle hh; /* in order of use: the first is the oldest */
};

/* A file that was asked for its build id. */
struct symbols_file {
	dev_t device;
	ino_t inode; /* 0: free */
	struct timespec ctime;
	struct symbols_build_id build_id; /* length 0: none, or the worker died of it */
};

struct symbols {
	struct kernel_images *kernel;
	struct symbols_entry *entries;
	size_t bytes, max_bytes;
	unsigned n_debug;         /* entries with open debug files */
	const char *fetched_path; /* as in symbols.h; NULL: none */
	int fetched_fd;           /* it, as a place; -1: not there yet */
	struct file_opener *opener;
	uint64_t window;

	struct worker *worker;
	int proven;       /* process of the worker that has inspected the vdso */
	uint64_t lost_ns; /* in this window, see SYMBOLS_LOST_MAX_NS */
	int vdso_fd;      /* read-only, or -1 */
	bool has_vdso;
	struct elf_summary vdso;
	struct symbols_file files[SYMBOLS_FILES_MAX];
	unsigned next_file;
	struct symbols_stats stats;
};

/* --- symbols_ask.c: the worker ---------------------------------------------------------------- */

enum {
	ASK_OK,
	ASK_NOT_NOW, /* no answer in this window */
	ASK_DIED,    /* of this request */
};

/*
 * Asks, waits for the answer. Returns ASK_* or negative errno. The reply is the worker's until the
 * next request.
 */
int symbols_request(struct symbols *s, const struct worker_request *request,
		    struct worker_reply *ret);
/*
 * WORKER_SYMBOLS or _JIT, @request, for @addresses (@n). *ret_outcome, and where that is
 * WORKER_DONE *ret, borrowed like a reply. Returns ASK_* or negative errno.
 */
int symbols_request_names(struct symbols *s, struct worker_request *request,
			  const uint64_t *addresses, size_t n, enum worker_outcome *ret_outcome,
			  struct answer_names *ret);
/* What the worker answered last is against the protocol. */
void symbols_reject_answer(struct symbols *s);
/* The worker was lost over @image: it is bad from now on. */
void symbols_mark_bad_image(struct symbols *s, struct image *image);
void symbols_mark_bad_jit(struct symbols *s, struct jit_file *file);
/*
 * WORKER_INSPECT of @fd, which is @image's file or one of its debug files: the image is to blame
 * for it. *ret is written if *ret_outcome is WORKER_DONE. Returns ASK_* or negative errno.
 */
int symbols_inspect(struct symbols *s, struct image *image, int fd, struct worker_image *ret,
		    enum worker_outcome *ret_outcome);

/* --- symbols_debug.c -------------------------------------------------------------------------- */

/*
 * Sees to it that the image's separate debug files are open in e->debug, if there are any and it
 * takes them to answer a question of @depth; @fd: the image's file. No more than some images have
 * theirs open at a time. Returns ASK_* or negative errno.
 */
int symbols_open_debug(struct symbols *s, struct symbols_entry *e, struct image *image, int fd,
		       unsigned depth);
void symbols_close_debug(struct symbols *s, struct symbols_entry *e);
/* Whether debug files of @image were not looked for where it took too long, and can be now. */
bool symbols_may_retry_debug(const struct symbols *s, const struct symbols_entry *e,
			     const struct image *image);

/* --- symbols_fetched.c ------------------------------------------------------------------------ */

/*
 * The file that was fetched for build id @id, read-only and unjudged; -1: none. Remembers in @e
 * that it is wanted if there is none.
 */
int symbols_open_fetched(struct symbols *s, struct symbols_entry *e, const uint8_t *id,
			 size_t length);
/* Whether what @e wants has come; looked for once a window. */
bool symbols_wanted_arrived(struct symbols *s, struct symbols_entry *e);

/* --- symbols_kernel.c ------------------------------------------------------------------------- */

/* Adds what kallsyms says of @addresses, none of which is known. Returns 0 or negative errno. */
int symbols_add_kernel(struct symbols *s, struct symbols_entry *e, const struct kernel_image *image,
		       const uint64_t *addresses, size_t n);

/* --- symbols_jit.c ---------------------------------------------------------------------------- */

/* Sees to it that e->names says what the file does of @addresses. Returns 0 or negative errno. */
int symbols_add_jit(struct symbols *s, struct symbols_entry *e, struct jit_file *file,
		    const uint64_t *addresses, size_t n);

#endif

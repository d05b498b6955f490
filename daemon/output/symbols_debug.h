/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_SYMBOLS_DEBUG_H
#define PROFD_OUTPUT_SYMBOLS_DEBUG_H

/*
 * An image's separate debug files (debug_files.h), looked for in the mount namespace that it was
 * seen in. What is nowhere in there another process may fetch: we publish the build ids that
 * are wanted and look, once a window, whether they have arrived. Fetched files lie
 * in one directory by build id, and are as trusted as any other: the image worker reads them, and
 * they count if it finds the build id in them.
 */
#include "common/worker/debug_files.h"
#include "daemon/output/asker.h"

enum { SYMBOLS_FUNCTIONS, SYMBOLS_LINES, N_SYMBOLS_DEPTHS };

/* What all images share. */
struct debug_finder {
	struct asker *asker;
	struct file_opener *opener; /* as in symbols.h */
	const char *fetched_path;   /* the same; NULL: none */
	int fetched_fd;             /* it, as a place; -1: not there yet */
	uint64_t window;
	unsigned n_open; /* images with open debug files */
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

#endif

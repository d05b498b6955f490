/* SPDX-License-Identifier: MIT */
/*
 * Separate debug files (debug_choice.h), looked for in the mount namespace that the image was seen
 * in; what is nowhere in there may have been fetched from elsewhere (symbols_fetched.c).
 */
#include <string.h>

#include "common/clock.h"
#include "common/worker/debug_files.h"
#include "daemon/output/symbols_private.h"
#include "daemon/resolve/file_opener.h"
#include "daemon/resolve/mount_root.h"

#define DEBUG_OPEN_MAX 32 /* images */
#define DEBUG_FOLDER   "/usr/lib/debug/"
/* A root in which something did not open in time is left alone for so long. */
#define SLOW_NS (600 * NS_PER_S)

static bool has_open_debug(const struct debug_choice *d)
{
	return d->debug >= 0 || d->alternate >= 0;
}

void symbols_close_debug(struct symbols *s, struct symbols_entry *e)
{
	if (has_open_debug(&e->debug))
		s->n_debug--;
	debug_choice_close(&e->debug);
	/* They would be found again. */
	memset(e->has_looked, 0, sizeof(e->has_looked));
}

/* Closes the oldest until no more than what may be are open, @keep's excepted. */
static void close_oldest_debug(struct symbols *s, const struct symbols_entry *keep)
{
	struct symbols_entry *e, *next;

	HASH_ITER (hh, s->entries, e, next) {
		if (s->n_debug <= DEBUG_OPEN_MAX)
			return;
		if (e != keep && has_open_debug(&e->debug))
			symbols_close_debug(s, e);
	}
}

/* The files of one image are looked for in the folders of whoever mapped it. */
struct opening {
	struct symbols *symbols;
	struct symbols_entry *entry;
	struct image *image;
	int root_fd;      /* -1: nowhere */
	bool is_given_up; /* there may be more than was found */
};

/* By a process that may wait in our place. Returns the fd or -1. */
static int symbols_debug_open_below(struct opening *opening, const char *path)
{
	struct symbols *s = opening->symbols;
	struct mount_root *root = opening->image->root;
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
	enum mount_root_place where = strncmp(path, DEBUG_FOLDER, strlen(DEBUG_FOLDER)) == 0
					      ? MOUNT_ROOT_DEBUG_FOLDER
					      : MOUNT_ROOT_ELSEWHERE;
	bool may_have_fuse = atomic_load(&root->may_have_fuse);
	unsigned flags = (may_have_fuse ? 0 : FILE_OPENER_CROSS_MOUNTS) |
			 (root->is_ours ? FILE_OPENER_TRUST_OVERLAYS : 0);
	int fd = -1, r;

	if (!s->opener)
		return debug_files_open(opening->root_fd, true, path);
	/* Where anybody may mount, FUSE may be the root itself. */
	if (may_have_fuse && !root->is_ours)
		return -1;
	if (root->slow_until_ns[where] > begin_ns || s->lost_ns >= SYMBOLS_LOST_MAX_NS) {
		opening->is_given_up = true;
		return -1;
	}
	r = file_opener_open(s->opener, opening->root_fd, path, flags, &fd);
	if (r == FILE_OPENER_E_OK || r == FILE_OPENER_E_NONE)
		return fd;
	opening->is_given_up = true;
	if (r == FILE_OPENER_E_LOST) {
		s->stats.openers_lost++;
		return -1;
	}
	s->lost_ns += clock_ns(CLOCK_MONOTONIC) - begin_ns;
	s->stats.slow_folders++;
	root->slow_until_ns[where] = clock_ns(CLOCK_MONOTONIC) + SLOW_NS;
	return -1;
}

static int symbols_debug_open(void *context, const char *path)
{
	struct opening *opening = context;

	return opening->root_fd >= 0 ? symbols_debug_open_below(opening, path) : -1;
}

static int symbols_debug_inspect(void *context, int fd, struct worker_image *ret,
				 enum worker_outcome *ret_outcome)
{
	struct opening *opening = context;

	return symbols_inspect(opening->symbols, opening->image, fd, ret, ret_outcome);
}

static int symbols_debug_fetch(void *context, const uint8_t *id, size_t length)
{
	struct opening *opening = context;

	return symbols_open_fetched(opening->symbols, opening->entry, id, length);
}

/* Returns ASK_* or negative errno. */
static int symbols_debug_find(struct opening *opening, const struct worker_image *facts,
			      unsigned depth)
{
	const struct debug_choice_world world = {
		.context = opening,
		.open = symbols_debug_open,
		.inspect = symbols_debug_inspect,
		.fetch = symbols_debug_fetch,
	};
	struct symbols_entry *e = opening->entry;
	int r = debug_choice_make(&world, opening->image->path, facts, depth == SYMBOLS_LINES,
				  &e->debug);

	e->given_up = opening->is_given_up ? opening->symbols->window : 0;
	return r;
}

/* The image's own answer, asked for unless it is at hand. Returns ASK_* or negative errno. */
static int symbols_debug_get_facts(struct symbols *s, struct symbols_entry *e, struct image *image,
				   int fd, struct worker_image *ret)
{
	enum worker_outcome outcome;
	int r;

	if (e->facts) {
		*ret = *e->facts;
		free(steal_ptr(&e->facts));
		return ASK_OK;
	}
	r = symbols_inspect(s, image, fd, ret, &outcome);
	if (!r && outcome != WORKER_DONE)
		e->is_nameless = true;
	return r;
}

bool symbols_may_retry_debug(const struct symbols *s, const struct symbols_entry *e,
			     const struct image *image)
{
	uint64_t now_ns;

	if (!e->given_up || e->given_up == s->window || !image->root)
		return false;
	now_ns = clock_ns(CLOCK_MONOTONIC);
	for (unsigned i = 0; i < N_MOUNT_ROOT_PLACES; i++)
		if (image->root->slow_until_ns[i] > now_ns)
			return false;
	return true;
}

int symbols_open_debug(struct symbols *s, struct symbols_entry *e, struct image *image, int fd,
		       unsigned depth)
{
	struct opening opening = {.symbols = s, .entry = e, .image = image, .root_fd = -1};
	struct worker_image facts = {0};
	int r;

	if (e->has_looked[depth] || has_open_debug(&e->debug) || image->kind != IMAGE_FILE)
		return ASK_OK;
	if (!image->root && !s->fetched_path)
		return ASK_OK; /* nowhere to look */
	r = symbols_debug_get_facts(s, e, image, fd, &facts);
	if (r || e->is_nameless)
		return r;
	e->has_looked[depth] = true;
	if (image->root)
		opening.root_fd = mount_root_borrow(image->root);
	r = symbols_debug_find(&opening, &facts, depth);
	if (image->root)
		mount_root_return(image->root, opening.root_fd);
	if (has_open_debug(&e->debug)) {
		s->n_debug++;
		close_oldest_debug(s, e);
	}
	return r;
}

/* SPDX-License-Identifier: MIT */
/*
 * The image's headers say which files there may be; debug_choice_make() asks for one after the
 * other by the callbacks here. A process that may wait in our place opens them, because a directory
 * of somebody else's mount namespace may never answer.
 */
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "common/clock.h"
#include "daemon/output/symbols_private.h"
#include "daemon/resolve/file_opener.h"
#include "daemon/resolve/lent_fd.h"
#include "daemon/resolve/mount_root.h"

#define DEBUG_DIR "/usr/lib/debug/"
/* A root in which something did not open in time is left alone for so long. */
#define SLOW_NS (600 * NS_PER_S)
/* Lists of packages are read once, from a disk that may be busy with others. */
#define SLOW_PACKAGES_NS (30 * NS_PER_S)

bool image_debug_is_open(const struct image_debug *d)
{
	return d->choice.debug >= 0 || d->choice.alternate >= 0;
}

void debug_finder_close(struct debug_finder *f, struct image_debug *d)
{
	f->n_open -= image_debug_is_open(d);
	debug_choice_close(&d->choice);
	/* They would be found again. */
	memset(d->has_looked, 0, sizeof(d->has_looked));
}

/* Returns the fd, read-only, or -1. */
static int open_fetched_file(struct debug_finder *f, const uint8_t *id, size_t length)
{
	char path[PATH_MAX];

	if (f->fetched_fd < 0)
		f->fetched_fd = open(f->fetched_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (f->fetched_fd < 0 || !debug_files_id_path(".", id, length, path))
		return -1;
	return debug_files_open(f->fetched_fd, false, path);
}

/* The files of one image are looked for in the directories of the process that mapped it. */
struct opening {
	struct debug_finder *finder;
	struct image_debug *files;
	struct image *image;
	int root_fd;      /* -1: nowhere */
	bool is_given_up; /* there may be more than was found */
};

bool root_question_begin(struct root_question *q)
{
	const bool may_have_fuse = atomic_load(&q->root->may_have_fuse);

	q->begin_ns = clock_ns(CLOCK_MONOTONIC);
	q->flags = (may_have_fuse ? 0 : FILE_OPENER_CROSS_MOUNTS) |
		   (q->root->is_ours ? FILE_OPENER_TRUST_OVERLAYS : 0);
	/* Where anybody may mount, FUSE may be the root itself. */
	if (may_have_fuse && !q->root->is_ours)
		return false;
	if (q->root->slow_until_ns[q->where] <= q->begin_ns && asker_has_time(q->finder->asker))
		return true;
	q->is_given_up = true;
	return false;
}

void root_question_end(struct root_question *q, int r)
{
	struct asker *asker = q->finder->asker;
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (r == FILE_OPENER_E_OK || r == FILE_OPENER_E_NONE)
		return;
	q->is_given_up = true;
	if (r == FILE_OPENER_E_LOST) {
		asker->stats.openers_lost++;
		return;
	}
	asker->lost_ns += now_ns - q->begin_ns;
	asker->stats.slow_directories++;
	q->root->slow_until_ns[q->where] =
		now_ns + (q->where == MOUNT_ROOT_PACKAGES ? SLOW_PACKAGES_NS : SLOW_NS);
}

/* By a process that may wait in our place. Returns the fd or -1. */
static int symbols_debug_open_below(struct opening *opening, const char *path)
{
	struct debug_finder *f = opening->finder;
	struct root_question q = {
		.finder = f,
		.root = opening->image->root,
		.where = strncmp(path, DEBUG_DIR, strlen(DEBUG_DIR)) == 0 ? MOUNT_ROOT_DEBUG_DIR
									  : MOUNT_ROOT_ELSEWHERE,
	};
	int fd = -1;

	if (!f->opener)
		return debug_files_open(opening->root_fd, true, path);
	if (root_question_begin(&q))
		root_question_end(&q, file_opener_open(f->opener, opening->root_fd, path, q.flags,
						       &fd));
	opening->is_given_up |= q.is_given_up;
	return fd;
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
	struct image *image = opening->image;

	/* The image is to blame for its debug files. */
	return asker_inspect(opening->finder->asker, fd,
			     &(struct asker_file){&image->is_bad, image->path}, ret, ret_outcome);
}

/* A file that was fetched, or the note that it is wanted. */
static int symbols_debug_fetch(void *context, const uint8_t *id, size_t length)
{
	struct opening *opening = context;
	struct image_debug *d = opening->files;
	int fd;

	if (!opening->finder->fetched_path || length < 2 || length > sizeof(d->wanted.bytes))
		return -1;
	fd = open_fetched_file(opening->finder, id, length);
	if (fd < 0) {
		d->wanted.length = (uint32_t)length;
		memcpy(d->wanted.bytes, id, length);
		d->asked_after = opening->finder->window;
	}
	return fd;
}

bool debug_finder_may_have_more(struct debug_finder *f, struct image_debug *d,
				const struct image *image)
{
	cleanup(closep) int fd = -1;

	if (d->wanted.length && f->fetched_path && d->asked_after != f->window) {
		d->asked_after = f->window;
		fd = open_fetched_file(f, d->wanted.bytes, d->wanted.length);
		if (fd >= 0)
			return true;
	}
	if (!d->given_up || d->given_up == f->window || !image->root)
		return false;
	for (unsigned i = 0; i < N_MOUNT_ROOT_PLACES; i++)
		if (image->root->slow_until_ns[i] > clock_ns(CLOCK_MONOTONIC))
			return false;
	return true;
}

int debug_finder_look(struct debug_finder *f, struct image_debug *d, struct image *image, int fd,
		      unsigned depth, bool *ret_nameless)
{
	struct opening opening = {.finder = f, .files = d, .image = image, .root_fd = -1};
	const struct debug_choice_world world = {
		.context = &opening,
		.open = symbols_debug_open,
		.inspect = symbols_debug_inspect,
		.fetch = symbols_debug_fetch,
	};
	cleanup(freep) struct worker_image *known = NULL;
	enum worker_outcome outcome = WORKER_DONE;
	struct worker_image facts;
	int r = ASK_OK;

	*ret_nameless = false;
	if (d->has_looked[depth] || image_debug_is_open(d) || image->kind != IMAGE_FILE)
		return ASK_OK;
	if (!image->root && !f->fetched_path)
		return ASK_OK; /* nowhere to look */
	known = steal_ptr(&d->facts);
	if (!known)
		r = symbols_debug_inspect(&opening, fd, &facts, &outcome);
	*ret_nameless = !r && outcome != WORKER_DONE;
	if (r || *ret_nameless)
		return r;
	d->has_looked[depth] = true;
	if (image->root)
		opening.root_fd = lent_fd_borrow(&image->root->fd);
	r = debug_choice_make(&world, image->path, known ? known : &facts, depth == SYMBOLS_LINES,
			      &d->choice);
	d->given_up = opening.is_given_up ? f->window : 0;
	closep(&opening.root_fd);
	f->n_open += image_debug_is_open(d);
	return r;
}

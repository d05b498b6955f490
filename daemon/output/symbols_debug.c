/* SPDX-License-Identifier: MIT */
/*
 * The image's headers say which files there may be; debug_choice_make() asks for one after the
 * other by the callbacks here. A process that may wait in our place opens them, because a directory
 * of somebody else's mount namespace may never answer.
 *
 * The machine's root is asked first: by build id, and by paths of the image only if the image is at
 * its path there, too, and not a container's that has one of the same name.
 */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "daemon/output/symbols_private.h"
#include "daemon/resolve/file_opener.h"
#include "daemon/resolve/lent_fd.h"
#include "daemon/resolve/mount_root.h"

#define DEBUG_DIR "/usr/lib/debug/"
#define IDS_DIR   DEBUG_DIR ".build-id/"
#define DWZ_DIR   DEBUG_DIR ".dwz/"
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

/* The files of one image are looked for in one root. */
struct opening {
	struct debug_finder *finder;
	struct image_debug *files;
	struct image *image;
	struct mount_root *root; /* NULL: nowhere */
	int root_fd, image_fd;   /* -1: nowhere; the image's own file */
	bool is_last;            /* no other root comes after it */
	/* Of the machine's root: whether the image is at its path there, and if that is known. */
	bool is_in_place, has_place;
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

/* Of a user namespace that anybody may have made, a file names only programs of its owner. */
static bool symbols_debug_may_name(const struct opening *opening, int fd)
{
	struct statx debug, image;

	if (opening->root->is_ours)
		return true;
	return mount_root_stat(fd, &debug) && mount_root_stat(opening->image_fd, &image) &&
	       debug.stx_mask & image.stx_mask & STATX_UID &&
	       (debug.stx_uid == 0 || debug.stx_uid == image.stx_uid);
}

/* By a process that may wait in our place. Returns the fd or -1. */
static int symbols_debug_open_below(struct opening *opening, const char *path)
{
	struct debug_finder *f = opening->finder;
	struct root_question q = {
		.finder = f,
		.root = opening->root,
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

static bool symbols_debug_is_below(const char *path, const char *directory)
{
	return strncmp(path, directory, strlen(directory)) == 0 && !strstr(path, "/../");
}

static bool symbols_debug_is_in_place(struct opening *opening)
{
	cleanup(closep) int there = symbols_debug_open_below(opening, opening->image->path);
	struct statx a, b;

	return there >= 0 && mount_root_stat(there, &a) && mount_root_stat(opening->image_fd, &b) &&
	       mount_root_is_same_file(&a, &b);
}

/* Whether @path means in this root what it means in the image's. */
static bool symbols_debug_may_ask(struct opening *opening, const char *path)
{
	if (opening->root == opening->image->root || symbols_debug_is_below(path, IDS_DIR) ||
	    symbols_debug_is_below(path, DWZ_DIR))
		return true;
	if (!opening->has_place) {
		opening->has_place = true;
		opening->is_in_place = symbols_debug_is_in_place(opening);
	}
	return opening->is_in_place;
}

static int symbols_debug_open(void *context, const char *path)
{
	struct opening *opening = context;
	cleanup(closep) int fd = -1;

	if (opening->root_fd >= 0 && symbols_debug_may_ask(opening, path))
		fd = symbols_debug_open_below(opening, path);
	return fd >= 0 && symbols_debug_may_name(opening, fd) ? steal_fd(&fd) : -1;
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

/*
 * A file that was fetched, or the note that it is wanted: where there is another root to look in,
 * only what belongs to a debug file that was found.
 */
static int symbols_debug_fetch(void *context, const uint8_t *id, size_t length)
{
	struct opening *opening = context;
	struct image_debug *d = opening->files;
	int fd;

	if (!opening->is_last && d->choice.debug < 0)
		return -1;
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

/* Also where there is none. */
static bool root_answers(const struct mount_root *root)
{
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	for (unsigned i = 0; root && i < N_MOUNT_ROOT_PLACES; i++)
		if (root->slow_until_ns[i] > now_ns)
			return false;
	return true;
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
	return d->given_up && d->given_up != f->window && root_answers(f->host) &&
	       root_answers(image->root);
}

/* In @root, which may be NULL, and where files are fetched to. */
static int symbols_debug_look_in(struct opening *opening, struct mount_root *root, unsigned depth,
				 const struct worker_image *facts)
{
	const struct debug_choice_world world = {
		.context = opening,
		.open = symbols_debug_open,
		.inspect = symbols_debug_inspect,
		.fetch = symbols_debug_fetch,
	};
	int r;

	opening->root = root;
	opening->root_fd = root ? lent_fd_borrow(&root->fd) : -1;
	r = debug_choice_make(&world, opening->image->path, facts, depth == SYMBOLS_LINES,
			      &opening->files->choice);
	closep(&opening->root_fd);
	return r;
}

int debug_finder_look(struct debug_finder *f, struct image_debug *d, struct image *image, int fd,
		      unsigned depth, bool *ret_nameless)
{
	struct opening opening = {
		.finder = f, .files = d, .image = image, .root_fd = -1, .image_fd = fd};
	struct mount_root *const roots[] = {f->host, image->root != f->host ? image->root : NULL};
	const size_t n_roots = roots[1] ? 2 : 1;
	cleanup(freep) struct worker_image *known = NULL;
	enum worker_outcome outcome = WORKER_DONE;
	struct worker_image facts;
	int r = ASK_OK;

	*ret_nameless = false;
	if (d->has_looked[depth] || image_debug_is_open(d) || image->kind != IMAGE_FILE)
		return ASK_OK;
	if (!f->host && !image->root && !f->fetched_path)
		return ASK_OK; /* nowhere to look */
	known = steal_ptr(&d->facts);
	if (!known)
		r = symbols_debug_inspect(&opening, fd, &facts, &outcome);
	*ret_nameless = !r && outcome != WORKER_DONE;
	if (r || *ret_nameless)
		return r;
	d->has_looked[depth] = true;
	for (size_t i = 0; i < n_roots && !r && !image_debug_is_open(d); i++) {
		opening.is_last = i + 1 == n_roots;
		r = symbols_debug_look_in(&opening, roots[i], depth, known ? known : &facts);
	}
	d->given_up = opening.is_given_up ? f->window : 0;
	f->n_open += image_debug_is_open(d);
	return r;
}

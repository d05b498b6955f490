/* SPDX-License-Identifier: MIT */
/*
 * Separate debug files, looked for in the mount namespace that the image was seen in. A file counts
 * if it has the image's build id; one without a build id, found by the image's debuglink, if its
 * CRC is the link's, which the worker finds out when it reads it. What is nowhere in there may have
 * been fetched from elsewhere (symbols_fetched.c).
 */
#include <string.h>

#include "common/worker/debug_files.h"
#include "daemon/output/symbols_private.h"
#include "daemon/resolve/file_opener.h"
#include "daemon/resolve/mount_root.h"

#define DEBUG_OPEN_MAX 32 /* images */
#define DEBUG_FOLDER   "/usr/lib/debug/"
/* A root in which something did not open in time is left alone for so long. */
#define SLOW_NS (600 * UINT64_C(1000000000))

static bool is_open(const struct symbols_debug *d)
{
	return d->debug >= 0 || d->alternate >= 0;
}

void symbols_close_debug(struct symbols *s, struct symbols_entry *e)
{
	if (is_open(&e->debug))
		s->n_debug--;
	closep(&e->debug.debug);
	closep(&e->debug.alternate);
	e->debug = (struct symbols_debug){.debug = -1, .alternate = -1};
	/* They would be found again. */
	memset(e->has_looked, 0, sizeof(e->has_looked));
}

/* Closes the oldest until no more than what may be are open, @keep's excepted. */
static void close_oldest(struct symbols *s, const struct symbols_entry *keep)
{
	struct symbols_entry *e, *next;

	HASH_ITER (hh, s->entries, e, next) {
		if (s->n_debug <= DEBUG_OPEN_MAX)
			return;
		if (e != keep && is_open(&e->debug))
			symbols_close_debug(s, e);
	}
}

/* Somebody's folders, which are asked through a process that may wait in our place. */
struct opening {
	struct symbols *symbols;
	struct mount_root *root;
	bool is_given_up; /* there may be more than was found */
};

static int open_below(void *userdata, int root_fd, const char *path)
{
	struct opening *opening = userdata;
	struct symbols *s = opening->symbols;
	struct mount_root *root = opening->root;
	uint64_t begin_ns = symbols_now_ns();
	enum mount_root_place where = strncmp(path, DEBUG_FOLDER, strlen(DEBUG_FOLDER)) == 0
					      ? MOUNT_ROOT_DEBUG_FOLDER
					      : MOUNT_ROOT_ELSEWHERE;
	bool may_have_fuse = atomic_load(&root->may_have_fuse);
	unsigned flags = (may_have_fuse ? 0 : FILE_OPENER_CROSS_MOUNTS) |
			 (root->is_ours ? FILE_OPENER_TRUST_OVERLAYS : 0);
	int fd = -1;

	if (!s->opener)
		return debug_files_open(root_fd, true, path);
	/* Where anybody may mount, FUSE may be the root itself. */
	if (may_have_fuse && !root->is_ours)
		return -1;
	if (root->slow_until_ns[where] > begin_ns || s->lost_ns >= SYMBOLS_LOST_MAX_NS) {
		opening->is_given_up = true;
		return -1;
	}
	if (file_opener_open(s->opener, root_fd, path, flags, &fd) != FILE_OPENER_E_SLOW)
		return fd;
	s->lost_ns += symbols_now_ns() - begin_ns;
	s->stats.slow_folders++;
	opening->is_given_up = true;
	root->slow_until_ns[where] = symbols_now_ns() + SLOW_NS;
	return -1;
}

static bool is_id(const struct worker_image *file, const uint8_t *id, size_t length)
{
	return length && file->elf.build_id_length == length &&
	       memcmp(file->elf.build_id, id, length) == 0;
}

/* Whether @found can be the debug file of @image. */
static bool is_debug_of(const struct worker_image *image, const struct worker_image *found,
			enum debug_found how, bool *ret_check_crc)
{
	*ret_check_crc = false;
	if (is_id(found, image->elf.build_id, image->elf.build_id_length))
		return true;
	*ret_check_crc = how == DEBUG_FOUND_LINK;
	return how == DEBUG_FOUND_LINK &&
	       (!found->elf.build_id_length || !image->elf.build_id_length);
}

/*
 * The debug file of @place->image into @ret, what it says to *ret_facts and its path to *ret_path
 * (both untouched if there is none). Returns ASK_* or negative errno.
 */
static int find_debug(struct symbols *s, struct image *image, const struct debug_place *place,
		      struct symbols_debug *ret, struct worker_image *ret_facts,
		      char ret_path[PATH_MAX])
{
	struct debug_file file;
	unsigned cursor = 0;

	while (debug_files_next(place, &cursor, &file)) {
		cleanup(closep) int fd = file.fd;
		enum worker_outcome outcome;
		struct worker_image facts;
		bool check_crc;
		int r = symbols_inspect(s, image, fd, &facts, &outcome);

		if (r)
			return r;
		if (outcome != WORKER_DONE ||
		    !is_debug_of(place->image, &facts, file.found, &check_crc))
			continue;
		ret->debug = steal_fd(&fd);
		ret->check_crc = check_crc;
		*ret_facts = facts;
		memcpy(ret_path, file.path, PATH_MAX);
		return ASK_OK;
	}
	return ASK_OK;
}

/* The same for the alternate file that @place->image names. */
static int find_alternate(struct symbols *s, struct image *image, const struct debug_place *place,
			  struct symbols_debug *ret)
{
	const struct worker_image *names_it = place->image;
	struct debug_file file;
	unsigned cursor = 0;

	while (names_it->alternate[0] && debug_files_next_alternate(place, &cursor, &file)) {
		cleanup(closep) int fd = file.fd;
		enum worker_outcome outcome;
		struct worker_image facts;
		int r = symbols_inspect(s, image, fd, &facts, &outcome);

		if (r)
			return r;
		if (outcome != WORKER_DONE ||
		    !is_id(&facts, names_it->alternate_id, names_it->alternate_id_length))
			continue;
		ret->alternate = steal_fd(&fd);
		return ASK_OK;
	}
	return ASK_OK;
}

/*
 * The file with build id @id, if it was fetched and has that, into *ret (-1: none) and what it says
 * into *ret_facts. Returns ASK_* or negative errno.
 */
static int find_fetched(struct symbols *s, struct symbols_entry *e, struct image *image,
			const uint8_t *id, size_t length, int *ret, struct worker_image *ret_facts)
{
	cleanup(closep) int fd = symbols_open_fetched(s, e, id, length);
	enum worker_outcome outcome;
	int r;

	if (fd < 0)
		return ASK_OK;
	r = symbols_inspect(s, image, fd, ret_facts, &outcome);
	if (!r && outcome == WORKER_DONE && is_id(ret_facts, id, length))
		*ret = steal_fd(&fd);
	return r;
}

/* Whether the image itself answers a question of @depth as well as a debug file could. */
static bool is_enough(const struct worker_image *facts, unsigned depth)
{
	return depth == SYMBOLS_LINES ? facts->has_lines
				      : facts->has_symtab || facts->has_debugdata;
}

/* In the image's own world, then among what was fetched. Returns ASK_* or negative errno. */
static int find_files(struct symbols *s, struct symbols_entry *e, struct image *image,
		      const struct worker_image *facts, int root_fd, unsigned depth)
{
	struct opening opening = {.symbols = s, .root = image->root};
	struct debug_place place = {
		.root_fd = root_fd,
		.path = image->path,
		.image = facts,
		.open = open_below,
		.userdata = &opening,
	};
	struct symbols_debug *debug = &e->debug;
	struct worker_image debug_facts = *facts, ignored;
	char path[PATH_MAX];
	int r = 0;

	if (root_fd >= 0)
		r = find_debug(s, image, &place, debug, &debug_facts, path);
	if (!r && debug->debug >= 0) {
		place.path = path;
		place.image = &debug_facts;
	} else if (!r && !is_enough(facts, depth)) {
		r = find_fetched(s, e, image, facts->elf.build_id, facts->elf.build_id_length,
				 &debug->debug, &debug_facts);
		place.path = "/";
		place.image = &debug_facts;
	}
	if (!r && root_fd >= 0)
		r = find_alternate(s, image, &place, debug);
	if (!r && depth == SYMBOLS_LINES && place.image->alternate[0] && debug->alternate < 0)
		r = find_fetched(s, e, image, place.image->alternate_id,
				 place.image->alternate_id_length, &debug->alternate, &ignored);
	e->given_up = opening.is_given_up ? s->window : 0;
	return r;
}

/* The image's own answer, asked for unless it is at hand. Returns ASK_* or negative errno. */
static int take_facts(struct symbols *s, struct symbols_entry *e, struct image *image, int fd,
		      struct worker_image *ret)
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

bool symbols_may_look_again(const struct symbols *s, const struct symbols_entry *e,
			    const struct image *image)
{
	uint64_t now_ns;

	if (!e->given_up || e->given_up == s->window || !image->root)
		return false;
	now_ns = symbols_now_ns();
	for (unsigned i = 0; i < N_MOUNT_ROOT_PLACES; i++)
		if (image->root->slow_until_ns[i] > now_ns)
			return false;
	return true;
}

int symbols_open_debug(struct symbols *s, struct symbols_entry *e, struct image *image, int fd,
		       unsigned depth)
{
	struct worker_image facts = {0};
	int root_fd = -1, r;

	if (e->has_looked[depth] || is_open(&e->debug) || image->kind != IMAGE_FILE)
		return ASK_OK;
	if (!image->root && !s->fetched_path)
		return ASK_OK; /* nowhere to look */
	r = take_facts(s, e, image, fd, &facts);
	if (r || e->is_nameless)
		return r;
	e->has_looked[depth] = true;
	if (facts.has_symtab && (depth == SYMBOLS_FUNCTIONS || facts.has_lines) &&
	    !facts.alternate[0])
		return ASK_OK;
	if (image->root)
		root_fd = mount_root_borrow(image->root);
	r = find_files(s, e, image, &facts, root_fd, depth);
	if (image->root)
		mount_root_return(image->root, root_fd);
	if (is_open(&e->debug)) {
		s->n_debug++;
		close_oldest(s, e);
	}
	return r;
}

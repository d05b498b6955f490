/* SPDX-License-Identifier: MIT */
/*
 * Where distributions and GDB keep debug files: below /usr/lib/debug by build id or path, beside
 * the image, and dwz's in .dwz. Opening takes two steps, so that the type is known before a file
 * is opened for reading.
 *
 * A choice takes the debug file by build id, then by debuglink at its three places, then from a
 * server; then the alternate file that it, or the image, names. A file that is found is accepted if
 * its build id fits.
 */
#include "common/worker/debug_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"

#define DEBUG_DIR "/usr/lib/debug"
#define DWZ_DIR   DEBUG_DIR "/.dwz/"

/* openat2(2): a scoped walk fails when something is renamed meanwhile, and may be tried again. */
#define TRIES_MAX 4

enum place { PLACE_BUILD_ID, PLACE_BESIDE, PLACE_DIR, PLACE_GLOBAL, N_PLACES };
enum alternate { ALTERNATE_PATH, ALTERNATE_DWZ, ALTERNATE_BUILD_ID, N_ALTERNATES };

bool debug_files_id_path(const char *dir, const uint8_t *id, size_t length, char ret[PATH_MAX])
{
	size_t n;

	if (length < 2)
		return false;
	n = (size_t)snprintf(ret, PATH_MAX, "%s/.build-id/%02x/", dir, id[0]);
	for (size_t i = 1; i < length; i++)
		n += (size_t)snprintf(ret + n, PATH_MAX - n, "%02x", id[i]);
	snprintf(ret + n, PATH_MAX - n, ".debug");
	return true;
}

/* Length of the path's directory without the last slash; false: the path is not absolute. */
static bool debug_files_dir_length(const char *path, int *ret)
{
	const char *slash = strrchr(path, '/');

	if (path[0] != '/' || strlen(path) >= PATH_MAX)
		return false;
	*ret = (int)(slash - path);
	return true;
}

static bool debug_files_path_fits(int n)
{
	return n > 0 && n < PATH_MAX;
}

/* A debuglink is the name of a file, not a path. */
static bool debug_files_is_base_name(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

int debug_files_path(const char *path, const struct worker_image *image, unsigned n,
		     char ret[PATH_MAX])
{
	const char *link = image->debuglink;
	int dir, length;

	if (n >= N_PLACES)
		return 0;
	if (n == PLACE_BUILD_ID)
		return debug_files_id_path(DEBUG_DIR, image->elf.build_id,
					   image->elf.build_id_length, ret)
			       ? 1
			       : -1;
	if (!debug_files_is_base_name(link) || !debug_files_dir_length(path, &dir))
		return -1;
	if (n == PLACE_BESIDE)
		length = snprintf(ret, PATH_MAX, "%.*s/%s", dir, path, link);
	else if (n == PLACE_DIR)
		length = snprintf(ret, PATH_MAX, "%.*s/.debug/%s", dir, path, link);
	else
		length = snprintf(ret, PATH_MAX, DEBUG_DIR "%.*s/%s", dir, path, link);
	/* A file that names itself has nothing to add. */
	return debug_files_path_fits(length) && strcmp(ret, path) != 0 ? 1 : -1;
}

int debug_files_alternate_path(const char *path, const struct worker_image *image, unsigned n,
			       char ret[PATH_MAX])
{
	const char *link = image->alternate, *rest = strstr(link, "/.dwz/");
	int dir, length;

	if (n >= N_ALTERNATES || !*link)
		return 0;
	if (n == ALTERNATE_BUILD_ID)
		return debug_files_id_path(DEBUG_DIR, image->alternate_id,
					   image->alternate_id_length, ret)
			       ? 1
			       : -1;
	/* Without such a directory in it, its name alone. */
	rest = rest ? rest + strlen("/.dwz/") : strrchr(link, '/') ? strrchr(link, '/') + 1 : link;
	if (n == ALTERNATE_DWZ && !*rest)
		return -1;
	if (n == ALTERNATE_DWZ)
		length = snprintf(ret, PATH_MAX, DWZ_DIR "%s", rest);
	else if (*link == '/')
		length = snprintf(ret, PATH_MAX, "%s", link);
	else if (debug_files_dir_length(path, &dir))
		length = snprintf(ret, PATH_MAX, "%.*s/%s", dir, path, link);
	else
		return -1;
	return debug_files_path_fits(length) && (n == ALTERNATE_PATH || strcmp(ret, link) != 0)
		       ? 1
		       : -1;
}

int debug_files_find(int root_fd, bool cross_mounts, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS |
			   (cross_mounts ? 0 : RESOLVE_NO_XDEV),
	};
	int fd = -1;

	for (unsigned i = 0; i < TRIES_MAX && fd < 0; i++) {
		fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
		if (fd < 0 && errno != EAGAIN && errno != EINTR)
			break;
	}
	return fd;
}

int debug_files_open_path(int root_fd, bool cross_mounts, const char *path)
{
	cleanup(closep) int named = debug_files_find(root_fd, cross_mounts, path);
	struct statx stx;

	if (named < 0 ||
	    statx(named, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &stx) < 0 ||
	    !S_ISREG(stx.stx_mode))
		return -1;
	return steal_fd(&named);
}

/* O_NONBLOCK: a lease's holder need not be waited for (fcntl(2)). */
int debug_files_reopen(int named)
{
	char again[32];

	snprintf(again, sizeof(again), "/proc/self/fd/%d", named);
	return open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

int debug_files_open(int root_fd, bool cross_mounts, const char *path)
{
	cleanup(closep) int named = debug_files_open_path(root_fd, cross_mounts, path);

	return named < 0 ? -1 : debug_files_reopen(named);
}

/* The file at hand: the image at first, then its debug file. It may name an alternate one. */
struct subject {
	struct worker_image facts;
	char path[PATH_MAX]; /* "" unknown */
};

static bool worker_image_has_id(const struct worker_image *file, const uint8_t *id, size_t length)
{
	return length && file->elf.build_id_length == length &&
	       memcmp(file->elf.build_id, id, length) == 0;
}

/* Whether @found, which was found at @place, can be the debug file of @image. */
static bool is_acceptable_debug_file(const struct worker_image *image,
				     const struct worker_image *found, enum place place,
				     bool *ret_check_crc)
{
	*ret_check_crc = !worker_image_has_id(found, image->elf.build_id,
					      image->elf.build_id_length);
	return !*ret_check_crc || (place != PLACE_BUILD_ID &&
				   (!found->elf.build_id_length || !image->elf.build_id_length));
}

/* Inspects what was opened. *fd is closed, and -1, unless it is an ELF file. */
static int debug_choice_inspect(const struct debug_choice_world *world, int *fd,
				struct worker_image *ret)
{
	enum worker_outcome outcome = WORKER_UNREADABLE;
	int r = *fd < 0 ? 0 : world->inspect(world->context, *fd, ret, &outcome);

	if (outcome != WORKER_DONE) {
		closep(fd);
		*fd = -1;
	}
	return r;
}

/*
 * The subject's debug file or (@is_alternate) the alternate file that it names; that is the subject
 * then.
 */
static int debug_choice_find(const struct debug_choice_world *world, struct subject *subject,
			     bool is_alternate, struct debug_choice *ret)
{
	const struct worker_image *image = &subject->facts;
	char path[PATH_MAX];
	int r;

	for (unsigned n = 0; (r = (is_alternate ? debug_files_alternate_path
						: debug_files_path)(subject->path, image, n, path));
	     n++) {
		cleanup(closep) int fd = r > 0 ? world->open(world->context, path) : -1;
		struct worker_image facts;
		bool check_crc = false;

		r = debug_choice_inspect(world, &fd, &facts);
		if (r)
			return r;
		if (fd < 0 ||
		    !(is_alternate ? worker_image_has_id(&facts, image->alternate_id,
							 image->alternate_id_length)
				   : is_acceptable_debug_file(image, &facts, n, &check_crc)))
			continue;
		ret->check_crc |= check_crc;
		*(is_alternate ? &ret->alternate : &ret->debug) = steal_fd(&fd);
		subject->facts = facts;
		memcpy(subject->path, path, sizeof(path));
		return 0;
	}
	return 0;
}

/* *ret_fd stays as it is where nothing is to be had, or not what was asked for. */
static int debug_choice_fetch(const struct debug_choice_world *world, const uint8_t *id,
			      size_t length, int *ret_fd, struct worker_image *ret_facts)
{
	cleanup(closep) int fd = -1;
	struct worker_image facts;
	int r;

	if (!world->fetch || !length)
		return 0;
	fd = world->fetch(world->context, id, length);
	r = debug_choice_inspect(world, &fd, &facts);
	if (r || fd < 0 || !worker_image_has_id(&facts, id, length))
		return r;
	*ret_fd = steal_fd(&fd);
	*ret_facts = facts;
	return 0;
}

int debug_choice_make(const struct debug_choice_world *world, const char *path,
		      const struct worker_image *image, bool want_lines, struct debug_choice *ret)
{
	struct subject subject = {.facts = *image};
	struct worker_image ignored;
	size_t length = strlen(path);
	int r;

	*ret = (struct debug_choice){.debug = -1, .alternate = -1};
	if (image->has_symtab && (!want_lines || image->has_lines) && !image->alternate[0])
		return 0;
	if (length < sizeof(subject.path))
		memcpy(subject.path, path, length + 1);
	r = debug_choice_find(world, &subject, false, ret);
	/* Unless the image itself answers as well as a debug file could. */
	if (!r && ret->debug < 0 &&
	    !(want_lines ? image->has_lines : image->has_symtab || image->has_debugdata)) {
		r = debug_choice_fetch(world, image->elf.build_id, image->elf.build_id_length,
				       &ret->debug, &subject.facts);
		/* It lies nowhere from where a relative path could lead. */
		if (!r && ret->debug >= 0)
			subject.path[0] = '\0';
	}
	if (!r)
		r = debug_choice_find(world, &subject, true, ret);
	if (!r && want_lines && ret->alternate < 0 && subject.facts.alternate[0])
		r = debug_choice_fetch(world, subject.facts.alternate_id,
				       subject.facts.alternate_id_length, &ret->alternate,
				       &ignored);
	return r;
}

void debug_choice_close(struct debug_choice *choice)
{
	closep(&choice->debug);
	closep(&choice->alternate);
	*choice = (struct debug_choice){.debug = -1, .alternate = -1};
}

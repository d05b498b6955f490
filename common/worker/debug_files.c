/* SPDX-License-Identifier: MIT */
/*
 * Where distributions and GDB keep debug files: below /usr/lib/debug by build id or path, beside
 * the image, and dwz's in .dwz. Opening takes two steps, so that the type is known before a file
 * is opened for reading.
 */
#include "common/worker/debug_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"

#define DEBUG_FOLDER "/usr/lib/debug"
#define DWZ_FOLDER   DEBUG_FOLDER "/.dwz/"

/* openat2(2): a scoped walk fails when something is renamed meanwhile, and may be tried again. */
#define TRIES_MAX 4

enum place { PLACE_BUILD_ID, PLACE_BESIDE, PLACE_FOLDER, PLACE_GLOBAL, N_PLACES };
enum alternate { ALTERNATE_PATH, ALTERNATE_DWZ, ALTERNATE_BUILD_ID, N_ALTERNATES };

/* One byte names the folder and at least one the file. */
static bool build_id_path(const uint8_t *id, size_t length, char ret[PATH_MAX])
{
	size_t n;

	if (length < 2)
		return false;
	n = (size_t)snprintf(ret, PATH_MAX, DEBUG_FOLDER "/.build-id/%02x/", id[0]);
	for (size_t i = 1; i < length; i++)
		n += (size_t)snprintf(ret + n, PATH_MAX - n, "%02x", id[i]);
	snprintf(ret + n, PATH_MAX - n, ".debug");
	return true;
}

/* Length of the path's folder without the last slash; false: the path is not absolute. */
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
		     char ret[PATH_MAX], enum debug_found *ret_found)
{
	const char *link = image->debuglink;
	int folder, length;

	if (n >= N_PLACES)
		return 0;
	if (n == PLACE_BUILD_ID) {
		*ret_found = DEBUG_FOUND_BUILD_ID;
		return build_id_path(image->elf.build_id, image->elf.build_id_length, ret) ? 1 : -1;
	}
	*ret_found = DEBUG_FOUND_LINK;
	if (!debug_files_is_base_name(link) || !debug_files_dir_length(path, &folder))
		return -1;
	if (n == PLACE_BESIDE)
		length = snprintf(ret, PATH_MAX, "%.*s/%s", folder, path, link);
	else if (n == PLACE_FOLDER)
		length = snprintf(ret, PATH_MAX, "%.*s/.debug/%s", folder, path, link);
	else
		length = snprintf(ret, PATH_MAX, DEBUG_FOLDER "%.*s/%s", folder, path, link);
	/* A file that names itself has nothing to add. */
	return debug_files_path_fits(length) && strcmp(ret, path) != 0 ? 1 : -1;
}

int debug_files_alternate_path(const char *path, const struct worker_image *image, unsigned n,
			       char ret[PATH_MAX], enum debug_found *ret_found)
{
	const char *link = image->alternate, *rest = strstr(link, "/.dwz/");
	int folder, length;

	if (n >= N_ALTERNATES || !*link)
		return 0;
	*ret_found = n == ALTERNATE_BUILD_ID ? DEBUG_FOUND_BUILD_ID : DEBUG_FOUND_PATH;
	if (n == ALTERNATE_BUILD_ID)
		return build_id_path(image->alternate_id, image->alternate_id_length, ret) ? 1 : -1;
	/* Without such a folder in it, its name alone. */
	rest = rest ? rest + strlen("/.dwz/") : strrchr(link, '/') ? strrchr(link, '/') + 1 : link;
	if (n == ALTERNATE_DWZ && !*rest)
		return -1;
	if (n == ALTERNATE_DWZ)
		length = snprintf(ret, PATH_MAX, DWZ_FOLDER "%s", rest);
	else if (*link == '/')
		length = snprintf(ret, PATH_MAX, "%s", link);
	else if (debug_files_dir_length(path, &folder))
		length = snprintf(ret, PATH_MAX, "%.*s/%s", folder, path, link);
	else
		return -1;
	return debug_files_path_fits(length) && (n == ALTERNATE_PATH || strcmp(ret, link) != 0)
		       ? 1
		       : -1;
}

static int debug_files_openat2(int root_fd, bool cross_mounts, const char *path)
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
	cleanup(closep) int named = debug_files_openat2(root_fd, cross_mounts, path);
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

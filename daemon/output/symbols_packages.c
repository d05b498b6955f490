/* SPDX-License-Identifier: MIT */
/*
 * Which version dpkg says that a program is, by the database of the machine where the program is
 * one of the machine's, else by that of the root that it was seen in: the file must still be that
 * of its path, a list of files must have the path, and the status of packages the version. Programs
 * of one root are looked for together, as their lists have to be read as a whole. All that takes
 * time is done by the opener and the image worker.
 *
 * A root may be a stranger's, who sees the host's programs there as well. So a database counts only
 * for programs of the user who owns it.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/error.h"
#include "common/order.h"
#include "common/read_end.h"
#include "daemon/output/symbols_private.h"
#include "daemon/resolve/file_opener.h"
#include "daemon/resolve/lent_fd.h"
#include "daemon/resolve/mount_root.h"
#include "daemon/resolve/package_lists.h"

#define LISTS_DIR   "/var/lib/dpkg/info"
#define STATUS      "/var/lib/dpkg/status"
#define FOUND_MAX   ((size_t)1 << 20) /* bytes of what is found in lists */
#define PACKAGE_MAX 128               /* bytes of a package's name */
/* Of one search: with both of their paths. */
#define PROGRAMS_MAX (PACKAGE_LISTS_PATHS_MAX / 2)
#define PATHS_BYTES  (PATH_MAX - sizeof(LISTS_DIR) - 1)

/* A program whose file is in its place. */
struct packaged {
	struct symbols_package *of;
	uid_t uid; /* of the file */
	char other[PATH_MAX];
	char package[PACKAGE_MAX]; /* "": none has it */
};

struct package_search_of_root {
	struct debug_finder *finder;
	struct mount_root *root;
	int root_fd;
	bool is_given_up; /* there may be an answer later */
	struct packaged all[PROGRAMS_MAX];
	size_t n;
	char paths[PATHS_BYTES + 1];
};

/* The same file where /bin and others are links into /usr, or are none: "" there is no such. */
static void package_other_path(const char *path, char ret[PATH_MAX])
{
	static const char *const merged[] = {"/bin/", "/sbin/", "/lib/", "/lib32/", "/lib64/"};
	const bool is_usr = strncmp(path, "/usr/", 5) == 0;
	const char *rest = is_usr ? path + 4 : path;

	ret[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(merged); i++)
		if (strncmp(rest, merged[i], strlen(merged[i])) == 0)
			snprintf(ret, PATH_MAX, "%s%s", is_usr ? "" : "/usr", rest);
}

static bool is_below(const char *path, const char *directory)
{
	return strncmp(path, directory, strlen(directory)) == 0;
}

bool symbols_may_be_packaged(const char *path)
{
	static const char *const places[] = {"/usr/", "/opt/", "/bin/", "/sbin/", "/lib"};

	if (strchr(path, '\n') || is_below(path, "/usr/local/"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (is_below(path, places[i]))
			return true;
	return false;
}

/* --- questions -------------------------------------------------------------------------------- */

/* Returns the fd or -1. @paths NULL: the file @path; else lines of the lists in @path. */
static int ask_root(struct package_search_of_root *s, const char *path, const char *paths)
{
	struct root_question q = {.finder = s->finder,
				  .root = s->root,
				  .where = MOUNT_ROOT_PACKAGES};
	int fd = -1, r;

	if (root_question_begin(&q)) {
		r = paths ? file_opener_search_lists(s->finder->opener, s->root_fd, path, paths,
						     q.flags, &fd)
			  : file_opener_open(s->finder->opener, s->root_fd, path, q.flags, &fd);
		root_question_end(&q, r);
	}
	s->is_given_up |= q.is_given_up;
	return fd;
}

/* Whether the file at the program's path is the program, and not its successor; *ret: its owner. */
static bool is_in_its_place(struct package_search_of_root *s, const struct image *program,
			    uid_t *ret)
{
	cleanup(closep) int own = image_borrow_file(program);
	cleanup(closep) int there = own < 0 ? -1 : ask_root(s, program->path, NULL);
	struct statx a, b;

	if (there < 0 || !mount_root_stat(own, &a) || !mount_root_stat(there, &b))
		return false;
	*ret = b.stx_uid;
	return mount_root_is_same_file(&a, &b);
}

/* Adds it to the search. False: there is no more room. */
static bool add_program(struct package_search_of_root *s, struct symbols_package *of, size_t *n)
{
	struct packaged *p = &s->all[s->n];
	const char *path = of->program->path;
	size_t length;

	if (s->n == PROGRAMS_MAX)
		return false;
	*p = (struct packaged){.of = of};
	package_other_path(path, p->other);
	length = strlen(path) + 1 + strlen(p->other) + 1;
	if (length > PATHS_BYTES)
		return true;
	if (length > PATHS_BYTES - *n)
		return false;
	if (is_in_its_place(s, of->program, &p->uid)) {
		*n += (size_t)snprintf(s->paths + *n, sizeof(s->paths) - *n, "%s\n%s\n", path,
				       p->other);
		s->n++;
	}
	return true;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* The first package that has a path is its owner. */
static void use_list(struct package_search_of_root *s, struct span package, struct span path)
{
	for (size_t i = 0; i < s->n; i++) {
		struct packaged *p = &s->all[i];

		if (!p->package[0] && package.length < sizeof(p->package) &&
		    (span_is(path, p->of->program->path) || span_is(path, p->other)))
			memcpy(p->package, package.at, package.length);
	}
}

static int find_packages(struct package_search_of_root *s)
{
	cleanup(closep) int fd = s->n ? ask_root(s, LISTS_DIR, s->paths) : -1;
	cleanup(freep) uint8_t *text = NULL;
	struct span rest = {0}, package, path;
	int r = fd < 0 ? 0 : read_end(fd, FOUND_MAX, &text, &rest.length);

	if (r || !text)
		return r < 0 ? r : 0;
	rest.at = (const char *)text;
	while (package_lists_take(&rest, &package, &path))
		use_list(s, package, path);
	return 0;
}

/* Asks for the versions of those packages that @owner's programs are of. */
static int ask_for_versions(struct package_search_of_root *s, int status_fd, uid_t owner)
{
	struct packaged *asked[PROGRAMS_MAX];
	char names[PROGRAMS_MAX * PACKAGE_MAX];
	const char *versions;
	size_t n = 0, length = 0;
	int r;

	for (size_t i = 0; i < s->n; i++) {
		struct packaged *p = &s->all[i];

		if (!p->package[0] || p->uid != owner)
			continue;
		length += strlen(strcpy(names + length, p->package)) + 1;
		asked[n++] = p;
	}
	r = n ? asker_ask_packages(s->finder->asker, status_fd, names, length, n, &versions)
	      : ASK_NOT_NOW;
	s->is_given_up |= n && r == ASK_NOT_NOW;
	for (size_t i = 0; i < n && r == ASK_OK; i++, versions += strlen(versions) + 1)
		text_clean(versions, strlen(versions), asked[i]->of->version,
			   sizeof(asked[i]->of->version) - 1);
	return r < 0 ? r : 0;
}

static int find_versions(struct package_search_of_root *s)
{
	cleanup(closep) int fd = -1;
	struct statx status;
	bool any = false;

	for (size_t i = 0; i < s->n; i++)
		any |= s->all[i].package[0];
	fd = any ? ask_root(s, STATUS, NULL) : -1;
	if (fd < 0 || !mount_root_stat(fd, &status))
		return 0;
	return ask_for_versions(s, fd, status.stx_uid);
}

/* --- roots ------------------------------------------------------------------------------------ */

/* As many of @all as fit into one search; *ret_taken. */
static int look_for_some(struct package_search_of_root *s, struct symbols_package *all, size_t n,
			 size_t *ret_taken)
{
	size_t taken = 0, n_bytes = 0;
	int r;

	s->n = 0;
	while (taken < n && add_program(s, &all[taken], &n_bytes))
		taken++;
	r = find_packages(s) ?: find_versions(s);
	for (size_t i = 0; i < taken; i++)
		all[i].is_known = !s->is_given_up;
	*ret_taken = taken;
	return r;
}

static int look_in_root(struct debug_finder *f, struct mount_root *root,
			struct symbols_package *all, size_t n)
{
	cleanup(freep) struct package_search_of_root *s = NULL;
	cleanup(closep) int root_fd = -1;
	size_t taken;
	int r = 0;

	if (root && f->opener)
		root_fd = lent_fd_borrow(&root->fd);
	if (root_fd < 0) {
		for (size_t i = 0; i < n; i++)
			all[i].is_known = true;
		return 0;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return error_origin(-ENOMEM);
	s->finder = f;
	s->root = root;
	s->root_fd = root_fd;
	for (size_t i = 0; i < n && !r && !s->is_given_up; i += taken)
		r = look_for_some(s, all + i, n - i, &taken);
	return r;
}

/* Of what the machine's database cannot say now, the program's own may know. */
static bool has_answer(const struct symbols_package *p)
{
	return p->version[0] || (!p->is_known && !p->host_is_slow);
}

/* Those that have no answer yet are first, by the roots that they were seen in. */
DEFINE_ORDER(compare_packages, struct symbols_package,
	     order_of(has_answer(x), has_answer(y))
		     ?: order_of((uintptr_t)x->program->root, (uintptr_t)y->program->root))

int debug_finder_find_packages(struct debug_finder *f, struct symbols_package *all, size_t n)
{
	int r = look_in_root(f, f->host, all, n);

	for (size_t i = 0; i < n; i++)
		all[i].host_is_slow = !all[i].is_known && all[i].program->root != f->host;
	if (n)
		qsort(all, n, sizeof(*all), compare_packages);
	for (size_t i = 0, end; i < n && !r && !has_answer(&all[i]); i = end) {
		struct mount_root *root = all[i].program->root;

		for (end = i + 1;
		     end < n && all[end].program->root == root && !has_answer(&all[end]); end++)
			;
		if (root != f->host)
			r = look_in_root(f, root, all + i, end - i);
	}
	for (size_t i = 0; i < n; i++)
		all[i].is_known &= all[i].version[0] || !all[i].host_is_slow;
	return r;
}

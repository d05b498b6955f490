/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/package_lists.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/helper/memory_file.h"
#include "common/worker/debug_files.h"

/* Of all lists together: ten times those of a large desktop. */
#define LISTS_MAX      65536u
#define LISTS_MAX_SIZE ((uint64_t)512 << 20)
#define PIECE_BYTES    16384u

static const char suffix[] = ".list";

void package_paths_set(struct package_paths *p, const char *lines)
{
	struct span rest = {lines, strlen(lines)}, path;

	memset(p, 0, sizeof(*p));
	while (p->n < PACKAGE_LISTS_PATHS_MAX && span_cut(&rest, '\n', &path)) {
		if (!path.length)
			continue;
		p->all[p->n++] = path;
		p->has_length[path.length % ARRAY_SIZE(p->has_length)] = true;
	}
}

bool package_paths_has(const struct package_paths *p, struct span line)
{
	if (!p->has_length[line.length % ARRAY_SIZE(p->has_length)])
		return false;
	for (size_t i = 0; i < p->n; i++)
		if (p->all[i].length == line.length &&
		    memcmp(p->all[i].at, line.at, line.length) == 0)
			return true;
	return false;
}

/* --- reading lists ---------------------------------------------------------------------------- */

struct package_search {
	struct package_paths paths;
	struct line_reader lines;
	int dir_fd, to;
	bool cross_mounts;
	uint64_t n_bytes;
	size_t n_lists;
	char piece[PIECE_BYTES];
};

static int package_search_look_at(struct package_search *s, const char *list, struct span line)
{
	if (!package_paths_has(&s->paths, line))
		return 0;
	return memory_file_write(s->to, list, strlen(list))
		       ?: memory_file_write(s->to, "\t", 1)
		       ?: memory_file_write(s->to, line.at, line.length)
		       ?: memory_file_write(s->to, "\n", 1);
}

static int package_search_read(struct package_search *s, const char *list, int fd)
{
	struct span line;
	ssize_t n;
	int r = 0;

	while (!r && s->n_bytes < LISTS_MAX_SIZE && (n = read(fd, s->piece, PIECE_BYTES)) > 0) {
		struct span piece = {s->piece, (size_t)n};

		s->n_bytes += (uint64_t)n;
		while (!r && line_reader_next(&s->lines, &piece, &line))
			r = package_search_look_at(s, list, line);
	}
	if (line_reader_end(&s->lines, &line) && !r)
		r = package_search_look_at(s, list, line);
	return r;
}

/* deb-control(5): lower-case letters, digits and "+-.", and an architecture behind a colon. */
static bool is_package_name(struct span name)
{
	static const char other[] = "abcdefghijklmnopqrstuvwxyz0123456789+-.:";

	for (size_t i = 0; i < name.length; i++)
		if (!memchr(other, name.at[i], sizeof(other) - 1))
			return false;
	return name.length > 0;
}

static bool is_package_list(struct span name)
{
	if (!span_ends(name, suffix))
		return false;
	name.length -= strlen(suffix);
	return is_package_name(name);
}

static int package_search_open(struct package_search *s, const char *list)
{
	cleanup(closep) int named = -1;
	cleanup(closep) int fd = -1;

	if (!is_package_list((struct span){list, strlen(list)}) || s->n_lists == LISTS_MAX)
		return 0;
	s->n_lists++;
	named = debug_files_open_path(s->dir_fd, s->cross_mounts, list);
	fd = named < 0 ? -1 : debug_files_reopen(named);
	return fd < 0 ? 0 : package_search_read(s, list, fd);
}

int package_lists_search(int dir_fd, bool cross_mounts, const char *paths, int to)
{
	_Alignas(struct dirent64) char entries[4096];
	struct package_search s = {.dir_fd = dir_fd, .to = to, .cross_mounts = cross_mounts};
	const struct dirent64 *entry;
	long n;
	int r = 0;

	package_paths_set(&s.paths, paths);
	/* getdents64(2), which the C library gives this type. */
	while (!r && (n = syscall(SYS_getdents64, dir_fd, entries, sizeof(entries))) > 0)
		for (long at = 0; !r && at < n; at += entry->d_reclen) {
			entry = (const struct dirent64 *)(entries + at);
			r = package_search_open(&s, entry->d_name);
		}
	return r;
}

bool package_lists_take(struct span *text, struct span *ret_package, struct span *ret_path)
{
	struct span line;

	if (!span_cut(text, '\n', &line))
		return false;
	span_cut(&line, '\t', ret_package);
	*ret_path = line;
	if (!is_package_list(*ret_package) || !line.length)
		return false;
	ret_package->length -= strlen(suffix);
	return true;
}

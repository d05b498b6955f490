/* SPDX-License-Identifier: MIT */
/*
 * Names of files are split at slashes and compared part by part; nothing is looked up on disk.
 * First what stands before the known part goes, then what is left is made as short as it can be.
 */
#include "client/analysis/source_path.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The next entry of a list; NULL at its end. An empty entry is one, too. */
static const char *next_entry(const char **list, size_t *ret_length)
{
	const char *entry = *list;

	if (!entry)
		return NULL;
	*ret_length = strcspn(entry, ":");
	*list = entry[*ret_length] ? entry + *ret_length + 1 : NULL;
	return entry;
}

/* Where the directory name of @length bytes stands in @path between slashes; behind it, or NULL. */
static const char *path_after_directory(const char *path, const char *name, size_t length)
{
	for (const char *c = strchr(path, '/'); c; c = strchr(c + 1, '/'))
		if (strncmp(c + 1, name, length) == 0 && c[1 + length] == '/')
			return c + length + 2;
	return NULL;
}

/* @path behind one of the directories of @list (NULL: none) and its slash, or NULL. */
static const char *path_below_any(const char *path, const char *list)
{
	const char *entry;
	size_t length;

	while ((entry = next_entry(&list, &length))) {
		while (length && entry[length - 1] == '/')
			length--;
		if (strncmp(path, entry, length) == 0 && path[length] == '/')
			return path + length + 1;
	}
	return NULL;
}

const char *source_path_trim(const char *path, const char *trim_path, const char *source_path)
{
	const char *entry, *rest;
	size_t length;

	if (!trim_path || !*trim_path) {
		const char *list = source_path && *source_path ? source_path : NULL;

		trim_path = NULL;
		while ((entry = next_entry(&list, &length))) {
			size_t start;

			while (length > 1 && entry[length - 1] == '/')
				length--;
			for (start = length; start && entry[start - 1] != '/'; start--)
				continue;
			rest = length > start
				       ? path_after_directory(path, entry + start, length - start)
				       : NULL;
			if (rest)
				return rest;
		}
	}
	rest = path_below_any(path, trim_path);
	if (!rest)
		rest = path_below_any(path, "/proc/self/cwd/.:/proc/self/cwd");
	return rest ? rest : path;
}

/* Takes the last part of the @n bytes of @out off, down to @root; false: there is none to take. */
static bool remove_last_component(const char *out, size_t *n, size_t root)
{
	if (*n <= root)
		return false;
	if (*n - root >= 2 && strncmp(out + *n - 2, "..", 2) == 0 &&
	    (*n - root == 2 || out[*n - 3] == '/'))
		return false;
	while (*n > root && out[*n - 1] != '/')
		--*n;
	if (*n > root)
		--*n;
	return true;
}

char *source_path_clean(const char *path)
{
	char *out = malloc(strlen(path) + 2);
	size_t root = *path == '/', n = root;

	if (!out)
		return NULL;
	if (root)
		out[0] = '/';
	while (*path) {
		size_t length = strcspn(path, "/");
		bool is_up = length == 2 && strncmp(path, "..", 2) == 0;
		bool is_nothing = !length || (length == 1 && *path == '.');

		if (is_up && (remove_last_component(out, &n, root) || root))
			is_nothing = true;
		if (!is_nothing) {
			if (n > root)
				out[n++] = '/';
			memcpy(out + n, path, length);
			n += length;
		}
		path += length;
		path += *path == '/';
	}
	if (!n)
		out[n++] = '.';
	out[n] = '\0';
	return out;
}

/* SPDX-License-Identifier: MIT */
#include "client/symbolize/debug_package.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/read_end.h"
#include "common/text_print.h"

#define LIST_MAX (8u << 20) /* bytes */

/*
 * Of the package whose list is the file @list. Most have one that ends in -dbgsym; the others had
 * one of their own before debhelper made those.
 */
static char *debug_package_name(const char *list)
{
	int length = (int)(strstr(list, ".list") - list), version = 0;
	const char *colon = memchr(list, ':', (size_t)length);
	const char *python = list + (strncmp(list, "lib", 3) == 0 ? 3 : 0);
	char *name;

	if (colon)
		length = (int)(colon - list);
	if (length == 5 && strncmp(list, "libc6", 5) == 0)
		(void)text_print(&name, "libc6-dbg");
	else if (sscanf(python, "python3.%d", &version) == 1)
		(void)text_print(&name, "python3.%d-dbg", version);
	else
		(void)text_print(&name, "%.*s-dbgsym", length, list);
	return name;
}

/*
 * Whether @list has a file below / or /usr, whose name there @line is, with the line's end. Since
 * the two were merged it is found in both, and its package knows one.
 */
static bool debug_package_lists(const char *list, const char *line)
{
	static const char usr[] = "\n/usr";
	const size_t n = sizeof(usr) - 1;

	for (const char *at = list; (at = strstr(at, line)); at++)
		if (at > list &&
		    (at[-1] == '\n' || ((size_t)(at - list) >= n && memcmp(at - n, usr, n) == 0)))
			return true;
	return false;
}

static bool debug_package_is_list(const char *name)
{
	size_t length = strlen(name);

	return length > 5 && strstr(name, ".list") == name + length - 5;
}

char *debug_package_of_file(int root_fd, const char *path)
{
	int fd = openat(root_fd, "var/lib/dpkg/info", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	cleanup(freep) char *line = NULL;
	const struct dirent *entry;
	char *package = NULL;

	if (!dir) {
		closep(&fd);
		return NULL;
	}
	(void)text_print(&line, "%s\n", path + (strncmp(path, "/usr/", 5) == 0 ? 4 : 0));
	while (line && !package && (entry = readdir(dir))) {
		cleanup(freep) char *list = NULL;
		size_t length;

		if (debug_package_is_list(entry->d_name) &&
		    read_end_text(fd, entry->d_name, LIST_MAX, &list, &length) == 0 &&
		    debug_package_lists(list, line))
			package = debug_package_name(entry->d_name);
	}
	closedir(dir);
	return package;
}

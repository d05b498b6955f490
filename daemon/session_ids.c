/* SPDX-License-Identifier: MIT */
#include "daemon/session_ids.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/xattr.h>

#include "common/cleanup.h"

#define FOLDER    "sessions"
#define ATTRIBUTE "user.profd.last-session"

static int session_ids_open_dir(int store_fd)
{
	return openat(store_fd, FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

uint64_t session_ids_next(int store_fd)
{
	cleanup(closep) int fd = session_ids_open_dir(store_fd);
	uint64_t last = 0, id;
	struct dirent *entry;
	char text[24];
	ssize_t n;
	DIR *dir;

	if (fd < 0)
		return 1;
	n = fgetxattr(fd, ATTRIBUTE, text, sizeof(text) - 1);
	if (n > 0) {
		text[n] = '\0';
		if (sscanf(text, "%" SCNu64, &id) == 1)
			last = id;
	}
	dir = fdopendir(fd);
	if (!dir)
		return last + 1;
	steal_fd(&fd);
	while ((entry = readdir(dir)))
		if (sscanf(entry->d_name, "s%" SCNu64 "-", &id) == 1 && id > last)
			last = id;
	closedir(dir);
	return last + 1;
}

void session_ids_used(int store_fd, uint64_t id)
{
	cleanup(closep) int fd = session_ids_open_dir(store_fd);
	char text[24];
	int n;

	if (fd < 0)
		return;
	n = snprintf(text, sizeof(text), "%" PRIu64, id);
	fsetxattr(fd, ATTRIBUTE, text, (size_t)n, 0);
}

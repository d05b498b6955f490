/* SPDX-License-Identifier: MIT */
#include "daemon/session_ids.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "daemon/output/store.h"

#define SESSIONS  "sessions"
#define ATTRIBUTE "user.profd.last-session"

static int session_ids_open_dir(int store_fd)
{
	return openat(store_fd, SESSIONS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

uint64_t session_ids_next(int store_fd)
{
	cleanup(closep) int fd = session_ids_open_dir(store_fd);
	uint64_t last, id;
	struct dirent *entry;
	DIR *dir;

	if (fd < 0)
		return 1;
	last = store_get_number(fd, ATTRIBUTE);
	if (last == UINT64_MAX)
		last = 0;
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

	if (fd >= 0)
		store_set_number(fd, ATTRIBUTE, id);
}

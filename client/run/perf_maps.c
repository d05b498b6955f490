/* SPDX-License-Identifier: MIT */
#include "client/run/perf_maps.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"

int perf_map_open(const char *dir, int pid, uint64_t start_ns)
{
	cleanup(closep) int fd = -1;
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/perf-%d.map", dir, pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_mtim.tv_sec < (time_t)(start_ns / NS_PER_S))
		return -1;
	return steal_fd(&fd);
}

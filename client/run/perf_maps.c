/* SPDX-License-Identifier: MIT */
#include "client/run/perf_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/partition_point.h"
#include "common/room.h"

#define FILES_MAX 64 /* further processes that generate code have no names in it */

struct perf_maps_place {
	uint32_t mapping; /* ascending */
	int file;
};

struct perf_maps {
	char dir[64];
	uint64_t start_ns;
	unsigned n_files;
	int files[FILES_MAX];
	struct perf_maps_place *places;
	size_t n_places, max_places;
};

int perf_maps_new(struct perf_maps **ret, const char *dir, uint64_t start_ns)
{
	struct perf_maps *p = calloc(1, sizeof(*p));

	if (!p)
		return error_origin(-ENOMEM);
	snprintf(p->dir, sizeof(p->dir), "%s", dir);
	p->start_ns = start_ns;
	*ret = p;
	return 0;
}

void perf_maps_free(struct perf_maps *p)
{
	if (!p)
		return;
	for (unsigned i = 0; i < p->n_files; i++)
		close(p->files[i]);
	free(p->places);
	free(p);
}

static bool perf_map_is_accepted(const struct perf_maps *p, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	       st.st_mtim.tv_sec >= (time_t)(p->start_ns / 1000000000);
}

bool perf_maps_open(struct perf_maps *p, int pid)
{
	char path[128];
	int fd;

	if (p->n_files == FILES_MAX)
		return false;
	snprintf(path, sizeof(path), "%s/perf-%d.map", p->dir, pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || !perf_map_is_accepted(p, fd)) {
		closep(&fd);
		return false;
	}
	p->files[p->n_files++] = fd;
	return true;
}

int perf_maps_add(struct perf_maps *p, uint32_t mapping)
{
	return room_append(&p->places, &p->max_places, &p->n_places,
			   (struct perf_maps_place){mapping, p->files[p->n_files - 1]});
}

int perf_maps_find(const struct perf_maps *p, uint32_t mapping)
{
	size_t at = partition_point(p->n_places, i, p->places[i].mapping < mapping);

	return at < p->n_places && p->places[at].mapping == mapping ? p->places[at].file : -1;
}

/* SPDX-License-Identifier: MIT */
#include "daemon/output/file_counts.h"

#include <fcntl.h>

#include "daemon/output/encoders.h"

#define READ_MAX 500 /* files whose samples are counted by reading them, in one answer */

static int file_counts_open(const struct store *store, const char *path)
{
	return openat(store->fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static bool file_counts_of_attributes(int fd, struct index_counts *ret)
{
	if (store_get_counts(fd, STORE_COUNTS_ATTRIBUTE, ret, 1))
		return true;
	*ret = (struct index_counts){
		.samples = store_get_number(fd, STORE_SAMPLES_ATTRIBUTE),
		.cpu_ns = store_get_number(fd, STORE_CPU_ATTRIBUTE),
	};
	return ret->samples != INDEX_SAMPLES_UNKNOWN && ret->cpu_ns != UINT64_MAX;
}

bool file_counts_read(const struct store *store, const char *path, struct index_counts *ret)
{
	cleanup(closep) int fd = file_counts_open(store, path);

	return fd >= 0 && file_counts_of_attributes(fd, ret);
}

char *file_counts_events(const struct store *store, const char *path)
{
	cleanup(closep) int fd = file_counts_open(store, path);

	return fd >= 0 ? store_get_events(fd) : NULL;
}

int file_counts_know(struct file_counts *c, const char *path, unsigned format,
		     struct index_file *file)
{
	cleanup(closep) int fd = -1;
	struct index_counts counts;
	int r = 0;

	if (file->counts.samples != INDEX_SAMPLES_UNKNOWN)
		return 0;
	fd = file_counts_open(c->store, path);
	if (fd < 0) /* it was removed */
		return 0;
	if (!file_counts_of_attributes(fd, &counts)) {
		if (c->n_read++ >= READ_MAX) {
			c->n_unread++;
			return 0;
		}
		r = encoders_count(c->store, path, format, &counts);
	}
	if (!r)
		file->counts = counts;
	return r;
}

bool file_counts_find_hours(const struct file_counts *c, const char *path,
			    const struct index_file *file, struct index_counts ret[STORE_HOURS])
{
	cleanup(closep) int fd = -1;

	if (file->seconds != NAMES_ROLLED_DAY_S)
		return false;
	fd = file_counts_open(c->store, path);
	return fd >= 0 && store_get_counts(fd, STORE_HOURS_ATTRIBUTE, ret, STORE_HOURS);
}

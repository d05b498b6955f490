/* SPDX-License-Identifier: MIT */
/*
 * The epoch in use is a name and a beginning. epochs_select() and epochs_begin() decide whether it
 * is continued; a new one takes the first minute from then on that names no epoch yet.
 */
#include "daemon/output/epochs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/error.h"
#include "common/profile/image_profile.h"
#include "common/profile/windows.h"

#define DAY_S         86400u
#define FILE_SIZE_MAX (UINT64_C(1) << 30)

void epochs_deinit(struct epochs *epochs)
{
	free(steal_ptr(&epochs->event));
	free(steal_ptr(&epochs->ledger));
	epochs->period = 0;
	epochs->other_boot = false;
}

static bool epochs_is_name_taken(const struct epochs *epochs, const char *name)
{
	for (size_t i = 0; i < epochs->index->n_epochs; i++)
		if (strcmp(epochs->index->epochs[i].name, name) == 0)
			return true;
	return false;
}

static void epochs_start_new(struct epochs *epochs, uint64_t begin_s)
{
	epochs_deinit(epochs);
	epochs->begin_s = begin_s - begin_s % 60;
	names_epoch(epochs->begin_s, epochs->name);
	while (epochs_is_name_taken(epochs, epochs->name)) {
		epochs->begin_s += 60;
		names_epoch(epochs->begin_s, epochs->name);
	}
}

/* Takes event, period and ledger from the file that was written last. */
static int epochs_read_last_file(struct epochs *epochs, int dir, const char *name)
{
	cleanup(image_profile_freep) struct image_profile *p = NULL;
	cleanup(freep) uint8_t *data = NULL;
	struct profile_message message;
	size_t length;
	int r;

	r = store_read(dir, name, FILE_SIZE_MAX, &data, &length);
	if (r)
		return r < 0 ? r : 0;
	r = image_profile_read(data, length, &p, &message);
	if (r < 0)
		return r;
	if (r) /* damaged: epochs_select() then begins another one */
		return 0;
	epochs->event = steal_ptr(&p->event);
	epochs->ledger = steal_ptr(&p->ledger);
	epochs->period = p->period;
	return 0;
}

static bool stat_is_newer(const struct stat *a, const struct stat *b)
{
	if (a->st_mtim.tv_sec != b->st_mtim.tv_sec)
		return a->st_mtim.tv_sec > b->st_mtim.tv_sec;
	return a->st_mtim.tv_nsec > b->st_mtim.tv_nsec;
}

/* The name of the newest regular file in @dir; "" if there is none. */
static void find_newest_file(DIR *dir, char *ret, size_t size)
{
	struct stat st, newest = {0};
	struct dirent *e;

	ret[0] = '\0';
	while ((e = readdir(dir))) {
		if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode) || strlen(e->d_name) >= size)
			continue;
		if (ret[0] && !stat_is_newer(&st, &newest))
			continue;
		newest = st;
		memcpy(ret, e->d_name, strlen(e->d_name) + 1);
	}
}

/* The newest one that was begun by a clock that told about the time that it is now; or NULL. */
static const struct index_epoch *epochs_find_newest(const struct index *index, uint64_t now_s)
{
	for (size_t i = index->n_epochs; i; i--)
		if (index->epochs[i - 1].begin_s <= now_s + DAY_S)
			return &index->epochs[i - 1];
	return NULL;
}

int epochs_init(struct epochs *epochs, struct store *store, const char *host, uint64_t boot_s,
		uint64_t now_s)
{
	const struct index_epoch *newest;
	char path[STORE_PATH_SIZE], name[256];
	DIR *dir;
	int r;

	*epochs = (struct epochs){.index = &store->index};
	newest = epochs_find_newest(&store->index, now_s);
	if (!newest)
		return 0;
	memcpy(epochs->name, newest->name, sizeof(epochs->name));
	epochs->begin_s = newest->begin_s;

	/* A name has minutes: an epoch of the minute of the start may be of either boot. */
	epochs->other_boot = newest->begin_s + 60 <= boot_s;
	if (epochs->other_boot)
		return 0;
	snprintf(path, sizeof(path), "images/%s/%s", newest->name, host);
	dir = store_open_to_read(store->fd, path);
	if (!dir)
		return errno == ENOMEM ? error_origin(-ENOMEM) : 0;
	find_newest_file(dir, name, sizeof(name));
	r = name[0] ? epochs_read_last_file(epochs, dirfd(dir), name) : 0;
	closedir(dir);
	return r;
}

void epochs_select(struct epochs *epochs, uint64_t start_s, const char *event, uint64_t period)
{
	bool other = epochs->event &&
		     (strcmp(epochs->event, event) != 0 || epochs->period != period);

	if (!epochs->name[0] || epochs->other_boot || other ||
	    start_s / DAY_S > epochs->begin_s / DAY_S || epochs->begin_s > start_s + DAY_S)
		epochs_abandon(epochs, start_s);
}

int epochs_add_window(struct epochs *epochs, const char *event, uint64_t period, const char *ledger)
{
	if (!epochs->event) {
		epochs->event = strdup(event);
		if (!epochs->event)
			return error_origin(-ENOMEM);
		epochs->period = period;
	}
	return ledger_line_add(&epochs->ledger, ledger);
}

void epochs_begin(struct epochs *epochs, uint64_t now_s)
{
	if (!epochs->name[0] || now_s / 60 > epochs->begin_s / 60 ||
	    epochs->begin_s > now_s + DAY_S)
		epochs_start_new(epochs, now_s);
}

void epochs_abandon(struct epochs *epochs, uint64_t start_s)
{
	uint64_t next_s = epochs->begin_s + 60;
	bool set_back = epochs->begin_s > start_s + DAY_S;

	epochs_start_new(epochs,
			 epochs->name[0] && start_s < next_s && !set_back ? next_s : start_s);
}

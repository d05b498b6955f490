/* SPDX-License-Identifier: MIT */
/*
 * Two levels of directories, EPOCH/PLATFORM, whose names are read and sorted; files are gathered
 * one after the other, so that memory is bounded by one profile.
 */
#include "client/images/database.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "common/entries.h"
#include "common/error.h"
#include "common/profile/pprof.h"
#include "common/read_end.h"
#include "common/text_print.h"

#define BYTES_MAX ((size_t)256 << 20) /* of a profile */
#define DAY_S     86400

struct database {
	char *path;
	struct entries epochs;
};

#define FAIL(...) profile_refuse(message, DATABASE_E_FAILED, __VA_ARGS__)

void database_free(struct database *db)
{
	if (!db)
		return;
	entries_deinit(&db->epochs);
	free(db->path);
	free(db);
}

/* Epochs with the century and those without in one order. */
static const char *short_epoch(const char *name)
{
	return strlen(name) == 14 ? name + 2 : name;
}

bool database_is_epoch_name(const char *name)
{
	size_t length = strlen(name);

	return name[strspn(name, "0123456789")] == '\0' &&
	       (length == 10 || length == 12 || length == 14);
}

static int database_is_epoch(const struct dirent *entry)
{
	return database_is_epoch_name(entry->d_name);
}

static int database_compare_epochs(const struct dirent **a, const struct dirent **b)
{
	return strcmp(short_epoch((*a)->d_name), short_epoch((*b)->d_name));
}

static int database_refuse_errno(struct profile_message *message, const char *path, int error)
{
	if (error < 0)
		return error;
	if (error == EACCES || error == EPERM)
		return profile_refuse(message, DATABASE_E_DENIED,
				      "%s may not be read by you; root and the members of its "
				      "group may, for profd's store that is the group profd",
				      path);
	if (error == ENOENT)
		return FAIL("there is no %s; --db says where image profiles lie", path);
	return FAIL("%s: %s", path, strerrordesc_np(error));
}

int database_open(struct database **ret, const char *path, struct profile_message *message)
{
	cleanup(database_freep) struct database *db = calloc(1, sizeof(*db));
	int r;

	if (!db)
		return error_origin(-ENOMEM);
	db->path = strdup(path);
	if (!db->path)
		return error_origin(-ENOMEM);
	r = entries_read(&db->epochs, path, database_is_epoch, database_compare_epochs);
	if (r)
		return database_refuse_errno(message, path, r);
	*ret = steal_ptr(&db);
	return DATABASE_E_OK;
}

const char *database_newest(const struct database *db, uint64_t now_s)
{
	time_t limit = (time_t)now_s + DAY_S;
	char text[32];
	struct tm tm;

	if (!db->epochs.n)
		return NULL;
	gmtime_r(&limit, &tm);
	strftime(text, sizeof(text), "%Y%m%d%H%M", &tm); /* but for the century */
	for (int i = db->epochs.n; i-- > 0;)
		if (strcmp(short_epoch(db->epochs.all[i]->d_name), text + 2) <= 0)
			return db->epochs.all[i]->d_name;
	return db->epochs.all[db->epochs.n - 1]->d_name;
}

/* Returns DATABASE_E_* or negative errno. */
static int database_read_profile(int fd, struct image_profile **ret,
				 struct profile_message *message)
{
	cleanup(freep) uint8_t *data = NULL;
	size_t length;
	int r;

	r = read_end(fd, BYTES_MAX, &data, &length);
	if (r == EFBIG)
		return FAIL("larger than %zu MiB", BYTES_MAX >> 20);
	if (r)
		return r < 0 ? r : FAIL("%s", strerrordesc_np(r));
	r = image_profile_read(data, length, ret, message);
	return r > 0 ? DATABASE_E_FAILED : r;
}

int database_read_file(const char *path, struct image_profile **ret,
		       struct profile_message *message)
{
	cleanup(closep) int fd = strcmp(path, "-") == 0
					 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
					 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return profile_refuse(message,
				      errno == EACCES ? DATABASE_E_DENIED : DATABASE_E_FAILED, "%s",
				      strerrordesc_np(errno));
	return database_read_profile(fd, ret, message);
}

static int database_read_entry(const char *platform, const char *name, struct image_set *set,
			       struct notes *notes)
{
	cleanup(image_profile_freep) struct image_profile *p = NULL;
	struct profile_message message = {.text = "not a regular file"};
	cleanup(freep) char *path = NULL;
	cleanup(closep) int fd = -1;
	struct stat st;
	int r = DATABASE_E_FAILED;

	if (text_print(&path, "%s/%s", platform, name))
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		r = profile_refuse(&message, r, "%s", strerrordesc_np(errno));
	else if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		r = database_read_profile(fd, &p, &message);
	if (!r)
		return image_set_add(set, name, p);
	if (r > 0)
		notes_add(notes, "%s: left out: %s", path, message.text);
	return r < 0 ? r : 0;
}

static int read_platform(const char *epoch, const char *name, struct image_set *set,
			 struct notes *notes)
{
	cleanup(entries_deinit) struct entries names = {0};
	cleanup(freep) char *path = NULL;
	int r = text_print(&path, "%s/%s", epoch, name)
			?: entries_read(&names, path, entries_is_visible, alphasort);

	if (r < 0)
		return r;
	if (r)
		notes_add(notes, "%s: left out: %s", path, strerrordesc_np(r));
	r = 0;
	for (int i = 0; !r && i < names.n; i++)
		r = database_read_entry(path, names.all[i]->d_name, set, notes);
	return r;
}

static int database_read_epoch(const struct database *db, const char *epoch, struct image_set *set,
			       struct notes *notes, struct profile_message *message)
{
	cleanup(entries_deinit) struct entries platforms = {0};
	cleanup(freep) char *path = NULL;
	int r = text_print(&path, "%s/%s", db->path, epoch)
			?: entries_read(&platforms, path, entries_is_visible, alphasort);

	if (r == ENOENT)
		return profile_refuse(message, DATABASE_E_GONE, "%s has no epoch %s", db->path,
				      epoch);
	if (r)
		return database_refuse_errno(message, path, r);
	for (int i = 0; !r && i < platforms.n; i++)
		r = read_platform(path, platforms.all[i]->d_name, set, notes);
	return r;
}

int database_read(const struct database *db, const char *epoch, struct image_set *set,
		  struct notes *notes, struct profile_message *message)
{
	int r = 0;

	if (strcmp(epoch, DATABASE_ALL) != 0)
		return database_read_epoch(db, epoch, set, notes, message);
	for (int i = 0; !r && i < db->epochs.n; i++) {
		r = database_read_epoch(db, db->epochs.all[i]->d_name, set, notes, message);
		/* profd has deleted it meanwhile. */
		if (r == DATABASE_E_GONE)
			r = 0;
	}
	return r;
}

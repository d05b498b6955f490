/* SPDX-License-Identifier: MIT */
#include "client/images/database.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "common/error.h"
#include "common/profile/message.h"
#include "common/read_end.h"

#define BYTES_MAX ((size_t)256 << 20) /* of a profile */
#define DAY_S     86400

struct database {
	char *path;
	int fd;
	char **epochs;
	size_t n_epochs;
};

#define FAIL(...) profile_refuse(message, DATABASE_E_FAILED, __VA_ARGS__)

static void database_free_names(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

void database_free(struct database *db)
{
	if (!db)
		return;
	closep(&db->fd);
	database_free_names(db->epochs, db->n_epochs);
	free(db->path);
	free(db);
}

/* Epochs with the century and those without in one order. */
static const char *short_epoch(const char *name)
{
	return strlen(name) == 14 ? name + 2 : name;
}

static bool database_is_epoch_name(const char *name)
{
	size_t length = strlen(name);

	return name[strspn(name, "0123456789")] == '\0' &&
	       (length == 10 || length == 12 || length == 14);
}

static int database_compare_epochs(const void *a, const void *b)
{
	return strcmp(short_epoch(*(char *const *)a), short_epoch(*(char *const *)b));
}

static int database_compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What is hidden is being written. */
static bool database_is_visible_name(const char *name)
{
	return name[0] != '.';
}

/* The names in @fd, as @is_wanted has it, in the order of @compare. Returns 0 or negative errno. */
static int read_names(int fd, bool (*is_wanted)(const char *),
		      int (*compare)(const void *, const void *), char ***ret, size_t *ret_n)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t n = 0, n_allocated = 0;
	char **names = NULL;
	struct dirent *entry;
	DIR *dir;
	int r;

	dir = copy < 0 ? NULL : fdopendir(copy);
	if (!dir) {
		int e = errno;

		closep(&copy);
		return -e;
	}
	/* At the end of the folder it stays 0 (readdir(3)). */
	while (errno = 0, (entry = readdir(dir))) {
		char **grown = names;

		if (!is_wanted(entry->d_name))
			continue;
		if (n == n_allocated) {
			n_allocated = n_allocated ? 2 * n_allocated : 32;
			grown = reallocarray(names, n_allocated, sizeof(*names));
		}
		if (grown) {
			names = grown;
			names[n] = strdup(entry->d_name);
		}
		if (!grown || !names[n]) {
			database_free_names(names, n);
			closedir(dir);
			return error_origin(-ENOMEM);
		}
		n++;
	}
	r = -errno;
	closedir(dir);
	if (r) {
		database_free_names(names, n);
		return r;
	}
	if (n)
		qsort(names, n, sizeof(*names), compare);
	*ret = names;
	*ret_n = n;
	return 0;
}

static int database_refuse_errno(struct profile_message *message, const char *path, int error)
{
	char buffer[128];

	if (error == -ENOMEM)
		return error;
	if (error == -EACCES || error == -EPERM)
		return profile_refuse(message, DATABASE_E_DENIED,
				      "%s may not be read by you; root and the members of its "
				      "group may, for profd's store that is the group profd",
				      path);
	if (error == -ENOENT)
		return FAIL("there is no %s; --db says where image profiles lie", path);
	return FAIL("%s: %s", path, strerror_r(-error, buffer, sizeof(buffer)));
}

int database_open(struct database **ret, const char *path, struct profile_message *message)
{
	cleanup(database_freep) struct database *db = calloc(1, sizeof(*db));
	int r;

	if (!db)
		return error_origin(-ENOMEM);
	db->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (db->fd < 0)
		return database_refuse_errno(message, path, -errno);
	db->path = strdup(path);
	if (!db->path)
		return error_origin(-ENOMEM);
	r = read_names(db->fd, database_is_epoch_name, database_compare_epochs, &db->epochs,
		       &db->n_epochs);
	if (r)
		return database_refuse_errno(message, path, r);
	*ret = steal_ptr(&db);
	return DATABASE_E_OK;
}

const char *const *database_epochs(const struct database *db, size_t *ret_n)
{
	*ret_n = db->n_epochs;
	return (const char *const *)db->epochs;
}

const char *database_newest(const struct database *db, uint64_t now_s)
{
	time_t limit = (time_t)now_s + DAY_S;
	char text[32];
	struct tm tm;

	if (!db->n_epochs)
		return NULL;
	gmtime_r(&limit, &tm);
	strftime(text, sizeof(text), "%Y%m%d%H%M", &tm); /* but for the century */
	for (size_t i = db->n_epochs; i-- > 0;)
		if (strcmp(short_epoch(db->epochs[i]), text + 2) <= 0)
			return db->epochs[i];
	return db->epochs[db->n_epochs - 1];
}

/* Returns DATABASE_E_* or negative errno. @what: for the message. */
static int database_read_profile(int fd, struct image_profile **ret,
				 struct profile_message *message)
{
	cleanup(freep) uint8_t *data = NULL;
	char buffer[128];
	size_t length;
	int r;

	r = read_end(fd, BYTES_MAX, &data, &length);
	if (r == -EFBIG)
		return FAIL("larger than %zu MiB", BYTES_MAX >> 20);
	if (r)
		return r == -ENOMEM ? r : FAIL("%s", strerror_r(-r, buffer, sizeof(buffer)));
	r = image_profile_read(data, length, ret, message);
	return r > 0 ? DATABASE_E_FAILED : r;
}

int database_read_file(const char *path, struct image_profile **ret,
		       struct profile_message *message)
{
	cleanup(closep) int fd = strcmp(path, "-") == 0
					 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
					 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char buffer[128];

	if (fd < 0)
		return profile_refuse(message,
				      errno == EACCES ? DATABASE_E_DENIED : DATABASE_E_FAILED, "%s",
				      strerror_r(errno, buffer, sizeof(buffer)));
	return database_read_profile(fd, ret, message);
}

/* A file of one platform. */
struct place {
	const struct database *db;
	const char *epoch, *platform;
	int fd;
};

static int database_read_entry(const struct place *place, const char *name, database_visit visit,
			       void *context, struct notes *notes)
{
	cleanup(closep) int fd = openat(place->fd, name,
					O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct profile_message message = {.text = "not a regular file"};
	struct image_profile *p;
	char buffer[128];
	struct stat st;
	int r = DATABASE_E_FAILED;

	if (fd < 0)
		r = profile_refuse(&message, r, "%s", strerror_r(errno, buffer, sizeof(buffer)));
	else if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		r = database_read_profile(fd, &p, &message);
	if (!r)
		return visit(context, name, p);
	if (r > 0)
		notes_add(notes, "%s/%s/%s/%s: left out: %s", place->db->path, place->epoch,
			  place->platform, name, message.text);
	return r < 0 ? r : 0;
}

static int read_platform(struct place *place, int epoch_fd, database_visit visit, void *context,
			 struct notes *notes)
{
	cleanup(closep) int fd = openat(epoch_fd, place->platform,
					O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char **names = NULL, buffer[128];
	size_t n = 0;
	int r;

	place->fd = fd;
	r = fd < 0 ? -errno
		   : read_names(fd, database_is_visible_name, database_compare_names, &names, &n);
	if (r == -ENOMEM)
		return r;
	if (r)
		notes_add(notes, "%s/%s/%s: left out: %s", place->db->path, place->epoch,
			  place->platform, strerror_r(-r, buffer, sizeof(buffer)));
	r = 0;
	for (size_t i = 0; !r && i < n; i++)
		r = database_read_entry(place, names[i], visit, context, notes);
	database_free_names(names, n);
	return r;
}

int database_read(const struct database *db, const char *epoch, database_visit visit, void *context,
		  struct notes *notes, struct profile_message *message)
{
	cleanup(closep) int fd = openat(db->fd, epoch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct place place = {.db = db, .epoch = epoch};
	char **platforms = NULL;
	size_t n = 0;
	int r;

	r = fd < 0 ? -errno
		   : read_names(fd, database_is_visible_name, database_compare_names, &platforms,
				&n);
	if (r == -ENOENT)
		return profile_refuse(message, DATABASE_E_GONE, "%s has no epoch %s", db->path,
				      epoch);
	if (r) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", db->path, epoch);
		return database_refuse_errno(message, path, r);
	}
	for (size_t i = 0; !r && i < n; i++) {
		place.platform = platforms[i];
		r = read_platform(&place, fd, visit, context, notes);
	}
	database_free_names(platforms, n);
	return r;
}

/* SPDX-License-Identifier: MIT */
/*
 * Directories are walked by name, to a bounded depth. Of a store, the files of a service are chosen
 * by their names alone, which tell when windows began and how long they are.
 */
#include "client/report/sources.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/report/nearest.h"
#include "common/cleanup.h"
#include "common/entries.h"
#include "common/error.h"
#include "common/profile/pprof.h"
#include "common/profile/windows.h"
#include "common/room.h"
#include "common/store/names.h"

#define DEPTH_MAX 8   /* directories in directories; no circle of mounts holds us for long */
#define SHOWN     110 /* bytes of a path in a message */
#define SHOWN_MAX 90  /* of one before another message */

static void source_deinit(struct source *source)
{
	free(source->path);
	source_url_free(source->url);
	closep(&source->fd);
}

void sources_deinit(struct sources *s)
{
	for (size_t i = 0; i < s->n; i++)
		source_deinit(&s->all[i]);
	free(s->all);
}

size_t sources_drop_missing(struct sources *s)
{
	size_t n = s->n, n_kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (s->all[i].is_missing)
			source_deinit(&s->all[i]);
		else
			s->all[n_kept++] = s->all[i];
	}
	s->n = n_kept;
	return n - n_kept;
}

static int sources_append(struct sources *s, const char *path, bool is_found, bool is_whole)
{
	struct source *source;

	if (room_make(&s->all, &s->capacity, s->n + 1, sizeof(*s->all)))
		return -ENOMEM;
	source = &s->all[s->n];
	*source = (struct source){
		.path = strdup(path), .fd = -1, .is_found = is_found, .is_whole = is_whole};
	if (!source->path)
		return error_origin(-ENOMEM);
	s->n++;
	return REPORT_E_OK;
}

/* The end of a path tells more than its beginning. */
static const char *sources_path_end(const char *path, size_t max)
{
	size_t length = strlen(path);

	return length > max ? path + length - max : path;
}

int sources_name_file(const char *path, int r, struct profile_message *message)
{
	struct profile_message text = *message;

	return r > 0 ? profile_refuse(message, r, "%s: %s", sources_path_end(path, SHOWN_MAX),
				      text.text)
		     : r;
}

static int sources_refuse(struct profile_message *message, const char *path, int error)
{
	return profile_refuse(message, error == EACCES ? REPORT_E_DENIED : REPORT_E_BAD, "%s: %s",
			      sources_path_end(path, SHOWN), strerrordesc_np(error));
}

/* --- directories ------------------------------------------------------------------------------ */

static int sources_list_directory(const char *dir, struct entries *ret,
				  struct profile_message *message)
{
	int r = entries_read(ret, dir, entries_is_visible, alphasort);

	return r > 0 ? sources_refuse(message, dir, r) : r;
}

static bool is_window(const char *name, bool legacy)
{
	struct names_window window;

	return names_parse_window(name, &window) && (window.format == CONTENTS_LEGACY) == legacy;
}

/* A directory of profd's store has its samples twice: the windows, and each process of them. */
static bool has_windows(const struct entries *entries)
{
	for (int i = 0; i < entries->n; i++)
		if (is_window(entries->all[i]->d_name, false))
			return true;
	return false;
}

/* Whether the path of @name in @dir has room. */
static bool join_path(struct sources *s, const char *dir, const char *name, char ret[PATH_MAX])
{
	if (snprintf(ret, PATH_MAX, "%s/%s", dir, name) < PATH_MAX)
		return true;
	s->n_too_far++;
	return false;
}

static int sources_add_directory(struct sources *s, const char *dir, int depth,
				 struct profile_message *message)
{
	cleanup(entries_deinit) struct entries entries = {0};
	int r = sources_list_directory(dir, &entries, message);
	bool has = has_windows(&entries);

	for (int i = 0; i < entries.n && !r; i++) {
		const char *name = entries.all[i]->d_name;
		char path[PATH_MAX];
		struct stat st;

		if (!join_path(s, dir, name, path) || lstat(path, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth == DEPTH_MAX)
			s->n_too_far++;
		else if (S_ISDIR(st.st_mode))
			r = sources_add_directory(s, path, depth + 1, message);
		else if (S_ISREG(st.st_mode) && has && is_window(name, true))
			s->n_double++;
		else if (S_ISREG(st.st_mode))
			r = sources_append(s, path, true, true);
	}
	return r;
}

/* Of what is no file: a URL, or else a file that is not there. */
static int sources_add_url(struct sources *s, const char *text, struct profile_message *message)
{
	cleanup(source_url_freep) struct source_url *url = NULL;
	int r = source_url_parse(text, &s->times, &url, message);

	if (r == SOURCE_URL_E_BAD)
		/* Not with a password. */
		return sources_name_file(strchr(text, '@') ? "a URL" : text, REPORT_E_BAD, message);
	if (r < 0)
		return r;
	/* A bare word that is no file may be meant as a service. */
	if (!url && !text[strcspn(text, "./:")] && strlen(text) <= NAME_MAX)
		return profile_refuse(message, REPORT_E_BAD,
				      "%s: No such file or directory; a service is -s %s",
				      sources_path_end(text, SHOWN), sources_path_end(text, SHOWN));
	r = sources_append(s, url ? url->shown : text, false, true);
	if (!r)
		s->all[s->n - 1].url = steal_ptr(&url);
	return r;
}

int sources_add(struct sources *s, const char *path, struct profile_message *message)
{
	size_t before = s->n;
	struct stat st;
	int r;

	if (strcmp(path, "-") == 0)
		return sources_append(s, path, false, true);
	if (stat(path, &st) < 0)
		return sources_add_url(s, path, message);
	if (!S_ISDIR(st.st_mode))
		return sources_append(s, path, false, true);
	r = sources_add_directory(s, path, 0, message);
	if (!r && s->n == before)
		return profile_refuse(message, REPORT_E_BAD, "%s: no files in this directory",
				      sources_path_end(path, SHOWN));
	return r;
}

/* --- the store -------------------------------------------------------------------------------- */

/* Windows of one start stand or fall together, as profd's own answer has it. */
static int sources_add_window_group(struct sources *s, const char *dir,
				    struct dirent *const *entries, int n,
				    const struct load_stored *range)
{
	struct names_window w;
	char path[PATH_MAX];
	bool any = false;
	int r = 0;

	for (int i = 0; i < n; i++)
		any |= names_parse_window(entries[i]->d_name, &w) && w.format == CONTENTS_PPROF &&
		       !names_is_rolled_up(w.start_s, w.seconds) &&
		       (range->open_fd < 0 || w.start_s < range->open_s) &&
		       profile_window_overlaps(w.start_s, w.seconds, range->since_ns,
					       range->until_ns);
	for (int i = 0; i < n && !r; i++) {
		bool whole;

		if (!names_parse_window(entries[i]->d_name, &w) || w.format != CONTENTS_PPROF)
			continue;
		whole = !names_is_rolled_up(w.start_s, w.seconds);
		if (!(whole ? any
			    : profile_window_overlaps(w.start_s, names_rolled_up_span(w.seconds),
						      range->since_ns, range->until_ns)))
			continue;
		if (join_path(s, dir, entries[i]->d_name, path))
			r = sources_append(s, path, true, whole);
	}
	return r;
}

static int sources_add_day(struct sources *s, const char *dir, const struct load_stored *range,
			   struct profile_message *message)
{
	cleanup(entries_deinit) struct entries entries = {0};
	int r = sources_list_directory(dir, &entries, message), n;

	/* Files of one start are neighbours by name. */
	for (int i = 0; i < entries.n && !r; i += n) {
		for (n = 1; i + n < entries.n &&
			    strncmp(entries.all[i]->d_name, entries.all[i + n]->d_name,
				    NAMES_START_SIZE - 1) == 0;)
			n++;
		r = sources_add_window_group(s, dir, &entries.all[i], n, range);
	}
	return r;
}

/* @names: the directories of services. */
static int sources_refuse_service(const struct load_stored *wanted, const struct entries *names,
				  struct profile_message *message)
{
	char name[NAMES_ESCAPED_MAX + 1], text[sizeof(message->text)];
	struct nearest nearest = {.asked = wanted->service};

	for (int i = 0; i < names->n; i++)
		if (names_unescape(names->all[i]->d_name, name, sizeof(name)))
			nearest_add(&nearest, name);
	return profile_refuse(message, REPORT_E_BAD, "the store %.60s has nothing of %s%.60s%s%s",
			      wanted->store, *wanted->service ? "a service '" : "any service",
			      wanted->service, *wanted->service ? "'" : "",
			      nearest_print(&nearest, text, sizeof(text)));
}

static bool sources_wants_service(const struct load_stored *wanted, const char *dir)
{
	char name[NAMES_ESCAPED_MAX + 1];

	return !*wanted->service || (names_unescape(dir, name, sizeof(name)) &&
				     names_select_service(wanted->service, name));
}

static int sources_add_days(struct sources *s, const char *dir, const struct load_stored *range,
			    struct profile_message *message)
{
	cleanup(entries_deinit) struct entries days = {0};
	char day[PATH_MAX];
	int r = sources_list_directory(dir, &days, message);

	for (int i = 0; i < days.n && !r; i++)
		if (names_parse_day(days.all[i]->d_name) &&
		    join_path(s, dir, days.all[i]->d_name, day))
			r = sources_add_day(s, day, range, message);
	return r;
}

/* The windows that are files. */
static int sources_add_closed(struct sources *s, const struct load_stored *wanted,
			      struct profile_message *message)
{
	cleanup(entries_deinit) struct entries services = {0};
	char dir[PATH_MAX], path[PATH_MAX];
	size_t before = s->n;
	bool any = false;
	struct stat st;
	int r;

	if (stat(wanted->store, &st) < 0 && errno == ENOENT)
		return profile_refuse(message, REPORT_E_BAD,
				      "there is no store %.80s; --store says where it is",
				      wanted->store);
	if (!join_path(s, wanted->store, "services", dir))
		return sources_refuse(message, wanted->store, ENAMETOOLONG);
	r = sources_list_directory(dir, &services, message);
	for (int i = 0; i < services.n && !r; i++) {
		const char *name = services.all[i]->d_name;

		if (!sources_wants_service(wanted, name) || !join_path(s, dir, name, path))
			continue;
		any = true;
		r = sources_add_days(s, path, wanted, message);
	}
	if (r || s->n > before || wanted->open_fd >= 0)
		return r;
	if (!any)
		return sources_refuse_service(wanted, &services, message);
	return profile_refuse(message, REPORT_E_BAD,
			      "the store %.60s has no windows%s%.60s%s in this range",
			      wanted->store, *wanted->service ? " of '" : "", wanted->service,
			      *wanted->service ? "'" : "");
}

int sources_add_stored(struct sources *s, struct load_stored *wanted,
		       struct profile_message *message)
{
	int r = sources_add_closed(s, wanted, message);

	if (!r && wanted->open_fd >= 0)
		r = sources_append(s, "the open window", true, true);
	if (!r && wanted->open_fd >= 0)
		s->all[s->n - 1].fd = steal_fd(&wanted->open_fd);
	closep(&wanted->open_fd);
	return r;
}

/* SPDX-License-Identifier: MIT */
/*
 * For each mapping: where the options and pprof's conventions say that its file may lie is tried in
 * order, and the first program there whose build id is not another one becomes the mapping's path.
 * client/symbolize then reads names from those paths.
 */
#include "client/report/binaries.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "client/symbolize/build_ids.h"
#include "client/symbolize/kernel.h"
#include "client/symbolize/symbolize.h"
#include "common/cleanup.h"
#include "common/entries.h"
#include "common/profile/image_profile.h"

#define NOTES_SHOWN 3

bool binaries_is_program(const char *path)
{
	cleanup(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char magic[4];

	return fd >= 0 && pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       memcmp(magic, "\177ELF", sizeof(magic)) == 0;
}

/* --- where they lie --------------------------------------------------------------------------- */

struct binaries_work {
	struct profile *p;
	const struct load_options *options;
	int root_fd;
	struct build_ids *ids; /* once one is asked for */
};

static void binaries_work_deinit(struct binaries_work *w)
{
	build_ids_free(w->ids);
	closep(&w->root_fd);
}

/* The build id of the file at @path, "" if none is to be had. Returns 0 or negative errno. */
static int binaries_query_build_id(struct binaries_work *w, const char *path,
				   char ret[ELF_BUILD_ID_TEXT])
{
	char real[PATH_MAX];
	struct stat st;
	int r = w->ids ? 0 : build_ids_new(&w->ids, w->root_fd, NULL);

	*ret = '\0';
	if (r || !realpath(path, real) || stat(real, &st) < 0)
		return r;
	return build_ids_find(w->ids, real, (uint64_t)major(st.st_dev) << 32 | minor(st.st_dev),
			      st.st_ino, ret);
}

static int binaries_set_mapping_path(struct binaries_work *w, size_t mapping, const char *path)
{
	struct profile_mapping *m = &w->p->mappings[mapping];
	const char *id = profile_string(w->p, m->build_id);
	char buffer[PATH_MAX], own[ELF_BUILD_ID_TEXT];
	const char *real = realpath(path, buffer) ? buffer : path;
	int r;

	/*
	 * An id that is made of the path, the size and the time of a file tells nothing of one
	 * elsewhere; it may be a build id of that length as well, though.
	 */
	if (image_id_is_hash(id) && strcmp(real, profile_string(w->p, m->path)) != 0) {
		r = binaries_query_build_id(w, real, own);
		if (r)
			return r;
		if (!object_is_same_id(id, own)) {
			if (image_id_is_hash(own))
				listener_note(&w->options->listener,
					      "%s: its build id is %s, the profile's %s: names may "
					      "be wrong",
					      real, own, id);
			m->build_id = 0;
		}
	}
	return profile_add_text(w->p, real, &m->path);
}

/* For the file of a mapping. */
struct binaries_search {
	struct binaries_work *w;
	const char *path, *build_id; /* as the profile has them; "" unknown */
	char found[PATH_MAX];
	int error; /* a negative errno, which ends it */
};

/* Whether what was found has not another build id. */
static bool binaries_build_id_matches(struct binaries_search *s)
{
	char own[ELF_BUILD_ID_TEXT];

	if (!*s->build_id)
		return true;
	s->error = binaries_query_build_id(s->w, s->found, own);
	if (s->error)
		return false;
	if (!*own || object_is_same_id(s->build_id, own) ||
	    (image_id_is_hash(s->build_id) && !image_id_is_hash(own)))
		return true;
	listener_note(&s->w->options->listener,
		      "%s: passed over: its build id is %s, the profile's %s", s->found, own,
		      s->build_id);
	return false;
}

static bool binaries_try_path(struct binaries_search *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Makes a path; false if the program does not lie there. */
static bool binaries_try_path(struct binaries_search *s, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(s->found, sizeof(s->found), format, args);
	va_end(args);
	return !s->error && length < (int)sizeof(s->found) && binaries_is_program(s->found) &&
	       binaries_build_id_matches(s);
}

/* Whatever it is called in the directory of its build id. */
static bool binaries_find_by_build_id(struct binaries_search *s, const char *dir)
{
	cleanup(entries_deinit) struct entries entries = {0};
	char path[PATH_MAX];
	bool found = false;

	if (snprintf(path, sizeof(path), "%s/%s", dir, s->build_id) < (int)sizeof(path))
		(void)entries_read(&entries, path, NULL, alphasort);
	for (int i = 0; i < entries.n && !found; i++)
		found = binaries_try_path(s, "%s/%s", path, entries.all[i]->d_name);
	return found;
}

/* Debug information of a file at its path, where GDB looks for it (its manual, "Separate Debug
 * Files"). */
static bool binaries_find_debug(struct binaries_search *s, const char *dir)
{
	const char *base = basename(s->path);
	int n_dir = (int)(base - s->path); /* with the slash */

	return binaries_try_path(s, "%s%s.debug", dir, s->path) ||
	       binaries_try_path(s, "%s%.*s.debug/%s.debug", dir, n_dir, s->path, base) ||
	       binaries_try_path(s, "%s/usr/lib/debug%.*s%s.debug", dir, n_dir, s->path, base);
}

/* The places below @dir where pprof looks: by build id, by name, by path. */
static bool binaries_find_below(struct binaries_search *s, const char *dir)
{
	const char *base = basename(s->path);
	bool has_id = *s->build_id && !strchr(s->build_id, '/');

	if (has_id && *base && binaries_try_path(s, "%s/%s/%s", dir, s->build_id, base))
		return true;
	if (has_id && binaries_find_by_build_id(s, dir))
		return true;
	if (has_id && *s->path == '/' && binaries_try_path(s, "%s%s/%s", dir, s->path, s->build_id))
		return true;
	/* As debuggers have it, below /usr/lib/debug/.build-id. */
	if (has_id && strlen(s->build_id) > 2 &&
	    binaries_try_path(s, "%s/%.2s/%s.debug", dir, s->build_id, s->build_id + 2))
		return true;
	if (*base && binaries_try_path(s, "%s/%s", dir, base))
		return true;
	return *s->path == '/' &&
	       (binaries_try_path(s, "%s%s", dir, s->path) || binaries_find_debug(s, dir));
}

/* Of the @list of directories, with colons between them. */
static bool binaries_find_in_list(struct binaries_search *s, const char *list)
{
	char dir[PATH_MAX];

	while (*list) {
		size_t length = strcspn(list, ":");

		if (length && length < sizeof(dir)) {
			snprintf(dir, sizeof(dir), "%.*s", (int)length, list);
			if (binaries_find_below(s, dir))
				return true;
		}
		list += length + (list[length] != '\0');
	}
	return false;
}

static int binaries_find_mapping(struct binaries_work *w, size_t mapping)
{
	const struct profile_mapping *m = &w->p->mappings[mapping];
	struct binaries_search s = {
		.w = w,
		.path = profile_string(w->p, m->path),
		.build_id = profile_string(w->p, m->build_id),
	};
	const char *places = getenv("PPROF_BINARY_PATH"), *home = getenv("HOME");
	char usual[PATH_MAX];
	bool found;

	if (!symbolize_is_file(s.path) && !*s.build_id)
		return 0;
	if (!places || !*places) {
		snprintf(usual, sizeof(usual), "%s/pprof/binaries", home ? home : "");
		places = usual;
	}
	found = binaries_find_in_list(&s, places);
	if (s.error)
		return s.error;
	return found ? binaries_set_mapping_path(w, mapping, s.found) : 0;
}

int binaries_add_whole_mapping(struct profile *p)
{
	const struct profile_mapping all = {.limit = UINT64_MAX};
	uint32_t mapping;
	int r = profile_add_mapping(p, &all, &mapping);

	for (size_t i = 0; i < p->n_locations && !r; i++)
		p->locations[i].mapping = mapping;
	return r;
}

/* The first mapping is the program's, by convention; without any, there is one for all. */
static int binaries_set_program(struct binaries_work *w)
{
	const char *program = w->options->program, *build_id = w->options->inputs->buildid;
	struct profile *p = w->p;
	int r = 0;

	if (!program && !*build_id)
		return 0;
	if (!p->n_mappings)
		r = binaries_add_whole_mapping(p);
	if (!r && program)
		r = binaries_set_mapping_path(w, 0, program);
	/* One that is known is right more often than who overrides it. */
	if (!r && *build_id && !p->mappings[0].build_id)
		r = profile_add_text(p, build_id, &p->mappings[0].build_id);
	return r;
}

/* --- names ------------------------------------------------------------------------------------ */

/* Whether names, or lines, may be found that nobody has looked for before. */
static bool binaries_any_names_wanted(const struct profile *p, bool want_lines)
{
	for (size_t i = 0; i < p->n_locations; i++) {
		const struct profile_location *l = &p->locations[i];
		const struct profile_mapping *m;
		const char *path;

		if (l->mapping == PROFILE_NONE)
			continue;
		m = &p->mappings[l->mapping];
		path = profile_string(p, m->path);
		if (!m->has_functions && !profile_location_has_name(p, l) &&
		    (symbolize_is_file(path) || kernel_is_mapping(m, path)))
			return true;
		if (want_lines && !m->has_line_numbers && !symbolize_has_line(p, l) &&
		    symbolize_is_file(path))
			return true;
	}
	return false;
}

bool binaries_are_wanted(const struct profile *p, const struct load_options *o)
{
	const struct symbolize_mode mode = o->inputs->mode;

	return o->program || *o->inputs->buildid || o->want_code ||
	       (mode.is_local && (mode.is_forced || binaries_any_names_wanted(p, o->want_lines)));
}

/* Of the program: what has no lines then. */
static int binaries_drop_names(struct profile *p)
{
	int r = 0;

	for (size_t i = 0; i < p->n_locations && !r; i++) {
		uint32_t mapping = p->locations[i].mapping;

		if (mapping != 0 || symbolize_has_line(p, &p->locations[i]) ||
		    !symbolize_is_file(profile_string(p, p->mappings[mapping].path)))
			continue;
		p->mappings[mapping].has_functions = false; /* or nobody would look for them */
		r = profile_set_lines(p, (uint32_t)i, NULL, 0);
	}
	return r;
}

static void binaries_report_notes(const struct load_options *o,
				  const struct symbolize_result *result)
{
	size_t n = result->notes.n < NOTES_SHOWN ? result->notes.n : NOTES_SHOWN;
	size_t n_more = result->notes.n + result->notes.n_more - n;

	for (size_t i = 0; i < n; i++)
		listener_note(&o->listener, "%s", result->notes.lines[i]);
	if (n_more)
		listener_note(&o->listener, "%zu more like these", n_more);
}

static bool binaries_profile_has_names(const struct profile *p)
{
	for (size_t i = 0; i < p->n_locations; i++)
		if (profile_location_has_name(p, &p->locations[i]))
			return true;
	return false;
}

/* Where there are no names yet, lines come with them, and inlined functions with the lines. */
static int binaries_symbolize(const struct binaries_work *w, bool want_lines, bool is_forced)
{
	const struct load_options *o = w->options;
	cleanup(symbolize_result_deinit) struct symbolize_result result = {0};
	struct symbolize_options options = {
		.want_lines = want_lines,
		.is_forced = is_forced,
		.root_fd = w->root_fd,
		.progress = o->listener.progress,
		.context = o->listener.context,
	};
	int r = symbolize_profile(w->p, &options, &result);

	if (o->listener.progress)
		o->listener.progress(o->listener.context, 1, NULL);
	if (r < 0)
		return r;
	if (r)
		listener_note(
			&o->listener,
			"no names: profd-image-worker, which reads programs, does not run: %s",
			result.trouble);
	else
		binaries_report_notes(o, &result);
	return 0;
}

int binaries_name(struct profile *p, const struct load_options *o)
{
	cleanup(binaries_work_deinit) struct binaries_work w = {
		.p = p, .options = o, .root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)};
	const struct symbolize_mode mode = o->inputs->mode;
	bool lines, is_wanted;
	int r = binaries_set_program(&w);

	if (r || (!mode.is_local && !o->want_code))
		return r;
	/* A user who names the program knows that it is the one, also where no build id shows it.
	 */
	if (mode.is_local && o->program && o->want_lines && !mode.is_forced)
		r = binaries_drop_names(p);
	if (r)
		return r;
	is_wanted = mode.is_local &&
		    (mode.is_forced || binaries_any_names_wanted(p, o->want_lines));
	lines = !mode.is_fast &&
		(mode.is_forced || o->want_lines || !binaries_profile_has_names(p));
	for (size_t i = o->program ? 1 : 0; (is_wanted || o->want_code) && i < p->n_mappings && !r;
	     i++)
		r = binaries_find_mapping(&w, i);
	return r || !is_wanted ? r : binaries_symbolize(&w, lines, mode.is_forced);
}

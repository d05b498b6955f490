/* SPDX-License-Identifier: MIT */
#include "daemon/output/sightings.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <uthash.h>

#include "common/error.h"
#include "common/symbols/elf_summary.h"
#include "common/text_print.h"
#include "daemon/output/window_events.h"
#include "daemon/resolve/image.h"

#define SIGHTINGS_MAX 4096u /* services; when there are more, all are forgotten */
#define ID_DIGITS     12
#define LOSS_SHARE    100 /* less is no event */

struct sighting {
	char *service;
	ino_t group;     /* 0: not known */
	uint64_t serial; /* of the last program with this path */
	char *path;      /* of the main program, or NULL */
	char build_id[ELF_BUILD_ID_TEXT];
	UT_hash_handle hh;
};

static void sighting_free(struct sighting *one)
{
	free(one->service);
	free(one->path);
	free(one);
}

void sightings_deinit(struct sightings *s)
{
	struct sighting *one, *next;

	HASH_ITER (hh, s->all, one, next) {
		HASH_DEL(s->all, one);
		sighting_free(one);
	}
}

/* Finds or makes. */
static int sightings_find(struct sightings *s, const char *service, struct sighting **ret)
{
	struct sighting *one;

	HASH_FIND_STR(s->all, service, *ret);
	if (*ret)
		return 0;
	if (HASH_COUNT(s->all) >= SIGHTINGS_MAX)
		sightings_deinit(s);
	one = calloc(1, sizeof(*one));
	if (!one || text_copy(&one->service, service)) {
		free(one);
		return error_origin(-ENOMEM);
	}
	HASH_ADD_KEYPTR(hh, s->all, one->service, strlen(one->service), one);
	*ret = one;
	return 0;
}

/* --- restarts --------------------------------------------------------------------------------- */

/* How much of @cgroup is the path of @service's own group; 0: it is in none. */
static size_t sighting_group_length(const char *cgroup, const char *service)
{
	const size_t n = strlen(service);

	for (const char *at = strchr(cgroup, '/'); at; at = strchr(at + 1, '/'))
		if (strncmp(at + 1, service, n) == 0 && (at[1 + n] == '/' || !at[1 + n]))
			return (size_t)(at + 1 + n - cgroup);
	return 0;
}

/* The inode of a group's directory is its id; 0: not known. */
static ino_t sighting_find_group(int sys_fd, const struct snapshot_process *p, const char *service)
{
	static const char *const hierarchies[] = {"fs/cgroup", "fs/cgroup/systemd"};
	const size_t length = p->cgroup ? sighting_group_length(p->cgroup, service) : 0;
	char path[PATH_MAX];
	struct stat st;

	for (size_t i = 0; length && i < ARRAY_SIZE(hierarchies); i++) {
		if (snprintf(path, sizeof(path), "%s%.*s", hierarchies[i], (int)length,
			     p->cgroup) >= (int)sizeof(path))
			continue;
		if (fstatat(sys_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
			return st.st_ino;
	}
	return 0;
}

static int sighting_look_at_group(struct sighting *one, int sys_fd,
				  const struct snapshot_process *p, char **events)
{
	const struct window_event event = {.kind = WINDOW_EVENT_RESTARTED};
	const ino_t group = sighting_find_group(sys_fd, p, one->service), before = one->group;

	if (!group)
		return 0;
	one->group = group;
	return before && before != group ? window_events_add(events, &event) : 0;
}

/* --- builds ----------------------------------------------------------------------------------- */

/* False: it has none, or it is not known yet. */
static bool sighting_build_of(const struct snapshot_process *p, char ret[ELF_BUILD_ID_TEXT])
{
	const struct elf_summary *elf = p->program ? image_elf(p->program) : NULL;

	if (!elf || !elf->build_id_length)
		return false;
	elf_build_id_print(elf->build_id, elf->build_id_length, ret);
	return true;
}

/* Of the entries [@first, @end), which are of a process each in a row: the one with most samples.
 */
static const struct snapshot_process *sighting_find_main(const struct view_entry *first,
							 const struct view_entry *end)
{
	const struct snapshot_process *found = NULL;
	uint64_t n = 0, most = 0;
	char id[ELF_BUILD_ID_TEXT];

	for (const struct view_entry *e = first; e < end; e++) {
		n = e > first && e[-1].process == e->process ? n + e->entry->count
							     : e->entry->count;
		if (n <= most || !sighting_build_of(e->process, id))
			continue;
		most = n;
		found = e->process;
	}
	return found;
}

static int sighting_look_at_program(struct sighting *one, const struct snapshot_process *p,
				    char **events)
{
	struct window_event event = {.kind = WINDOW_EVENT_BUILD};
	char id[ELF_BUILD_ID_TEXT];

	if (!sighting_build_of(p, id) || p->serial <= one->serial ||
	    strcmp(p->program->path, one->path) != 0)
		return 0;
	one->serial = p->serial;
	if (strcmp(id, one->build_id) == 0)
		return 0;
	memcpy(one->build_id, id, sizeof(id));
	snprintf(event.text, sizeof(event.text), "%.*s %s", ID_DIGITS, id, one->path);
	return window_events_add(events, &event);
}

static int sighting_look_at_programs(struct sighting *one, const struct view_entry *first,
				     const struct view_entry *end, char **events)
{
	const struct snapshot_process *p = one->path ? NULL : sighting_find_main(first, end);
	int r = 0;

	if (p) {
		r = text_copy(&one->path, p->program->path);
		if (!r && sighting_build_of(p, one->build_id))
			one->serial = p->serial;
	}
	for (const struct view_entry *e = first; e < end && one->path && !r; e++)
		if (e == first || e[-1].process != e->process)
			r = sighting_look_at_program(one, e->process, events);
	return r;
}

/* --- the machine ------------------------------------------------------------------------------ */

/* As ledger_text() has them. */
static void sightings_find_loss(const char *ledger, struct window_event *ret)
{
	*ret = (struct window_event){.kind = WINDOW_EVENT_LOST};
	for (const char *at = ledger; at && *at; at += strspn(at, " \n")) {
		uint64_t n;

		if (sscanf(at, "expected=%19" SCNu64, &n) == 1)
			ret->of += n;
		else if (sscanf(at, "lost.%*[a-z_]=%19" SCNu64, &n) == 1)
			ret->n += n;
		at += strcspn(at, " \n");
	}
}

int sightings_look_at_machine(struct sightings *s, const struct snapshot *snapshot, uint64_t boot_s,
			      uint64_t newest_s, char **events)
{
	const struct window_event begun = {.kind = boot_s > newest_s ? WINDOW_EVENT_BOOTED
								     : WINDOW_EVENT_STARTED};
	const bool is_first = !s->has_begun && newest_s;
	struct window_event loss;
	int r;

	s->has_begun = true;
	sightings_find_loss(snapshot->ledger, &loss);
	r = is_first ? window_events_add(events, &begun) : 0;
	if (r || !loss.n || loss.n < loss.of / LOSS_SHARE)
		return r;
	return window_events_add(events, &loss);
}

/* ---------------------------------------------------------------------------------------------- */

int sightings_look(struct sightings *s, int sys_fd, const struct view *view,
		   const struct view_group *group, char **events)
{
	const struct view_entry *first = &view->entries[group->first];
	struct sighting *one = NULL;
	int r = sightings_find(s, group->service, &one);

	return r	?: sighting_look_at_group(one, sys_fd, first->process, events)
			?: sighting_look_at_programs(one, first, first + group->n, events);
}

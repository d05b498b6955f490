/* SPDX-License-Identifier: MIT */

/*
 * Each line of the text is "hierarchy:controllers:path". Lines are asked in the order in which
 * they are to be trusted: systemd's own v1 hierarchy, v2, then any other (a container manager
 * without systemd). The first one whose path holds a unit decides.
 *
 * Within a path the first component that is a unit and no slice is the unit of the system manager;
 * what follows is delegated (a user's own systemd, a container's). Components before it that are
 * no units do not matter: a machine inside a machine has its paths below those of the outer one.
 */
#include "daemon/resolve/unit.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/span.h"
#include "daemon/resolve/container_path.h"

#define UID_FIRST_PERSON 1000 /* Debian policy 9.2.2: below are the system's own accounts */

struct unit_path {
	struct span unit;      /* empty: none */
	struct span container; /* empty: none */
	uid_t slice_uid;       /* of the user-UID.slice passed on the way */
	bool has_slice_uid;
};

/* How much a line is to be trusted: lower is better. */
enum hierarchy { HIERARCHY_SYSTEMD, HIERARCHY_V2, HIERARCHY_OTHER, N_HIERARCHIES };

/* systemd.unit(5): the characters of unit names; and one of the types that hold processes. */
static bool is_unit(struct span s)
{
	static const char *const types[] = {".service", ".scope", ".socket", ".mount", ".swap"};

	if (s.length >= UNIT_SERVICE_SIZE)
		return false;
	for (size_t i = 0; i < s.length; i++)
		if (!isalnum((unsigned char)s.at[i]) && !memchr(":-_.\\@", s.at[i], 6))
			return false;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (s.length > strlen(types[i]) && span_ends(s, types[i]))
			return true;
	return false;
}

/* user-UID.slice */
static bool parse_user_slice(struct span s, uid_t *ret)
{
	uint64_t uid = 0;
	size_t i;

	if (!span_starts(s, "user-") || !span_ends(s, ".slice") || s.length < 12)
		return false;
	for (i = 5; i < s.length - 6; i++) {
		if (!isdigit((unsigned char)s.at[i]))
			return false;
		uid = uid * 10 + (uint64_t)(s.at[i] - '0');
		if (uid > UINT32_MAX)
			return false;
	}
	*ret = (uid_t)uid;
	return true;
}

static struct unit_path parse_path(struct span path)
{
	struct unit_path p = {0};
	struct span s;

	while (span_cut(&path, '/', &s)) {
		/* Innermost wins: it is the one that the process was started in. */
		container_path_find_id(s, &p.container);
		if (p.unit.length > 0)
			continue;
		/* systemd writes a leading '_' where a name could be taken for the kernel's. */
		if (s.length > 0 && s.at[0] == '_') {
			s.at++;
			s.length--;
		}
		if (parse_user_slice(s, &p.slice_uid))
			p.has_slice_uid = true;
		else if (is_unit(s))
			p.unit = s;
	}
	return p;
}

/* Splits a line. False for one that has not three fields or no absolute path. */
static bool unit_parse_line(struct span line, enum hierarchy *ret_hierarchy, struct span *ret_path)
{
	struct span id, controllers;

	if (!span_cut(&line, ':', &id) || !span_cut(&line, ':', &controllers))
		return false;
	if (line.length == 0 || line.at[0] != '/')
		return false;
	if (span_is(controllers, "name=systemd"))
		*ret_hierarchy = HIERARCHY_SYSTEMD;
	else if (span_is(id, "0") && controllers.length == 0)
		*ret_hierarchy = HIERARCHY_V2;
	else
		*ret_hierarchy = HIERARCHY_OTHER;
	/* What v2 says of a group that was removed while the process is still exiting. */
	if (*ret_hierarchy == HIERARCHY_V2 && span_ends(line, " (deleted)"))
		line.length -= strlen(" (deleted)");
	*ret_path = line;
	return true;
}

/* A path without a unit still tells more than the root, and a user's slice more than another. */
static unsigned path_value(const struct unit_path *p, struct span path)
{
	if (p->unit.length > 0)
		return 3;
	if (p->has_slice_uid)
		return 2;
	return path.length > 1 ? 1 : 0;
}

static void copy_span(struct span s, char *ret, size_t size)
{
	snprintf(ret, size, "%.*s", (int)s.length, s.at);
}

static bool is_session(const struct unit_path *p)
{
	return span_starts(p->unit, "session-") && span_ends(p->unit, ".scope");
}

/* Whether the unit's name is a service's, not its user's. */
static bool has_own_name(const struct unit_path *p)
{
	return p->unit.length > 0 && !is_session(p);
}

static void name_service(const struct unit_path *p, uid_t uid, char ret[UNIT_SERVICE_SIZE])
{
	if (!has_own_name(p)) {
		if (p->has_slice_uid)
			uid = p->slice_uid;
		if (p->has_slice_uid || is_session(p) || uid >= UID_FIRST_PERSON)
			snprintf(ret, UNIT_SERVICE_SIZE, "user-%u", (unsigned)uid);
		else
			snprintf(ret, UNIT_SERVICE_SIZE, "other");
	} else if (span_starts(p->unit, "run-") &&
		   (span_ends(p->unit, ".scope") || span_ends(p->unit, ".service"))) {
		snprintf(ret, UNIT_SERVICE_SIZE, "transient");
	} else {
		copy_span(p->unit, ret, UNIT_SERVICE_SIZE);
	}
}

void unit_parse(const char *text, size_t length, uid_t uid, struct unit *ret)
{
	struct span rest = {text, length}, line, path, best_path = {"", 0}, container = {"", 0};
	struct span in_v2 = {"", 0};
	struct unit_path best = {0};
	unsigned best_rank = 0;

	ret->has_others = false;
	while (span_cut(&rest, '\n', &line)) {
		enum hierarchy hierarchy;
		struct unit_path p;
		unsigned rank;

		if (!unit_parse_line(line, &hierarchy, &path))
			continue;
		p = parse_path(path);
		if (hierarchy == HIERARCHY_V2)
			in_v2 = path;
		else
			ret->has_others = true;
		rank = path_value(&p, path) * N_HIERARCHIES + (N_HIERARCHIES - hierarchy);
		if (rank > best_rank) {
			best_rank = rank;
			best = p;
			best_path = path;
		}
		if (container.length == 0)
			container = p.container;
	}
	if (best.container.length > 0)
		container = best.container;
	name_service(&best, uid, ret->service);
	ret->is_of_group = (has_own_name(&best) || best.has_slice_uid) && best_path.length > 0 &&
			   in_v2.length == best_path.length &&
			   memcmp(in_v2.at, best_path.at, in_v2.length) == 0;
	copy_span(best_path, ret->cgroup, sizeof(ret->cgroup));
	copy_span(container, ret->container, sizeof(ret->container));
}

void unit_parse_group(const char *path, uid_t uid, struct unit *ret)
{
	char line[UNIT_CGROUP_SIZE + 8];
	int n = snprintf(line, sizeof(line), "0::%s", path);

	unit_parse(line, n < (int)sizeof(line) ? (size_t)n : 0, uid, ret);
}

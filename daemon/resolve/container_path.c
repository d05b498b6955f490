/* SPDX-License-Identifier: MIT */
/*
 * Components from left to right. A pod's UID is remembered on the way; the first component that
 * names a container or a machine ends the walk.
 */
#include "daemon/resolve/container_path.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#define HEX_DIGITS 16

#define UID_PLAIN  (CONTAINER_POD_UID_SIZE - 1)
#define UID_STATIC 32 /* of a static pod: the hash of its manifest */

static const char hex[] = "0123456789abcdef";

static bool container_is_hex(char c)
{
	return memchr(hex, c, HEX_DIGITS);
}

bool container_path_find_id(struct span component, struct span *ret)
{
	const size_t digits = CONTAINER_ID_SIZE - 1;
	struct span s = component;
	size_t n;

	if (span_ends(s, ".scope"))
		s.length -= strlen(".scope");
	if (s.length < digits || memmem(s.at, s.length, "conmon", strlen("conmon")))
		return false;
	n = s.length - digits;
	for (size_t i = n; i < s.length; i++)
		if (!container_is_hex(s.at[i]))
			return false;
	if (n > 0 && isalnum((unsigned char)s.at[n - 1]))
		return false;
	*ret = (struct span){s.at + n, digits};
	return true;
}

/* --- pods ------------------------------------------------------------------------------------- */

/* RFC 4122's form; true for the form of a static pod, too. */
static bool parse_pod_uid(struct span s, char ret[CONTAINER_POD_UID_SIZE])
{
	char uid[CONTAINER_POD_UID_SIZE] = "";

	for (size_t i = 0; i < s.length; i++) {
		bool is_mark = s.length == UID_PLAIN && (i == 8 || i == 13 || i == 18 || i == 23);

		if (is_mark ? s.at[i] != '-' && s.at[i] != '_' : !container_is_hex(s.at[i]))
			return false;
		uid[i] = is_mark ? '-' : s.at[i];
	}
	memcpy(ret, uid, sizeof(uid));
	return true;
}

/* The UID at the beginning of @rest, which is what follows "pod". */
static bool parse_pod_tail(struct span rest, char ret[CONTAINER_POD_UID_SIZE])
{
	static const size_t lengths[] = {UID_PLAIN, UID_STATIC};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		size_t n = lengths[i];

		if (rest.length < n)
			continue;
		if (rest.length > n &&
		    !span_starts((struct span){rest.at + n, rest.length - n}, ".slice"))
			continue;
		if (parse_pod_uid((struct span){rest.at, n}, ret))
			return true;
	}
	return false;
}

static void parse_pod(struct span s, char ret[CONTAINER_POD_UID_SIZE])
{
	for (size_t i = 0; i + 3 < s.length; i++)
		if (memcmp(s.at + i, "pod", 3) == 0 && (i == 0 || s.at[i - 1] == '-') &&
		    parse_pod_tail((struct span){s.at + i + 3, s.length - i - 3}, ret))
			return;
}

/* --- containers and machines ------------------------------------------------------------------ */

/* @head: what is before the id; @parent: the component before. */
static enum container_runtime parse_runtime(struct span head, struct span parent)
{
	static const struct {
		const char *end;
		enum container_runtime runtime;
	} rows[] = {
		{"cri-containerd-", CONTAINER_CONTAINERD},
		{"cri-containerd:", CONTAINER_CONTAINERD},
		{"nerdctl-", CONTAINER_CONTAINERD},
		{"crio-", CONTAINER_CRIO},
		{"docker-", CONTAINER_DOCKER},
		{"libpod-", CONTAINER_PODMAN},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (span_ends(head, rows[i].end))
			return rows[i].runtime;
	return head.length == 0 && span_is(parent, "docker") ? CONTAINER_DOCKER : CONTAINER_OTHER;
}

/* systemd escapes bytes in the names of units as \xXX (systemd-escape(1)). */
static bool unescape_byte(struct span *s, char *ret)
{
	const char *high, *low;

	if (!span_starts(*s, "\\x")) {
		*ret = *s->at++;
		s->length--;
		return true;
	}
	if (s->length < 4)
		return false;
	high = memchr(hex, s->at[2], HEX_DIGITS);
	low = memchr(hex, s->at[3], HEX_DIGITS);
	if (!high || !low)
		return false;
	*ret = (char)((high - hex) << 4 | (low - hex));
	s->at += 4;
	s->length -= 4;
	return true;
}

/* Names of machines are those of hosts (machined checks that), and may have '_' in LXC. */
static bool parse_machine_name(struct span s, char ret[CONTAINER_MACHINE_SIZE])
{
	char name[CONTAINER_MACHINE_SIZE] = "";
	size_t n = 0;

	while (s.length) {
		if (n == sizeof(name) - 1 || !unescape_byte(&s, &name[n]))
			return false;
		if (!isalnum((unsigned char)name[n]) && (n == 0 || !memchr("-._", name[n], 3)))
			return false;
		n++;
	}
	if (!n)
		return false;
	memcpy(ret, name, sizeof(name));
	return true;
}

static bool parse_machine(struct span s, struct span parent, struct container_path *ret)
{
	static const struct {
		const char *start, *end;
		enum container_runtime runtime;
	} rows[] = {
		{"machine-", ".scope", CONTAINER_MACHINE},
		{"systemd-nspawn@", ".service", CONTAINER_MACHINE},
		{"lxc.payload.", "", CONTAINER_LXC},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t before = strlen(rows[i].start), after = strlen(rows[i].end);

		if (s.length <= before + after || !span_starts(s, rows[i].start) ||
		    !span_ends(s, rows[i].end))
			continue;
		ret->runtime = rows[i].runtime;
		return parse_machine_name((struct span){s.at + before, s.length - before - after},
					  ret->machine);
	}
	ret->runtime = CONTAINER_LXC;
	return (span_is(parent, "lxc") || span_is(parent, "lxc.payload")) &&
	       parse_machine_name(s, ret->machine);
}

/* user-UID.slice, or the user's own service manager. */
static bool container_is_of_user(struct span s)
{
	return (span_starts(s, "user-") && span_ends(s, ".slice")) ||
	       (span_starts(s, "user@") && span_ends(s, ".service"));
}

bool container_path_parse(const char *path, struct container_path *ret)
{
	struct span rest = {path, strlen(path)}, s, id, parent = {"", 0};
	struct container_path found = {0};
	bool is_found = false;

	for (; !is_found && span_cut(&rest, '/', &s); parent = s) {
		if (container_is_of_user(s))
			return false;
		parse_pod(s, found.pod);
		if (container_path_find_id(s, &id)) {
			found.runtime = parse_runtime((struct span){s.at, (size_t)(id.at - s.at)},
						      parent);
			memcpy(found.id, id.at, id.length);
			is_found = true;
		} else {
			is_found = parse_machine(s, parent, &found);
		}
	}
	if (!is_found)
		found.runtime = CONTAINER_OTHER;
	if (!is_found && !found.pod[0])
		return false;
	*ret = found;
	return true;
}

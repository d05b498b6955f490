/* SPDX-License-Identifier: MIT */
#include "client/symbolize/debug_server.h"

#include <stdbool.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/read_end.h"

#define RELEASE_MAX 65536 /* bytes */

static const struct debug_server servers[] = {
	{"ubuntu", "https://debuginfod.ubuntu.com", "-dbgsym"}, /* before what it is like */
	{"debian", "https://debuginfod.debian.net", "-dbgsym"},
	{"fedora", "https://debuginfod.fedoraproject.org", "-debuginfo"},
	{"centos", "https://debuginfod.centos.org", "-debuginfo"},
	{"opensuse", "https://debuginfod.opensuse.org", "-debuginfo"},
	{"arch", "https://debuginfod.archlinux.org", "-debug"},
	{NULL, "https://debuginfod.elfutils.org", "-debuginfo"}, /* asks those of others */
};

/* Whether one of the words of the line that begins with @key is @id. */
static bool release_has(const char *text, const char *key, const char *id)
{
	size_t n_key = strlen(key), n_id = strlen(id), n;

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line != '\0') {
		if (strncmp(line, key, n_key) != 0)
			continue;
		for (line += n_key; (n = strcspn(line, " \"'\n")) || (*line && *line != '\n');
		     line += n ? n : 1)
			if (n == n_id && strncmp(line, id, n) == 0)
				return true;
	}
	return false;
}

const struct debug_server *debug_server_by_release(const char *text)
{
	static const char *const keys[] = {"ID=", "ID_LIKE="};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		for (const struct debug_server *s = servers; s->id; s++)
			if (release_has(text, keys[i], s->id))
				return s;
	return &servers[ARRAY_SIZE(servers) - 1];
}

const struct debug_server *debug_server_of_host(int root_fd)
{
	cleanup(freep) char *text = NULL;
	size_t length;

	if (read_end_text(root_fd, "etc/os-release", RELEASE_MAX, &text, &length))
		(void)read_end_text(root_fd, "usr/lib/os-release", RELEASE_MAX, &text, &length);
	return debug_server_by_release(text ? text : "");
}

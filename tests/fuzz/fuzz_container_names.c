/* SPDX-License-Identifier: MIT */
/* Any text as both of the kubelet's directories: names have the characters of such names alone. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/resolve/container_names.h"

#define ID  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define UID "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void is_plain(const char *name)
{
	if (strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") != strlen(name) ||
	    name[0] == '.' || name[0] == '-')
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct container_path path = {.id = ID, .pod = UID};
	const struct span listing = {(const char *)data, size};
	struct container_names names = {0};

	if (!container_names_of_pod(&path, listing, listing, "a", &names))
		return 0;
	is_plain(names.namespace);
	is_plain(names.pod);
	is_plain(names.container);
	is_plain(names.service);
	if (!names.pod[0] || !names.namespace[0])
		abort();
	return 0;
}

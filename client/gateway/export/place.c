/* SPDX-License-Identifier: MIT */
#include "client/gateway/export/place.h"

#include <string.h>

#include "common/order.h"

bool place_parse(const char *path, struct place *ret)
{
	static const char prefix[] = "services/";
	const char *day, *file;

	if (strncmp(path, prefix, sizeof(prefix) - 1) != 0 || strlen(path) > PLACE_PATH_MAX)
		return false;
	ret->service = path + sizeof(prefix) - 1;
	day = strchr(ret->service, '/');
	file = day ? strchr(day + 1, '/') : NULL;
	if (!file || day == ret->service)
		return false;
	ret->service_length = (size_t)(day - ret->service);
	ret->file = file + 1;
	/* The rest of it is the file's name, which has neither blanks nor line ends. */
	if (strpbrk(path, " \n") || !names_parse_window(ret->file, &ret->window))
		return false;
	ret->end_s = ret->window.start_s + ret->window.seconds;
	return true;
}

int place_compare(const struct place *a, const struct place *b)
{
	return order_of(a->end_s, b->end_s) ?: order_of(b->window.start_s, a->window.start_s)
		       ?: strcmp(a->file, b->file);
}

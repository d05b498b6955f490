/* SPDX-License-Identifier: MIT */
#include "client/gateway/urls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"

#define LENGTH_MAX 2000 /* with a build id behind it, it fits into libdebuginfod's PATH_MAX */

static const char *const schemes[] = {"http://", "https://"};

/* What is wrong with it; NULL: nothing. */
static const char *find_fault(const char *url)
{
	size_t length = strlen(url), scheme = 0;

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (strncmp(url, schemes[i], strlen(schemes[i])) == 0)
			scheme = strlen(schemes[i]);
	if (!scheme)
		return "it begins neither with http:// nor with https://";
	if (length == scheme || url[scheme] == '/')
		return "it names no host";
	if (length > LENGTH_MAX)
		return "it is too long";
	for (const char *c = url; *c; c++)
		if (*c <= ' ' || *c > '~')
			return "it holds blanks, or what is no ASCII";
	return NULL;
}

int urls_join(char *const *list, char **ret, struct urls_message *message)
{
	cleanup(freep) char *joined = NULL;
	size_t size = 1;
	char *at;

	if (!list[0])
		return URLS_E_NONE;
	for (size_t i = 0; list[i]; i++) {
		const char *fault = find_fault(list[i]);

		if (fault) {
			snprintf(message->text, sizeof(message->text),
				 "'%.200s' is no debuginfod server: %s", list[i], fault);
			return URLS_E_BAD;
		}
		size += strlen(list[i]) + 1;
	}
	at = joined = malloc(size);
	if (!joined)
		return error_origin(-ENOMEM);
	for (size_t i = 0; list[i]; i++)
		at += sprintf(at, "%s%s", i ? " " : "", list[i]);
	*ret = steal_ptr(&joined);
	return URLS_E_OK;
}

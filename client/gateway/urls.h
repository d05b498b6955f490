/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_URLS_H
#define PROFD_CLIENT_GATEWAY_URLS_H

/* The debuginfod servers that the configuration names. Pure. */
#include <stddef.h>

enum {
	URLS_E_OK,
	URLS_E_NONE, /* the list is empty */
	URLS_E_BAD,  /* the message says which one, and why */
};

struct urls_message {
	char text[400]; /* one line */
};

/*
 * The texts of @list, which ends with NULL, with blanks between them, malloc'ed: as libdebuginfod
 * takes them. Only http:// and https:// are servers. Returns URLS_E_* or negative errno.
 */
int urls_join(char *const *list, char **ret, struct urls_message *message);

#endif

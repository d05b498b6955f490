/* SPDX-License-Identifier: MIT */
#ifndef PROFD_WORKER_CONTAINER_JSON_H
#define PROFD_WORKER_CONTAINER_JSON_H

/*
 * Reads JSON (RFC 8259) from left to right: the caller enters objects and arrays that it knows, and
 * skips all else. What is skipped is not checked, but that brackets and quotes end. Pure; takes no
 * memory and does not recurse.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/span.h"

struct json {
	const char *at, *end;
	bool is_bad; /* for good: nothing else is read */
};

/* Enters an object ('{') or array ('['). False: the value is another one, and is skipped. */
bool json_enter(struct json *j, char open);
/*
 * Whether there is one more element in it; behind the last one, it is left. *n: 0 at first, counts
 * them. @open: as above.
 */
bool json_next(struct json *j, char open, size_t *n);
/* The key of an element of an object; its value is next. */
bool json_key(struct json *j, struct span *ret);
/* A string, between its quotes, still escaped. False: the value is another one, and is skipped. */
bool json_take_text(struct json *j, struct span *ret);
void json_skip(struct json *j);

/*
 * What an escaped text means, with a NUL. What does not fit into @size is cut between characters of
 * the escaped text; an escape that is none becomes U+FFFD. Returns its length.
 */
size_t json_unescape(struct span escaped, char *ret, size_t size);

#endif

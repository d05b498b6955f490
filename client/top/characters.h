/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TOP_CHARACTERS_H
#define PROFD_TOP_CHARACTERS_H

/*
 * Characters on a terminal: East Asian and emoji take two columns, those that combine with what is
 * before them take none; and which of them are lower case. All of it is what the C library has of
 * Unicode (wcwidth(3), towlower(3)). Text is UTF-8, whatever the user's locale is.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Has the C library know Unicode, once, before other threads are started: sets LC_CTYPE to C.UTF-8.
 * Without that locale, or the call, each character takes a column, and only ASCII has case.
 */
void characters_begin(void);

struct character {
	size_t n; /* bytes */
	uint32_t code;
	unsigned columns;  /* 0 to 2; of what is to be shown in its place, if it is not itself */
	bool is_printable; /* it may go to a terminal (utf8_next()) */
};

/* The first one of @text, which is not empty. A byte that is no UTF-8 is one, unlike all others. */
struct character character_at(const char *text);

/* Columns of all of @text. */
size_t characters_columns(const char *text);

/*
 * @name contains @filter, which somebody types ("": always). Case matters if there is a capital in
 * @filter: it is typed on purpose.
 */
bool name_filter_matches(const char *filter, const char *name);

/*
 * @name in at most @columns if that is enough, else as short as it gets: to be cut. What tells most
 * stays longest: of C++ and Rust names the arguments of templates go first ("<>" is left), then
 * those of the call, then the outer namespaces. malloc'ed, the caller's; NULL without memory.
 */
char *fit_name(const char *name, size_t columns);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_NAME_BOOK_H
#define PROFD_CLIENT_GATEWAY_NAME_BOOK_H

/*
 * Profiles in gperftools' format are for clients that ask for names afterwards, address by address
 * (/pprof/symbol). Their addresses are made up (view/made_up.h): the book keeps what they are
 * called, for the last profiles. Addresses of two of them are never the same. Pure.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

struct name_book;

#define NAME_BOOK_PROFILES 8u
#define NAME_BOOK_ANSWER   ((size_t)1 << 20) /* bytes; the addresses behind it are not known */
#define NAME_BOOK_NAME     4096u             /* bytes of a location's names; the rest is cut off */

/* 0 or -ENOMEM. */
int name_book_new(struct name_book **ret);
/* Takes NULL. */
void name_book_free(struct name_book *b);
DEFINE_CLEANUP(struct name_book *, name_book_free)

/* The number of the next profile. */
uint64_t name_book_number(struct name_book *b);
/* @names, each ended by NUL, are those of the profile with that number. 0 or negative errno. */
int name_book_add(struct name_book *b, uint64_t number, const char *names, size_t length);
/*
 * Answers a list of addresses, "0x12+0x34", with a line for each that is known: the address, a tab,
 * the functions there, the innermost first. *ret is malloc'ed. 0 or -ENOMEM.
 */
int name_book_answer(const struct name_book *b, const char *asked, char **ret, size_t *ret_length);

#endif

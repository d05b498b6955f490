/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_VIEW_MADE_UP_H
#define PROFD_CLIENT_GATEWAY_VIEW_MADE_UP_H

/*
 * Profiles in gperftools' format, which has one address space, while profd's may be of many
 * processes, with names already: locations get addresses that are made up. Location i of the
 * profile with the number n is at MADE_UP_PAGE(n) + MADE_UP_STEP * (i + 1): a caller's is looked up
 * a byte before. Pure.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct profile;

#define MADE_UP_STEP        16u
#define MADE_UP_SHIFT       32
#define MADE_UP_PAGE(n)     ((uint64_t)(n) << MADE_UP_SHIFT)
#define MADE_UP_NUMBERS_MAX UINT64_C(0x7fffff) /* then they begin anew */
#define MADE_UP_NAMES_MAX   ((size_t)4 << 20)  /* bytes of the names of one; others have none */

/* Encodes @p, whose first value are samples; *ret is malloc'ed. 0 or negative errno. */
int made_up_encode(const struct profile *p, uint64_t number, uint8_t **ret, size_t *ret_length);
/* Writes what its locations are called, each ended by a NUL: functions, the innermost first. */
void made_up_write_names(const struct profile *p, FILE *out);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TOP_FIT_NAME_H
#define PROFD_TOP_FIT_NAME_H

/*
 * Function names in little room. What tells most stays longest: of C++ and Rust names the arguments
 * of templates go first ("<>" is left), then those of the call, then the outer namespaces. Pure.
 */
#include <stddef.h>

/*
 * @name in at most @columns (characters.h) if that is enough, else as short as it gets: to be cut.
 * malloc'ed, the caller's; NULL without memory.
 */
char *fit_name(const char *name, size_t columns);

#endif

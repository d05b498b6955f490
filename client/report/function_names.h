/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_FUNCTION_NAMES_H
#define PROFD_REPORT_FUNCTION_NAMES_H

/*
 * What functions of a profile are called, made of their raw names: as --symbolize=demangle=... has
 * it, and by default for those alone that are still mangled, because a server or another program
 * left them so. An image worker demangles: they are strangers' texts.
 */
#include <stdbool.h>

#include "client/report/listener.h"
#include "client/report/symbolize_mode.h"
#include "common/profile/profile.h"

/* Whether function_names_set() would do anything. */
bool function_names_are_wanted(const struct profile *p, enum symbolize_names names);
/*
 * Notes what could not be demangled, and why: that keeps its names. Blocks on the worker. 0 or
 * negative errno.
 */
int function_names_set(struct profile *p, enum symbolize_names names,
		       const struct listener *listener);

#endif

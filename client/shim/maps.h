/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_SHIM_MAPS_H
#define PROFD_CLIENT_SHIM_MAPS_H

/* This process's mappings. */
#include <stddef.h>

#include "common/shim/maps_lines.h"

/* All of /proc/self/maps, with a 0 behind; malloc'ed. NULL: it cannot be had. */
char *maps_read(size_t *ret_length);

#endif

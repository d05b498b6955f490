/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_USER_CACHE_H
#define PROFD_CLIENT_GATEWAY_USER_CACHE_H

/* The cache that libdebuginfod shares among a user's programs. */
#include <stdbool.h>

/*
 * Whether there is one that can be written, where debuginfod_find_debuginfo(3) looks for it: it is
 * made if need be. Where there is none, libdebuginfod says the same as if the servers had no file.
 */
bool user_cache_is_usable(void);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_FORMATS_GZIP_H
#define PROFD_CLIENT_FORMATS_GZIP_H

#include <stddef.h>
#include <stdint.h>

/* @data as gzip packs it; *ret is malloc'ed, the caller's. 0 or negative errno. Pure. */
int gzip_pack(const void *data, size_t length, uint8_t **ret, size_t *ret_length);

#endif

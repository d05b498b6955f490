/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_GUNZIP_H
#define PROFD_COMMON_PROFILE_GUNZIP_H

/*
 * Bounded decompression of gzip data (RFC 1952) in memory: one or several members, whose contents
 * follow each other; anything else behind them is an error. Internal to common/profile; pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GUNZIP_E_OK,
	GUNZIP_E_MALFORMED,
	GUNZIP_E_TOO_BIG, /* more than the limit */
};

bool gunzip_is_gzip(const uint8_t *data, size_t length);
/*
 * Unpacks to at most @max_bytes. *ret is malloc'ed, the caller's. On GUNZIP_E_MALFORMED
 * *ret_offset is where in @data. Returns GUNZIP_E_* or negative errno.
 */
int gunzip_buffer(const uint8_t *data, size_t length, size_t max_bytes, uint8_t **ret,
		  size_t *ret_length, size_t *ret_offset);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_RUNTIME_PYTHON_TEXT_H
#define PROFD_DAEMON_WORKER_RUNTIME_PYTHON_TEXT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Characters of a str object as UTF-8: @length bytes of numbers of @width bytes each (1, 2 or 4;
 * else nothing), in this machine's byte order. What is no character is U+FFFD, control characters
 * are '?'. As many as fit into @ret with a NUL. Returns the length. Pure: the text is untrusted.
 */
size_t python_text(const uint8_t *data, size_t length, unsigned width, char *ret, size_t size);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_RUNTIME_V8_LINES_H
#define PROFD_DAEMON_WORKER_RUNTIME_V8_LINES_H

#include <stddef.h>
#include <stdint.h>

/* As python_line(), of V8's code: the line in which the function begins. */
uint32_t v8_line(uint32_t version, const uint8_t *table, size_t length, uint32_t first,
		 uint32_t offset);

#endif

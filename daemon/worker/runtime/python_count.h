/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_RUNTIME_PYTHON_COUNT_H
#define PROFD_DAEMON_WORKER_RUNTIME_PYTHON_COUNT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Where the static counter is that _PyCode_New of CPython 3.12, @code at @address of x86-64, gives
 * a code object its version from: 32 bits, one more each time unless they are 0. Returns 0 if not
 * exactly one place counts so. Pure: the code is untrusted.
 */
uint64_t python_find_count(const uint8_t *code, size_t n, uint64_t address);

#endif

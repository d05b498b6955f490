/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_RUNTIME_PYTHON_ROW_H
#define PROFD_COMMON_RUNTIME_PYTHON_ROW_H

/*
 * Where the versions of CPython keep what a walk reads: 64-bit builds with the GIL and without
 * Py_DEBUG. Constant within a minor version, in all builds. Source: the structs in
 * Include/internal/pycore_frame.h, pycore_runtime.h and Include/cpython/{code,pystate}.h of each.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/runtime/row.h"

/* The row of @version (0x030b is 3.11), but for .state. False: that version is not known. */
bool python_row(uint32_t version, struct runtime_row *ret);

#endif

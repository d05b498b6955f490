/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_RUNTIME_PYTHON_H
#define PROFD_DAEMON_WORKER_RUNTIME_PYTHON_H

#include <stdbool.h>

#include "daemon/worker/elf/elf_image.h"

/*
 * Whether @image is CPython, and which: by what every build exports to its extension modules,
 * stripped or not; or a program that needs it as a library. False: *ret is all zero, but for why
 * it is refused: free-threaded, Py_DEBUG.
 */
bool python_recognize(struct elf_image *image, struct worker_runtime *ret);

#endif

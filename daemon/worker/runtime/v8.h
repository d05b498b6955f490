/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_RUNTIME_V8_H
#define PROFD_DAEMON_WORKER_RUNTIME_V8_H

#include <stdbool.h>

#include "daemon/worker/elf/elf_image.h"

/*
 * Whether @image has V8, as Node has it, of a layout that is known: by the constants that it
 * exports to debuggers, stripped or not. False: *ret is untouched.
 */
bool v8_recognize(struct elf_image *image, struct worker_runtime *ret);

#endif

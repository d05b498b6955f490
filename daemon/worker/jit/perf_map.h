/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_JIT_PERF_MAP_H
#define PROFD_DAEMON_WORKER_JIT_PERF_MAP_H

#include "daemon/worker/jit/jit_input.h"
#include "daemon/worker/jit/jit_places.h"

/* Adds to @places all code that a perf map names. Returns 0 or WORKER_NOT_ELF. */
int perf_map_read(struct jit_input *in, struct jit_places *places);

#endif

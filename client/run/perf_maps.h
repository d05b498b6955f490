/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RUN_PERF_MAPS_H
#define PROFD_RUN_PERF_MAPS_H

/*
 * The files in which processes name the code that they generate, /tmp/perf-PID.map: kept open from
 * the end of the process on, for the names that are looked up when all have ended. One is believed
 * if it is a regular file of this user's that was written since the command began: what lies there
 * may be of an older process of that number.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"

struct perf_maps;

/* @start_ns: Unix time. Returns 0 or negative errno. */
int perf_maps_new(struct perf_maps **ret, const char *dir, uint64_t start_ns);
/* Takes NULL. */
void perf_maps_free(struct perf_maps *p);

/* @pid has ended, or executes another program: whether it has left a file. */
bool perf_maps_open(struct perf_maps *p, int pid);
/*
 * @mapping of the profile, higher than all before, is memory of the process whose file was opened
 * last. Returns 0 or -ENOMEM.
 */
int perf_maps_add(struct perf_maps *p, uint32_t mapping);
/* The file for @mapping, borrowed, or -1. */
int perf_maps_find(const struct perf_maps *p, uint32_t mapping);

#endif

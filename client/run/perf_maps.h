/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RUN_PERF_MAPS_H
#define PROFD_RUN_PERF_MAPS_H

#include <stdint.h>

/*
 * Opens the file in @dir, which is /tmp, in which process @pid, that has ended or executes another
 * program, has named the code that it generated: perf-PID.map. It is believed if it is a regular
 * file of this user's that was written since @start_ns (Unix time), when the command began: what
 * lies there may be of an older process of that number. Returns its fd, or -1.
 */
int perf_map_open(const char *dir, int pid, uint64_t start_ns);

#endif

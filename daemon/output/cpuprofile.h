/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_CPUPROFILE_H
#define PROFD_OUTPUT_CPUPROFILE_H

/*
 * The legacy profiles of a service's part of a snapshot: one for each process, of user frames only,
 * as a row of encoders.c has them.
 */
#include "daemon/output/encoders.h"

int legacy_add(struct writing *g, const struct view_group *group, const char *dir);
int legacy_count(struct store *store, const char *path, struct index_counts *ret);

#endif

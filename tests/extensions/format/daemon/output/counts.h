/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_COUNTS_H
#define PROFD_OUTPUT_COUNTS_H

#include "daemon/output/encoders.h"

/* As a row of encoders.c wants them. */
int counts_add(struct writing *g, const struct view_group *group, const char *dir);
int counts_count(struct store *store, const char *path, struct index_counts *ret);

#endif

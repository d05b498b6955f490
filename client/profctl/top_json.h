/* SPDX-License-Identifier: MIT */
#ifndef PROFCTL_TOP_JSON_H
#define PROFCTL_TOP_JSON_H

/* What `top --json` prints for each interval. */
#include <stdbool.h>
#include <stdio.h>

#include "client/top/screen.h"

/* At most @max functions: those that cost something in it. @compact: in one line. */
void top_json(const struct top_table *table, size_t max, bool compact, FILE *out);

#endif

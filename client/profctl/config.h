/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_CONFIG_H
#define PROFD_PROFCTL_CONFIG_H

#include <stdio.h>

/* Writes a configuration file's text as JSON. Returns 0 or negative errno. */
int config_text_to_json(const char *text, FILE *out);

#endif

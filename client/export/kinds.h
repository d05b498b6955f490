/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_EXPORT_KINDS_H
#define PROFD_CLIENT_EXPORT_KINDS_H

/* The kinds of servers, for the table in target.c. */
#include "client/export/target.h"

extern const struct export_target export_otlp;
extern const struct export_target export_parca;
extern const struct export_target export_pyroscope;

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_EXPORT_EXPORTS_H
#define PROFD_CLIENT_GATEWAY_EXPORT_EXPORTS_H

/* All targets of the configuration, each with an exporter (exporter.h). */
#include <stddef.h>

#include <systemd/sd-event.h>

#include "client/gateway/export/exporter.h"

struct config;
struct exports;

/* 0 or -ENOMEM. @directory: where it is noted what was sent; borrowed. */
int exports_new(struct exports **ret, sd_event *loop, const char *directory);
/* Takes NULL. */
void exports_free(struct exports *x);
DEFINE_CLEANUP(struct exports *, exports_free)

/* Whether those of @config could begin: their files can be read. EXPORTER_E_*, logged, or errno. */
int exports_check(const struct config *config);
/*
 * Those of @config, which is borrowed until the next call, in place of the ones before.
 * EXPORTER_E_* or negative errno, after which there are none.
 */
int exports_configure(struct exports *x, const struct config *config);

size_t exports_count(const struct exports *x);
void exports_get_counters(const struct exports *x, size_t i, struct exporter_counters *ret);

#endif

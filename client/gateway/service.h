/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_SERVICE_H
#define PROFD_CLIENT_GATEWAY_SERVICE_H

/*
 * profd-gateway as a service does what the configuration asks for: debug files (debuginfo.h), HTTP
 * (front.h), export (export/exports.h). It is set up as a whole, at the start and on SIGHUP, beside
 * what there is; only if all of it is good it takes its place.
 *
 * Runs until SIGTERM or SIGINT; SIGHUP reads the configuration again, and keeps the old one if the
 * new one is bad. Where the configuration asks for nothing, it logs that and exits: for systemd, a
 * start that succeeded. Returns an exit status.
 */
int service_run(const char *config_path, const char *cache_directory, const char *state_directory);

#endif

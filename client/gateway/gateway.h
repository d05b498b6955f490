/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_GATEWAY_H
#define PROFD_CLIENT_GATEWAY_GATEWAY_H

/*
 * profd-gateway, the service: the loop, and what the configuration asks for. By now that is debug
 * files (debuginfo.h). What is here holds no privileges any more (main.c).
 */

struct gateway_options {
	const char *config_path; /* NULL: the default one */
	const char *cache_directory;
};

/*
 * Runs until SIGTERM or SIGINT; SIGHUP reads the configuration again, and keeps the old one if the
 * new one is bad. Where the configuration asks for nothing, it says so and is done: for systemd, a
 * start that succeeded. Logs. Returns an exit status.
 */
int gateway_run(const struct gateway_options *options);

#endif

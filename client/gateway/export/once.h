/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_EXPORT_ONCE_H
#define PROFD_CLIENT_GATEWAY_EXPORT_ONCE_H

/* `profd-gateway --export TARGET`, for `profctl export`: sends what is stored of a range. */
#include <stdint.h>

struct once_options {
	const char *config_path;     /* NULL: the default one */
	const char *target;          /* the NAME of an [export NAME] */
	const char *services;        /* NULL: those of the target */
	uint64_t since_ns, until_ns; /* Unix time */
};

/*
 * Says on standard output what came of it, on standard error what is in the way. Returns an exit
 * status: 0, all was taken; 1, not all; 2, there is no such target.
 */
int once_run(const struct once_options *options);

#endif

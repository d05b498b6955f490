/* SPDX-License-Identifier: MIT */
#ifndef PROFD_WORKER_PACKAGE_DPKG_STATUS_H
#define PROFD_WORKER_PACKAGE_DPKG_STATUS_H

/*
 * Which versions of packages are installed, by dpkg's /var/lib/dpkg/status (deb-control(5),
 * dpkg(1), "Package states"): paragraphs of "Field: value", one for each package. Pure; the text
 * comes in pieces.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/line_reader.h"
#include "common/worker/protocol.h"

/* A package that is asked for. */
struct dpkg_package {
	struct span name;                     /* "libc-bin" */
	struct span architecture;             /* "amd64"; length 0: whichever there is */
	char version[WORKER_PACKAGE_VERSION]; /* clean, cut to its room; "": it is not installed */
};

/* @name as lists of files are called: "libc-bin", "libc6:amd64". */
void dpkg_package_parse(struct span name, struct dpkg_package *ret);

#define DPKG_FIELD_MAX 128 /* longer ones are of no package */

struct dpkg_status {
	struct dpkg_package *wanted; /* the caller's */
	size_t n_wanted;
	struct line_reader lines;
	/* Of the paragraph; longer ones are "". */
	char package[DPKG_FIELD_MAX], architecture[DPKG_FIELD_MAX], version[DPKG_FIELD_MAX];
	bool is_installed;
};

/* Sets the versions of @wanted (@n) in what follows. */
void dpkg_status_begin(struct dpkg_status *s, struct dpkg_package *wanted, size_t n);
void dpkg_status_read(struct dpkg_status *s, struct span piece);
void dpkg_status_end(struct dpkg_status *s);

#endif

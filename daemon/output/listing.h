/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_LISTING_H
#define PROFD_OUTPUT_LISTING_H

/* What `profctl list` shows: the services of the store, or the windows of one service. */
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

struct listing_row {
	char *service;      /* unescaped */
	char *file;         /* windows: path below the store; services: NULL */
	const char *format; /* windows: its name (contents.h); services: NULL */
	uint64_t start_ns;  /* Unix time; services: of the oldest window */
	uint64_t end_ns;    /* services: of the newest window */
	uint64_t samples;   /* windows only */
	uint64_t bytes;     /* allocated */
	uint64_t n_files;   /* services only */
};

struct listing {
	struct listing_row *rows; /* services by name, windows by time */
	size_t n_rows, max_rows;
};

struct store;

/*
 * @service NULL: the services that have a window between @since_ns and @until_ns; else the
 * windows of one that overlap this range (0: no bound). Sessions are not listed. May read files
 * whose number of samples is not known yet, one at a time and no large ones: those of a file system
 * without extended attributes. Returns 0 or negative errno.
 */
int listing_new(struct listing **ret, struct store *store, const char *service, uint64_t since_ns,
		uint64_t until_ns);
/* Frees all; takes NULL. */
void listing_free(struct listing *listing);
DEFINE_CLEANUP(struct listing *, listing_free)

#endif

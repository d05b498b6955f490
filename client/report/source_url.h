/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_SOURCE_URL_H
#define PROFD_REPORT_SOURCE_URL_H

/*
 * What a source is that is a URL, as pprof reads it (cmd/pprof's adjustURL, internal/symbolz):
 * http://..., https://..., https+insecure://..., or HOST:PORT with or without a path. Without one
 * it is Go's /debug/pprof/profile. Pure.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/profile/pprof.h" /* struct profile_message */

#define SOURCE_URL_SECONDS_MAX (7 * 86400)

struct source_url {
	char *request; /* what is fetched */
	char *shown;   /* the same, without a user's name and password */
	char *symbols; /* where addresses are given names (POST) */
	char *command; /* where the program's command line is; NULL: nowhere */
	bool is_insecure;
	unsigned seconds;    /* how long the profile is to be; 0: the server decides */
	uint64_t timeout_ms; /* for fetching it */
	uint64_t names_ms;   /* for asking for names */
};

struct source_url_times {
	int64_t seconds, timeout_s; /* 0: as the URL says, or else as usual */
};

enum {
	SOURCE_URL_E_OK,
	SOURCE_URL_E_NONE, /* it is no URL, but perhaps a file */
	SOURCE_URL_E_BAD,  /* it is one of no use: see the message */
};

/* *ret is the caller's. SOURCE_URL_E_* or negative errno. */
int source_url_parse(const char *text, const struct source_url_times *times,
		     struct source_url **ret, struct profile_message *message);
void source_url_free(struct source_url *url);
DEFINE_CLEANUP(struct source_url *, source_url_free)

#endif

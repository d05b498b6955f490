/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_SYMBOLIZE_MODE_H
#define PROFD_REPORT_SYMBOLIZE_MODE_H

/*
 * The words of --symbolize, as pprof has them: where names come from. Several with colons between
 * them; of places, the last one counts. Without any: from files here, and for what is left then
 * from the server that a profile was fetched from. pprof's demangle=... is none of them: programs'
 * names are demangled as they are read, and what a server says stays as it is. Pure.
 */
#include <stdbool.h>

#define SYMBOLIZE_MODE_WORDS "none, local, fastlocal, remote or force"

struct symbolize_mode {
	bool is_local;  /* from files on this host */
	bool is_fast;   /* without lines */
	bool is_remote; /* from the server of a profile */
	bool is_forced; /* also what has names */
};

/* False: it has a word that is none of them. */
bool symbolize_mode_parse(const char *text, struct symbolize_mode *ret);

#endif

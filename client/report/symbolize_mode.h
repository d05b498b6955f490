/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_SYMBOLIZE_MODE_H
#define PROFD_REPORT_SYMBOLIZE_MODE_H

/*
 * The words of --symbolize, as pprof has them: where names come from, and how they are demangled.
 * Several with colons between them; of places, and of demangle=, the last one counts. Without any:
 * from files here, and for what is left then from the server that a profile was fetched from. Pure.
 */
#include <stdbool.h>

#define SYMBOLIZE_MODE_WORDS \
	"none, local, fastlocal, remote, force or demangle=none, full, templates or default"

enum symbolize_names {
	SYMBOLIZE_NAMES_KEPT,      /* as the profile has them */
	SYMBOLIZE_NAMES_DEFAULT,   /* the same, but for mangled ones: those in whole */
	SYMBOLIZE_NAMES_RAW,       /* mangled: as symbol tables have them */
	SYMBOLIZE_NAMES_FULL,      /* without what compilers appended to them */
	SYMBOLIZE_NAMES_TEMPLATES, /* nor parameters and return types */
};

struct symbolize_mode {
	bool is_local;  /* from files on this host */
	bool is_fast;   /* without lines */
	bool is_remote; /* from the server of a profile */
	bool is_forced; /* also what has names; all demangle= but the default are, as in pprof */
	enum symbolize_names names;
};

/* False: it has a word that is none of them. */
bool symbolize_mode_parse(const char *text, struct symbolize_mode *ret);

#endif

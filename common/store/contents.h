/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_STORE_CONTENTS_H
#define PROFD_COMMON_STORE_CONTENTS_H

/* What profiles in the store hold: the choices of [store] formats, [labels] and [symbolize]. */
#include <stdbool.h>

/* Those whose files are windows come first; each is a row of contents_formats. */
enum contents_format {
	CONTENTS_PPROF,
	CONTENTS_LEGACY,
	N_CONTENTS_WINDOWS,
	CONTENTS_IMAGES = N_CONTENTS_WINDOWS,
	N_CONTENTS_FORMATS,
};

struct contents_format_row {
	const char *name;   /* as [store] formats has it */
	const char *suffix; /* of a window's file, without the dot */
	bool has_stem;      /* a window is several files, told apart by what precedes the suffix */
};

extern const struct contents_format_row contents_formats[N_CONTENTS_FORMATS];

/* Sets of formats. */
enum {
	FORMAT_PPROF = 1 << CONTENTS_PPROF,
	FORMAT_LEGACY = 1 << CONTENTS_LEGACY,
	FORMAT_IMAGES = 1 << CONTENTS_IMAGES, /* honoured for the system session only */
};

/* The keys of [labels] that are switched on. */
enum {
	LABEL_PID = 1 << 0,
	LABEL_COMM = 1 << 1,
	LABEL_THREAD = 1 << 2,
	LABEL_TID = 1 << 3,
	LABEL_SERVICE = 1 << 4,
	LABEL_CGROUP = 1 << 5,
	LABEL_CONTAINER = 1 << 6,
};

enum symbolize { SYMBOLIZE_NONE, SYMBOLIZE_FUNCTIONS, SYMBOLIZE_LINES };

#endif

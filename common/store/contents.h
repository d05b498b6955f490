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

/*
 * The keys of [labels], and whether they are switched on by default. Another label is a row here,
 * and one of what it is taken from in daemon/output/pprof.c.
 */
/* clang-format off */
#define LABELS(X)                   \
	X(PID, pid, "yes"),         \
	X(COMM, comm, "yes"),       \
	X(THREAD, thread, "yes"),   \
	X(TID, tid, "no"),          \
	X(SERVICE, service, "yes"), \
	X(CGROUP, cgroup, "no"),    \
	X(CONTAINER, container, "yes")
/* clang-format on */

#define LABEL_NUMBER(label, key, is_on) LABEL_NUMBER_##label
#define LABEL_BIT(label, key, is_on)    LABEL_##label = 1 << LABEL_NUMBER_##label

enum { LABELS(LABEL_NUMBER), N_LABELS };
enum { LABELS(LABEL_BIT) };

enum symbolize { SYMBOLIZE_NONE, SYMBOLIZE_FUNCTIONS, SYMBOLIZE_LINES };

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_STORE_CONTENTS_H
#define PROFD_COMMON_STORE_CONTENTS_H

/* What profiles in the store hold: the choices of [store] formats, [labels] and [symbolize]. */

enum {
	FORMAT_PPROF = 1 << 0,
	FORMAT_LEGACY = 1 << 1,
	FORMAT_IMAGES = 1 << 2, /* honoured for the system session only */
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

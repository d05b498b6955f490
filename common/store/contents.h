/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_STORE_CONTENTS_H
#define PROFD_COMMON_STORE_CONTENTS_H

/*
 * What profiles in the store hold, by [flush] formats and symbolize and by [labels]; and how much
 * is kept of them, by [store].
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Formats whose files are windows, by name, suffix of a file, and whether a window is several
 * files, told apart by what precedes the suffix. Another one is a row here, a row of what writes it
 * in daemon/output/encoders.c, and its number in common/control.proto.
 */
/* clang-format off */
#define CONTENTS_WINDOWS(X)             \
	X(PPROF, "pprof", "pb.gz", false), \
	X(LEGACY, "legacy", "prof", true)
/* clang-format on */

#define CONTENTS_NUMBER(format, name, suffix, has_stem) CONTENTS_##format
#define CONTENTS_BIT(format, name, suffix, has_stem)    FORMAT_##format = 1 << CONTENTS_##format

enum contents_format {
	CONTENTS_WINDOWS(CONTENTS_NUMBER),
	N_CONTENTS_WINDOWS,
	CONTENTS_IMAGES = N_CONTENTS_WINDOWS,
	N_CONTENTS_FORMATS,
};

/* Sets of formats. */
enum {
	CONTENTS_WINDOWS(CONTENTS_BIT),
	FORMAT_IMAGES = 1 << CONTENTS_IMAGES, /* honoured for the system session only */
	FORMATS_WINDOWS = FORMAT_IMAGES - 1,
};

struct contents_format_row {
	const char *name;   /* as [flush] formats has it */
	const char *suffix; /* of a window's file, without the dot */
	bool has_stem;
};

extern const struct contents_format_row contents_formats[N_CONTENTS_FORMATS];
/* The one of this name, @length bytes; N_CONTENTS_FORMATS: none. */
unsigned contents_find(const char *name, size_t length);

/*
 * The keys of [labels], and whether they are switched on by default. Another label is a row here,
 * and one of what it is taken from in daemon/output/pprof.c.
 */
/* clang-format off */
#define LABELS(X)                      \
	X(PID, pid, "yes"),            \
	X(COMM, comm, "yes"),          \
	X(THREAD, thread, "yes"),      \
	X(TID, tid, "no"),             \
	X(SERVICE, service, "yes"),    \
	X(CGROUP, cgroup, "no"),       \
	X(CONTAINER, container, "yes"),\
	X(POD, pod, "yes"),            \
	X(NAMESPACE, namespace, "yes"),\
	X(IMAGE, image, "yes"),        \
	X(VERSION, version, "yes"),    \
	X(WAIT, wait, "yes"),          \
	X(WAKER, waker, "no")
/* clang-format on */

#define LABEL_NUMBER(label, key, is_on) LABEL_NUMBER_##label
#define LABEL_BIT(label, key, is_on)    LABEL_##label = 1 << LABEL_NUMBER_##label

enum { LABELS(LABEL_NUMBER), N_LABELS };
enum { LABELS(LABEL_BIT) };

/*
 * The keys of [store] that say how much of it is kept: name, field, kind (common/config/config.c),
 * bounds, default; in bytes and seconds, but bounds of times in ns. Another one is a row here, and
 * what it means in daemon/output/retention.c.
 */
/* clang-format off */
#define LIMITS(X)                                                                             \
	X("max_size", max_size, SIZE, 1 << 20, UINT64_MAX, "2G")                              \
	X("min_free", min_free, SIZE, 0, UINT64_MAX, "1G")                                    \
	X("max_age", max_age_s, SECONDS, 60 * NS_PER_S, 36500 * DAY, "7d")                    \
	X("keep_windows", keep_windows, U64, 0, 100000, "3")                                  \
	X("rollup_after", rollup_after_s, SECONDS, 60 * NS_PER_S, 36500 * DAY, "6h")          \
	X("legacy_keep", legacy_keep_s, SECONDS, 0, 36500 * DAY, "1h")
/* clang-format on */

#define LIMIT_FIELD(key, field, kind, min, max, standard) uint64_t field;

enum symbolize { SYMBOLIZE_NONE, SYMBOLIZE_FUNCTIONS, SYMBOLIZE_LINES };

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_OUTPUT_H
#define PROFD_PROFCTL_OUTPUT_H

/* Where a verb writes a profile to, and in which format. "-" is standard output. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/formats/any_read.h"
#include "client/profctl/profctl.h"
#include "common/profile/profile.h"

#define OUTPUT_DEFAULT "./profd.pb.gz"

/* By its name: whether there is one called @text that can be written. */
bool output_find_format(const char *text, enum any_format *ret);
/* As the name of a file ends: .prof, .collapsed; else it is pprof. */
enum any_format output_format_of(const char *path);
/* By enum any_format. */
extern const struct output_kind {
	const char *name; /* NULL: it is not written */
	const char *file; /* in the working directory, for who says nothing */
	bool is_text;
} output_kinds[];

/*
 * Whether @path can be written, better known before than after hours; bytes are nothing for a
 * terminal. Returns 0, or @status after a complaint (for a terminal STATUS_USAGE).
 */
int output_check(const struct context *context, int status, const char *path, bool is_text);
/*
 * Writes @data to @path, whole or not at all; an error of standard output stays in the stream,
 * where main() looks for it. Returns 0, or @status after a complaint.
 */
int output_write(const struct context *context, int status, const char *path, const uint8_t *data,
		 size_t length);
/* Both. */
int output_save(const struct context *context, int status, const char *path, enum any_format format,
		const struct profile *p);

#endif

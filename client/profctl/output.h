/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_OUTPUT_H
#define PROFD_PROFCTL_OUTPUT_H

/*
 * Where a verb writes a profile to, and in which format. "-" is standard output. A file that the
 * user names is replaced; one that nobody names is new: profd.pb.gz, profd-2.pb.gz and so on.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/formats/any_read.h"
#include "client/profctl/profctl.h"
#include "common/profile/profile.h"

#define OUTPUT_NAME_SIZE 32

struct output_file {
	const char *path; /* "": the user names none; from output_begin() on what it is called */
	enum any_format format;
	char made[OUTPUT_NAME_SIZE]; /* that name, where nobody named one */
};

/* By its name: whether there is one called @text that can be written. */
bool output_find_format(const char *text, enum any_format *ret);
/* As the name of a file ends: .prof, .collapsed; else it is pprof. */
enum any_format output_format_of(const char *path);
/* By enum any_format. */
extern const struct output_kind {
	const char *name; /* NULL: it is not written */
	const char *suffix;
	bool is_text;
} output_kinds[];

/*
 * Whether @path can be written, better known before than after hours; bytes are nothing for a
 * terminal. Returns 0, or @status after a complaint (for a terminal STATUS_USAGE).
 */
int output_check(const struct context *context, int status, const char *path, bool is_text);
/* The same of @output, whose name is chosen here if there is none. */
int output_begin(const struct context *context, int status, struct output_file *output);
/*
 * Writes @data, whole or not at all; where nobody named the file and its name was taken meanwhile,
 * to one of another name. An error of standard output stays in the stream, where main() looks for
 * it. Returns 0, or @status after a complaint.
 */
int output_write(const struct context *context, int status, struct output_file *output,
		 const uint8_t *data, size_t length);
/* The same with @p in the output's format. */
int output_save(const struct context *context, int status, struct output_file *output,
		const struct profile *p);

#endif

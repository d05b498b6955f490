/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_FRAME_KIND_H
#define PROFD_CLIENT_ANALYSIS_FRAME_KIND_H

/*
 * What kind of code a frame is of, by the names of its source file and of its module: what profiles
 * of all formats have. Pure.
 */
#include <stdbool.h>

struct frame;
struct profile;

/* A language whose functions have no machine code of their own in a file. */
struct frame_language {
	const char *name;      /* for people */
	const char *otlp_type; /* profile.frame.type in OpenTelemetry's conventions */
};

/* Of a source file's name; NULL: of no such language. */
const struct frame_language *frame_language_of(const char *file);
/* [kernel.kallsyms], and the kernel's modules: [nf_tables], nf_tables.ko. */
bool frame_module_is_kernel(const char *module);
/* "kernel", a language's name, or "" for native code and for labels. @frame with its object. */
const char *frame_kind(const struct profile *p, const struct frame *frame);

#endif

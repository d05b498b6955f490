/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_NODE_NAME_H
#define PROFD_CLIENT_ANALYSIS_NODE_NAME_H

/*
 * What a frame is called in a report, as pprof has it: its address, if addresses are told apart,
 * its function and its file with the line; what has no name is called by the object that it is in,
 * [libc.so.6]. Texts of strangers: control characters, of which a terminal might do anything, are
 * replaced.
 */
#include <stddef.h>
#include <stdint.h>

#include "client/analysis/frame.h"

struct profile;

/* A frame without its file and line, unless they are its name: for formats that tell them apart. */
struct frame node_name_bare(const struct frame *frame);
/* On one line; *ret malloc'ed, the caller's. 0 or negative errno. */
int node_name(const struct profile *p, const struct frame *frame, char **ret);
/*
 * For a box: on several lines, shortened (packages, namespaces and arguments left out), files
 * without directories. *ret malloc'ed, the caller's. 0 or negative errno.
 */
int node_name_lines(const struct profile *p, const struct frame *frame, char **ret);
/* node_name() of frames, by their numbers, each made once. All zero: none is made yet. */
struct node_names {
	char **all; /* NULL: not made */
	size_t n;
};

void node_names_deinit(struct node_names *names);
/* Has the name of @frame, which is number @i, in names->all[@i]. 0 or negative errno. */
int node_names_make(struct node_names *names, const struct profile *p, const struct frame *frame,
		    uint32_t i);
/* What follows the last slash; of "dir/", "dir/" itself. In @path. */
const char *node_name_base(const char *path);
/* What the program of @p is called, by convention the first mapping; "": not known. */
const char *node_name_program(const struct profile *p);
/* @text with '?' for its control characters; malloc'ed, NULL without memory. */
char *node_name_plain(const char *text);

#endif

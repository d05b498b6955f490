/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_FRAME_H
#define PROFD_CLIENT_ANALYSIS_FRAME_H

/*
 * A frame: what a report has a line for, and what pprof calls a node's name. How much of a place in
 * the code a frame tells is the report's granularity; what it does not tell is 0, so that places
 * which the report does not tell apart are one frame.
 */
#include <stdint.h>

/* Without padding: frames are compared as bytes. */
struct frame {
	uint32_t name;            /* strings of the profile; 0: none */
	uint32_t filename;        /* cleaned, see source_path.h */
	uint32_t object;          /* the mapping's path */
	int32_t column;           /* in the line; 0: unknown, or columns do not count */
	int64_t line, start_line; /* start_line: of the function */
	uint64_t address;
	/* The number of the mapping, plus 1; only where shape_options.with_mappings asks for it. */
	uint64_t mapping;
};

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_WAIT_PLACE_H
#define PROFD_CLIENT_ANALYSIS_WAIT_PLACE_H

/*
 * Where a stack waits, from the program's point of view: the function that the program called in
 * order to wait, and the program's function that called it: pthread_cond_wait < queue_pop. Frames
 * of the kernel, the C library and the language runtime below that are left out. Pure.
 */
#include <stdint.h>

struct profile;
struct stack;
struct view_input;

#define WAIT_PLACE_NONE UINT32_MAX

/* Indices of frames, which have objects (shape_options.with_objects). */
struct wait_place {
	uint32_t at;     /* WAIT_PLACE_NONE: the stack has no frame */
	uint32_t caller; /* WAIT_PLACE_NONE: @at is the program's own, or nothing else is known */
};

/* @call: the system call that it waits in, or "". */
struct wait_place wait_place_of(const struct view_input *input, const struct stack *stack,
				const char *call);

#endif

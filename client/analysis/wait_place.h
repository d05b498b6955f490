/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_WAIT_PLACE_H
#define PROFD_CLIENT_ANALYSIS_WAIT_PLACE_H

/*
 * Where a stack waits, in the words of who wrote the program: the function that the program called
 * in order to wait, and which of its own functions did so: pthread_cond_wait < queue_pop. What lies
 * below the former is the C library's, the language runtime's or the kernel's business. Pure.
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

struct wait_place wait_place_of(const struct view_input *input, const struct stack *stack);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_VIEW_FUNCTION_MATCH_H
#define PROFD_CLIENT_GATEWAY_VIEW_FUNCTION_MATCH_H

/*
 * Which frames are of the function that was asked for, by the name that answers have for it: each
 * frame is compared once.
 */
#include <stddef.h>
#include <stdint.h>

#include "client/analysis/view.h"

/* All zero but for the name, which is borrowed, is none yet. */
struct function_match {
	const char *name;
	uint8_t *frames; /* by number: not compared yet, another, the function */
	size_t n;
};

void function_match_deinit(struct function_match *m);
/* Of @stack's frames, leaf first, the first one from *@at on; false: none. 0 or negative errno. */
int function_match_next(struct function_match *m, const struct view_input *input,
			const struct stack *stack, uint32_t *at, bool *ret);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_SHIM_CORE_TICK_H
#define PROFD_CLIENT_SHIM_CORE_TICK_H

/*
 * The walk of the stack that a signal interrupted, in the signal's handler: async-signal-safe, no
 * lock, no allocation. The steps and tables are profd's own (common/unwind).
 *
 * Memory: the part of the thread's own stack that is in use is read as it is. Whatever else the
 * walk asks for (alternate stacks, stacks of coroutines, threads whose stack is not known) is read
 * through the kernel, which refuses instead of faulting.
 */
#include <stdbool.h>
#include <stdint.h>

#include "client/shim/core/images.h"
#include "client/shim/core/threads.h"
#include "common/unwind/registers.h"

struct tick_stack {
	uint32_t n;      /* frames in thread->frames, lookup addresses, leaf first; at least 1 */
	uint8_t quality; /* enum stack_quality */
	uint8_t reason;  /* of its list */
	bool is_outside; /* of some code no mapping was found */
};

/* The registers in @ucontext, a ucontext_t. */
void tick_registers(const void *ucontext, struct unwind_registers *ret);
/* Walks from @registers. @thread gives its stack, and room. */
void tick_walk(struct images *images, const struct images_view *view, struct thread *thread,
	       const struct unwind_registers *registers, struct tick_stack *ret);

#endif

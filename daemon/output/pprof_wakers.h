/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_PPROF_WAKERS_H
#define PROFD_OUTPUT_PPROF_WAKERS_H

/*
 * The wakers of a group's waits, in words, as the label `waker` has it: "flusher in cache_put"
 * for a thread and the program's function that it was in, "interrupt in hrtimer_wakeup" for what an
 * interrupt ran; an address of a file in place of a
 * function without a name; without "in" where nothing is known.
 */
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/output/context.h"
#include "daemon/output/view.h"

struct pprof_wakers;

/* Asks for names as @symbolize says. Blocks for the worker. Returns 0 or negative errno. */
int pprof_wakers_new(struct pprof_wakers **ret, const struct context *c, const struct view *view,
		     const struct view_group *group, enum symbolize symbolize);
void pprof_wakers_free(struct pprof_wakers *w);
DEFINE_CLEANUP(struct pprof_wakers *, pprof_wakers_free)

/* Of an entry's waker; "": unknown. Lives as long as @w. */
const char *pprof_wakers_text(const struct pprof_wakers *w, uint32_t waker);

#endif

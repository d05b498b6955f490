/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_COMMON_WAITS_H
#define PROFD_COMMON_WAITS_H

/*
 * What a thread without a CPU waits for: X(CONSTANT, name as the label `state` has it). Macros
 * only, so that the BPF programs and profd share them.
 */
/* clang-format off */
#define WAIT_STATES(X)                                                        \
	X(RUNNABLE, runnable) /* for a CPU */                                 \
	X(SLEEP, sleep)       /* for an event; a signal ends the sleep */     \
	X(DISK, disk)         /* uninterruptibly, as for a disk */            \
	X(STOPPED, stopped)   /* for a signal, a debugger or the freezer */
/* clang-format on */

#define WAIT_ENUM(c, n) WAIT_##c,

enum wait_state { WAIT_NONE /* it has a CPU */, WAIT_STATES(WAIT_ENUM) N_WAIT_STATES };

#define WAIT_NO_CALL (-1) /* in no system call, or not known in which */

#endif

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_COMMON_REASONS_H
#define PROFD_COMMON_REASONS_H

/*
 * The one list of names for what can happen to a tick: X(CONSTANT, name as status prints it).
 * Macros only, so that the BPF programs and profd share them. The lists grow at their ends: what is
 * recorded (daemon/ingest/replay_format.h) holds the numbers.
 *
 *   expected = seen + lost.skipped
 *   seen     = complete + guessed + no_user + truncated + broken + the other lost + in_flight
 *   routed   = counted + filtered + dropped           (per session)
 */

/* The walk was cut although the stack goes on. */
#define TRUNCATED_REASONS(X)                                                             \
	X(DEPTH, depth) /* as many frames as the sampler may have */                     \
	X(COPY, copy)   /* the copy of the stack ends here, and no more could be read */ \
	X(SHARE, share) /* not kept: its user's stacks have had their share of the window */

/* The walk ended before a root was reached. */
#define BROKEN_REASONS(X)                                                                        \
	X(FRAME_POINTER, frame_pointer) /* a saved frame pointer that points nowhere sensible */ \
	X(UNREADABLE, unreadable)       /* stack memory that could not be read */                \
	X(NO_REGISTERS, no_registers)   /* the user registers could not be had */                \
	X(UNKNOWN, unknown)   /* it ended, and the source cannot tell whether at a root */       \
	X(UNMAPPED, unmapped) /* a code address that no known mapping holds */                   \
	X(RULE, rule)         /* an unwind rule that the walk cannot follow */                   \
	X(NO_TABLE, no_table) /* unwind rules that could not be had in time or at all */         \
	X(NO_COPY, no_copy)   /* profd was to finish the walk; no room for its stack */          \
	X(STALE, stale)       /* walked by mappings that had just been replaced */               \
	X(QUEUED, queued)     /* a wait for a CPU that went on when its session ended */         \
	X(GUESSES, guesses)   /* too many callers, or words, would have to be guessed */

/* The tick left no sample. */
#define LOSS_REASONS(X)                                                                \
	X(SKIPPED, skipped)     /* the kernel did not run the program for this tick */ \
	X(RING_FULL, ring_full) /* no room in the ring buffer, or no ring */           \
	X(SCRATCH, scratch)     /* the per-CPU scratch memory could not be had */      \
	X(MALFORMED, malformed) /* profd could not read the record */                  \
	X(SWITCHED, switched)   /* the thread lost its CPU before its stack was taken */

/* A session wanted the sample but could not count it. */
#define DROP_REASONS(X)                                                                           \
	X(MEMORY, memory)       /* budget reached while windows before are still being written */ \
	X(UNWRITTEN, unwritten) /* its last window could not be written */

#define REASON_ENUM_TRUNCATED(c, n) TRUNCATED_##c,
#define REASON_ENUM_BROKEN(c, n)    BROKEN_##c,
#define REASON_ENUM_LOST(c, n)      LOST_##c,
#define REASON_ENUM_DROPPED(c, n)   DROPPED_##c,
#define REASON_NAME(c, n)           #n,

enum truncated_reason { TRUNCATED_REASONS(REASON_ENUM_TRUNCATED) N_TRUNCATED };
enum broken_reason { BROKEN_REASONS(REASON_ENUM_BROKEN) N_BROKEN };
enum lost_reason { LOSS_REASONS(REASON_ENUM_LOST) N_LOST };
enum dropped_reason { DROP_REASONS(REASON_ENUM_DROPPED) N_DROPPED };

/* How a sample's user stack ended; `reason` beside it is of the matching list above. */
enum stack_quality {
	STACK_COMPLETE,  /* the root was reached, or a kernel thread, which has no user stack */
	STACK_NO_USER,   /* exiting or in the middle of exec: there is no user stack to walk */
	STACK_TRUNCATED, /* reason: enum truncated_reason */
	STACK_BROKEN,    /* reason: enum broken_reason */
	STACK_GUESSED,   /* a root was reached, and a caller on the way is a guess */
	N_STACK_QUALITY,
};

/* How many reasons there are; 0: there is no such quality. */
#define N_STACK_REASONS(quality)                              \
	((quality) == STACK_TRUNCATED ? (unsigned)N_TRUNCATED \
	 : (quality) == STACK_BROKEN  ? (unsigned)N_BROKEN    \
				      : (quality) < N_STACK_QUALITY)

#endif

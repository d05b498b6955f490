/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_HELD_UP_H
#define PROFD_RESOLVE_HELD_UP_H

/*
 * Processes that were asked for something in vain, because their owners hold the locks that it
 * takes. Each such wait costs all others time, and may leave a child behind for as long as it
 * lasts; so a process is asked again later, and later each time, and a user may cause a few waits:
 * his processes are then not asked at all for a while.
 *
 * A wait is remembered, under its process and user, for 30 s at least, and as long as that process
 * lives and has not answered: so long a child may be stuck. A user's waits of the last 30 s bound
 * how long others wait because of him, and all of his waits, how many children are stuck. Of these
 * there are HELD_UP_MAX at most, shared out as fair_share.h has it: there is one for who has none.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HELD_UP_MAX 48

/* What is waited for: the process's lock; for what it has mapped also its memory's. */
enum proc_locks { PROC_LOCKS_NONE, PROC_LOCKS_OWN, PROC_LOCKS_ALL };

struct proc_wait {
	pid_t pid;
	enum proc_locks locks;
	uid_t uid;
	uint64_t time_ns;  /* when it ended */
	uint64_t again_ns; /* not before then */
	bool is_over;      /* it has answered since */
};

/* Zeroed: none. */
struct held_up {
	struct proc_wait waits[HELD_UP_MAX];
	size_t n_waits;
};

/* Forgets those that are over. @now_ns here and below: of one clock. */
void held_up_forget(struct held_up *h, uint64_t now_ns);
/* Whether @pid, @uid's, may be asked for what takes @locks. */
bool held_up_may_ask(const struct held_up *h, pid_t pid, enum proc_locks locks, uid_t uid,
		     uint64_t now_ns);
/* It was, as it may be, and there was no answer. */
void held_up_note_wait(struct held_up *h, pid_t pid, enum proc_locks locks, uid_t uid,
		       uint64_t now_ns);
void held_up_note_answer(struct held_up *h, pid_t pid, enum proc_locks locks);

#endif

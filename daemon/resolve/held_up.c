/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/held_up.h"

#include <errno.h>
#include <signal.h>

#include "common/clock.h"
#include "common/fair_share.h"

#define FORGET_NS  (30 * NS_PER_S)
#define RECENT_MAX 4              /* of a user: a second of FORGET_NS, or less */
#define AGAIN_NS   (2 * NS_PER_S) /* the first time; then eight times as long each time */

void held_up_forget(struct held_up *h, uint64_t now_ns)
{
	for (size_t i = h->n_waits; i-- > 0;) {
		struct proc_wait *wait = &h->waits[i];

		wait->is_over |= kill(wait->pid, 0) < 0 && errno == ESRCH;
		if (wait->is_over && now_ns - wait->time_ns > FORGET_NS)
			*wait = h->waits[--h->n_waits];
	}
}

bool held_up_may_ask(const struct held_up *h, pid_t pid, enum proc_locks locks, uid_t uid,
		     uint64_t now_ns)
{
	struct fair_share share = fair_share_for(uid, HELD_UP_MAX);
	size_t n_recent = 0;

	for (size_t i = 0; i < h->n_waits; i++) {
		const struct proc_wait *wait = &h->waits[i];

		if (wait->pid == pid && wait->locks <= locks && !wait->is_over &&
		    now_ns < wait->again_ns)
			return false;
		fair_share_count(&share, wait->uid);
		n_recent += wait->uid == uid && now_ns - wait->time_ns <= FORGET_NS;
	}
	return n_recent < RECENT_MAX && fair_share_has_room(&share);
}

void held_up_note_wait(struct held_up *h, pid_t pid, enum proc_locks locks, uid_t uid,
		       uint64_t now_ns)
{
	struct proc_wait wait = {.pid = pid, .locks = locks, .uid = uid, .time_ns = now_ns};
	uint64_t again_ns = AGAIN_NS;

	for (size_t i = 0; i < h->n_waits; i++)
		if (h->waits[i].pid == pid)
			again_ns *= 8;
	wait.again_ns = now_ns + again_ns;
	if (h->n_waits < HELD_UP_MAX)
		h->waits[h->n_waits++] = wait;
}

void held_up_note_answer(struct held_up *h, pid_t pid, enum proc_locks locks)
{
	for (size_t i = 0; i < h->n_waits; i++)
		h->waits[i].is_over |= h->waits[i].pid == pid && h->waits[i].locks <= locks;
}

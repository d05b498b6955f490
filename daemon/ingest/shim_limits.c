/* SPDX-License-Identifier: MIT */
#include "daemon/ingest/shim_limits.h"

#include <stddef.h>

/* Threads that may all have a tick under way: as many as the library has timers for. */
#define THREADS_LATE 4096
/* What the clocks of the kernel may lag. */
#define SLACK_NS UINT64_C(100000000)
/* Of the CPU time, in parts: the same. */
#define SLACK_PART 8

void shim_account_begin(struct shim_account *a, uint64_t cpu_ns)
{
	*a = (struct shim_account){.cpu_ns = cpu_ns, .credit_ns = SLACK_NS};
}

void shim_account_look(struct shim_account *a, uint64_t cpu_ns, uint64_t tick_ns)
{
	uint64_t used = cpu_ns > a->cpu_ns ? cpu_ns - a->cpu_ns : 0;
	uint64_t kept = SLACK_NS + THREADS_LATE * tick_ns;

	if (a->credit_ns > kept)
		a->credit_ns = kept;
	a->credit_ns += used + used / SLACK_PART;
	a->cpu_ns += used;
}

uint64_t shim_account_take(struct shim_account *a, uint64_t n, uint64_t tick_ns)
{
	uint64_t most = a->credit_ns / tick_ns;

	if (n > most)
		n = most;
	a->credit_ns -= n * tick_ns;
	return n;
}

uint64_t shim_account_periods(uint64_t *rest_ns, uint64_t add_ns, uint64_t period_ns)
{
	uint64_t sum = *rest_ns + add_ns;

	*rest_ns = sum % period_ns;
	return sum / period_ns;
}

bool shim_pace_allows(struct shim_pace *pace, uid_t uid, uint64_t now_ns)
{
	size_t place = 0;

	/* Its own place, else that of the user who has been quiet for longest. */
	for (size_t i = 0; i < SHIM_PACE_USERS; i++) {
		if (pace->users[i].until_ns && pace->users[i].uid == uid) {
			place = i;
			break;
		}
		if (pace->users[i].until_ns < pace->users[place].until_ns)
			place = i;
	}
	if (!pace->users[place].until_ns || pace->users[place].uid != uid ||
	    pace->users[place].until_ns < now_ns) {
		pace->users[place].uid = uid;
		pace->users[place].until_ns = now_ns;
	}
	if (pace->users[place].until_ns - now_ns > (SHIM_PACE_BURST - 1) * SHIM_PACE_NS)
		return false;
	pace->users[place].until_ns += SHIM_PACE_NS;
	return true;
}

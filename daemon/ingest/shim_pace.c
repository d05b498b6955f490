/* SPDX-License-Identifier: MIT */
#include "daemon/ingest/shim_pace.h"

#include <stddef.h>

bool shim_pace_allows(struct shim_pace *pace, uid_t uid, uint64_t now_ns)
{
	size_t place = 0;

	/* Its own place, else that of whoever has been quiet for longest. */
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

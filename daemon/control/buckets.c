/* SPDX-License-Identifier: MIT */
#include "daemon/control/buckets.h"

#include <stddef.h>

/* That of @uid, else one that is full, else the one that is shared. */
static struct bucket *buckets_find(struct buckets *b, uid_t uid, uint64_t now_ns)
{
	struct bucket *full = NULL;

	for (unsigned i = 0; i < BUCKETS_UIDS; i++) {
		struct bucket *bucket = &b->uids[i];

		if (bucket->full_ns <= now_ns)
			full = bucket;
		else if (bucket->uid == uid)
			return bucket;
	}
	return full ? full : &b->others;
}

uint64_t buckets_wait_ns(struct buckets *b, uid_t uid, uint64_t now_ns)
{
	uint64_t full_ns = buckets_find(b, uid, now_ns)->full_ns;

	return full_ns > now_ns + BUCKETS_BURST_NS ? full_ns - now_ns - BUCKETS_BURST_NS : 0;
}

void buckets_draw(struct buckets *b, uid_t uid, uint64_t cost_us, uint64_t now_ns)
{
	struct bucket *bucket = buckets_find(b, uid, now_ns);
	uint64_t from_ns = bucket->full_ns > now_ns ? bucket->full_ns : now_ns;

	*bucket = (struct bucket){uid, from_ns + (uint64_t)((double)cost_us * 1000 / b->share)};
}

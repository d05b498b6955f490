/* SPDX-License-Identifier: MIT */
#include "daemon/control/buckets.h"

/* That of @uid, else the one that is nearest to full. */
static struct bucket *buckets_find(struct buckets *b, uid_t uid)
{
	struct bucket *nearest = b->uids;

	for (unsigned i = 0; i < BUCKETS_UIDS; i++) {
		struct bucket *bucket = &b->uids[i];

		if (bucket->uid == uid && bucket->full_ns)
			return bucket;
		if (bucket->full_ns <= nearest->full_ns)
			nearest = bucket;
	}
	return nearest;
}

uint64_t buckets_wait_ns(struct buckets *b, uid_t uid, uint64_t now_ns)
{
	uint64_t full_ns = buckets_find(b, uid)->full_ns;

	return full_ns > now_ns + BUCKETS_BURST_NS ? full_ns - now_ns - BUCKETS_BURST_NS : 0;
}

void buckets_draw(struct buckets *b, uid_t uid, uint64_t cost_us, uint64_t now_ns)
{
	struct bucket *bucket = buckets_find(b, uid);
	uint64_t from_ns = bucket->full_ns > now_ns ? bucket->full_ns : now_ns;

	*bucket = (struct bucket){uid, from_ns + (uint64_t)((double)cost_us * 1000 / b->share)};
}

void buckets_owe(struct buckets *b, uid_t uid, uint64_t cost_us, uint64_t now_ns)
{
	const uint64_t max_ns = now_ns + BUCKETS_BURST_NS + BUCKETS_OWED_NS;
	struct bucket *bucket = buckets_find(b, uid);
	const uint64_t before_ns = bucket->full_ns;

	buckets_draw(b, uid, cost_us, now_ns);
	if (bucket->full_ns > max_ns)
		bucket->full_ns = before_ns > max_ns ? before_ns : max_ns;
}

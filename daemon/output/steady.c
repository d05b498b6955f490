/* SPDX-License-Identifier: MIT */
#include "daemon/output/steady.h"

#include "common/clock.h"

static uint64_t time_distance(int64_t a, int64_t b)
{
	return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

void steady_begin(struct steady *s, uint64_t wall_ns, uint64_t boot_ns, uint64_t newest_s)
{
	*s = (struct steady){
		.known = true,
		.offset_ns = (int64_t)(wall_ns - boot_ns),
		.since_ns = boot_ns,
		.boot_ns = boot_ns,
	};
	s->doubtful = newest_s && time_distance((int64_t)(wall_ns / NS_PER_S), (int64_t)newest_s) >
					  STEADY_TRUST_S;
}

void steady_follow(struct steady *s, uint64_t wall_ns, uint64_t boot_ns)
{
	int64_t offset_ns = (int64_t)(wall_ns - boot_ns);

	if (!s->known) {
		steady_begin(s, wall_ns, boot_ns, 0);
		return;
	}
	if (time_distance(offset_ns, s->offset_ns) > (uint64_t)STEADY_JUMP_S * NS_PER_S) {
		s->since_ns = boot_ns;
		s->doubtful = true;
	}
	s->offset_ns = offset_ns;
	s->boot_ns = boot_ns;
}

uint64_t steady_seconds(const struct steady *s)
{
	return (s->boot_ns - s->since_ns) / NS_PER_S;
}

bool steady_is_reliable(const struct steady *s)
{
	return !s->doubtful || steady_seconds(s) >= STEADY_TRUST_S;
}

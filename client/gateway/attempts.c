/* SPDX-License-Identifier: MIT */
/*
 * A table of fixed size says of each build id when it may be asked for again; one more pair of
 * numbers, for how long all servers rest. It is searched from end to end, which is nothing beside a
 * fetch. An empty place is one that is due since ever, so it is taken before all others.
 */
#include "client/gateway/attempts.h"

#include <string.h>

#include "common/clock.h"

#define ANSWERED_NS (86400 * NS_PER_S)
#define FAILED_NS   (3600 * NS_PER_S)
#define REST_MIN_NS (60 * NS_PER_S)
#define REST_MAX_NS (3600 * NS_PER_S)

/* The place of @id; without one, the place that it is to get. */
static const struct attempt *attempts_find(const struct attempts *a, const uint8_t *id,
					   size_t length)
{
	const struct attempt *first = &a->by_id[0];

	for (size_t i = 0; i < ATTEMPTS_MAX; i++) {
		const struct attempt *attempt = &a->by_id[i];

		if (attempt->length == length && memcmp(attempt->id, id, length) == 0)
			return attempt;
		if (attempt->until_ns < first->until_ns)
			first = attempt;
	}
	return first;
}

bool attempts_may_query(const struct attempts *a, uint64_t now_ns)
{
	return now_ns >= a->rests_until_ns;
}

bool attempts_may_query_id(const struct attempts *a, const uint8_t *id, size_t length,
			   uint64_t now_ns)
{
	const struct attempt *attempt;

	if (!length || length > ATTEMPTS_ID_MAX)
		return false;
	attempt = attempts_find(a, id, length);
	return attempt->length != length || memcmp(attempt->id, id, length) != 0 ||
	       now_ns >= attempt->until_ns;
}

static void attempts_record(struct attempts *a, const uint8_t *id, size_t length, uint64_t until_ns)
{
	struct attempt *attempt = &a->by_id[attempts_find(a, id, length) - a->by_id];

	*attempt = (struct attempt){.until_ns = until_ns, .length = length};
	memcpy(attempt->id, id, length);
}

void attempts_answered(struct attempts *a, const uint8_t *id, size_t length, uint64_t now_ns)
{
	a->rest_ns = a->rests_until_ns = 0;
	attempts_record(a, id, length, now_ns + ANSWERED_NS);
}

uint64_t attempts_failed(struct attempts *a, const uint8_t *id, size_t length, uint64_t now_ns)
{
	a->rest_ns = a->rest_ns ? 2 * a->rest_ns : REST_MIN_NS;
	if (a->rest_ns > REST_MAX_NS)
		a->rest_ns = REST_MAX_NS;
	a->rests_until_ns = now_ns + a->rest_ns;
	attempts_record(a, id, length, now_ns + FAILED_NS);
	return a->rest_ns;
}

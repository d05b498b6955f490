/* SPDX-License-Identifier: MIT */
#include "client/gateway/attempts.h"

#include <errno.h>
#include <string.h>

#define HASH_NONFATAL_OOM            1
#define uthash_nonfatal_oom(attempt) ((attempt)->is_lost = true)
#include <uthash.h>

#include "common/clock.h"
#include "common/error.h"

#define ANSWERED_NS (86400 * NS_PER_S)
#define FAILED_NS   (3600 * NS_PER_S)
#define REST_MIN_NS (60 * NS_PER_S)
#define REST_MAX_NS (3600 * NS_PER_S)

struct attempt {
	uint64_t until_ns;
	UT_hash_handle hh;
	bool is_lost; /* there was no memory to keep it */
	size_t length;
	uint8_t id[];
};

struct attempts {
	struct attempt *by_id;
	uint64_t rest_ns, rests_until_ns;
};

int attempts_new(struct attempts **ret)
{
	struct attempts *a = calloc(1, sizeof(*a));

	if (!a)
		return error_origin(-ENOMEM);
	*ret = a;
	return 0;
}

static void attempts_remove(struct attempts *a, struct attempt *attempt)
{
	HASH_DEL(a->by_id, attempt);
	free(attempt);
}

void attempts_free(struct attempts *a)
{
	struct attempt *attempt, *next;

	if (!a)
		return;
	HASH_ITER (hh, a->by_id, attempt, next)
		attempts_remove(a, attempt);
	free(a);
}

static struct attempt *attempts_find(const struct attempts *a, const uint8_t *id, size_t length)
{
	struct attempt *attempt;

	HASH_FIND(hh, a->by_id, id, length, attempt);
	return attempt;
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
	return !attempt || now_ns >= attempt->until_ns;
}

static void attempts_make_room(struct attempts *a)
{
	struct attempt *attempt, *next, *first = NULL;

	if (HASH_COUNT(a->by_id) < ATTEMPTS_MAX)
		return;
	HASH_ITER (hh, a->by_id, attempt, next)
		if (!first || attempt->until_ns < first->until_ns)
			first = attempt;
	attempts_remove(a, first);
}

static int attempts_record(struct attempts *a, const uint8_t *id, size_t length, uint64_t until_ns)
{
	struct attempt *attempt = attempts_find(a, id, length);

	if (!attempt) {
		attempts_make_room(a);
		attempt = calloc(1, sizeof(*attempt) + length);
		if (!attempt)
			return error_origin(-ENOMEM);
		attempt->length = length;
		memcpy(attempt->id, id, length);
		HASH_ADD_KEYPTR(hh, a->by_id, attempt->id, length, attempt);
		if (attempt->is_lost) {
			free(attempt);
			return error_origin(-ENOMEM);
		}
	}
	attempt->until_ns = until_ns;
	return 0;
}

int attempts_answered(struct attempts *a, const uint8_t *id, size_t length, uint64_t now_ns)
{
	a->rest_ns = a->rests_until_ns = 0;
	return attempts_record(a, id, length, now_ns + ANSWERED_NS);
}

int attempts_failed(struct attempts *a, const uint8_t *id, size_t length, uint64_t now_ns,
		    uint64_t *ret_rest_ns)
{
	a->rest_ns = a->rest_ns ? 2 * a->rest_ns : REST_MIN_NS;
	if (a->rest_ns > REST_MAX_NS)
		a->rest_ns = REST_MAX_NS;
	a->rests_until_ns = now_ns + a->rest_ns;
	*ret_rest_ns = a->rest_ns;
	return attempts_record(a, id, length, now_ns + FAILED_NS);
}

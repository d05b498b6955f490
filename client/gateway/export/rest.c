/* SPDX-License-Identifier: MIT */
#include "client/gateway/export/rest.h"

#include <sys/random.h>

#include "common/clock.h"

#define REST_MIN_NS    NS_PER_S
#define REST_MAX_NS    (300 * NS_PER_S)
#define DOUBLING_MAX   16u
#define FAILED_OWN_MAX 4u
#define FAILED_MAX     33u /* by rest_after(), an hour at least, two at most */

uint64_t rest_after(unsigned n_failed)
{
	unsigned n = n_failed > DOUBLING_MAX ? DOUBLING_MAX : n_failed;
	uint64_t ns = REST_MIN_NS << (n ? n - 1 : 0), random = 0;

	if (ns > REST_MAX_NS)
		ns = REST_MAX_NS;
	/* Without it all wait for half of the time. */
	(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
	return ns / 2 + random % (ns / 2);
}

/* --- a target ----------------------------------------------------------------------------------
 */

uint64_t rest_end(const struct rest *r)
{
	return r->until_ns > r->asked_until_ns ? r->until_ns : r->asked_until_ns;
}

bool rest_is_on(const struct rest *r, uint64_t now_ns)
{
	return now_ns < rest_end(r);
}

/* A little more than what is asked for, which many machines may have been asked at once. */
static uint64_t rest_asked(uint64_t now_ns, uint64_t asked_s)
{
	if (asked_s > REST_ASKED_MAX_S)
		asked_s = REST_ASKED_MAX_S;
	return asked_s ? now_ns + asked_s * NS_PER_S + rest_after(1) : 0;
}

bool rest_begin(struct rest *r, uint64_t now_ns, uint64_t asked_s)
{
	const uint64_t asked_ns = rest_asked(now_ns, asked_s);
	const bool is_first = !r->n_failed;

	if (is_first || !rest_is_on(r, now_ns))
		r->until_ns = now_ns + rest_after(++r->n_failed);
	if (asked_ns > r->asked_until_ns)
		r->asked_until_ns = asked_ns;
	return is_first;
}

bool rest_note_stored(struct rest *r, uint64_t now_ns)
{
	const bool was_failing = r->n_failed;

	r->n_failed = 0;
	r->until_ns = 0;
	r->stored_ns = now_ns;
	return was_failing;
}

/* --- a window ----------------------------------------------------------------------------------
 */

enum rest_doubt rest_doubt(struct rest_failures *f, const struct rest *target, uint64_t now_ns,
			   uint64_t *ret_until_ns)
{
	f->n++;
	f->n_own += f->last_ns && target->stored_ns > f->last_ns;
	f->last_ns = now_ns;
	if (f->n_own >= FAILED_OWN_MAX || f->n >= FAILED_MAX)
		return REST_DOUBT_GIVEN_UP;
	*ret_until_ns = now_ns + rest_after(f->n);
	return target->stored_ns < f->begun_ns ? REST_DOUBT_TARGET : REST_DOUBT_WINDOW;
}

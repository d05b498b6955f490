/* SPDX-License-Identifier: MIT */
/*
 * Each take merges one window into what there is. The interval until the next adapts: halved when
 * more waited already, a quarter longer when not.
 */
#include "client/profctl/record_samples.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/profile/value_types.h"

#define INTERVAL_MIN (NS_PER_S / 10)
#define INTERVAL     (NS_PER_S / 4)
#define INTERVAL_MAX (4 * NS_PER_S)
/* As long as a session waits, nearly. */
#define PATIENCE_NS (8 * NS_PER_S)
#define RETRY_NS    (NS_PER_S / 5)
#define FREQUENCY   99

int record_samples_init(struct record_samples *s)
{
	*s = (struct record_samples){.interval_ns = INTERVAL};
	s->due_ns = clock_ns(CLOCK_MONOTONIC) + s->interval_ns;
	return merge_new(&s->merge, MERGE_WINDOWS_DROPPED);
}

void record_samples_deinit(struct record_samples *s)
{
	merge_free(s->merge);
}

static int record_samples_add(struct record_samples *s, const struct profile *p)
{
	struct profile_message message;
	int64_t samples = 0;
	int r = merge_add(s->merge, p, NULL, &samples, &message);

	if (r > 0) {
		snprintf(s->trouble, sizeof(s->trouble), "profd sent an unusable profile: %s",
			 message.text);
		return TAKE_E_BAD;
	}
	s->count += (uint64_t)samples;
	return r;
}

int record_samples_take(struct record_samples *s, const struct context *context, uint64_t session)
{
	uint64_t interval_ns = s->interval_ns + s->interval_ns / 4;
	struct taken taken;
	int r;

	do {
		r = take_window(context, session, &taken);
		if (r) {
			memcpy(s->trouble, taken.trouble, sizeof(s->trouble));
			break;
		}
		s->lost = taken.lost;
		r = taken.profile ? record_samples_add(s, taken.profile) : 0;
		profile_free(taken.profile);
		if (!r && taken.more)
			interval_ns = s->interval_ns / 2;
	} while (!r && taken.more);
	s->interval_ns = interval_ns < INTERVAL_MIN   ? INTERVAL_MIN
			 : interval_ns > INTERVAL_MAX ? INTERVAL_MAX
						      : interval_ns;
	s->due_ns = clock_ns(CLOCK_MONOTONIC) + s->interval_ns;
	if (r < 0)
		snprintf(s->trouble, sizeof(s->trouble), "%s", error_describe(r));
	return r;
}

int record_samples_take_rest(struct record_samples *s, const struct context *context,
			     uint64_t session)
{
	const struct timespec while_ = {.tv_nsec = RETRY_NS};
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
	int r;

	while ((r = record_samples_take(s, context, session)) == TAKE_E_LATER &&
	       clock_ns(CLOCK_MONOTONIC) < end_ns)
		nanosleep(&while_, NULL);
	return r;
}

static int make_empty_profile(uint64_t frequency, uint64_t start_ns, uint64_t duration_ns,
			      struct profile **ret)
{
	cleanup(profile_freep) struct profile *p = NULL;
	int r = profile_new(&p);

	if (!r)
		r = value_types_add(p, "cpu-clock");
	if (r)
		return r;
	p->period = (int64_t)(NS_PER_S / (frequency ? frequency : FREQUENCY));
	p->time_ns = (int64_t)start_ns;
	p->duration_ns = (int64_t)duration_ns;
	*ret = steal_ptr(&p);
	return 0;
}

int record_samples_profile(struct record_samples *s, uint64_t frequency, uint64_t start_ns,
			   uint64_t duration_ns, struct profile **ret)
{
	int r;

	if (!merge_profile(s->merge))
		return make_empty_profile(frequency, start_ns, duration_ns, ret);
	r = merge_finish(s->merge);
	if (!r)
		*ret = merge_steal_profile(s->merge);
	return r;
}

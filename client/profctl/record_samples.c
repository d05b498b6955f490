/* SPDX-License-Identifier: MIT */
#include "client/profctl/record_samples.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "client/profctl/call.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/profile/pprof.h"

#define NS           UINT64_C(1000000000)
#define INTERVAL_MIN (NS / 10)
#define INTERVAL     (NS / 4)
#define INTERVAL_MAX (4 * NS)
#define UNPACKED_MAX ((size_t)1 << 30)
/* As long as a session waits, nearly. */
#define PATIENCE_NS (8 * NS)
#define RETRY_NS    (NS / 5)
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

/* What was complained of, without who did. */
static void note(struct record_samples *s, const char *said)
{
	const char *colon = strstr(said, ": ");

	snprintf(s->trouble, sizeof(s->trouble), "%s", colon ? colon + 2 : said);
	s->trouble[strcspn(s->trouble, "\n")] = '\0';
}

/* RECORD_SAMPLES_E_* or negative errno. */
static int ask(struct record_samples *s, const struct context *context, uint64_t session,
	       Profd__Control__Response **ret, uint8_t **ret_data)
{
	Profd__Control__Request request = PROFD__CONTROL__REQUEST__INIT;
	Profd__Control__Collect collect = PROFD__CONTROL__COLLECT__INIT;
	struct context quiet = *context;
	cleanup(freep) char *said = NULL;
	size_t length;
	int status;

	collect.which_case = PROFD__CONTROL__COLLECT__WHICH_SESSION;
	collect.session = session;
	collect.take = true;
	request.verb_case = PROFD__CONTROL__REQUEST__VERB_COLLECT;
	request.collect = &collect;
	quiet.progress = false;
	quiet.err = open_memstream(&said, &length);
	if (!quiet.err)
		return error_origin(-ENOMEM);
	status = call_file(&quiet, &request, CALL_SHORT_MS, ret, ret_data);
	if (fclose(quiet.err))
		return error_origin(-ENOMEM);
	if (status)
		note(s, said);
	return status == STATUS_DONE        ? RECORD_SAMPLES_E_OK
	       : status == STATUS_NO_DAEMON ? RECORD_SAMPLES_E_GONE
					    : RECORD_SAMPLES_E_LATER;
}

static int add(struct record_samples *s, const uint8_t *data, size_t length)
{
	cleanup(profile_freep) struct profile *p = NULL;
	struct profile_message message;
	int64_t samples = 0;
	int r = pprof_read(data, length, UNPACKED_MAX, &p, &message);

	if (!r)
		r = merge_add(s->merge, p, NULL, &samples, &message);
	if (r > 0) {
		snprintf(s->trouble, sizeof(s->trouble), "what profd sent is of no use: %s",
			 message.text);
		return RECORD_SAMPLES_E_BAD;
	}
	s->count += (uint64_t)samples;
	return r;
}

static int take_window(struct record_samples *s, const struct context *context, uint64_t session,
		       bool *ret_more)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	cleanup(freep) uint8_t *data = NULL;
	int r = ask(s, context, session, &response, &data);

	if (r)
		return r;
	s->lost = response->collected->dropped + response->collected->lost;
	*ret_more = response->collected->more;
	return response->collected->bytes ? add(s, data, response->collected->bytes) : 0;
}

int record_samples_take(struct record_samples *s, const struct context *context, uint64_t session)
{
	uint64_t interval_ns = s->interval_ns + s->interval_ns / 4;
	bool more = true;
	int r = 0;

	while (!r && more) {
		r = take_window(s, context, session, &more);
		if (!r && more)
			interval_ns = s->interval_ns / 2;
	}
	s->interval_ns = interval_ns < INTERVAL_MIN   ? INTERVAL_MIN
			 : interval_ns > INTERVAL_MAX ? INTERVAL_MAX
						      : interval_ns;
	s->due_ns = clock_ns(CLOCK_MONOTONIC) + s->interval_ns;
	return r;
}

int record_samples_take_rest(struct record_samples *s, const struct context *context,
			     uint64_t session)
{
	const struct timespec while_ = {.tv_nsec = RETRY_NS};
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
	int r;

	while ((r = record_samples_take(s, context, session)) == RECORD_SAMPLES_E_LATER &&
	       clock_ns(CLOCK_MONOTONIC) < end_ns)
		nanosleep(&while_, NULL);
	return r;
}

static int make_empty(uint64_t frequency, uint64_t start_ns, uint64_t duration_ns,
		      struct profile **ret)
{
	cleanup(profile_freep) struct profile *p = NULL;
	int r = profile_new(&p);

	if (!r)
		r = profile_add_sample_type(p, "samples", "count");
	if (!r)
		r = profile_add_sample_type(p, "cpu", "nanoseconds");
	if (r)
		return r;
	p->period_type = p->sample_types[1];
	p->period = (int64_t)(NS / (frequency ? frequency : FREQUENCY));
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
		return make_empty(frequency, start_ns, duration_ns, ret);
	r = merge_finish(s->merge);
	if (!r)
		*ret = merge_take(s->merge);
	return r;
}

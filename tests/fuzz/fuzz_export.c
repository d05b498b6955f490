/* SPDX-License-Identifier: MIT */
/*
 * A profile.proto, whatever is in it, for each kind of server: what is sent keeps every rule that
 * servers have (tests/support/sent.h), is the same each time, and has the same sums. Or an answer,
 * of which there is always a verdict.
 */
#include "tests/support/sent.h"

#define MAX_BYTES ((size_t)256 << 10)
#define VALUE_MAX (INT64_C(1) << 40) /* sums of larger ones may have been clamped */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void encode(const struct export_target *target, const uint8_t *data, size_t size,
		   struct export_bodies *ret)
{
	static const struct export_scope scope = {
		.service = "fuzzed.service",
		.host = "host",
		.labels = "env=test,9=x",
		.keep = "thread,pid",
		.max_part = 1,
	};
	cleanup(profile_freep) struct profile *p = NULL;
	struct profile_message message;

	assert(!pprof_read(data, size, MAX_BYTES, &p, &message));
	assert(!target->encode(p, &scope, ret));
}

static bool is_small(const struct profile *p)
{
	for (size_t i = 0; i < p->n_samples * p->n_sample_types; i++)
		if (p->sample_values[i] > VALUE_MAX || p->sample_values[i] < -VALUE_MAX)
			return false;
	return true;
}

static void check_kind(const struct export_target *target, const struct profile *window,
		       const uint8_t *data, size_t size)
{
	cleanup(export_bodies_deinit) struct export_bodies bodies = {0}, again = {0};
	cleanup(sent_deinit) struct sent sent = {0};

	encode(target, data, size, &bodies);
	encode(target, data, size, &again);
	assert(bodies.n == again.n);
	for (size_t i = 0; i < bodies.n; i++)
		assert(bodies.all[i].length == again.all[i].length &&
		       !memcmp(bodies.all[i].data, again.all[i].data, again.all[i].length));
	if (!sent_knows(target))
		return;
	sent_read(target, &bodies, &sent);
	for (uint32_t i = 0; i < window->n_sample_types && is_small(window); i++)
		assert(sent_total(&sent, i) == profile_total(window, i));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup(profile_freep) struct profile *window = NULL;
	struct profile_message message;
	unsigned status = size ? data[0] * 3u : 0;
	int r = pprof_read(data, size, MAX_BYTES, &window, &message);

	for (size_t i = 0; export_target_at(i); i++) {
		const struct export_target *target = export_target_at(i);

		assert(target->judge(status, (const char *)data, size) <= EXPORT_UNKNOWN);
		assert(target->judge(400, (const char *)data, size) != EXPORT_STORED);
		if (!r)
			check_kind(target, window, data, size);
	}
	return 0;
}

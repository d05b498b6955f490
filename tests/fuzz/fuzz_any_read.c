/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a profile of any format: a profile that the writer takes and that has the same
 * totals when it comes back, or a message. Texts that look like one format are given to the readers
 * of both.
 */
#undef NDEBUG /* the assertions are what this program is for */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "client/formats/any_read.h"
#include "client/formats/text_formats.h"
#include "common/cleanup.h"
#include "common/profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Sums that are cut depend on the order. */
static bool is_moderate(const struct profile *p)
{
	for (size_t i = 0; i < p->n_samples * p->n_sample_types; i++)
		if (p->sample_values[i] > (INT64_C(1) << 40) ||
		    p->sample_values[i] < -(INT64_C(1) << 40))
			return false;
	return true;
}

static void check(const struct profile *p)
{
	cleanup(profile_freep) struct profile *back = NULL;
	struct profile_message message;
	cleanup(freep) uint8_t *out = NULL;
	size_t n;

	for (size_t i = 0; i < p->n_sample_locations; i++)
		assert(p->sample_locations[i] < p->n_locations);
	assert(!pprof_write(p, 1, &out, &n));
	assert(!pprof_read(out, n, (size_t)256 << 20, &back, &message));
	/* Texts that are no UTF-8 may become one. */
	assert(back->n_samples <= p->n_samples && back->n_sample_types == p->n_sample_types);
	if (!is_moderate(p))
		return;
	for (uint32_t type = 0; type < p->n_sample_types; type++)
		assert(profile_total(back, type) == profile_total(p, type));
}

static int64_t text_total(const char *text, size_t length)
{
	cleanup(profile_freep) struct profile *p = NULL;
	struct profile_message message;

	if (!length)
		return 0;
	assert(!collapsed_read((const uint8_t *)text, length, &p, &message));
	/* Stacks that all end in a number have two counts. */
	return profile_total(p, p->n_sample_types - 1);
}

/* Collapsed stacks that were read come back with the same total when they are written. */
static void check_collapsed(const uint8_t *data, size_t size)
{
	cleanup(profile_freep) struct profile *p = NULL;
	struct profile_message message = {""};
	cleanup(freep) char *text = NULL;
	size_t length;
	int r = collapsed_read(data, size, &p, &message);

	/* What was read may have a remark. */
	assert(r >= 0 && (!r || message.text[0]));
	if (r)
		return;
	check(p);
	assert(!collapsed_write(p, &text, &length));
	if (is_moderate(p))
		assert(text_total(text, length) == profile_total(p, 0) || p->n_sample_types > 1);
}

static void check_perf_script(const uint8_t *data, size_t size)
{
	cleanup(profile_freep) struct profile *p = NULL;
	struct profile_message message = {""};
	int r = perf_script_read(data, size, &p, &message);

	assert(r >= 0 && !r == !message.text[0]);
	if (!r)
		check(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup(profile_freep) struct profile *p = NULL;
	struct profile_message message = {""};
	enum any_format format;
	int r = any_read(data, size, (size_t)1 << 24, &p, &format, &message);

	assert(r >= 0 && (!r || message.text[0]));
	if (!r && format != ANY_PPROF && format != ANY_CPUPROFILE)
		check(p);
	check_collapsed(data, size);
	check_perf_script(data, size);
	return 0;
}

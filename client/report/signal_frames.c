/* SPDX-License-Identifier: MIT */
#include "client/report/signal_frames.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "client/report/taken_samples.h"
#include "common/cleanup.h"
#include "common/error.h"

/* The names that google-pprof takes for those of handlers. */
static const char *const handlers[] = {
	"ProfileData::Add", "ProfileData::prof_handler", "CpuProfiler::prof_handler",
	"__FRAME_END__",    "__pthread_sighandler",      "__restore",
};

static const char *name_of(const struct profile *p, uint32_t location)
{
	const struct profile_location *l = &p->locations[location];

	if (!l->n_lines)
		return "";
	return profile_string(p, p->functions[p->lines[l->first_line].function].name);
}

static bool is_handler(const struct profile *p, uint32_t location)
{
	const char *name = name_of(p, location);

	for (size_t i = 0; i < ARRAY_SIZE(handlers); i++)
		if (strcmp(name, handlers[i]) == 0)
			return true;
	return false;
}

/* The location that is every sample's second one, or PROFILE_NONE. */
static uint32_t shared_second(const struct profile *p)
{
	uint32_t second = PROFILE_NONE;

	for (size_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		if (s->n_locations < 2)
			return PROFILE_NONE;
		if (i && p->sample_locations[s->first_location + 1] != second)
			return PROFILE_NONE;
		second = p->sample_locations[s->first_location + 1];
	}
	return second;
}

/*
 * The chain of @s without its second frame, and without the one that then is the second if it is
 * the leaf once more, as the address that a call to it would return to: how long.
 */
static uint32_t without_second(const struct profile *p, const uint32_t *chain, uint32_t n,
			       uint32_t *ret)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		bool is_again = i == 2 && n > 3 &&
				p->locations[chain[2]].address + 1 ==
					p->locations[chain[0]].address;

		if (i != 1 && !is_again)
			ret[kept++] = chain[i];
	}
	return kept;
}

static uint32_t without_handlers(const struct profile *p, const uint32_t *chain, uint32_t n,
				 uint32_t *ret)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		if (!is_handler(p, chain[i]))
			ret[kept++] = chain[i];
	return kept;
}

/* Makes every sample's chain anew. */
static int remake(struct profile *p,
		  uint32_t (*take)(const struct profile *p, const uint32_t *chain, uint32_t n,
				   uint32_t *ret))
{
	cleanup(taken_samples_deinit) struct taken_samples taken;
	cleanup(freep) uint32_t *chain = NULL;
	uint32_t longest = 0;
	int r = 0;

	taken_samples_init(&taken, p);
	for (size_t i = 0; i < taken.n; i++)
		if (taken.samples[i].n_locations > longest)
			longest = taken.samples[i].n_locations;
	chain = calloc((size_t)longest + 1, sizeof(*chain));
	if (!chain)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < taken.n && !r; i++) {
		const struct profile_sample *s = &taken.samples[i];
		uint32_t n = take(p, taken_chain(&taken, i), s->n_locations, chain);

		r = profile_add_sample(p, chain, n, &taken.values[i * p->n_sample_types],
				       taken_labels(&taken, i), s->n_labels);
	}
	return r;
}

int signal_frames_drop(struct profile *p, void (*note)(void *context, const char *text),
		       void *context)
{
	uint32_t second;
	char text[256];
	int r = 0;

	while (!r && (second = shared_second(p)) != PROFILE_NONE) {
		const char *name = name_of(p, second);

		snprintf(text, sizeof(text), "removed from all stacks: %.100s (0x%" PRIx64 ")",
			 *name ? name : "a frame without a name", p->locations[second].address);
		if (note)
			note(context, text);
		r = remake(p, without_second);
	}
	return r ? r : remake(p, without_handlers);
}

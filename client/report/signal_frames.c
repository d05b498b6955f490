/* SPDX-License-Identifier: MIT */
/*
 * No sample is changed while frames are looked for: per sample a number says how many frames behind
 * its leaf go. In the end they are taken out of all samples, and handlers' frames with them.
 */
#include "client/report/signal_frames.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"

#define NOTES_SHOWN 10

/* The names that google-pprof takes for those of handlers. */
static const char *const handlers[] = {
	"ProfileData::Add", "ProfileData::prof_handler", "CpuProfiler::prof_handler",
	"__FRAME_END__",    "__pthread_sighandler",      "__restore",
};

static const char *signal_frames_function_name(const struct profile *p, uint32_t location)
{
	const struct profile_location *l = &p->locations[location];

	if (!l->n_lines)
		return "";
	return profile_string(p, p->functions[p->lines[l->first_line].function].name);
}

static bool is_handler(const struct profile *p, uint32_t location)
{
	const char *name = signal_frames_function_name(p, location);

	for (size_t i = 0; i < ARRAY_SIZE(handlers); i++)
		if (strcmp(name, handlers[i]) == 0)
			return true;
	return false;
}

/*
 * Which frames of each sample go: those from its second on to before @first of it (1: none), which
 * grows with each frame that is dropped from all. So each is looked at once, however many that are.
 */

/* The location that is every sample's second one, or PROFILE_NONE. */
static uint32_t shared_second(const struct profile *p, const uint32_t *first)
{
	uint32_t second = PROFILE_NONE;

	for (size_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		if (first[i] >= s->n_locations)
			return PROFILE_NONE;
		if (i && p->sample_locations[s->first_location + first[i]] != second)
			return PROFILE_NONE;
		second = p->sample_locations[s->first_location + first[i]];
	}
	return second;
}

/*
 * Takes the second frame off, and the one that then is the second if it is the leaf once more, as
 * the address that a call to it would return to.
 */
static void drop_second(const struct profile *p, uint32_t *first)
{
	for (size_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		const uint32_t *chain = &p->sample_locations[s->first_location];
		uint32_t next = ++first[i];

		if (s->n_locations - next > 1 &&
		    p->locations[chain[next]].address + 1 == p->locations[chain[0]].address)
			first[i]++;
	}
}

/* Takes out of every chain what goes; samples whose chains are equal then become one. */
static int signal_frames_cut(struct profile *p, const uint32_t *first)
{
	for (size_t i = 0; i < p->n_samples; i++) {
		struct profile_sample *s = &p->samples[i];
		uint32_t kept = 0;

		for (uint32_t k = 0; k < s->n_locations; k++) {
			uint32_t location = p->sample_locations[s->first_location + k];

			if ((!k || k >= first[i]) && !is_handler(p, location))
				p->sample_locations[s->first_location + kept++] = location;
		}
		s->n_locations = kept;
	}
	return profile_repack_samples(p);
}

int signal_frames_drop(struct profile *p, const struct listener *listener)
{
	cleanup(freep) uint32_t *first = calloc(p->n_samples + 1, sizeof(*first));
	uint32_t second;
	size_t n = 0;

	if (!first)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < p->n_samples; i++)
		first[i] = 1;
	while ((second = shared_second(p, first)) != PROFILE_NONE) {
		const char *name = signal_frames_function_name(p, second);

		if (n++ < NOTES_SHOWN)
			listener_note(listener, "removed from all stacks: %.100s (0x%" PRIx64 ")",
				      *name ? name : "a frame without a name",
				      p->locations[second].address);
		drop_second(p, first);
	}
	if (n > NOTES_SHOWN)
		listener_note(listener, "%zu more removed from all stacks", n - NOTES_SHOWN);
	return signal_frames_cut(p, first);
}

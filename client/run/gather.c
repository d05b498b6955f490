/* SPDX-License-Identifier: MIT */
/*
 * Samples of a process are kept as addresses, with the generation of its mappings, in a profile
 * of their own, beside the mappings. When the process ends, gather_place.c moves them into the
 * one profile of all processes. Memory is bounded: samples beyond the bound are counted as lost.
 */
#include "client/run/gather.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>

#include "client/run/gather_private.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/maps.h"
#include "common/profile/value_types.h"
#include "common/room.h"
#include "common/text_print.h"

#define BYTES_MAX    ((size_t)1 << 30)
#define MAPPINGS_MAX 65536u
/* Mappings that one is compared with, to see whether it was there before. */
#define LOOKS_MAX 1024

static int gather_new_profile(struct profile **ret)
{
	return profile_new(ret) ?: value_types_add(*ret, "cpu-clock");
}

int gather_new(struct gather **ret, uint32_t frequency, uint64_t start_ns)
{
	cleanup(gather_freep) struct gather *g = calloc(1, sizeof(*g));
	int r;

	if (!g)
		return error_origin(-ENOMEM);
	g->frequency = frequency;
	g->start_ns = start_ns;
	r = gather_new_profile(&g->profile);
	if (!r)
		*ret = steal_ptr(&g);
	return r;
}

void gather_set_world(struct gather *g, const struct gather_world *world)
{
	g->world = *world;
}

void gather_free(struct gather *g)
{
	if (!g)
		return;
	profile_free(g->profile);
	free(g->segments);
	free(g->program);
	free(g);
}

int gather_process_new(struct gather_process **ret, struct gather *g, int pid, const char *comm,
		       const char *program)
{
	cleanup(gather_process_freep) struct gather_process *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return error_origin(-ENOMEM);
	p->gather = g;
	p->pid = pid;
	snprintf(p->comm, sizeof(p->comm), "%s", comm);
	r = text_copy(&p->program, program) ?: gather_new_profile(&p->raw);
	if (!r)
		*ret = steal_ptr(&p);
	return r;
}

void gather_process_free(struct gather_process *p)
{
	if (!p)
		return;
	profile_free(p->raw);
	free(p->mappings);
	free(p->program);
	free(p);
}

/* --- what comes out of a ring ------------------------------------------------------------- */

static bool is_mapped(const struct gather_process *p, uint64_t address)
{
	/* The newest ones come last. */
	for (size_t i = p->n_mappings; i; i--)
		if (p->mappings[i - 1].start <= address && address < p->mappings[i - 1].end)
			return true;
	return false;
}

static int gather_add_address(struct gather_process *p, uint64_t address, uint32_t *ret)
{
	size_t n_before = p->raw->n_locations;
	int r = profile_add_location(p->raw, PROFILE_NONE, address, NULL, 0, ret);

	if (!r && p->raw->n_locations > n_before && address && !is_mapped(p, address))
		p->wants_look = true;
	return r;
}

static int gather_add_raw_sample(struct gather_process *p, const struct ring_sample *sample)
{
	const int64_t values[] = {sample->weight,
				  (int64_t)(sample->weight * NS_PER_S / sample->frequency)};
	struct profile_label labels[N_RAW_LABELS] = {
		[RAW_GENERATION] = {.num = sample->generation},
		[RAW_QUALITY] = {.num = sample->quality},
		[RAW_REASON] = {.num = sample->reason},
	};
	uint32_t locations[RING_FRAMES_MAX];
	int r = profile_add_text(p->raw, sample->comm, &labels[RAW_THREAD].str);

	for (uint32_t i = 0; i < sample->n_frames && !r; i++)
		r = gather_add_address(p, sample->frames[i], &locations[i]);
	return r ? r
		 : profile_add_sample(p->raw, locations, sample->n_frames, values, labels,
				      N_RAW_LABELS);
}

void gather_sample(void *process, const struct ring_sample *sample)
{
	struct gather_process *p = process;

	if (profile_bytes(p->raw) + profile_bytes(p->gather->profile) > BYTES_MAX) {
		p->gather->dropped += sample->weight;
		return;
	}
	p->weight += sample->weight;
	/* The main thread's name is the process's. */
	if (sample->tid == (uint32_t)p->pid)
		memcpy(p->comm, sample->comm, sizeof(p->comm));
	gather_keep_error(p->gather, gather_add_raw_sample(p, sample));
}

/* The newest ones come last; those that stay are mostly in the same order. */
static bool extend_known_mapping(struct gather_process *p, const struct mapping *mapping, size_t n,
				 size_t *hint)
{
	for (size_t i = 0; i < n && i < LOOKS_MAX; i++) {
		struct mapping *m = &p->mappings[(*hint + i) % n];

		if (m->start != mapping->start || m->end != mapping->end ||
		    m->offset != mapping->offset || m->inode != mapping->inode ||
		    m->device != mapping->device || m->path != mapping->path ||
		    m->last != p->generation)
			continue;
		m->last = mapping->last;
		*hint = (*hint + i + 1) % n;
		return true;
	}
	return false;
}

static int gather_add_line(struct gather_process *p, const struct maps_line *line,
			   uint32_t generation, size_t n_before, size_t *hint)
{
	struct mapping mapping = {
		.start = line->start,
		.end = line->end,
		.offset = line->offset,
		.device = line->device,
		.inode = line->inode,
		.first = generation,
		.last = generation,
	};
	int r;

	if (line->path_length)
		r = profile_add_string(p->raw, line->path, line->path_length, &mapping.path);
	else
		r = profile_add_text(p->raw, "[anon]", &mapping.path);
	if (r || (n_before && extend_known_mapping(p, &mapping, n_before, hint)))
		return r;
	return p->n_mappings == MAPPINGS_MAX
		       ? 0
		       : room_append(&p->mappings, &p->max_mappings, &p->n_mappings, mapping);
}

void gather_maps(void *process, uint32_t generation, const char *text, size_t length)
{
	struct gather_process *p = process;
	const char *end = text + length;
	size_t n_before = p->n_mappings, hint = 0;
	struct maps_line line;

	for (; text < end; text += line.length + 1) {
		if (!maps_parse(text, end, &line) || !(line.prot & PROT_EXEC) ||
		    line.path_length > PATH_MAX)
			continue;
		if (gather_keep_error(p->gather,
				      gather_add_line(p, &line, generation, n_before, &hint)))
			return;
	}
	p->generation = generation;
}

bool gather_wants_maps(const struct gather_process *p)
{
	return p->wants_look;
}

void gather_update_maps(struct gather_process *p, const char *text, size_t length)
{
	p->wants_look = false;
	gather_maps(p, p->generation, text, length);
}

/* --- the end of all ----------------------------------------------------------------------- */

void gather_get_totals(const struct gather *g, struct gather_totals *ret)
{
	*ret = (struct gather_totals){
		.samples = g->ledger.taken - g->dropped,
		.lost = g->dropped,
		.n_processes = g->n_processes,
		.n_sampled = g->n_sampled,
	};
	if (g->ledger.seen > g->ledger.taken + g->ledger.filtered)
		ret->lost += g->ledger.seen - g->ledger.taken - g->ledger.filtered;
}

static int gather_add_comment(struct gather *g, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int gather_add_comment(struct gather *g, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return profile_add_comment(g->profile, text);
}

static int gather_add_comments(struct gather *g)
{
	const struct ring_ledger *l = &g->ledger;
	struct gather_totals totals;
	struct utsname host;

	gather_get_totals(g, &totals);
	if (uname(&host) < 0)
		return error_origin(-errno);
	return gather_add_comment(g, "# profd version: %s", PROFD_VERSION) ?:
	       gather_add_comment(g, "# profd host: %s", host.nodename) ?:
	       gather_add_comment(g, "# profd kernel: %s", host.release) ?:
	       gather_add_comment(g, "# profd event: cpu-clock:u") ?:
	       gather_add_comment(g, "# profd frequency: %" PRIu32 " Hz", g->frequency) ?:
	       gather_add_comment(g,
				  "# profd ledger: seen=%" PRIu64 " complete=%" PRIu64
				  " truncated=%" PRIu64 " broken=%" PRIu64 " filtered=%" PRIu64
				  " lost=%" PRIu64 " malformed=%" PRIu64,
				  l->seen, l->complete, l->truncated, l->broken, l->filtered,
				  totals.lost, l->malformed);
}

/* The program that has most of the samples: readers take the first mapping for it. */
static void set_main_mapping(struct gather *g)
{
	for (uint32_t i = 0; g->program && i < g->profile->n_mappings; i++) {
		const char *path = profile_string(g->profile, g->profile->mappings[i].path);

		if (strcmp(path, g->program) != 0)
			continue;
		profile_set_main_mapping(g->profile, i);
		g->main = i;
		return;
	}
}

uint32_t gather_original_mapping(const struct gather *g, uint32_t mapping)
{
	return mapping == 0 ? g->main : mapping == g->main ? 0 : mapping;
}

int gather_profile(struct gather *g, uint64_t end_ns, struct profile **ret)
{
	struct profile *p = g->profile;
	int r = g->error;

	if (!r)
		r = gather_add_comments(g);
	if (r)
		return r;
	p->period = 1000000000 / g->frequency;
	p->time_ns = (int64_t)g->start_ns;
	p->duration_ns = end_ns > g->start_ns ? (int64_t)(end_ns - g->start_ns) : 0;
	set_main_mapping(g);
	*ret = steal_ptr(&g->profile);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Samples of a process are kept as addresses, with the generation of its mappings, in a profile
 * of their own, beside the mappings. Memory is bounded: samples beyond the bound are counted as
 * lost.
 *
 * When the process ends, each address is looked up in what was mapped at its generation, and
 * becomes a location in the mapping's part of the file, in the one profile of all processes. The
 * same part in another process, or at another address, is the same mapping of that profile.
 */
#include "client/run/gather.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/maps.h"
#include "common/order.h"
#include "common/partition_point.h"
#include "common/profile/value_types.h"
#include "common/reasons.h"
#include "common/room.h"
#include "common/text_print.h"

#define BYTES_MAX    ((size_t)1 << 30)
#define MAPPINGS_MAX 65536u
/* Mappings that one is compared with, to see whether it was there before. */
#define LOOKS_MAX 1024
/* Of mappings that lay at one address one after the other, this many are looked at. */
#define OVERLAPS_MAX 64
#define LABELS_MAX   5
/* Files; further processes that generate code have no names in it. */
#define NAMES_MAX 64

struct mapping {
	uint64_t start, end, offset, device, inode;
	uint32_t path;        /* string of the raw profile */
	uint32_t first, last; /* generations */
	bool is_placed;
	uint32_t placed; /* mapping of the profile */
};

/*
 * A part of an image's file, or memory: where it lies in the profile. @owner is the number of the
 * process whose memory it is, 0 for files and what no process tells of.
 */
struct segment {
	uint64_t device, inode, offset, length;
	size_t owner;
	uint32_t path, mapping; /* the latter ascends */
	int names;              /* fd of the file that names what is there, or -1 */
};

struct gather {
	struct profile *profile;
	uint64_t start_ns;
	uint32_t frequency;
	struct gather_world world;
	struct segment *segments;
	size_t n_segments, max_segments;
	int names[NAMES_MAX];
	unsigned n_names;
	struct ring_ledger ledger; /* of all */
	uint64_t dropped;          /* no memory was left for them */
	size_t n_processes, n_sampled;
	char *program; /* of the process with the most samples */
	uint64_t program_weight;
	uint32_t main; /* mapping that was swapped with the first */
	int error;
};

/* Labels of raw samples have no keys: these are their places. */
enum raw_label { RAW_GENERATION, RAW_THREAD, RAW_QUALITY, RAW_REASON, N_RAW_LABELS };

struct gather_process {
	struct gather *gather;
	int pid;
	char comm[RING_COMM];
	char *program;
	struct profile *raw; /* stacks of addresses, with enum raw_label */
	uint64_t weight;
	struct mapping *mappings; /* sorted by start once finished */
	size_t n_mappings, max_mappings;
	uint32_t generation;
	bool wants_look;
	bool is_asked;
	int names; /* as the world has opened it, or -1 */
};

/* The first failure is kept for the end. Returns @r. */
static int gather_keep_error(struct gather *g, int r)
{
	if (r < 0 && !g->error)
		g->error = r;
	return r;
}

static int gather_new_profile(struct profile **ret)
{
	return profile_new(ret) ?: value_types_add(*ret, "cpu-clock");
}

int gather_new(struct gather **ret, uint32_t frequency, uint64_t start_ns,
	       const struct gather_world *world)
{
	cleanup(gather_freep) struct gather *g = calloc(1, sizeof(*g));
	int r;

	if (!g)
		return error_origin(-ENOMEM);
	g->frequency = frequency;
	g->start_ns = start_ns;
	g->world = *world;
	r = gather_new_profile(&g->profile);
	if (!r)
		*ret = steal_ptr(&g);
	return r;
}

void gather_free(struct gather *g)
{
	if (!g)
		return;
	for (unsigned i = 0; i < g->n_names; i++)
		close(g->names[i]);
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
	p->names = -1;
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

/* --- the end of a process ----------------------------------------------------------------- */

static int mapping_compare_start(const void *a, const void *b)
{
	const struct mapping *m = a, *n = b;

	return order_of(m->start, n->start) ?: order_of(m->first, n->first);
}

/* What lay at @address at @generation; else what did so last. NULL: nothing ever. */
static struct mapping *gather_find_mapping(const struct gather_process *p, uint64_t address,
					   uint32_t generation)
{
	struct mapping *found = NULL;
	size_t n = partition_point(p->n_mappings, i, p->mappings[i].start <= address);

	for (size_t i = 0; i < OVERLAPS_MAX && i < n; i++) {
		struct mapping *m = &p->mappings[n - 1 - i];

		if (address >= m->end)
			continue;
		if (m->first <= generation && generation <= m->last)
			return m;
		if (!found || m->last > found->last)
			found = m;
	}
	return found;
}

static bool segment_equals(const struct segment *s, const struct segment *t)
{
	return s->offset == t->offset && s->length == t->length && s->inode == t->inode &&
	       s->device == t->device && s->path == t->path && s->owner == t->owner;
}

static int add_mapping_build_id(struct gather *g, const struct mapping *m, const char *path,
				uint32_t *ret)
{
	char id[GATHER_ID_SIZE] = "";
	int r = 0;

	if (g->world.find_id && m->inode)
		r = g->world.find_id(g->world.userdata, path, m->device, m->inode, id);
	return r ?: profile_add_text(g->profile, id, ret);
}

int gather_open_perf_map(const char *dir, int pid, uint64_t start_ns)
{
	cleanup(closep) int fd = -1;
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/perf-%d.map", dir, pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_mtim.tv_sec < (time_t)(start_ns / NS_PER_S))
		return -1;
	return steal_fd(&fd);
}

static bool gather_open_names(struct gather_process *p)
{
	struct gather *g = p->gather;

	if (!p->is_asked && g->world.open_names && g->n_names < NAMES_MAX)
		p->names = g->world.open_names(g->world.userdata, p->pid, g->start_ns);
	if (!p->is_asked && p->names >= 0)
		g->names[g->n_names++] = p->names;
	p->is_asked = true;
	return p->names >= 0;
}

/*
 * Memory that is no file's is nowhere else. The kernel and the process may tell of it one after the
 * other, in an order of their own: then it is here twice, and one mapping all the same.
 */
static int place_mapping(struct gather_process *p, struct mapping *m)
{
	struct gather *g = p->gather;
	struct profile_mapping made = {
		.start = m->start,
		.limit = m->end,
		.offset = m->inode ? m->offset : m->start,
	};
	bool is_own = !m->inode && gather_open_names(p);
	struct segment segment = {
		.device = m->device,
		.inode = m->inode,
		.offset = made.offset,
		.length = m->end - m->start,
		.owner = is_own ? g->n_processes : 0,
		.names = is_own ? p->names : -1,
	};
	int r = profile_add_text(g->profile, profile_string(p->raw, m->path), &made.path);

	if (r)
		return r;
	segment.path = made.path;
	for (size_t i = g->n_segments; i; i--) {
		if (!segment_equals(&g->segments[i - 1], &segment))
			continue;
		m->placed = g->segments[i - 1].mapping;
		m->is_placed = true;
		return 0;
	}
	r = add_mapping_build_id(g, m, profile_string(p->raw, m->path), &made.build_id)
		    ?: profile_append_mapping(g->profile, &made, &m->placed);
	if (r)
		return r;
	m->is_placed = true;
	segment.mapping = m->placed;
	return room_append(&g->segments, &g->max_segments, &g->n_segments, segment);
}

static int locate_address(struct gather_process *p, uint64_t address, uint32_t generation,
			  uint32_t *ret)
{
	struct mapping *m = gather_find_mapping(p, address, generation);
	struct profile *profile = p->gather->profile;
	int r;

	if (!m)
		return profile_add_location(profile, PROFILE_NONE, address, NULL, 0, ret);
	r = m->is_placed ? 0 : place_mapping(p, m);
	if (r)
		return r;
	address += profile->mappings[m->placed].start - m->start;
	return profile_add_location(profile, m->placed, address, NULL, 0, ret);
}

static int append_label(struct profile *p, const char *key, const char *text,
			struct profile_label *labels, uint32_t *n)
{
	struct profile_label *label = &labels[*n];
	int r;

	if (!text || !*text)
		return 0;
	*label = (struct profile_label){0};
	r = profile_add_text(p, key, &label->key) ?: profile_add_text(p, text, &label->str);
	*n += !r;
	return r;
}

/* How the stack ended, unless at its root. */
static int append_stack_labels(struct profile *profile, const struct profile_label *raw,
			       struct profile_label *labels, uint32_t *n)
{
	static const char *const truncated[] = {TRUNCATED_REASONS(REASON_NAME)};
	static const char *const broken[] = {BROKEN_REASONS(REASON_NAME)};
	const char *quality, *reason;

	if (raw[RAW_QUALITY].num == STACK_TRUNCATED) {
		quality = "truncated";
		reason = truncated[raw[RAW_REASON].num];
	} else if (raw[RAW_QUALITY].num == STACK_BROKEN) {
		quality = "broken";
		reason = broken[raw[RAW_REASON].num];
	} else {
		return 0;
	}
	return append_label(profile, "stack", quality, labels, n)
		       ?: append_label(profile, "reason", reason, labels, n);
}

/* Named as in profd's own files. */
static int make_sample_labels(struct gather_process *p, const struct profile_label *raw,
			      struct profile_label labels[LABELS_MAX], uint32_t *ret_n)
{
	struct profile *profile = p->gather->profile;

	labels[0] = (struct profile_label){.num = p->pid};
	*ret_n = 1;
	return profile_add_text(profile, "pid", &labels[0].key) ?:
	       append_label(profile, "comm", p->comm, labels, ret_n) ?:
	       append_label(profile, "thread", profile_string(p->raw, raw[RAW_THREAD].str), labels, ret_n) ?:
	       append_stack_labels(profile, raw, labels, ret_n);
}

static int place_sample(struct gather_process *p, size_t i)
{
	const struct profile_sample *s = &p->raw->samples[i];
	const struct profile_label *raw = &p->raw->sample_labels[s->first_label];
	struct profile_label labels[LABELS_MAX];
	uint32_t locations[RING_FRAMES_MAX], n_labels;
	int r = make_sample_labels(p, raw, labels, &n_labels);

	for (uint32_t j = 0; j < s->n_locations && !r; j++) {
		uint32_t location = p->raw->sample_locations[s->first_location + j];

		r = locate_address(p, p->raw->locations[location].address,
				   (uint32_t)raw[RAW_GENERATION].num, &locations[j]);
	}
	return r ? r
		 : profile_add_sample(p->gather->profile, locations, s->n_locations,
				      &p->raw->sample_values[i * 2], labels, n_labels);
}

static void add_ledger(struct ring_ledger *sum, const struct ring_ledger *ledger)
{
#define ADD(name) sum->name += ledger->name;
	RING_COUNTERS(ADD)
	ADD(taken)
	ADD(malformed)
	ADD(torn)
#undef ADD
}

int gather_finish(struct gather_process *p, const struct ring_ledger *ledger)
{
	struct gather *g = p->gather;
	int r = 0;

	add_ledger(&g->ledger, ledger);
	g->n_processes++;
	g->n_sampled += p->weight != 0;
	if (p->weight > g->program_weight) {
		free(g->program);
		g->program = steal_ptr(&p->program);
		g->program_weight = p->weight;
	}
	if (p->n_mappings)
		qsort(p->mappings, p->n_mappings, sizeof(*p->mappings), mapping_compare_start);
	for (size_t i = 0; i < p->raw->n_samples && !r; i++)
		r = place_sample(p, i);
	profile_clear_samples(p->raw);
	return gather_keep_error(g, r);
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

int gather_find_names(const struct gather *g, uint32_t mapping)
{
	uint32_t placed = mapping == 0 ? g->main : mapping == g->main ? 0 : mapping;
	size_t at = partition_point(g->n_segments, i, g->segments[i].mapping < placed);

	return at < g->n_segments && g->segments[at].mapping == placed ? g->segments[at].names : -1;
}

int gather_profile(struct gather *g, uint64_t end_ns, struct profile **ret)
{
	struct profile *p = g->profile;
	int r = g->error ?: gather_add_comments(g);

	if (r)
		return r;
	p->period = 1000000000 / g->frequency;
	p->time_ns = (int64_t)g->start_ns;
	p->duration_ns = end_ns > g->start_ns ? (int64_t)(end_ns - g->start_ns) : 0;
	set_main_mapping(g);
	*ret = steal_ptr(&g->profile);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * First a plan, one part a process and generation, the largest processes alone where there is a
 * limit. Then each part becomes a file: records of user frames, the addresses moved to where the
 * generation's mappings have them, and behind them the mappings as the kernel would list them.
 */
#include "daemon/output/cpuprofile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/error.h"
#include "common/profile/cpuprofile.h"
#include "daemon/output/places.h"

/* The largest process first; the parts of one stay in a row. */
static int legacy_compare_process(const void *a, const void *b)
{
	const struct legacy_part *x = a, *y = b;

	if (x->process_samples != y->process_samples)
		return x->process_samples > y->process_samples ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static int legacy_add_part(struct legacy_plan *plan, const struct view *view, size_t first,
			   size_t n)
{
	struct legacy_part part = {.first = first, .n = n};
	struct legacy_part *moved;

	for (size_t i = first; i < first + n; i++)
		if (view_n_user(&view->entries[i]))
			part.samples += view->entries[i].entry->count;
	if (!part.samples)
		return 0;
	moved = reallocarray(plan->parts, plan->n_parts + 1, sizeof(*moved));
	if (!moved)
		return error_origin(-ENOMEM);
	plan->parts = moved;
	moved[plan->n_parts++] = part;
	return 0;
}

static int legacy_find_parts(struct legacy_plan *plan, const struct view *view,
			     const struct view_group *group)
{
	size_t end = group->first + group->n;

	for (size_t i = group->first, first = i; i < end; first = i) {
		const struct aggregate_entry *like = view->entries[first].entry;
		int r;

		while (i < end && view->entries[i].entry->process == like->process &&
		       view->entries[i].entry->generation == like->generation)
			i++;
		r = legacy_add_part(plan, view, first, i - first);
		if (r)
			return r;
	}
	return 0;
}

/* How many of the @n parts from @parts on are of the first one's process. */
static size_t legacy_process_parts(const struct view *view, const struct legacy_part *parts,
				   size_t n)
{
	uint64_t process = view->entries[parts[0].first].entry->process;
	size_t i = 1;

	while (i < n && view->entries[parts[i].first].entry->process == process)
		i++;
	return i;
}

/* Drops the parts of all but the largest processes. */
static void legacy_choose_processes(struct legacy_plan *plan, const struct view *view,
				    uint32_t max_processes)
{
	size_t n = plan->n_parts, kept = 0;

	for (size_t i = 0, end; i < n; i = end) {
		uint64_t sum = 0;

		end = i + legacy_process_parts(view, plan->parts + i, n - i);
		for (size_t j = i; j < end; j++)
			sum += plan->parts[j].samples;
		for (size_t j = i; j < end; j++)
			plan->parts[j].process_samples = sum;
	}
	if (n)
		qsort(plan->parts, n, sizeof(*plan->parts), legacy_compare_process);
	while (kept < n && max_processes--)
		kept += legacy_process_parts(view, plan->parts + kept, n - kept);
	plan->n_parts = kept;
}

int legacy_plan(const struct view *view, const struct view_group *group, uint32_t max_processes,
		struct legacy_plan *ret)
{
	int r = legacy_find_parts(ret, view, group);

	if (!r && max_processes)
		legacy_choose_processes(ret, view, max_processes);
	return r;
}

void legacy_plan_deinit(struct legacy_plan *plan)
{
	free(plan->parts);
}

struct cpuprofile_chains {
	struct cpuprofile_record *records;
	uint64_t *addresses;
	size_t n_records;
};

static void legacy_chains_deinit(struct cpuprofile_chains *chains)
{
	free(chains->records);
	free(chains->addresses);
}

static int legacy_collect_chains(const struct view *view, const struct legacy_part *part,
				 struct cpuprofile_chains *ret)
{
	size_t n_addresses = 0, at = 0;
	int r;

	for (size_t i = 0; i < part->n; i++)
		n_addresses += view_n_user(&view->entries[part->first + i]);
	ret->records = calloc(part->n, sizeof(*ret->records));
	ret->addresses = calloc(n_addresses, sizeof(*ret->addresses));
	if (!ret->records || !ret->addresses)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < part->n; i++) {
		const struct view_entry *e = &view->entries[part->first + i];
		uint32_t n = 0;

		for (uint32_t j = e->stack.n_kernel; j < e->stack.n_frames; j++) {
			r = places_address(view->places, e, e->stack.frames[j],
					   &ret->addresses[at + n]);
			if (r < 0)
				return r;
			n += r == PLACES_E_OK;
		}
		if (!n)
			continue;
		ret->records[ret->n_records++] = (struct cpuprofile_record){
			.count = e->entry->count,
			.addresses = ret->addresses + at,
			.n_addresses = n,
		};
		at += n;
	}
	/* Threads, and different kernel stacks above one user stack, become one record. */
	ret->n_records = cpuprofile_unify(ret->records, ret->n_records);
	return 0;
}

/* --- the text behind the records: lines as in /proc/PID/maps (proc(5)) ------------------------ */

static bool mapped_file_is_deleted(const struct image *image)
{
	cleanup(closep) int fd = -1;
	struct stat st;

	if (image->kind != IMAGE_FILE)
		return false;
	fd = image_borrow_file(image);
	return fd >= 0 && fstat(fd, &st) == 0 && st.st_nlink == 0;
}

/* seq_file_path() in the kernel: a newline in a path is written \012. */
static void maps_put_path(FILE *out, const char *path)
{
	for (; *path; path++) {
		if (*path == '\n')
			fputs("\\012", out);
		else
			fputc(*path, out);
	}
}

static void maps_put_line(FILE *out, const struct mapping *m)
{
	const struct image *image = m->image;
	bool is_file = image->kind == IMAGE_FILE;
	int n = fprintf(out, "%08" PRIx64 "-%08" PRIx64 " r%cxp %08" PRIx64 " %02x:%02x %" PRIu64,
			m->start, m->end, m->writable ? 'w' : '-',
			image->kind == IMAGE_ANON ? 0 : m->offset,
			is_file ? image->device_major : 0, is_file ? image->device_minor : 0,
			is_file ? image->inode : 0);

	/* The kernel pads to this column; readers split at blanks. */
	fprintf(out, "%*s", n < 72 ? 73 - n : 1, "");
	maps_put_path(out, image->path);
	fprintf(out, "%s\n", mapped_file_is_deleted(image) ? " (deleted)" : "");
}

static int maps_compare_start(const void *a, const void *b)
{
	const struct mapping *x = *(const struct mapping *const *)a;
	const struct mapping *y = *(const struct mapping *const *)b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/*
 * The executable mappings of @generation, those of the main program first. A file that was
 * deleted is marked " (deleted)", as the kernel does. *ret is malloc'ed, the caller's; "" if there
 * are none. Returns 0 or negative errno.
 */
static int legacy_maps(const struct snapshot_process *p, uint32_t generation, char **ret)
{
	cleanup(freep) const struct mapping **lines = NULL;
	const struct mapping *all = NULL;
	size_t n_all = 0, n = 0, size;
	char *text = NULL;
	FILE *out;

	if (p->mappings)
		all = mappings_all(p->mappings, &n_all);
	lines = calloc(n_all + 1, sizeof(*lines));
	if (!lines)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < n_all; i++)
		if (mapping_is_valid(&all[i], generation))
			lines[n++] = &all[i];
	if (n)
		qsort(lines, n, sizeof(*lines), maps_compare_start);

	out = open_memstream(&text, &size);
	if (!out)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < n; i++)
		if (lines[i]->image == p->program)
			maps_put_line(out, lines[i]);
	for (size_t i = 0; i < n; i++)
		if (lines[i]->image != p->program)
			maps_put_line(out, lines[i]);
	if (fclose(out) != 0) {
		free(text);
		return error_origin(-ENOMEM);
	}
	*ret = text;
	return 0;
}

/* 0: it has none that says. */
static int image_slot_bytes(struct symbols *symbols, struct image *image, unsigned *ret)
{
	int r = symbols_headers(symbols, image);

	*ret = image_elf(image) ? image_elf(image)->pointer_bytes : 0;
	return r;
}

/* Pointer size of the program: 4 or 8; 8 where nothing tells. Returns 0 or negative errno. */
static int legacy_slot_bytes(struct symbols *symbols, const struct snapshot_process *p,
			     unsigned *ret)
{
	const struct mapping *all = NULL;
	unsigned bytes = 0;
	size_t n = 0;
	int r = 0;

	if (p->program)
		r = image_slot_bytes(symbols, p->program, &bytes);
	if (p->mappings)
		all = mappings_all(p->mappings, &n);
	for (size_t i = 0; i < n && !bytes && !r; i++)
		r = image_slot_bytes(symbols, all[i].image, &bytes);
	*ret = bytes ? bytes : 8;
	return r;
}

/* --- the file --------------------------------------------------------------------------------- */

/* Microseconds between samples; of events that are not time, a second over their frequency. */
static uint64_t legacy_period_us(const struct snapshot *s)
{
	if (s->is_clock)
		return (s->period + 500) / 1000;
	return s->frequency ? 1000000u / s->frequency : 1;
}

static int legacy_make_comments(const struct context *c, const struct view *view,
				const struct legacy_part *part, char **ret)
{
	const struct snapshot_process *p = view->entries[part->first].process;
	cleanup(freep) char *origin = NULL;
	uint64_t no_user = 0;
	int r = context_describe(c, view->snapshot, &origin);

	if (r)
		return r;
	for (size_t i = part->first; i < part->first + part->n; i++)
		if (!view_n_user(&view->entries[i]))
			no_user += view->entries[i].entry->count;
	if (asprintf(ret,
		     "%s# profd process: pid=%d samples=%" PRIu64 " without_user_frames=%" PRIu64
		     "\n",
		     origin, (int)p->pid, part->samples, no_user) < 0)
		return error_origin(-ENOMEM);
	return 0;
}

int output_cpuprofile(const struct context *c, const struct view *view,
		      const struct legacy_part *part, uint8_t **ret, size_t *ret_length)
{
	const struct view_entry *e = &view->entries[part->first];
	cleanup(legacy_chains_deinit) struct cpuprofile_chains chains = {0};
	cleanup(freep) char *maps = NULL, *text = NULL;
	struct cpuprofile profile = {.period_us = legacy_period_us(view->snapshot)};
	int r = legacy_collect_chains(view, part, &chains);

	if (!r)
		r = legacy_maps(e->process, e->entry->generation, &maps);
	if (!r)
		r = legacy_slot_bytes(c->symbols, e->process, &profile.slot_bytes);
	if (!r)
		r = legacy_make_comments(c, view, part, &text);
	if (r)
		return r;
	profile.records = chains.records;
	profile.n_records = chains.n_records;
	profile.maps = maps;
	profile.comments = text;
	return cpuprofile_write(&profile, ret, ret_length);
}

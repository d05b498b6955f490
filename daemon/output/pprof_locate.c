/* SPDX-License-Identifier: MIT */
/*
 * From spots to locations, image by image: all addresses of an image are asked for at once. Code
 * that a process generated is an image of its own here.
 *
 * What a mapping says of itself (has_functions ...) readers take for "nothing left to find out":
 * go tool pprof reads symbols of its own only for mappings that say none of it, and then replaces
 * what it finds something better for. So each is said only where it holds for all locations of the
 * mapping (profile_mark_mappings()), and a mapping of which one address has no name is still open
 * to a reader that has other files than we had. has_inline_frames is another matter: it tells that
 * there are some.
 */
#include <errno.h>
#include <string.h>

#include "common/error.h"
#include "common/order.h"
#include "daemon/output/pprof_spots.h"

/*
 * Names come from untrusted files, so the bytes of text in a profile are bounded. An image may use
 * one part of them, the generated code of a process another, with a bound on its functions as well;
 * both are more than honest programs run in one window.
 */
#define IMAGE_PART              4
#define GENERATED_TEXT_PART     20
#define BYTES_OF_GENERATED_NAME 1024

struct locator {
	const struct context *c;
	enum symbolize symbolize;
	const struct spots *spots;
	struct pprof_mappings *mappings;
	struct profile *profile;
	size_t text_bytes;
	size_t n_cut; /* places that are left without a name */
	/* Of the run in work: where it is to end, and what it may add of functions. */
	size_t text_end, functions_end;
	/* Of the image in work: its names, or NULL; by text of theirs the profile's, or NONE. */
	const struct symbols_names *names;
	uint32_t *strings;
};

static void locator_deinit(struct locator *l)
{
	free(l->strings);
}

static bool locator_can_name(const struct locator *l, const struct place *place)
{
	return l->symbolize != SYMBOLIZE_NONE && (!place->code || place->generated) &&
	       (place->has_vaddr || place->generated) &&
	       (place->kind == PLACE_KERNEL || place->kind == PLACE_IMAGE);
}

/* As the source of its name calls it. */
static uint64_t place_name_address(const struct place *place)
{
	return place->generated ? place->address : place->vaddr;
}

static int address_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return order_of(x, y);
}

/* Addresses of the spots @order[0 .. @n), ascending, each once; malloc'ed. */
static int locator_addresses(const struct locator *l, const uint32_t *order, size_t n,
			     uint64_t **ret, size_t *ret_n)
{
	uint64_t *all = calloc(n, sizeof(*all));
	size_t n_all = 0, kept = 0;

	if (!all)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < n; i++) {
		const struct place *place = &l->spots->all[order[i]];

		if (locator_can_name(l, place))
			all[n_all++] = place_name_address(place);
	}
	qsort(all, n_all, sizeof(*all), address_compare);
	for (size_t i = 0; i < n_all; i++)
		if (!kept || all[i] != all[kept - 1])
			all[kept++] = all[i];
	*ret = all;
	*ret_n = kept;
	return 0;
}

/* Has the names of one image found, or of generated code that @jit is to name. */
static int locator_prepare(struct locator *l, const uint32_t *order, size_t n, struct jit_file *jit)
{
	const struct place *place = &l->spots->all[order[0]];
	cleanup(freep) uint64_t *addresses = NULL;
	size_t n_addresses = 0, n_texts;
	int r = locator_addresses(l, order, n, &addresses, &n_addresses);

	l->names = NULL;
	free(steal_ptr(&l->strings));
	if (r || !n_addresses)
		return r;
	if (jit)
		r = symbols_prepare_jit(l->c->symbols, jit, addresses, n_addresses, &l->names);
	else if (place->kind == PLACE_KERNEL)
		r = symbols_prepare_kernel(l->c->symbols, place->kernel, addresses, n_addresses,
					   &l->names);
	else
		r = symbols_prepare(l->c->symbols, place->mapping->image, addresses, n_addresses,
				    l->symbolize == SYMBOLIZE_LINES, &l->names);
	if (r)
		return r;
	n_texts = symbols_names_n_texts(l->names);
	l->strings = malloc(n_texts * sizeof(*l->strings));
	if (!l->strings)
		return error_origin(-ENOMEM);
	memset(l->strings, 0xff, n_texts * sizeof(*l->strings)); /* PROFILE_NONE */
	return 0;
}

static int locator_add_text(struct locator *l, uint32_t text, uint32_t *ret)
{
	const char *data = symbols_names_text(l->names, text);
	size_t length;
	int r;

	if (l->strings[text] == PROFILE_NONE) {
		length = strlen(data);
		r = profile_add_string(l->profile, data, length, &l->strings[text]);
		if (r)
			return r;
		l->text_bytes += length;
	}
	*ret = l->strings[text];
	return 0;
}

static int locator_add_line(struct locator *l, const struct symbols_frame *frame,
			    struct profile_line *ret)
{
	struct profile_function f = {.start_line = frame->start_line};

	*ret = (struct profile_line){.line = frame->line};
	return locator_add_text(l, frame->name, &f.name)
		       ?: locator_add_text(l, frame->system_name, &f.system_name)
		       ?: locator_add_text(l, frame->file, &f.filename)
		       ?: profile_add_function(l->profile, &f, &ret->function);
}

static void locator_begin_run(struct locator *l, bool is_generated)
{
	size_t max = l->c->text_bytes / (is_generated ? GENERATED_TEXT_PART : IMAGE_PART);

	if (max > l->c->text_bytes - l->text_bytes)
		max = l->c->text_bytes - l->text_bytes;
	l->text_end = l->text_bytes + max;
	l->functions_end = SIZE_MAX;
	if (is_generated)
		l->functions_end = l->profile->n_functions +
				   l->c->text_bytes / BYTES_OF_GENERATED_NAME;
}

/* Texts that are new in the profile. */
static size_t locator_new_bytes(const struct locator *l, const struct symbols_frame *frames,
				uint32_t n)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t texts[] = {frames[i].name, frames[i].system_name, frames[i].file};

		for (size_t j = 0; j < ARRAY_SIZE(texts); j++)
			if (l->strings[texts[j]] == PROFILE_NONE)
				bytes += strlen(symbols_names_text(l->names, texts[j]));
	}
	return bytes;
}

/* *ret_n frames, 0 if nothing is known, or it would be too much. */
static const struct symbols_frame *locator_find_frames(struct locator *l, const struct place *place,
						       uint32_t *ret_n)
{
	const struct symbols_frame *frames = NULL;
	size_t bytes;

	*ret_n = 0;
	if (!l->names || !locator_can_name(l, place) ||
	    !symbols_names_find(l->names, place_name_address(place), &frames, ret_n))
		return frames;
	bytes = locator_new_bytes(l, frames, *ret_n);
	if (bytes &&
	    (bytes > l->text_end - l->text_bytes || l->profile->n_functions >= l->functions_end)) {
		l->n_cut++;
		*ret_n = 0;
	}
	return frames;
}

static int locate_place(struct locator *l, const struct place *place, uint32_t *ret)
{
	const struct symbols_frame *frames;
	struct profile_line lines[WORKER_FRAMES_MAX];
	uint64_t address = place->address;
	uint32_t mapping, n;
	int r = pprof_mappings_place(l->mappings, l->profile, place, &address, &mapping);

	frames = locator_find_frames(l, place, &n);
	for (uint32_t i = 0; i < n && !r; i++)
		r = locator_add_line(l, &frames[i], &lines[i]);
	return r ? r : profile_add_location(l->profile, mapping, address, lines, n, ret);
}

/* An interpreter's: nobody else could find its name later, so it has one at any rate. */
static int locate_code(struct locator *l, const struct place *spot, uint32_t *ret)
{
	const struct code_name *code = spot->code;
	size_t bytes = strlen(code->name) + strlen(code->file);
	struct profile_function f = {.start_line = code->first_line};
	struct profile_line line = {.line = spot->line};
	uint64_t address = spot->address;
	bool is_cut = bytes > l->c->text_bytes - l->text_bytes;
	uint32_t mapping;
	int r = pprof_mappings_place(l->mappings, l->profile, spot, &address, &mapping);

	l->n_cut += is_cut;
	l->text_bytes += is_cut ? 0 : bytes;
	if (!r)
		r = profile_add_text(l->profile, is_cut ? "[more code]" : code->name, &f.name);
	f.system_name = f.name;
	if (!r && !is_cut)
		r = profile_add_text(l->profile, code->file, &f.filename);
	if (!r)
		r = profile_add_function(l->profile, &f, &line.function);
	if (!r)
		r = profile_add_location(l->profile, mapping, address, &line, 1, ret);
	/* As profile.proto has it: one of the names that the address of the loop has. */
	if (!r && spot->kind != PLACE_CODE)
		l->profile->locations[*ret].is_folded = true;
	return r;
}

static int locate_spot(struct locator *l, const struct place *spot, uint32_t *ret)
{
	struct profile_function f = {0};
	struct profile_line line = {0};
	uint32_t n_frames = 0;
	int r;

	/* What a process says of its generated code is more than the function's name. */
	if (spot->code && spot->generated)
		(void)locator_find_frames(l, spot, &n_frames);
	if (spot->code && !n_frames)
		return locate_code(l, spot, ret);
	if (spot->kind != PLACE_NAMED)
		return locate_place(l, spot, ret);
	r = profile_add_text(l->profile, spot->name, &f.name);
	f.system_name = f.name;
	if (!r)
		r = profile_add_function(l->profile, &f, &line.function);
	return r ? r : profile_add_location(l->profile, PROFILE_NONE, spot->address, &line, 1, ret);
}

static int locate_spots(struct locator *l, uint32_t *locations, const uint32_t *order, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = locate_spot(l, &l->spots->all[order[i]], &locations[order[i]]);
	return r;
}

/* Locates those that have names, and leaves the others: *n at the beginning of @order. */
static int locate_named(struct locator *l, uint32_t *locations, uint32_t *order, size_t *n)
{
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < *n && !r; i++) {
		const struct place *spot = &l->spots->all[order[i]];
		uint32_t n_frames;

		(void)locator_find_frames(l, spot, &n_frames);
		if (n_frames)
			r = locate_spot(l, spot, &locations[order[i]]);
		else
			order[kept++] = order[i];
	}
	*n = kept;
	return r;
}

/* In generated code, a jitdump knows more than a perf map, which is for what it has no name for. */
static int locate_run(struct locator *l, uint32_t *locations, uint32_t *order, size_t n)
{
	const struct snapshot_process *process = l->spots->all[order[0]].generated;
	struct jit_file *const files[] = {process ? process->jitdump : NULL,
					  process ? process->perf_map : NULL};
	int r;

	locator_begin_run(l, process);
	r = process ? 0 : locator_prepare(l, order, n, NULL);

	for (size_t i = 0; i < ARRAY_SIZE(files) && !r && n; i++) {
		if (!files[i])
			continue;
		r = locator_prepare(l, order, n, files[i]) ?: locate_named(l, locations, order, &n);
	}
	if (process)
		l->names = NULL;
	return r ? r : locate_spots(l, locations, order, n);
}

static int locate_all(struct locator *l, uint32_t *locations, uint32_t *order, size_t n)
{
	for (size_t i = 0, end; i < n; i = end) {
		int r;

		end = i + spots_run_length(l->spots, order + i, n - i);
		r = locate_run(l, locations, order + i, end - i);
		if (r)
			return r;
	}
	return 0;
}

int pprof_locate(const struct context *c, enum symbolize symbolize, const struct spots *spots,
		 struct pprof_mappings *mappings, struct profile *p, uint32_t **ret)
{
	cleanup(locator_deinit) struct locator l = {
		.c = c,
		.symbolize = symbolize,
		.spots = spots,
		.mappings = mappings,
		.profile = p,
	};
	cleanup(freep) uint32_t *locations = NULL, *order = NULL;
	size_t n;
	int r = spots_by_image(spots, &order, &n);

	if (r)
		return r;
	locations = calloc(n ? n : 1, sizeof(*locations));
	if (!locations)
		return error_origin(-ENOMEM);
	r = locate_all(&l, locations, order, n);
	if (r)
		return r;
	symbols_note_cut(c->symbols, l.n_cut);
	profile_mark_mappings(p, NULL);
	r = pprof_comment_files(spots, order, n, p);
	if (r)
		return r;
	*ret = steal_ptr(&locations);
	return 0;
}

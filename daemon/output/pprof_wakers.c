/* SPDX-License-Identifier: MIT */
/*
 * The frames of what ended waits are in no sample, so they have no locations in the profile. They
 * are located in another one, which is thrown away when their names are known.
 *
 * From the leaf to the root comes what everybody goes through in order to wake a thread: of the
 * kernel's frames its functions for that, of the user's the libraries and the language's runtime.
 * The first one behind them is what says something, also without a name. Where all of a thread's
 * are such, and that is all of its stack, it is the one that calls into the kernel.
 */
#include "daemon/output/pprof_wakers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/frame.h"
#include "common/profile/code_owner.h"
#include "common/reasons.h"
#include "common/room.h"
#include "daemon/output/pprof_spots.h"

/* How names of the kernel's functions begin that wake, and of what samples that. */
static const char *const waking_functions[] = {"bpf_",
					       "__bpf_",
					       "___bpf_",
					       "__traceiter_",
					       "trace_",
					       "perf_",
					       "ftrace_",
					       "try_to_wake_up",
					       "wake_",
					       "__wake_up",
					       "folio_wake_bit",
					       "var_wake_function",
					       "swake_",
					       "complete",
					       "autoremove_wake_function",
					       "default_wake_function",
					       "io_wake_function",
					       "receiver_wake_function",
					       "pollwake",
					       "woken_wake_function",
					       "ep_autoremove_wake_function",
					       "ep_poll_callback",
					       "__ep_",
					       "rwsem_mark_wake",
					       "rcuwait_wake_up",
					       "__do_wake",
					       "swait_"};

/* Frames of a waker: indices of spots, leaf first. */
struct waker_frames {
	size_t first;
	uint32_t n;
};

struct pprof_wakers {
	char **texts; /* by number - 1; NULL: of no entry in the group */
	uint32_t n;
};

/* While they are made. */
struct wakers_builder {
	const struct context *c;
	const struct view *view;
	const struct aggregate *aggregate;
	struct pprof_wakers *wakers;
	struct waker_frames *frames; /* by number - 1 */
	struct spots spots;
	struct pprof_mappings mappings;
	uint32_t *all; /* spots */
	size_t n_all, max_all;
	struct profile *profile;
	uint32_t *locations; /* by spot */
};

static void wakers_builder_deinit(struct wakers_builder *b)
{
	spots_deinit(&b->spots);
	pprof_mappings_deinit(&b->mappings);
	profile_free(b->profile);
	free(b->frames);
	free(b->all);
	free(b->locations);
}

void pprof_wakers_free(struct pprof_wakers *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; i < w->n; i++)
		free(w->texts[i]);
	free(w->texts);
	free(w);
}

/* The spots of number @waker, once. */
static int wakers_add(struct wakers_builder *b, uint32_t waker)
{
	const struct aggregate_waker *w = aggregate_waker(b->aggregate, waker);
	const struct aggregate_entry entry = {.generation = w->generation};
	const struct view_entry e = {.entry = &entry,
				     .process = view_find_process(b->view, w->process),
				     .stack = aggregate_stack(b->aggregate, w->stack)};
	struct waker_frames *frames = &b->frames[waker - 1];
	uint32_t spot;
	int r = 0;

	if (b->wakers->texts[waker - 1])
		return 0;
	b->wakers->texts[waker - 1] = strdup("");
	if (!b->wakers->texts[waker - 1])
		return error_origin(-ENOMEM);
	frames->first = b->n_all;
	for (uint32_t i = 0; i < e.stack.n_frames && !r; i++) {
		if (!spots_has_frame(&e, i))
			continue;
		r = spots_add_frame(&b->spots, b->c, b->view, &e, i, &spot)
			    ?: room_append(&b->all, &b->max_all, &b->n_all, spot);
		frames->n += !r;
	}
	return r;
}

static bool waking_is_function(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(waking_functions); i++)
		if (strncmp(name, waking_functions[i], strlen(waking_functions[i])) == 0)
			return true;
	return false;
}

/* The file's name that it is in, "" if it is in none. */
static const char *waker_object(const struct place *place)
{
	const char *path = place->kind == PLACE_IMAGE ? place->mapping->image->path : NULL;
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

/* Whether @f, of a frame at @place, says what it was that woke; NULL: it has no name. */
static bool waker_is_telling(const struct profile *p, const struct place *place,
			     const struct profile_function *f)
{
	const struct code_names_known code = {
		.object = waker_object(place),
		.file = f ? profile_string(p, f->filename) : "",
		.name = f ? profile_string(p, f->name) : "",
		.call = "",
		.is_kernel = place->kind == PLACE_KERNEL,
		.is_script = place->code,
	};

	if (code.is_kernel)
		return !waking_is_function(code.name);
	return code_owner_of(&code) == CODE_OWN;
}

/* Where a thread was, or an interrupt: a function, or what a frame without a name is called. */
struct waker_where {
	const char *function; /* or "" */
	const char *object;   /* of a frame without a name; or NULL */
	uint64_t offset;
};

/* The frame of @frames that says most. @is_whole: they end at the stack's root. */
static struct waker_where waker_find_where(const struct wakers_builder *b,
					   const struct waker_frames *frames, bool is_whole)
{
	const struct profile *p = b->profile;
	struct waker_where first = {.function = ""};

	for (uint32_t i = 0; i < frames->n; i++) {
		const uint32_t spot = b->all[frames->first + i];
		const struct place *place = &b->spots.all[spot];
		const struct profile_location *l = &p->locations[b->locations[spot]];

		if (!l->n_lines && place->kind == PLACE_IMAGE && *waker_object(place) &&
		    waker_is_telling(p, place, NULL))
			return (struct waker_where){"", waker_object(place), place->file_offset};
		for (uint32_t k = 0; k < l->n_lines; k++) {
			const struct profile_function *f =
				&p->functions[p->lines[l->first_line + k].function];
			const char *name = profile_string(p, f->name);

			if (waker_is_telling(p, place, f))
				return (struct waker_where){.function = name};
			if (!*first.function)
				first.function = name;
		}
	}
	return is_whole ? first : (struct waker_where){.function = ""};
}

static int wakers_describe(struct wakers_builder *b, uint32_t waker)
{
	const struct aggregate_waker *w = aggregate_waker(b->aggregate, waker);
	const struct stack stack = aggregate_stack(b->aggregate, w->stack);
	const char *who = w->by_interrupt ? "interrupt"
					  : aggregate_thread_name(b->aggregate, w->thread_name);
	const bool is_whole = stack.quality == STACK_COMPLETE || stack.quality == STACK_GUESSED;
	const struct waker_where where = waker_find_where(b, &b->frames[waker - 1], is_whole);
	char **text = &b->wakers->texts[waker - 1];
	int n;

	free(steal_ptr(text));
	if (where.object)
		n = asprintf(text, "%s in %s+0x%" PRIx64, who, where.object, where.offset);
	else
		n = asprintf(text, "%s%s%s", who, *where.function ? " in " : "", where.function);
	if (n >= 0)
		return 0;
	*text = NULL;
	return error_origin(-ENOMEM);
}

static int wakers_build(struct wakers_builder *b, const struct view_group *group,
			enum symbolize symbolize)
{
	int r = 0;

	spots_init(&b->spots);
	for (size_t i = 0; i < group->n && !r; i++) {
		uint32_t waker = b->view->entries[group->first + i].entry->waker;

		r = waker ? wakers_add(b, waker) : 0;
	}
	r = r	    ?: profile_new(&b->profile)
		    ?: pprof_locate(b->c, symbolize, &b->spots, &b->mappings, b->profile,
				    &b->locations);
	for (uint32_t i = 0; i < b->wakers->n && !r; i++)
		if (b->wakers->texts[i])
			r = wakers_describe(b, i + 1);
	return r;
}

int pprof_wakers_new(struct pprof_wakers **ret, const struct context *c, const struct view *view,
		     const struct view_group *group, enum symbolize symbolize)
{
	cleanup(pprof_wakers_freep) struct pprof_wakers *wakers = calloc(1, sizeof(*wakers));
	cleanup(wakers_builder_deinit) struct wakers_builder b = {
		.c = c, .view = view, .aggregate = view->snapshot->aggregate, .wakers = wakers};
	uint32_t n = aggregate_n_wakers(b.aggregate);
	int r = 0;

	if (!wakers)
		return error_origin(-ENOMEM);
	wakers->texts = calloc(n + 1, sizeof(*wakers->texts));
	b.frames = calloc(n + 1, sizeof(*b.frames));
	if (!wakers->texts || !b.frames)
		return error_origin(-ENOMEM);
	wakers->n = n;
	if (n)
		r = wakers_build(&b, group, symbolize);
	if (!r)
		*ret = steal_ptr(&wakers);
	return r;
}

const char *pprof_wakers_text(const struct pprof_wakers *w, uint32_t waker)
{
	return waker && w->texts[waker - 1] ? w->texts[waker - 1] : "";
}

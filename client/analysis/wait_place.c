/* SPDX-License-Identifier: MIT */
/*
 * From the leaf to the root: the kernel, libraries that everybody's waits go through, the
 * interpreter of a script, its standard library, and then the program. The frame before the
 * program's first one is what it called; of an interpreter that is some function of its main loop,
 * which says nothing, and the one that the interpreter called is taken instead. Some functions say
 * more than any other on their stack.
 */
#include "client/analysis/wait_place.h"

#include <string.h>

#include "client/analysis/frame.h"
#include "client/analysis/frame_kind.h"
#include "client/analysis/node_name.h"
#include "client/analysis/shape.h"
#include "client/analysis/view.h"
#include "common/cleanup.h"
#include "common/profile/code_owner.h"
#include "common/profile/profile.h"

/* Which say what the wait is. */
static const char *const place_telling[] = {"take_gil", "runtime.findRunnable",
					    "runtime.findrunnable", "runtime.stopm",
					    "runtime.sysmon"};

static bool place_is_telling(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(place_telling); i++)
		if (strcmp(name, place_telling[i]) == 0)
			return true;
	return false;
}

static enum code_owner place_owner_of(const struct profile *p, const struct frame *f,
				      const char *call)
{
	const char *file = profile_string(p, f->filename);
	const struct code_names_known code = {
		.object = node_name_base(profile_string(p, f->object)),
		.file = file,
		.name = profile_string(p, f->name),
		.call = call,
		.is_kernel = frame_module_is_kernel(profile_string(p, f->object)),
		.is_script = frame_language_of(file),
	};

	return code_owner_of(&code);
}

/* A stack, and what is known of its wait. */
struct place_search {
	const struct view_input *input;
	const struct stack *stack;
	const char *call;
};

static enum code_owner place_owner_at(const struct place_search *s, uint32_t i)
{
	return place_owner_of(s->input->profile, &s->input->frames[s->stack->frames[i]], s->call);
}

static const char *place_name_at(const struct place_search *s, uint32_t i)
{
	return profile_string(s->input->profile, s->input->frames[s->stack->frames[i]].name);
}

/* The first frame from @i on whose owner is beyond @last; the number of frames if none is. */
static uint32_t place_skip(const struct place_search *s, uint32_t i, enum code_owner last)
{
	while (i < s->stack->n_frames && place_owner_at(s, i) <= last)
		i++;
	return i;
}

/* Which of the frames from @user up to @own, the program's first one, says what the wait is. */
static uint32_t place_choose(const struct place_search *s, uint32_t user, uint32_t own)
{
	uint32_t at = own > user && own < s->stack->n_frames ? own - 1 : user;

	for (uint32_t i = own; i-- > user;)
		if (place_is_telling(place_name_at(s, i)))
			return i;
	while (at > user && place_owner_at(s, at) == CODE_INTERPRETER)
		at--;
	return at;
}

struct wait_place wait_place_of(const struct view_input *input, const struct stack *stack,
				const char *call)
{
	const struct place_search s = {input, stack, call};
	struct wait_place place = {WAIT_PLACE_NONE, WAIT_PLACE_NONE};
	uint32_t user = place_skip(&s, 0, CODE_KERNEL), own, at;

	if (!stack->n_frames)
		return place;
	if (user == stack->n_frames) /* a thread of the kernel */
		user = 0;
	own = place_skip(&s, user, CODE_INTERPRETER);
	at = place_choose(&s, user, own);
	place.at = stack->frames[at];
	if (own < stack->n_frames && at != own)
		place.caller = stack->frames[own];
	return place;
}

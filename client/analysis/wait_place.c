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
#include "common/profile/profile.h"

enum place_kind { PLACE_KERNEL, PLACE_LIBRARY, PLACE_INTERPRETER, PLACE_OWN };

/* How names of libraries begin. */
static const char *const place_libraries[] = {
	"libc.so",   "libc-",    "libpthread", "librt",  "ld-linux", "ld-musl",
	"libstdc++", "libgcc_s", "libc++",     "[vdso]", "[anon",
};

static const char *const place_interpreters[] = {"libpython", "python2", "python3", "node",
						 "libnode"};

/*
 * How names of functions begin, in programs that have their libraries in them. Names with two
 * underscores are the C library's (C11, 7.1.3).
 */
static const char *const place_functions[] = {
	"runtime.", "runtime/", "internal/", "syscall.",    "std::",    "core::", "alloc::",
	"<std::",   "<core::",  "<alloc::",  "parking_lot", "pthread_", "__",
};

/* Which say what the wait is. */
static const char *const place_telling[] = {"take_gil", "runtime.findRunnable",
					    "runtime.findrunnable", "runtime.stopm",
					    "runtime.sysmon"};

static bool place_begins(const char *text, const char *const *with, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strncmp(text, with[i], strlen(with[i])) == 0)
			return true;
	return false;
}

static bool place_is_telling(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(place_telling); i++)
		if (strcmp(name, place_telling[i]) == 0)
			return true;
	return false;
}

/* Of a function in a script: of the language's own library, not of a package. */
static bool place_is_standard(const char *file)
{
	return strncmp(file, "node:", 5) == 0 || *file == '<' ||
	       (strstr(file, "/lib/python") && !strstr(file, "-packages/"));
}

/* Wrappers of system calls have their names. Of a template's function, its type comes first. */
static bool place_is_runtime(const char *name, const char *call)
{
	if (strcmp(name, call) == 0 || strcmp(name, "syscall") == 0)
		return true;
	if (strncmp(name, "void ", 5) == 0)
		name += 5;
	return place_begins(name, place_functions, ARRAY_SIZE(place_functions));
}

static enum place_kind place_kind_of(const struct profile *p, const struct frame *f,
				     const char *call)
{
	const char *object = node_name_base(profile_string(p, f->object));
	const char *file = profile_string(p, f->filename);

	if (frame_module_is_kernel(profile_string(p, f->object)))
		return PLACE_KERNEL;
	if (frame_language_of(file))
		return place_is_standard(file) ? PLACE_LIBRARY : PLACE_OWN;
	if (place_begins(object, place_interpreters, ARRAY_SIZE(place_interpreters)))
		return PLACE_INTERPRETER;
	if (place_begins(object, place_libraries, ARRAY_SIZE(place_libraries)) ||
	    place_is_runtime(profile_string(p, f->name), call))
		return PLACE_LIBRARY;
	return PLACE_OWN;
}

/* A stack, and what is known of its wait. */
struct place_search {
	const struct view_input *input;
	const struct stack *stack;
	const char *call;
};

static enum place_kind place_kind_at(const struct place_search *s, uint32_t i)
{
	return place_kind_of(s->input->profile, &s->input->frames[s->stack->frames[i]], s->call);
}

static const char *place_name_at(const struct place_search *s, uint32_t i)
{
	return profile_string(s->input->profile, s->input->frames[s->stack->frames[i]].name);
}

/* The first frame from @i on that is of a kind beyond @last; the number of frames if none is. */
static uint32_t place_skip(const struct place_search *s, uint32_t i, enum place_kind last)
{
	while (i < s->stack->n_frames && place_kind_at(s, i) <= last)
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
	while (at > user && place_kind_at(s, at) == PLACE_INTERPRETER)
		at--;
	return at;
}

struct wait_place wait_place_of(const struct view_input *input, const struct stack *stack,
				const char *call)
{
	const struct place_search s = {input, stack, call};
	struct wait_place place = {WAIT_PLACE_NONE, WAIT_PLACE_NONE};
	uint32_t user = place_skip(&s, 0, PLACE_KERNEL), own, at;

	if (!stack->n_frames)
		return place;
	if (user == stack->n_frames) /* a thread of the kernel */
		user = 0;
	own = place_skip(&s, user, PLACE_INTERPRETER);
	at = place_choose(&s, user, own);
	place.at = stack->frames[at];
	if (own < stack->n_frames && at != own)
		place.caller = stack->frames[own];
	return place;
}

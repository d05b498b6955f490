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

/* How names of functions begin, in programs that have their libraries in them. */
static const char *const place_functions[] = {
	"runtime.",    "runtime/", "internal/",  "syscall.",   "std::",       "core::",
	"alloc::",     "<std::",   "<core::",    "<alloc::",   "parking_lot", "__gthread",
	"__gnu_cxx::", "pthread_", "__pthread_", "___pthread", "__futex_",    "__lll_",
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

/* Of a function that is made of a template, its type comes first. */
static bool place_is_runtime(const char *name)
{
	if (strncmp(name, "void ", 5) == 0)
		name += 5;
	return place_begins(name, place_functions, ARRAY_SIZE(place_functions));
}

static enum place_kind place_kind_of(const struct profile *p, const struct frame *f)
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
	    place_is_runtime(profile_string(p, f->name)))
		return PLACE_LIBRARY;
	return PLACE_OWN;
}

/* The first frame from @i on that is not of kind @kind; the number of frames if there is none. */
static uint32_t place_skip(const struct view_input *input, const struct stack *s, uint32_t i,
			   enum place_kind last)
{
	while (i < s->n_frames &&
	       place_kind_of(input->profile, &input->frames[s->frames[i]]) <= last)
		i++;
	return i;
}

struct wait_place wait_place_of(const struct view_input *input, const struct stack *s)
{
	const uint32_t user = place_skip(input, s, 0, PLACE_KERNEL);
	const uint32_t own = place_skip(input, s, user, PLACE_INTERPRETER);
	struct wait_place place = {WAIT_PLACE_NONE, WAIT_PLACE_NONE};
	uint32_t at = own > user && own < s->n_frames ? own - 1 : user;

	if (!s->n_frames)
		return place;
	if (user == s->n_frames) { /* a thread of the kernel */
		place.at = s->frames[0];
		return place;
	}
	while (at > user &&
	       place_kind_of(input->profile, &input->frames[s->frames[at]]) == PLACE_INTERPRETER)
		at--;
	for (uint32_t i = own; i-- > user;)
		if (place_is_telling(
			    profile_string(input->profile, input->frames[s->frames[i]].name))) {
			at = i;
			break;
		}
	place.at = s->frames[at];
	if (own < s->n_frames && at != own)
		place.caller = s->frames[own];
	return place;
}

/* SPDX-License-Identifier: MIT */

/*
 * The order of languages is libiberty's own (cplus_demangle() with DMGL_AUTO): Rust first, whose
 * legacy names are valid C++ ones, then C++; D, which is asked for by its prefix.
 *
 * C++ and Rust come in pieces through a callback, which is how their length gets a bound: a name
 * may refer back to its own parts, and a chain of such references doubles the text at each step.
 * libiberty takes no "enough" from a callback, so it is left by longjmp(); nothing is lost by that
 * but a decoder's small buffer in Rust's case, because both parsers keep their state on the stack.
 * For D there is no callback; there the length is worked out beforehand.
 *
 * Recursion is bounded by libiberty itself, as long as DMGL_NO_RECURSE_LIMIT is not asked for, for
 * C++ and Rust, and by the length of the name for D.
 */
#include "daemon/worker/names/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef ARRAY_SIZE /* libiberty's, and the same as ours */
#include "common/cleanup.h"
#include "common/room.h"
#include "common/worker/protocol.h"

#define OPTIONS    (DMGL_PARAMS | DMGL_ANSI)
#define NESTED_MAX 64 /* parameters within parameters, on average; of real names some 10 */
/* D's demangler recurses for each letter of a type: some 300 bytes of stack for each. */
#define D_INPUT_MAX 4096u
/* Letters; more than a result may have, because the estimate is high: six of the 16,571 names of
 * D's library (gcc 12) are past it all the same and stay as they are. */
#define D_ESTIMATE_MAX (16u << 20)

struct demangle_text {
	char *bytes;
	size_t length, size;
	bool failed; /* no memory */
	jmp_buf enough;
};

static void demangle_append(const char *piece, size_t length, void *opaque)
{
	struct demangle_text *t = opaque;

	if (length > WORKER_TEXT_MAX - t->length)
		longjmp(t->enough, 1);
	if (room_make(&t->bytes, &t->size, t->length + length + 1, 1)) {
		t->failed = true;
		longjmp(t->enough, 1);
	}
	if (length > 0) /* else there may be no piece */
		memcpy(t->bytes + t->length, piece, length);
	t->length += length;
	t->bytes[t->length] = '\0';
}

typedef int demangler(const char *, int, demangle_callbackref, void *);

/* Whether @language knows the name and *t is all of it. */
static bool demangle_try_language(demangler *language, const char *name, int options,
				  struct demangle_text *t)
{
	t->length = 0;
	if (setjmp(t->enough))
		return false;
	return language(name, options, demangle_append, t) && t->length > 0;
}

/*
 * The distance of the reference at @name[i], and 0 if there is none: a Q and digits to the base of
 * 26, all but the last in capitals (https://dlang.org/spec/abi.html#back_ref).
 */
static size_t d_backref_distance(const char *name, size_t i)
{
	size_t distance = 0, j = i + 1;

	if (name[i] != 'Q')
		return 0;
	for (; name[j] >= 'A' && name[j] <= 'Z' && distance <= i; j++)
		distance = distance * 26 + (size_t)(name[j] - 'A');
	if (name[j] >= 'a' && name[j] <= 'z')
		distance = distance * 26 + (size_t)(name[j] - 'a');
	return distance <= i ? distance : 0;
}

/*
 * Whether a D name is short enough once its references are written out, by an estimate that is
 * never less: of an identifier, whose length stands before it, exactly that is repeated, of a type
 * at most everything from there to here. @weight[i]: letters of the first i.
 */
static bool d_is_within_limit(const char *name, size_t length)
{
	uint32_t weight[D_INPUT_MAX + 1];

	weight[0] = 0;
	for (size_t i = 0; i < length; i++) {
		size_t from = i - d_backref_distance(name, i), to = i;
		uint32_t repeated;

		if (from < i && name[from] >= '0' && name[from] <= '9') {
			char *identifier;
			uint64_t n = strtoull(name + from, &identifier, 10);

			if (n < (uint64_t)(name + i - identifier))
				to = (size_t)(identifier - name) + (size_t)n;
		}
		repeated = weight[to] - weight[from];
		weight[i + 1] = weight[i] + 1 + repeated;
		if (weight[i + 1] > D_ESTIMATE_MAX)
			return false;
	}
	return true;
}

/* NULL: it is no name of D's, or too long a one. */
static char *demangle_d(const char *name)
{
	size_t length = strlen(name);
	char *text;

	if (length > D_INPUT_MAX || !d_is_within_limit(name, length))
		return NULL;
	text = dlang_demangle(name, OPTIONS);
	if (text && strlen(text) <= WORKER_TEXT_MAX)
		return text;
	free(text);
	return NULL;
}

/* @name and behind it the part of @system_name from @from on. */
static char *demangle_join_suffix(const char *name, const char *system_name, size_t from)
{
	char *text;

	if (strlen(name) + strlen(system_name + from) > WORKER_TEXT_MAX)
		return strdup(system_name);
	return asprintf(&text, "%s%s", name, system_name + from) < 0 ? NULL : text;
}

/* libiberty writes each as " [clone .x]", at the end. */
static void drop_clones(char *name)
{
	static const char words[] = " [clone ";

	for (char *clone = strstr(name, words); clone; clone = strstr(clone + 1, words)) {
		const char *at = clone;

		while (strncmp(at, words, sizeof(words) - 1) == 0 && strchr(at, ']'))
			at = strchr(at, ']') + 1;
		if (!*at) {
			*clone = '\0';
			return;
		}
	}
}

/*
 * Behind the parenthesis that closes the one at @open; NULL: none does, or it is further away than
 * *left, which what was looked at is taken off.
 */
static const char *skip_parentheses(const char *open, size_t *left)
{
	size_t depth = 0;

	for (const char *c = open; *c && *left; c++) {
		--*left;
		depth += *c == '(';
		depth -= *c == ')';
		if (!depth)
			return c + 1;
	}
	return NULL;
}

/* Whether what stands behind a function's parameters is something in that function. */
static bool encloses_next_name(const char *behind)
{
	static const char *const qualifiers[] = {" const", " volatile", " &&", " &"};

	for (size_t i = 0; i < ARRAY_SIZE(qualifiers);) {
		size_t length = strlen(qualifiers[i]);

		if (strncmp(behind, qualifiers[i], length) == 0) {
			behind += length;
			i = 0;
		} else {
			i++;
		}
	}
	return strncmp(behind, "::", 2) == 0;
}

/* f(int)::x is f()::x, as in pprof: functions that enclose others lose their parameters; in place.
 */
static void empty_outer_parameters(char *name)
{
	size_t left = NESTED_MAX * strlen(name);
	char *out = name;

	for (const char *c = name; *c;) {
		const char *behind = *c == '(' && c > name && !strchr(" :<(,", c[-1])
					     ? skip_parentheses(c, &left)
					     : NULL;

		if (behind && encloses_next_name(behind)) {
			*out++ = '(';
			c = behind - 1;
		}
		*out++ = *c++;
	}
	*out = '\0';
}

static char *demangle_mangled(const char *system_name, enum demangle_style style)
{
	/* Without DMGL_PARAMS, C++'s demangler stops where parameters and clones would begin. */
	int options = style == DEMANGLE_NO_PARAMETERS ? OPTIONS & ~DMGL_PARAMS : OPTIONS;
	cleanup(freep) char *name = NULL, *d = NULL;
	struct demangle_text t = {0};
	const char *result = NULL;
	size_t mangled;
	char *joined;

	mangled = strcspn(system_name, "@");
	name = strndup(system_name, mangled);
	if (!name)
		return NULL;
	if (demangle_try_language(rust_demangle_callback, name, OPTIONS, &t) ||
	    (!t.failed && demangle_try_language(cplus_demangle_v3_callback, name, options, &t)))
		result = t.bytes;
	else if (name[1] == 'D')
		result = d = demangle_d(name);
	if (result && result == t.bytes && style != DEMANGLE_WHOLE)
		drop_clones(t.bytes);
	if (result && result == t.bytes && style == DEMANGLE_NO_PARAMETERS)
		empty_outer_parameters(t.bytes);
	if (t.failed)
		joined = NULL;
	else if (result)
		joined = demangle_join_suffix(result, system_name, mangled);
	else
		joined = strdup(system_name);
	free(t.bytes);
	return joined;
}

/* Whether a demangler of C++ has probably been here: pprof's rule, by which Java and Go go free. */
static bool looks_demangled(const char *name)
{
	return !strstr(name, ".<") && !strstr(name, "]).") &&
	       (strpbrk(name, "<>[]") || strstr(name, "::"));
}

/* @name without what is in parentheses; in place. As it is where they do not match. */
static void drop_parameters(char *name)
{
	char *out = name;
	size_t depth = 0;

	for (const char *c = name; *c; c++) {
		depth += *c == '(';
		if (!depth && *c == ')')
			return;
		depth -= *c == ')';
	}
	if (depth)
		return;
	for (const char *c = name; *c; c++) {
		depth += *c == '(';
		if (!depth)
			*out++ = *c;
		depth -= *c == ')';
	}
	*out = '\0';
}

char *demangle_name(const char *system_name, enum demangle_style style)
{
	char *name;

	if (strlen(system_name) > DEMANGLE_INPUT_MAX)
		return strdup(system_name);
	/* Every mangled name begins so, and most names are not mangled. */
	name = system_name[0] == '_' ? demangle_mangled(system_name, style) : strdup(system_name);
	/* macOS has an underscore before every name. */
	if (name && style != DEMANGLE_WHOLE && strncmp(name, "__Z", 3) == 0) {
		char *inner = demangle_mangled(system_name + 1, style);

		if (!inner || strcmp(inner, system_name + 1) == 0) {
			free(inner);
		} else {
			free(name);
			name = inner;
		}
	}
	if (name && style == DEMANGLE_NO_PARAMETERS && strcmp(name, system_name) == 0 &&
	    looks_demangled(name))
		drop_parameters(name);
	return name;
}

/* SPDX-License-Identifier: MIT */
/*
 * Functions are gone through once; those whose raw names are to be demangled are gathered into one
 * question of as many bytes as the worker takes, and renamed when it is answered.
 */
#include "client/report/function_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/symbolize/asker.h"
#include "common/error.h"

#define TEXT_BYTES_MAX ((size_t)64 << 20) /* of names: a few bytes may stand for many */

/* The functions of one question. */
struct function_names_batch {
	char names[ASKER_NAMES_MAX];
	uint32_t functions[ASKER_NAMES_MAX / 2]; /* a name has two bytes, at least */
	size_t length, n;
};

struct function_names_work {
	struct profile *p;
	enum symbolize_names names;
	struct asker *asker;
	struct function_names_batch *batch;
	size_t text_bytes, n_left; /* functions that keep their names */
	const char *why;
};

static bool is_mangled(const char *name)
{
	return name[0] == '_' && name[1] && strchr("ZRD_", name[1]);
}

/* The raw name of a function; NULL: it has none that names could be made of. */
static const char *raw_name(const struct profile *p, const struct profile_function *f,
			    enum symbolize_names names)
{
	const char *name = profile_string(p, f->name);
	const char *system_name = profile_string(p, f->system_name);

	if (!*system_name || (names == SYMBOLIZE_NAMES_DEFAULT && f->name == f->system_name))
		return is_mangled(name) ? name : NULL;
	return names == SYMBOLIZE_NAMES_DEFAULT ? NULL : system_name;
}

bool function_names_are_wanted(const struct profile *p, enum symbolize_names names)
{
	if (names == SYMBOLIZE_NAMES_KEPT)
		return false;
	for (size_t i = 0; i < p->n_functions; i++)
		if (raw_name(p, &p->functions[i], names))
			return true;
	return false;
}

/* Has what is in the batch demangled. */
static int function_names_flush(struct function_names_work *w)
{
	static const uint32_t flags[] = {
		[SYMBOLIZE_NAMES_FULL] = WORKER_NO_CLONES,
		[SYMBOLIZE_NAMES_TEMPLATES] = WORKER_NO_PARAMETERS,
	};
	struct function_names_batch *b = w->batch;
	const char *text = NULL;
	bool asks = b->n && w->text_bytes < TEXT_BYTES_MAX;
	int r = asks && !w->asker ? asker_new(&w->asker, NULL, 0) : 0;

	if (!r && asks)
		r = asker_demangle(w->asker, flags[w->names], b->names, b->length, b->n, &text);
	if (r < 0)
		return r;
	if (!text) {
		w->n_left += b->n;
		w->why = r ? asker_error_text(w->asker) : "they take too much memory";
	}
	r = 0;
	for (size_t i = 0; i < b->n && text && !r; i++) {
		struct profile_function *f = &w->p->functions[b->functions[i]];
		size_t n_strings = profile_n_strings(w->p), length = strlen(text);

		if (!f->system_name)
			f->system_name = f->name;
		r = profile_add_text(w->p, text, &f->name);
		if (profile_n_strings(w->p) > n_strings)
			w->text_bytes += length;
		text += length + 1;
	}
	b->n = b->length = 0;
	return r;
}

static int function_names_add(struct function_names_work *w, uint32_t function, const char *raw)
{
	struct function_names_batch *b = w->batch;
	size_t size = strlen(raw) + 1;
	int r = 0;

	if (size > sizeof(b->names))
		return 0;
	if (b->length + size > sizeof(b->names) || b->n == ARRAY_SIZE(b->functions))
		r = function_names_flush(w);
	if (r)
		return r;
	memcpy(b->names + b->length, raw, size);
	b->length += size;
	b->functions[b->n++] = function;
	return 0;
}

/* The raw name, and then what is to be made of it. */
static int name_function(struct function_names_work *w, uint32_t function)
{
	struct profile_function *f = &w->p->functions[function];
	const char *raw = raw_name(w->p, f, w->names);

	if (!raw)
		return 0;
	if (f->system_name)
		f->name = f->system_name;
	if (w->names == SYMBOLIZE_NAMES_RAW)
		return 0;
	return is_mangled(raw) || (w->names == SYMBOLIZE_NAMES_TEMPLATES && strchr(raw, '('))
		       ? function_names_add(w, function, raw)
		       : 0;
}

int function_names_set(struct profile *p, enum symbolize_names names,
		       const struct listener *listener)
{
	cleanup(freep) struct function_names_batch *batch = malloc(sizeof(*batch));
	struct function_names_work w = {.p = p, .names = names, .batch = batch};
	int r = 0;

	if (!batch)
		return error_origin(-ENOMEM);
	batch->n = batch->length = 0;
	for (uint32_t i = 0; i < p->n_functions && names != SYMBOLIZE_NAMES_KEPT && !r; i++)
		r = name_function(&w, i);
	if (!r)
		r = function_names_flush(&w);
	if (!r && w.n_left)
		listener_note(listener, "%zu functions stay mangled: %s", w.n_left, w.why);
	asker_free(w.asker);
	profile_settle(p);
	return r;
}

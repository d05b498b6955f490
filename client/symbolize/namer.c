/* SPDX-License-Identifier: MIT */
/*
 * Texts of an answer are interned by their offsets in it, so that each is looked at once. What the
 * mappings can say of their locations is found out in the end, over all of them.
 */
#include "client/symbolize/namer.h"

#include <errno.h>
#include <string.h>

#include "common/error.h"
#include "common/profile/intern.h"

#define TEXT_BYTES_MAX ((size_t)64 << 20)

/* A text of the answer in work, and what it is in the profile. */
struct namer_text {
	uint32_t offset, string;
};

struct namer {
	struct profile *p;
	bool *has_changed; /* by mapping */
	const struct answer_names *answer;
	struct namer_text *texts; /* by offset */
	struct intern texts_in;
	size_t text_bytes;
	bool is_full, has_replaced;
};

int namer_new(struct namer **ret, struct profile *p)
{
	cleanup(namer_freep) struct namer *n = calloc(1, sizeof(*n));

	if (!n)
		return error_origin(-ENOMEM);
	n->p = p;
	n->has_changed = calloc(p->n_mappings + 1, sizeof(*n->has_changed));
	if (!n->has_changed)
		return error_origin(-ENOMEM);
	*ret = steal_ptr(&n);
	return 0;
}

void namer_free(struct namer *n)
{
	if (!n)
		return;
	intern_deinit(&n->texts_in);
	free(n->texts);
	free(n->has_changed);
	free(n);
}

bool namer_is_full(const struct namer *n)
{
	return n->is_full;
}

void namer_begin(struct namer *n, const struct answer_names *answer)
{
	n->answer = answer;
	intern_clear(&n->texts_in);
}

/* The profile's string for the answer's text at @offset. */
static int namer_add_text(struct namer *n, uint32_t offset, uint32_t *ret)
{
	const char *text = n->answer->text + offset;
	const struct namer_text new = {offset, PROFILE_NONE};
	size_t n_strings = profile_n_strings(n->p);
	uint32_t index;
	int r = intern_add(&n->texts_in, &n->texts, &new, sizeof(new), sizeof(offset), &index);

	if (!r && n->texts[index].string == PROFILE_NONE)
		r = profile_add_text(n->p, text, &n->texts[index].string);
	if (r)
		return r;
	if (profile_n_strings(n->p) > n_strings)
		n->text_bytes += strlen(text);
	n->is_full |= n->text_bytes > TEXT_BYTES_MAX;
	*ret = n->texts[index].string;
	return 0;
}

static int namer_add_line(struct namer *n, const struct worker_frame *frame,
			  struct profile_line *ret)
{
	struct profile_function f = {.start_line = frame->start_line};
	int r = namer_add_text(n, frame->name, &f.name)
		?: namer_add_text(n, frame->system_name, &f.system_name)
		?: namer_add_text(n, frame->file, &f.filename);

	*ret = (struct profile_line){.line = frame->line};
	return r ? r : profile_add_function(n->p, &f, &ret->function);
}

static int set_lines(struct namer *n, uint32_t location, const struct profile_line *lines,
		     uint32_t n_lines)
{
	const struct profile_location *l = &n->p->locations[location];

	n->has_replaced |= l->n_lines > 0;
	if (l->mapping != PROFILE_NONE)
		n->has_changed[l->mapping] = true;
	return profile_set_lines(n->p, location, lines, n_lines);
}

int namer_set(struct namer *n, uint32_t location, const struct worker_location *found,
	      bool is_forced, bool *ret_set)
{
	const struct profile_location *l = &n->p->locations[location];
	const struct worker_frame *frames = &n->answer->frames[found->first_frame];
	struct profile_line lines[WORKER_FRAMES_MAX];
	bool has_lines = false;
	int r = 0;

	*ret_set = false;
	for (uint32_t i = 0; i < found->n_frames; i++)
		has_lines |= frames[i].line != 0;
	if (n->is_full || !found->n_frames ||
	    (found->source == WORKER_SOURCE_FRAME && l->n_lines) ||
	    (profile_location_has_name(n->p, l) && !has_lines && !is_forced))
		return 0;
	for (uint32_t i = 0; i < found->n_frames && !r; i++)
		r = namer_add_line(n, &frames[i], &lines[i]);
	if (!r)
		r = set_lines(n, location, lines, found->n_frames);
	*ret_set = !r && found->source != WORKER_SOURCE_FRAME;
	return r;
}

int namer_set_function(struct namer *n, uint32_t location, const char *name,
		       const char *system_name)
{
	struct profile_function f = {0};
	struct profile_line line = {0};
	int r = profile_add_text(n->p, name, &f.name)
		?: profile_add_text(n->p, system_name, &f.system_name)
		?: profile_add_function(n->p, &f, &line.function);

	return r ? r : set_lines(n, location, &line, 1);
}

int namer_finish(struct namer *n)
{
	profile_mark_mappings(n->p, n->has_changed);
	return n->has_replaced ? profile_drop_unused_functions(n->p) : 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * The graph is made without trimming, since what matches is chosen later; here are the lines that
 * the three views print alike, and the files whose code they show.
 *
 * Files by path and build id, opened when first asked for.
 */
#include "client/code/code_view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "client/symbolize/symbolize.h"
#include "common/error.h"
#include "common/profile/pprof.h"
#include "common/utf8.h"

#define MISSING_SHOWN 3

/* --- files ------------------------------------------------------------------------------------ */

struct objects {
	const struct profile *p;
	int root_fd;
	struct notes notes;
	struct object_source source;
	struct objects_file *all;
};

static void objects_free(struct objects *o)
{
	struct objects_file *f, *next;

	if (!o)
		return;
	HASH_ITER (hh, o->all, f, next) {
		HASH_DEL(o->all, f);
		object_deinit(&f->object);
		free(f);
	}
	object_source_deinit(&o->source);
	notes_deinit(&o->notes);
	closep(&o->root_fd);
	free(o);
}

DEFINE_CLEANUP(struct objects *, objects_free)

int objects_new(struct objects **ret, const struct profile *p)
{
	cleanup(objects_freep) struct objects *o = calloc(1, sizeof(*o));
	int r;

	if (!o)
		return error_origin(-ENOMEM);
	o->p = p;
	o->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	o->source = (struct object_source){.notes = &o->notes, .want_lines = true};
	r = object_source_init(&o->source, o->root_fd, NULL, 0);
	if (r)
		return r;
	*ret = steal_ptr(&o);
	return 0;
}

/* Why there is nothing to open. */
static void note_no_file(struct objects *o, const char *path)
{
	if (strncmp(path, "[kernel", 7) == 0)
		notes_add(&o->notes,
			  "%s: the kernel's code as it runs is in no file: its functions can be "
			  "shown, not its instructions",
			  path);
	else
		notes_add(&o->notes, "%s: is no file with instructions that could be shown",
			  *path ? path : "code without a name");
}

static int objects_open_file(struct objects *o, const struct objects_file_id *id,
			     struct objects_file **ret)
{
	struct objects_file *f = calloc(1, sizeof(*f));
	const char *path = profile_string(o->p, id->path);
	int r;

	if (!f)
		return error_origin(-ENOMEM);
	f->id = *id;
	HASH_ADD(hh, o->all, id, sizeof(f->id), f);
	f->object = (struct object)OBJECT_NONE;
	*ret = f;
	if (!symbolize_is_file(path)) {
		note_no_file(o, path);
		return 0;
	}
	r = object_init(&f->object, &o->source, path, profile_string(o->p, id->build_id));
	if (r == OBJECT_E_NO_WORKER)
		notes_add(&o->notes, "profd-image-worker, which reads programs, does not run: %s",
			  asker_error_text(o->source.asker));
	f->is_usable = r == OBJECT_E_OK;
	return r < 0 ? r : 0;
}

int objects_get(struct objects *o, uint32_t mapping, struct objects_file **ret)
{
	const struct profile_mapping *m = &o->p->mappings[mapping];
	const struct objects_file_id id = {m->path, m->build_id};
	struct objects_file *f;
	int r = 0;

	HASH_FIND(hh, o->all, &id, sizeof(id), f);
	if (!f)
		r = objects_open_file(o, &id, &f);
	if (!r)
		*ret = f->is_usable ? f : NULL;
	return r;
}

uint32_t objects_mapping(const struct profile *p, const struct frame *frame)
{
	const struct profile_mapping *m = frame->mapping ? &p->mappings[frame->mapping - 1] : NULL;

	return m && frame->address >= m->start && frame->address < m->limit
		       ? (uint32_t)frame->mapping - 1
		       : PROFILE_NONE;
}

/* --- views ------------------------------------------------------------------------------------ */

void code_view_deinit(struct view *view)
{
	struct code_view *v = (struct code_view *)view;

	regex_free(v->regex);
	objects_free(v->objects);
}

int code_view_init(struct view *view)
{
	struct code_view *v = (struct code_view *)view;
	const char *pattern = view->options.pattern;
	char *end;
	int r = regex_new(&v->regex, view->class->name, pattern, view->message);

	if (r)
		return r < 0 ? r : VIEW_E_BAD_OPTION;
	errno = 0;
	v->address = strtoull(pattern, &end, 0);
	v->has_address = pattern[0] >= '0' && pattern[0] <= '9' && !*end && !errno;
	return 0;
}

int code_view_sources(struct code_view *v, struct source_files **ret)
{
	return source_files_new(ret, v->objects->source.files, v->view.options.source_path,
				v->view.options.trim_path);
}

int code_view_no_match(const struct code_view *v)
{
	const struct notes *notes = v->objects ? &v->objects->notes : NULL;

	/* What was of interest could not be read. */
	if (notes && notes->n)
		return profile_refuse(v->view.message, VIEW_E_NO_MATCH, "%s", notes->lines[0]);
	return profile_refuse(v->view.message, VIEW_E_NO_MATCH, "no matches found for regexp: %s",
			      v->view.options.pattern);
}

void code_view_print_missing(const struct code_view *v, FILE *out)
{
	const struct notes *notes = &v->objects->notes;
	size_t n = notes->n < MISSING_SHOWN ? notes->n : MISSING_SHOWN;

	for (size_t i = 0; i < n; i++) {
		fputs(" Error: ", out);
		code_view_print_source(out, notes->lines[i]);
		fputc('\n', out);
	}
	if (notes->n + notes->n_more > n)
		fprintf(out, " Error: %zu more like these\n", notes->n + notes->n_more - n);
}

const char *code_view_print_value(const struct values *values, char *buffer, int64_t value)
{
	return value ? values_print(values, buffer, value) : ".";
}

void code_view_print_values(FILE *out, const struct values *values, int64_t flat, int64_t cum)
{
	char f[MEASURE_TEXT_MAX], c[MEASURE_TEXT_MAX];

	fprintf(out, "%10s %10s", code_view_print_value(values, f, flat),
		code_view_print_value(values, c, cum));
}

void code_view_print_total(FILE *out, const struct view_input *input, const struct values *values)
{
	char total[MEASURE_TEXT_MAX];

	fprintf(out, "Total: %s\n", values_print(values, total, input->total));
}

void code_view_print_routine(FILE *out, const struct view_input *input, const struct values *values,
			     const char *name, const char *file, int64_t flat, int64_t cum)
{
	char f[MEASURE_TEXT_MAX], c[MEASURE_TEXT_MAX], share[MEASURE_TEXT_MAX];

	fputs("ROUTINE ======================== ", out);
	code_view_print_source(out, name);
	if (file)
		fputs(" in ", out);
	code_view_print_source(out, file);
	fprintf(out, "\n%10s %10s (flat, cum) %s of Total\n", values_print(values, f, flat),
		values_print(values, c, cum),
		measure_print_percentage(share, sizeof(share), cum, input->total));
}

void code_view_print_source(FILE *out, const char *text)
{
	if (text)
		utf8_write_harmless(out, text, "\t");
}

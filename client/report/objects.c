/* SPDX-License-Identifier: MIT */
#include "client/report/objects.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

struct objects {
	int root_fd;
	struct files *files;
	struct asker *asker;
	struct notes notes;
	struct objects_file **all;
	size_t n;
};

int objects_new(struct objects **ret)
{
	cleanup(objects_freep) struct objects *o = calloc(1, sizeof(*o));
	int r;

	if (!o)
		return error_origin(-ENOMEM);
	o->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = files_new(&o->files, o->root_fd);
	if (!r)
		r = asker_new(&o->asker, NULL, 0);
	if (r)
		return r;
	*ret = steal_ptr(&o);
	return 0;
}

void objects_free(struct objects *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->n; i++) {
		object_deinit(&o->all[i]->object);
		free(o->all[i]);
	}
	free(o->all);
	asker_free(o->asker);
	files_free(o->files);
	notes_deinit(&o->notes);
	closep(&o->root_fd);
	free(o);
}

const struct files *objects_files(const struct objects *o)
{
	return o->files;
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

static int open_file(struct objects *o, const struct profile *p, const struct profile_mapping *m,
		     struct objects_file **ret)
{
	struct objects_file **grown = reallocarray(o->all, o->n + 1, sizeof(*grown)), *f;
	int r;

	if (!grown)
		return error_origin(-ENOMEM);
	o->all = grown;
	f = calloc(1, sizeof(*f));
	if (!f)
		return error_origin(-ENOMEM);
	o->all[o->n++] = f;
	f->owner = o;
	f->path = profile_string(p, m->path);
	f->path_id = m->path;
	f->build_id = m->build_id;
	f->key = o->n;
	f->object = (struct object){.fd = -1, .debug = {.debug = -1, .alternate = -1}};
	f->source = (struct object_source){
		.files = o->files, .asker = o->asker, .notes = &o->notes, .want_lines = true};
	if (f->path[0] != '/' || f->path[1] == '/') {
		note_no_file(o, f->path);
		*ret = f;
		return 0;
	}
	r = object_init(&f->object, &f->source, f->path, profile_string(p, m->build_id));
	if (r == OBJECT_E_NO_WORKER)
		notes_add(&o->notes, "profd-image-worker, which reads programs, does not run: %s",
			  asker_why(o->asker));
	f->is_usable = r == OBJECT_E_OK;
	*ret = f;
	return r < 0 ? r : 0;
}

int objects_get(struct objects *o, const struct profile *p, uint32_t mapping,
		struct objects_file **ret)
{
	const struct profile_mapping *m = &p->mappings[mapping];
	struct objects_file *f = NULL;
	int r = 0;

	for (size_t i = 0; i < o->n && !f; i++)
		if (o->all[i]->path_id == m->path && o->all[i]->build_id == m->build_id)
			f = o->all[i];
	if (!f)
		r = open_file(o, p, m, &f);
	if (!r)
		*ret = f->is_usable ? f : NULL;
	return r;
}

const char *objects_why(const struct objects *o)
{
	return o->notes.n ? o->notes.lines[0] : "";
}

uint32_t objects_mapping(const struct profile *p, uint32_t path, uint64_t address)
{
	for (size_t i = 0; i < p->n_mappings; i++)
		if (p->mappings[i].path == path && address >= p->mappings[i].start &&
		    address < p->mappings[i].limit)
			return (uint32_t)i;
	return PROFILE_NONE;
}

int objects_names(struct objects_file *f, bool want_lines, const uint64_t *addresses, size_t n,
		  struct answer_names *ret)
{
	int r;

	f->source.want_lines = want_lines;
	r = object_ask(&f->object, f->key, addresses, n, ret);
	f->source.want_lines = true;
	return r;
}

int objects_code_ask(void *context, const struct worker_range *range, struct answer_code *ret)
{
	const struct objects_code *code = context;

	return object_code(&code->file->object, code->file->key, range, code->flags, ret);
}

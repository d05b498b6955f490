/* SPDX-License-Identifier: MIT */
/*
 * Open, have the worker inspect it, compare ids, find debug files: an object is made of what
 * passed. Each step that fails leaves a note, and no object.
 */
#include "client/symbolize/object.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/profile/image_profile.h"

#define DELETED " (deleted)"

int object_source_init(struct object_source *s, int root_fd, const char *worker_path,
		       uint64_t deadline_ns)
{
	return files_new(&s->files, root_fd) ?:
		kernel_new(&s->kernel, s->files) ?:
		asker_new(&s->asker, worker_path, deadline_ns);
}

void object_source_deinit(struct object_source *s)
{
	asker_free(s->asker);
	kernel_free(s->kernel);
	files_free(s->files);
}

bool object_is_same_id(const char *text, const char *own)
{
	size_t length = strlen(own);

	if (!length || strncasecmp(text, own, length) != 0)
		return false;
	text += length;
	/* One that long may have been cut. */
	return length == ELF_BUILD_ID_TEXT - 1 || text[strspn(text, "0")] == '\0';
}

bool object_is_id(const char *text, const struct elf_summary *elf)
{
	char own[ELF_BUILD_ID_TEXT];

	elf_build_id_print(elf->build_id, elf->build_id_length, own);
	return object_is_same_id(text, own);
}

/* From ASKER_E_* or negative errno. */
static int object_map_error(const struct object *o, int r)
{
	if (r <= 0)
		return r;
	if (r != ASKER_E_DIED)
		return OBJECT_E_NO_WORKER;
	notes_add(o->source->notes, "%s: skipped, the image worker could not read it: %s", o->path,
		  asker_error_text(o->source->asker));
	return OBJECT_E_NONE;
}

/*
 * The file at the path, as it is or without what the kernel says behind it when the file that was
 * mapped is gone: then another may be there.
 */
static int object_open_file(const struct object *o, bool *ret_deleted)
{
	size_t length = strlen(o->path), n_deleted = strlen(DELETED);
	char path[PATH_MAX];
	const char *why;
	int fd = files_open(o->source->files, o->path, &why);

	*ret_deleted = false;
	if (fd < 0 && length > n_deleted && length - n_deleted < sizeof(path) &&
	    strcmp(o->path + length - n_deleted, DELETED) == 0) {
		snprintf(path, sizeof(path), "%.*s", (int)(length - n_deleted), o->path);
		fd = files_open(o->source->files, path, &why);
		*ret_deleted = true;
	}
	if (fd < 0)
		notes_add(o->source->notes, "%s: %s", o->path, why);
	return fd;
}

static const char *describe_worker_outcome(enum worker_outcome outcome)
{
	return outcome == WORKER_NOT_ELF     ? "no ELF file"
	       : outcome == WORKER_MALFORMED ? "a damaged ELF file"
	       : outcome == WORKER_NO_MEMORY ? "takes too much memory"
					     : "cannot be read";
}

/* What image profiles have in place of a build id: it is no other file's, and no other time's. */
static bool object_matches_hash(const struct object *o, const char *id)
{
	char own[IMAGE_ID_SIZE];
	struct stat st;

	if (o->facts.elf.build_id_length || fstat(o->fd, &st) < 0)
		return false;
	image_id_of_file(o->path, (uint64_t)st.st_size, timespec_ns(st.st_mtim), own);
	return strcasecmp(id, own) == 0;
}

static int object_identify(struct object *o, const char *build_id, bool is_deleted)
{
	char own[ELF_BUILD_ID_TEXT];

	o->is_identified = object_is_id(build_id, &o->facts.elf) ||
			   object_matches_hash(o, build_id);
	if (o->is_identified)
		return OBJECT_E_OK;
	if (*build_id && o->facts.elf.build_id_length) {
		elf_build_id_print(o->facts.elf.build_id, o->facts.elf.build_id_length, own);
		notes_add(o->source->notes, "%s: build id %s, the file here has %s", o->path,
			  build_id, own);
		return OBJECT_E_NONE;
	}
	if (image_id_is_hash(build_id)) {
		notes_add(o->source->notes, "%s: the file here is not the one with the id %s",
			  o->path, build_id);
		return OBJECT_E_NONE;
	}
	if (is_deleted) {
		notes_add(o->source->notes, "%s: and no build id to know it by", o->path);
		return OBJECT_E_NONE;
	}
	return OBJECT_E_OK;
}

/* --- what debug_files.h wants ---------------------------------------------------------------- */

static int choice_open(void *context, const char *path)
{
	const struct object *o = context;
	const char *ignored;

	return files_open(o->source->files, path, &ignored);
}

static int choice_inspect(void *context, int fd, struct worker_image *ret,
			  enum worker_outcome *ret_outcome)
{
	const struct object *o = context;

	return asker_image(o->source->asker, fd, ret, ret_outcome);
}

static int choice_fetch(void *context, const uint8_t *id, size_t length)
{
	const struct object *o = context;
	int fd = files_open_fetched(o->source->files, id, length);

	if (fd < 0 && o->source->fetch)
		fd = o->source->fetch(o->source->context, id, length, o->path);
	return fd;
}

int object_init(struct object *ret, struct object_source *source, const char *path,
		const char *build_id)
{
	const struct debug_choice_world world = {
		.context = ret,
		.open = choice_open,
		.inspect = choice_inspect,
		.fetch = choice_fetch,
	};
	enum worker_outcome outcome = WORKER_UNREADABLE;
	bool is_deleted;
	int r;

	*ret = (struct object)OBJECT_NONE;
	ret->source = source;
	ret->key = ++source->n_keys;
	ret->path = path;
	ret->fd = object_open_file(ret, &is_deleted);
	if (ret->fd < 0)
		return OBJECT_E_NONE;
	r = asker_image(source->asker, ret->fd, &ret->facts, &outcome);
	if (r)
		return object_map_error(ret, r);
	if (outcome != WORKER_DONE) {
		notes_add(source->notes, "%s: %s", path, describe_worker_outcome(outcome));
		return OBJECT_E_NONE;
	}
	r = object_identify(ret, build_id, is_deleted);
	return r ? r
		 : object_map_error(ret, debug_choice_make(&world, path, &ret->facts,
							   source->want_lines, &ret->debug));
}

void object_deinit(struct object *o)
{
	debug_choice_close(&o->debug);
	closep(&o->fd);
	o->fd = -1;
}

bool object_vaddr(const struct object *o, const struct profile_mapping *m, uint64_t address,
		  uint64_t *ret)
{
	uint64_t offset;

	if (profile_is_whole_mapping(m)) {
		*ret = address;
		return true;
	}
	return address >= m->start && address < m->limit &&
	       !__builtin_add_overflow(address - m->start, m->offset, &offset) &&
	       elf_summary_vaddr(&o->facts.elf, offset, ret);
}

static struct worker_request request_of(const struct object *o, enum worker_kind kind)
{
	struct worker_request request = worker_request_of(kind, o->fd);

	request.key = o->key;
	request.flags = o->debug.check_crc ? WORKER_CHECK_CRC : 0;
	request.files[WORKER_FILE_DEBUG] = o->debug.debug;
	request.files[WORKER_FILE_ALTERNATE] = o->debug.alternate;
	return request;
}

/* @r: of the asker, ASKER_E_* or negative errno. */
static int object_check_outcome(const struct object *o, int r, enum worker_outcome outcome)
{
	if (r)
		return object_map_error(o, r);
	if (outcome == WORKER_DONE)
		return OBJECT_E_OK;
	notes_add(o->source->notes, "%s: %s", o->path, describe_worker_outcome(outcome));
	return OBJECT_E_NONE;
}

int object_query_names(struct object *o, bool want_lines, const uint64_t *addresses, size_t n,
		       struct answer_names *ret)
{
	struct worker_request request = request_of(o, WORKER_SYMBOLS);
	enum worker_outcome outcome = WORKER_DONE;
	int r;

	request.flags |= want_lines ? WORKER_WANT_LINES : 0;
	request.path = o->path;
	r = asker_names(o->source->asker, &request, addresses, n, &outcome, ret);
	return object_check_outcome(o, r, outcome);
}

int object_code(struct object *o, const struct worker_range *range, uint32_t flags,
		struct answer_code *ret)
{
	struct worker_request request = request_of(o, WORKER_INSTRUCTIONS);
	enum worker_outcome outcome = WORKER_DONE;
	int r;

	request.flags |= flags;
	r = asker_code(o->source->asker, &request, range, &outcome, ret);
	return object_check_outcome(o, r, outcome);
}

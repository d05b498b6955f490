/* SPDX-License-Identifier: MIT */
/*
 * The debug file by build id, then by debuglink at its three places, then from a server; then
 * the alternate file that it, or the image, names. A file that is found is accepted if its build
 * id fits.
 */
#include "common/worker/debug_choice.h"

#include <limits.h>
#include <string.h>

#include "common/worker/debug_files.h"

/* The file at hand: the image at first, then its debug file. It may name an alternate one. */
struct subject {
	struct worker_image facts;
	char path[PATH_MAX]; /* "" unknown */
};

static bool worker_image_has_id(const struct worker_image *file, const uint8_t *id, size_t length)
{
	return length && file->elf.build_id_length == length &&
	       memcmp(file->elf.build_id, id, length) == 0;
}

/* Whether @found can be the debug file of @image. */
static bool is_acceptable_debug_file(const struct worker_image *image,
				     const struct worker_image *found, enum debug_found how,
				     bool *ret_check_crc)
{
	*ret_check_crc = false;
	if (worker_image_has_id(found, image->elf.build_id, image->elf.build_id_length))
		return true;
	*ret_check_crc = how == DEBUG_FOUND_LINK;
	return how == DEBUG_FOUND_LINK &&
	       (!found->elf.build_id_length || !image->elf.build_id_length);
}

/* Inspects what was opened. *fd is closed, and -1, unless it is an ELF file. */
static int debug_choice_inspect(const struct debug_choice_world *world, int *fd,
				struct worker_image *ret)
{
	enum worker_outcome outcome = WORKER_UNREADABLE;
	int r = *fd < 0 ? 0 : world->inspect(world->context, *fd, ret, &outcome);

	if (outcome != WORKER_DONE) {
		closep(fd);
		*fd = -1;
	}
	return r;
}

/*
 * The subject's debug file or (@is_alternate) the alternate file that it names; that is the subject
 * then.
 */
static int debug_choice_find(const struct debug_choice_world *world, struct subject *subject,
			     bool is_alternate, struct debug_choice *ret)
{
	const struct worker_image *image = &subject->facts;
	char path[PATH_MAX];
	enum debug_found how;
	int r;

	for (unsigned n = 0;
	     (r = (is_alternate ? debug_files_alternate_path
				: debug_files_path)(subject->path, image, n, path, &how));
	     n++) {
		cleanup(closep) int fd = r > 0 ? world->open(world->context, path) : -1;
		struct worker_image facts;
		bool check_crc = false;

		r = debug_choice_inspect(world, &fd, &facts);
		if (r)
			return r;
		if (fd < 0 ||
		    !(is_alternate ? worker_image_has_id(&facts, image->alternate_id,
							 image->alternate_id_length)
				   : is_acceptable_debug_file(image, &facts, how, &check_crc)))
			continue;
		ret->check_crc |= check_crc;
		*(is_alternate ? &ret->alternate : &ret->debug) = steal_fd(&fd);
		subject->facts = facts;
		memcpy(subject->path, path, sizeof(path));
		return 0;
	}
	return 0;
}

/* *ret_fd stays as it is where nothing is to be had, or not what was asked for. */
static int debug_choice_fetch(const struct debug_choice_world *world, const uint8_t *id,
			      size_t length, int *ret_fd, struct worker_image *ret_facts)
{
	cleanup(closep) int fd = -1;
	struct worker_image facts;
	int r;

	if (!world->fetch || !length)
		return 0;
	fd = world->fetch(world->context, id, length);
	r = debug_choice_inspect(world, &fd, &facts);
	if (r || fd < 0 || !worker_image_has_id(&facts, id, length))
		return r;
	*ret_fd = steal_fd(&fd);
	*ret_facts = facts;
	return 0;
}

int debug_choice_make(const struct debug_choice_world *world, const char *path,
		      const struct worker_image *image, bool want_lines, struct debug_choice *ret)
{
	struct subject subject = {.facts = *image};
	struct worker_image ignored;
	size_t length = strlen(path);
	int r;

	*ret = (struct debug_choice){.debug = -1, .alternate = -1};
	if (image->has_symtab && (!want_lines || image->has_lines) && !image->alternate[0])
		return 0;
	if (length < sizeof(subject.path))
		memcpy(subject.path, path, length + 1);
	r = debug_choice_find(world, &subject, false, ret);
	/* Unless the image itself answers as well as a debug file could. */
	if (!r && ret->debug < 0 &&
	    !(want_lines ? image->has_lines : image->has_symtab || image->has_debugdata)) {
		r = debug_choice_fetch(world, image->elf.build_id, image->elf.build_id_length,
				       &ret->debug, &subject.facts);
		/* It lies nowhere from where a relative path could lead. */
		if (!r && ret->debug >= 0)
			subject.path[0] = '\0';
	}
	if (!r)
		r = debug_choice_find(world, &subject, true, ret);
	if (!r && want_lines && ret->alternate < 0 && subject.facts.alternate[0])
		r = debug_choice_fetch(world, subject.facts.alternate_id,
				       subject.facts.alternate_id_length, &ret->alternate,
				       &ignored);
	return r;
}

void debug_choice_close(struct debug_choice *choice)
{
	closep(&choice->debug);
	closep(&choice->alternate);
	*choice = (struct debug_choice){.debug = -1, .alternate = -1};
}

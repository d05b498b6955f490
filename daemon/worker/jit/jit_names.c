/* SPDX-License-Identifier: MIT */
/*
 * What is known of the addresses is where in the file their names are. The names are read when they
 * are asked for, each into the room for one, which the next address may need again.
 */
#include "daemon/worker/jit/jit_names.h"

#include <errno.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/read_end.h"
#include "daemon/worker/jit/jitdump.h"
#include "daemon/worker/jit/perf_map.h"

#define PIECE (256u << 10)

/* Longer ones are cut where answers are made, which shows it by one byte more. */
struct jit_text {
	struct jit_bytes from; /* at 0: not read yet */
	char bytes[WORKER_TEXT_MAX + 2];
};

struct jit_names {
	struct jit_input in;
	struct jit_places places;
	struct jit_line *lines; /* by address; NULL: none */
	struct jit_text name, file;
};

static int jit_names_read(struct jit_names *j, int fd, const struct jit_question *q)
{
	size_t piece = q->piece ? q->piece : PIECE;
	int r = jit_input_init(&j->in, fd, JIT_NAMES_BYTES_MAX, piece)
			?: jit_places_init(&j->places, q->addresses, q->n);

	if (r)
		return r;
	r = q->is_jitdump ? jitdump_read(&j->in, &j->places, &j->lines)
			  : perf_map_read(&j->in, &j->places);
	return j->in.has_failed ? WORKER_UNREADABLE : r;
}

int jit_names_new(struct jit_names **ret, int fd, const struct jit_question *question)
{
	cleanup(jit_names_freep) struct jit_names *j = calloc(1, sizeof(*j));
	int r = j ? jit_names_read(j, fd, question) : error_origin(-ENOMEM);

	if (!r)
		*ret = steal_ptr(&j);
	return r;
}

void jit_names_free(struct jit_names *j)
{
	if (!j)
		return;
	jit_input_deinit(&j->in);
	jit_places_deinit(&j->places);
	free(j->lines);
	free(j);
}

/* "" where the file no longer has it. */
static const char *jit_names_text(const struct jit_names *j, struct jit_text *text,
				  struct jit_bytes from)
{
	size_t length = from.length < WORKER_TEXT_MAX + 1 ? from.length : WORKER_TEXT_MAX + 1;
	ssize_t n;

	if (text->from.at != from.at) {
		n = read_range(j->in.fd, text->bytes, length, from.at);
		text->bytes[n < 0 ? 0 : n] = '\0';
		text->from = from;
	}
	return text->bytes;
}

bool jit_names_get(struct jit_names *j, size_t i, struct frame_name *ret, uint64_t *ret_start,
		   uint64_t *ret_size)
{
	const struct jit_place *place = jit_places_get(&j->places, i);
	const char *name, *file;

	*ret_start = place->start;
	*ret_size = place->end - place->start;
	/* Ends are not part of a range, so that the last address of all is one of its own. */
	if (j->places.addresses[i] == UINT64_MAX) {
		*ret_start = UINT64_MAX;
		*ret_size = 1;
		return false;
	}
	name = place->code.name.length ? jit_names_text(j, &j->name, place->code.name) : "";
	if (!name[0])
		return false;
	*ret = (struct frame_name){.system_name = name};
	if (j->lines) {
		file = jit_names_text(j, &j->file, j->lines[i].file);
		ret->file = file[0] ? file : NULL;
		ret->line = j->lines[i].line;
	}
	return true;
}

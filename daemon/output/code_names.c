/* SPDX-License-Identifier: MIT */
/*
 * The window's frames are sorted, so that those of one code follow each other. Code objects, with
 * the offsets that the window has, go into a question until it is full. One that a worker is lost
 * over is asked again in pieces of one code object, so that one user's code takes no other's name.
 */
#include "daemon/output/code_names.h"

#include <errno.h>
#include <string.h>

#include "common/error.h"
#include "common/frame.h"
#include "common/order.h"
#include "common/partition_point.h"
#include "common/room.h"
#include "common/worker/code_object.h"
#include "daemon/output/context.h"
#include "daemon/output/symbols_private.h"
#include "daemon/output/view.h"

#define PAYLOAD_MAX (WORKER_REQUEST_MAX - sizeof(struct worker_request_header))
#define PIECES_MAX  (PAYLOAD_MAX / sizeof(struct worker_code_object))
#define OFFSETS_MAX 4096u /* of a piece */
#define FRAMES_MIN  1024u /* below which repeated frames are let be */
/* What messages call it: its process's name for it is what the worker did not return. */
#define BAD_CODE "an interpreter's code"

struct named_code {
	uint32_t number;
	struct code_name name;
};

struct code_names {
	bool has_lines;
	uint64_t *frames; /* each once, ascending, as code_names_key() makes them */
	uint32_t *lines;  /* of each */
	size_t n_frames, max_frames;
	struct named_code *codes; /* that are known, ascending */
	size_t n_codes, max_codes;
	char **texts; /* an answer's each, owned */
	size_t n_texts, max_texts;
	size_t text_bytes;
};

/* Frames of one code that are asked for together. */
struct code_piece {
	struct code *code;
	size_t first, n;
};

struct code_question {
	struct code_names *names;
	const struct context *c;
	bool is_over; /* nobody answers any more in this window */
	struct code_piece pieces[PIECES_MAX];
	size_t n_pieces, length;
	uint32_t offsets[OFFSETS_MAX];
	uint8_t payload[PAYLOAD_MAX];
};

static uint64_t code_names_key(const struct code_names *n, uint64_t frame)
{
	return frame_in_runtime(frame_code(frame), n->has_lines ? frame_code_offset(frame) : 0);
}

/* --- the frames of a view --------------------------------------------------------------------- */

DEFINE_ORDER(frame_compare, uint64_t, order_of(*x, *y))

static void code_names_sort(struct code_names *n)
{
	size_t kept = 0;

	if (!n->n_frames)
		return;
	qsort(n->frames, n->n_frames, sizeof(*n->frames), frame_compare);
	for (size_t i = 1; i < n->n_frames; i++)
		if (n->frames[i] != n->frames[kept])
			n->frames[++kept] = n->frames[i];
	n->n_frames = kept + 1;
}

/* Room is made for twice what there is of different ones. */
static int code_names_add_frame(struct code_names *n, uint64_t frame)
{
	if (n->n_frames == n->max_frames && n->n_frames >= FRAMES_MIN) {
		code_names_sort(n);
		if (n->n_frames < n->max_frames / 2) {
			n->frames[n->n_frames++] = frame;
			return 0;
		}
	}
	return room_append(&n->frames, &n->max_frames, &n->n_frames, frame);
}

static int code_names_add_stack(struct code_names *n, const struct stack *s)
{
	int r = 0;

	for (uint32_t j = s->n_kernel; j < s->n_frames && !r; j++)
		if (frame_kind(s->frames[j]) == FRAME_RUNTIME)
			r = code_names_add_frame(n, code_names_key(n, s->frames[j]));
	return r;
}

/* Of samples, and of what ended their waits. */
static int code_names_collect(struct code_names *n, const struct view *view)
{
	const struct aggregate *a = view->snapshot->aggregate;
	int r = 0;

	for (size_t i = 0; i < view->n_entries && !r; i++)
		r = code_names_add_stack(n, &view->entries[i].stack);
	for (uint32_t i = 1; i <= aggregate_n_wakers(a) && !r; i++) {
		const struct stack stack = aggregate_stack(a, aggregate_waker(a, i)->stack);

		r = code_names_add_stack(n, &stack);
	}
	if (r)
		return r;
	code_names_sort(n);
	if (n->has_lines && n->n_frames) {
		n->lines = calloc(n->n_frames, sizeof(*n->lines));
		if (!n->lines)
			return error_origin(-ENOMEM);
	}
	return 0;
}

/* --- answers ---------------------------------------------------------------------------------- */

static int code_names_add_code(struct code_names *n, const struct code_piece *piece,
			       const char *name, const char *file)
{
	uint32_t number = frame_code(n->frames[piece->first]);

	if (!*name || (n->n_codes && n->codes[n->n_codes - 1].number == number))
		return 0;
	return room_append(&n->codes, &n->max_codes, &n->n_codes,
			   (struct named_code){
				   .number = number,
				   .name = {name, file, piece->code->raw.first_line},
			   });
}

/* The answer to @pieces, as far as there is room for it. */
static int code_names_add(struct code_question *q, const struct code_piece *pieces,
			  const struct answer_functions *answer)
{
	struct code_names *n = q->names;
	const uint32_t *lines = answer->lines;
	char *text;
	int r;

	if (answer->text_length > q->c->text_bytes - n->text_bytes) {
		symbols_note_cut(q->c->symbols, answer->n_functions);
		return 0;
	}
	r = room_make(&n->texts, &n->max_texts, n->n_texts + 1, sizeof(*n->texts));
	if (r)
		return r;
	text = malloc(answer->text_length);
	if (!text)
		return error_origin(-ENOMEM);
	memcpy(text, answer->text, answer->text_length);
	n->texts[n->n_texts++] = text;
	n->text_bytes += answer->text_length;
	for (uint32_t i = 0; i < answer->n_functions && !r; i++) {
		const struct worker_function *f = &answer->functions[i];

		r = code_names_add_code(n, &pieces[i], text + f->name, text + f->file);
		if (n->has_lines) {
			memcpy(n->lines + pieces[i].first, lines, pieces[i].n * sizeof(*lines));
			lines += pieces[i].n;
		}
	}
	return r;
}

/* --- questions -------------------------------------------------------------------------------- */

/* Its offsets are the question's until the next one. */
static struct code_object code_piece_object(struct code_question *q, const struct code_piece *piece)
{
	const struct code_names *n = q->names;

	for (size_t i = 0; n->has_lines && i < piece->n; i++)
		q->offsets[i] = frame_code_offset(n->frames[piece->first + i]);
	return (struct code_object){
		.code = piece->code->raw,
		.offsets = q->offsets,
		.n_offsets = n->has_lines ? (uint32_t)piece->n : 0,
	};
}

/* Returns ASK_* or negative errno. */
static int code_question_ask_pieces(struct code_question *q, const struct code_piece *pieces,
				    size_t n)
{
	const struct asker_file file = {&pieces->code->is_bad, BAD_CODE};
	struct asker_objects objects = {.payload = q->payload, .n = n};
	struct answer_functions answer;
	enum worker_outcome outcome;
	int r;

	for (size_t i = 0; i < n; i++) {
		const struct code_object object = code_piece_object(q, &pieces[i]);

		code_object_put(&object, q->payload + objects.length);
		objects.length += code_object_bytes(&object);
		objects.n_offsets += object.n_offsets;
	}
	r = asker_ask_functions(symbols_asker(q->c->symbols), &objects, n == 1 ? &file : NULL,
				&outcome, &answer);
	if (r)
		return r;
	if (outcome == WORKER_DONE)
		return code_names_add(q, pieces, &answer);
	symbols_note_cut(q->c->symbols, n);
	return ASK_OK;
}

/* Returns ASK_* or negative errno. */
static int code_question_ask_each(struct code_question *q)
{
	int r = ASK_OK;

	for (size_t i = 0; i < q->n_pieces && r >= 0 && r != ASK_NOT_NOW; i++)
		if (!atomic_load(&q->pieces[i].code->is_bad))
			r = code_question_ask_pieces(q, &q->pieces[i], 1);
	return r;
}

/* Asks for what has been gathered. Returns 0 or negative errno. */
static int code_question_ask(struct code_question *q)
{
	int r = ASK_OK;

	if (q->n_pieces && !q->is_over)
		r = code_question_ask_pieces(q, q->pieces, q->n_pieces);
	if (r == ASK_DIED && q->n_pieces > 1)
		r = code_question_ask_each(q);
	q->is_over |= r == ASK_NOT_NOW;
	q->n_pieces = q->length = 0;
	return r < 0 ? r : 0;
}

static int code_question_add(struct code_question *q, const struct code_piece *piece)
{
	const struct code_object object = code_piece_object(q, piece);
	size_t length = code_object_bytes(&object);
	int r = 0;

	if (length > PAYLOAD_MAX) {
		symbols_note_cut(q->c->symbols, 1);
		return 0;
	}
	if (length > PAYLOAD_MAX - q->length)
		r = code_question_ask(q);
	q->pieces[q->n_pieces++] = *piece;
	q->length += length;
	return r;
}

static int code_names_ask(struct code_names *n, const struct view *view, const struct context *c)
{
	cleanup(freep) struct code_question *q = malloc(sizeof(*q));
	int r = 0;

	if (!q)
		return error_origin(-ENOMEM);
	q->names = n;
	q->c = c;
	q->is_over = false;
	q->n_pieces = q->length = 0;
	for (size_t i = 0, end; i < n->n_frames && !r; i = end) {
		uint32_t number = frame_code(n->frames[i]);
		struct code *code = code_volumes_find(&view->snapshot->codes, number);

		for (end = i + 1; end < n->n_frames && end - i < OFFSETS_MAX &&
				  frame_code(n->frames[end]) == number;)
			end++;
		if (code && !atomic_load(&code->is_bad))
			r = code_question_add(q, &(struct code_piece){code, i, end - i});
	}
	return r ?: code_question_ask(q);
}

int code_names_new(struct code_names **ret, const struct view *view, const struct context *c)
{
	cleanup(code_names_freep) struct code_names *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return error_origin(-ENOMEM);
	n->has_lines = view->snapshot->symbolize == SYMBOLIZE_LINES;
	r = code_names_collect(n, view);
	if (!r && n->n_frames)
		r = code_names_ask(n, view, c);
	if (!r)
		*ret = steal_ptr(&n);
	return r;
}

void code_names_free(struct code_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->n_texts; i++)
		free(n->texts[i]);
	free(n->texts);
	free(n->codes);
	free(n->frames);
	free(n->lines);
	free(n);
}

const struct code_name *code_names_find(const struct code_names *n, uint64_t frame,
					uint32_t *ret_line)
{
	uint32_t number = frame_code(frame);
	uint64_t key = code_names_key(n, frame);
	size_t at = partition_point(n->n_codes, i, n->codes[i].number < number), line;

	if (at == n->n_codes || n->codes[at].number != number)
		return NULL;
	line = partition_point(n->n_frames, i, n->frames[i] < key);
	*ret_line = n->lines && line < n->n_frames && n->frames[line] == key ? n->lines[line] : 0;
	return &n->codes[at].name;
}

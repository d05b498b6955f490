/* SPDX-License-Identifier: MIT */

/*
 * Code is said to lie where older code was: its memory is freed and used again, in whole or in
 * part. So the ranges of a file overlap, and the newest one that covers an address names it. One
 * sweep over the addresses, with a heap of the ranges that are open there, the newest on top, cuts
 * them into spans that do not overlap: at most two a range, in n log n whatever the ranges are.
 * After that, finding an address is a binary search.
 */
#include "daemon/worker/jit/jit_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/partition_point.h"
#include "daemon/worker/jit/jit_names_private.h"

#define READ_STEP (1u << 20)

/* Addresses from start to before end are of that code. */
struct span {
	uint64_t start, end;
	uint32_t code;
};

struct jit_names {
	struct jit_draft draft;
	struct span *spans; /* ascending */
	size_t n_spans;
};

/* The array with room for one more; NULL without memory, and the old one stays. */
static void *jit_draft_grow(void *array, size_t n, size_t *n_allocated, size_t element)
{
	size_t wanted = *n_allocated ? *n_allocated + *n_allocated / 2 : 64;
	void *grown;

	if (n < *n_allocated)
		return array;
	grown = reallocarray(array, wanted, element);
	if (grown)
		*n_allocated = wanted;
	return grown;
}

int jit_draft_init(struct jit_draft *d, size_t text_max)
{
	*d = (struct jit_draft){.text_length = 1, .text_size = text_max + 1};
	d->text = malloc(d->text_size);
	if (!d->text)
		return error_origin(-ENOMEM);
	d->text[0] = '\0';
	return 0;
}

void jit_draft_deinit(struct jit_draft *d)
{
	free(d->codes);
	free(d->lines);
	free(d->text);
	*d = (struct jit_draft){0};
}

uint32_t jit_draft_add_text(struct jit_draft *d, const char *text, size_t length)
{
	uint32_t offset = (uint32_t)d->text_length;

	length = strnlen(text, length);
	if (length == 0 || length >= d->text_size - d->text_length)
		return 0;
	memcpy(d->text + offset, text, length);
	d->text[offset + length] = '\0';
	d->text_length += length + 1;
	return offset;
}

int jit_draft_add_code(struct jit_draft *d, const struct jit_code *code)
{
	struct jit_code *grown;

	if (code->start >= code->end || d->n_codes == JIT_CODES_MAX)
		return 0;
	grown = jit_draft_grow(d->codes, d->n_codes, &d->n_codes_allocated, sizeof(*d->codes));
	if (!grown)
		return error_origin(-ENOMEM);
	d->codes = grown;
	d->codes[d->n_codes++] = *code;
	return 0;
}

int jit_draft_add_line(struct jit_draft *d, const struct jit_line *line)
{
	struct jit_line *grown = jit_draft_grow(d->lines, d->n_lines, &d->n_lines_allocated,
						sizeof(*d->lines));

	if (!grown)
		return error_origin(-ENOMEM);
	d->lines = grown;
	d->lines[d->n_lines++] = *line;
	return 0;
}

/* A code's number tells its age: higher ones were said later. */
struct opening {
	uint64_t start;
	uint32_t code;
};

static int jit_opening_compare(const void *a, const void *b)
{
	const struct opening *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->code < y->code ? -1 : x->code > y->code;
}

struct sweep {
	const struct jit_code *codes;
	struct opening *openings;
	size_t n_openings, at;
	uint32_t *heap; /* numbers of codes, the highest first */
	size_t n_heap;
	struct span *spans;
	size_t n_spans;
};

static void jit_sweep_deinit(struct sweep *s)
{
	free(s->openings);
	free(s->heap);
	free(s->spans);
}

static void jit_sweep_heap_push(struct sweep *s, uint32_t code)
{
	size_t i = s->n_heap++;

	while (i > 0 && s->heap[(i - 1) / 2] < code) {
		s->heap[i] = s->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	s->heap[i] = code;
}

static void jit_sweep_heap_pop(struct sweep *s)
{
	uint32_t last = s->heap[--s->n_heap];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < s->n_heap) {
		if (child + 1 < s->n_heap && s->heap[child + 1] > s->heap[child])
			child++;
		if (s->heap[child] <= last)
			break;
		s->heap[i] = s->heap[child];
		i = child;
	}
	s->heap[i] = last;
}

/* A newer range in the middle of an older one ends: the older one goes on in a span of its own. */
static void jit_sweep_emit(struct sweep *s, uint64_t start, uint64_t end, uint32_t code)
{
	struct span *last = s->n_spans ? &s->spans[s->n_spans - 1] : NULL;

	if (last && last->code == code && last->end == start)
		last->end = end;
	else
		s->spans[s->n_spans++] = (struct span){start, end, code};
}

/* Each round opens a range or comes to the end of one, so there are at most two rounds a range. */
static void jit_sweep_run(struct sweep *s)
{
	uint64_t position = 0;

	while (s->n_heap || s->at < s->n_openings) {
		uint64_t next;

		if (!s->n_heap)
			position = s->openings[s->at].start;
		while (s->at < s->n_openings && s->openings[s->at].start == position)
			jit_sweep_heap_push(s, s->openings[s->at++].code);
		while (s->n_heap && s->codes[s->heap[0]].end <= position)
			jit_sweep_heap_pop(s);
		if (!s->n_heap)
			continue;
		next = s->codes[s->heap[0]].end;
		if (s->at < s->n_openings && s->openings[s->at].start < next)
			next = s->openings[s->at].start;
		jit_sweep_emit(s, position, next, s->heap[0]);
		position = next;
	}
}

static int jit_names_make_spans(struct jit_names *j)
{
	size_t n = j->draft.n_codes;
	cleanup(jit_sweep_deinit) struct sweep s = {.codes = j->draft.codes, .n_openings = n};

	s.openings = malloc((n + 1) * sizeof(*s.openings));
	s.heap = malloc((n + 1) * sizeof(*s.heap));
	s.spans = malloc((2 * n + 1) * sizeof(*s.spans));
	if (!s.openings || !s.heap || !s.spans)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < n; i++)
		s.openings[i] = (struct opening){j->draft.codes[i].start, (uint32_t)i};
	qsort(s.openings, n, sizeof(*s.openings), jit_opening_compare);
	jit_sweep_run(&s);
	j->n_spans = s.n_spans;
	j->spans = steal_ptr(&s.spans);
	return 0;
}

/* Gives back what was allocated too much; failing to is no harm. */
static void *jit_names_trim(void *array, size_t n, size_t element)
{
	void *trimmed = realloc(array, n ? n * element : 1);

	return trimmed ? trimmed : array;
}

int jit_names_new(struct jit_names **ret, struct jit_draft *d)
{
	cleanup(jit_names_freep) struct jit_names *j = calloc(1, sizeof(*j));
	int r;

	if (!j)
		return error_origin(-ENOMEM);
	j->draft = *d;
	*d = (struct jit_draft){0};
	r = jit_names_make_spans(j);
	if (r)
		return r;
	j->spans = jit_names_trim(j->spans, j->n_spans, sizeof(*j->spans));
	j->draft.codes = jit_names_trim(j->draft.codes, j->draft.n_codes, sizeof(*j->draft.codes));
	j->draft.lines = jit_names_trim(j->draft.lines, j->draft.n_lines, sizeof(*j->draft.lines));
	j->draft.text = jit_names_trim(j->draft.text, j->draft.text_length, 1);
	*ret = steal_ptr(&j);
	return 0;
}

void jit_names_free(struct jit_names *j)
{
	if (!j)
		return;
	jit_draft_deinit(&j->draft);
	free(j->spans);
	free(j);
}

size_t jit_names_bytes(const struct jit_names *j)
{
	return sizeof(*j) + j->n_spans * sizeof(*j->spans) +
	       j->draft.n_codes * sizeof(*j->draft.codes) +
	       j->draft.n_lines * sizeof(*j->draft.lines) + j->draft.text_length;
}

size_t jit_names_count(const struct jit_names *j)
{
	return j->n_spans;
}

/* How many spans start at or below @address. */
static size_t jit_names_spans_below(const struct jit_names *j, uint64_t address)
{
	return partition_point(j->n_spans, i, j->spans[i].start <= address);
}

/* The last line that begins at or before @offset, or NULL. */
static const struct jit_line *jit_names_find_line(const struct jit_draft *d,
						  const struct jit_lines *lines, uint64_t offset)
{
	const struct jit_line *all = d->lines ? d->lines + lines->first : NULL;
	size_t n = partition_point(lines->n, i, all[i].offset <= offset);

	return n ? &all[n - 1] : NULL;
}

bool jit_names_find(const struct jit_names *j, uint64_t address, struct frame_name *ret,
		    uint64_t *ret_start, uint64_t *ret_size)
{
	size_t n = jit_names_spans_below(j, address);
	const struct span *span = n ? &j->spans[n - 1] : NULL;
	const struct jit_code *code;
	const struct jit_line *line;
	uint64_t end;

	if (!span || span->end <= address) {
		end = n < j->n_spans ? j->spans[n].start : UINT64_MAX;
		*ret_start = span ? span->end : 0;
		/* Ends are not part of a range, so that the last address of all is one of its own.
		 */
		if (end <= address)
			*ret_start = end = address;
		*ret_size = end == *ret_start ? 1 : end - *ret_start;
		return false;
	}
	code = &j->draft.codes[span->code];
	line = jit_names_find_line(&j->draft, &code->lines, address - code->start);
	*ret = (struct frame_name){.system_name = j->draft.text + code->name};
	if (line) {
		ret->file = line->file ? j->draft.text + line->file : NULL;
		ret->line = line->line;
	}
	*ret_start = span->start;
	*ret_size = span->end - span->start;
	return true;
}

/* Returns enum worker_outcome or -ENOMEM. The file may grow or shrink while it is read. */
static int jit_names_read_file(int fd, uint8_t **ret, size_t *ret_length)
{
	cleanup(freep) uint8_t *data = NULL;
	size_t n = 0, size = READ_STEP;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return WORKER_UNREADABLE;
	if (st.st_size > 0)
		size = st.st_size < (off_t)JIT_NAMES_BYTES_MAX ? (size_t)st.st_size
							       : JIT_NAMES_BYTES_MAX;
	data = malloc(size);
	if (!data)
		return error_origin(-ENOMEM);
	while (n < size) {
		ssize_t r = pread(fd, data + n, size - n, (off_t)n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return WORKER_UNREADABLE;
		if (r == 0)
			break;
		n += (size_t)r;
	}
	*ret = steal_ptr(&data);
	*ret_length = n;
	return WORKER_DONE;
}

int jit_names_read(struct jit_names **ret, int fd, bool is_jitdump)
{
	cleanup(freep) uint8_t *data = NULL;
	size_t length = 0;
	int r;

	r = jit_names_read_file(fd, &data, &length);
	if (r)
		return r;
	return is_jitdump ? jit_names_from_jitdump(ret, data, length)
			  : jit_names_from_perf_map(ret, (const char *)data, length);
}

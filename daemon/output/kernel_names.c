/* SPDX-License-Identifier: MIT */
/*
 * Names of the kernel's addresses: an answer like the worker's, made of kallsyms. Only names that
 * look mangled (Rust's in the kernel) need the worker.
 */
#include "daemon/output/kernel_names.h"

#include <errno.h>
#include <string.h>

#include "common/error.h"
#include "common/room.h"
#include "common/worker/answer.h"

#define NAME_MAX_BYTES 1024u /* KSYM_NAME_LEN is 512 */

struct kernel_names_builder {
	struct worker_location *locations;
	struct worker_frame *frames;
	uint32_t n_frames;
	char *text; /* texts one behind the other, the empty one first */
	size_t text_length, text_allocated;
	/* The names that go into one request, and the frames whose they are. */
	char batch[WORKER_REQUEST_MAX - sizeof(struct worker_request_header)];
	size_t batch_length;
	uint32_t *batch_frames;
	size_t n_batch;
};

static void builder_free(struct kernel_names_builder *b)
{
	if (!b)
		return;
	free(b->locations);
	free(b->frames);
	free(b->text);
	free(b->batch_frames);
	free(b);
}
DEFINE_CLEANUP(struct kernel_names_builder *, builder_free)

static struct kernel_names_builder *builder_new(size_t n)
{
	cleanup(builder_freep) struct kernel_names_builder *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->locations = calloc(n, sizeof(*b->locations));
	b->frames = calloc(n, sizeof(*b->frames));
	b->batch_frames = calloc(n, sizeof(*b->batch_frames));
	b->text = calloc(1, 1);
	b->text_length = b->text_allocated = 1;
	return b->locations && b->frames && b->batch_frames && b->text ? steal_ptr(&b) : NULL;
}

/* Copies [@text, @text + @length), cleaned. */
static int builder_add_text(struct kernel_names_builder *b, const char *text, size_t length,
			    uint32_t *ret)
{
	size_t most;
	int r;

	if (length > NAME_MAX_BYTES)
		length = NAME_MAX_BYTES;
	most = 3 * length + 1; /* U+FFFD */
	if (b->text_length > UINT32_MAX - most)
		return error_origin(-E2BIG);
	r = room_make(&b->text, &b->text_allocated, b->text_length + most, 1);
	if (r)
		return r;
	*ret = (uint32_t)b->text_length;
	b->text_length += text_clean(text, length, b->text + b->text_length, most - 1) + 1;
	return 0;
}

static bool looks_mangled(const char *name)
{
	return strncmp(name, "_R", 2) == 0 || strncmp(name, "_ZN", 3) == 0;
}

/* Has what is in the batch demangled. What cannot be stays as it is. */
static int kernel_names_demangle(struct asker *asker, struct kernel_names_builder *b)
{
	struct worker_request request = worker_request_of(WORKER_DEMANGLE, -1);
	struct worker_reply reply;
	bool is_sound = false;
	const char *text;
	int r;

	if (!b->n_batch)
		return 0;
	request.payload = b->batch;
	request.payload_length = b->batch_length;
	r = asker_ask(asker, &request, &reply);
	if (r == ASK_OK && reply.outcome == WORKER_DONE) {
		is_sound = answer_texts(reply.data, reply.length, b->n_batch);
		if (!is_sound)
			asker_reject_answer(asker);
	}
	/* The answer's texts lie one behind the other. */
	text = is_sound ? (const char *)reply.data : NULL;
	for (size_t i = 0; is_sound && i < b->n_batch && !r; i++) {
		size_t length = strlen(text);

		r = builder_add_text(b, text, length, &b->frames[b->batch_frames[i]].name);
		text += length + 1;
	}
	b->n_batch = b->batch_length = 0;
	return r < 0 ? r : 0;
}

static int kernel_names_add_name(struct asker *asker, struct kernel_names_builder *b,
				 const char *name)
{
	uint32_t frame = b->n_frames++;
	struct worker_frame *f = &b->frames[frame];
	size_t length = strlen(name) + 1;
	int r = builder_add_text(b, name, length - 1, &f->system_name);

	f->name = f->system_name;
	if (r || !looks_mangled(name) || length > sizeof(b->batch))
		return r;
	if (b->batch_length + length > sizeof(b->batch)) {
		r = kernel_names_demangle(asker, b);
		if (r)
			return r;
	}
	memcpy(b->batch + b->batch_length, name, length);
	b->batch_length += length;
	b->batch_frames[b->n_batch++] = frame;
	return 0;
}

static int kernel_names_add_address(struct asker *asker, struct kernel_names_builder *b,
				    const struct symtab *symtab, uint64_t address,
				    struct worker_location *ret)
{
	struct symtab_symbol symbol = {.start = address, .size = 1};
	bool found = symtab && symtab_find(symtab, address, &symbol);

	*ret = (struct worker_location){
		.start = symbol.start,
		.size = symbol.size,
		.first_frame = b->n_frames,
		.n_frames = found,
		.source = found ? WORKER_SOURCE_SYMTAB : WORKER_SOURCE_NONE,
	};
	return found ? kernel_names_add_name(asker, b, symbol.name) : 0;
}

int kernel_names_add(struct asker *asker, const struct symtab *symtab, const uint64_t *addresses,
		     size_t n, struct symbols_names *names)
{
	cleanup(builder_freep) struct kernel_names_builder *b = builder_new(n);
	struct answer_names answer = {.n_locations = (uint32_t)n};
	int r = b ? 0 : error_origin(-ENOMEM);

	for (size_t i = 0; i < n && !r; i++) {
		struct worker_location *l = &b->locations[i];

		if (i && addresses[i] - l[-1].start < l[-1].size)
			*l = l[-1];
		else
			r = kernel_names_add_address(asker, b, symtab, addresses[i], l);
	}
	if (!r)
		r = kernel_names_demangle(asker, b);
	if (r)
		return r;
	answer.locations = b->locations;
	answer.frames = b->frames;
	answer.n_frames = b->n_frames;
	answer.text = b->text;
	return symbols_names_add(names, addresses, &answer, false);
}

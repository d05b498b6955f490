/* SPDX-License-Identifier: MIT */
/*
 * Each address is looked up in DWARF first, which knows inlined functions and lines, then in the
 * symbols, and its frames are added to the answer. What neither names is part of the function that
 * .eh_frame has there, which is read when the first such address comes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/memory_text.h"
#include "common/worker/answer.h"
#include "daemon/worker/answer_builder.h"
#include "daemon/worker/jit/jit_names.h"
#include "daemon/worker/names/demangle.h"
#include "daemon/worker/serve.h"
#include "daemon/worker/sources.h"

static const uint64_t *request_addresses(const struct request *request, size_t *ret_n)
{
	*ret_n = (size_t)request->header.payload_length / sizeof(uint64_t);
	return (const void *)request->payload;
}

/*
 * DWARF has lines but no function for assembly, and no names for what dwz moved to a file that we
 * do not have: then it is the symbol's name, and what is inlined in it without a name is left out.
 * Returns how many of the @n frames remain; 0: there is no name at all.
 */
static size_t serve_name_frames(const struct symtab *names, uint64_t address,
				struct frame_name *frames, size_t n, uint64_t *start,
				uint64_t *size)
{
	struct frame_name *outermost = &frames[n - 1];
	struct symtab_symbol name;
	size_t n_named = 0;

	if (!outermost->system_name[0]) {
		uint64_t end = *start + *size;

		if (!symtab_find(names, address, &name))
			return 0;
		outermost->system_name = name.name;
		*start = *start > name.start ? *start : name.start;
		end = end < name.start + name.size ? end : name.start + name.size;
		*size = end - *start;
	}
	for (size_t i = 0; i < n; i++)
		if (frames[i].system_name[0])
			frames[n_named++] = frames[i];
	return n_named;
}

struct name_sources {
	struct cache *cache;
	const struct request *request;
	/* The cache's. */
	struct symtab *names;
	struct dwarf_lines *lines;         /* or NULL */
	struct frame_functions *functions; /* NULL: not read yet */
};

/* @gap: what is around @address and has no symbol. */
static int serve_add_nameless(struct answer_builder *b, struct name_sources *s, uint64_t address,
			      const struct symtab_symbol *gap)
{
	const char *file = s->request->header.file_name;
	char text[WORKER_FILE_NAME + sizeof("+0x0123456789abcdef")];
	const struct frame_name name = {.system_name = text};
	uint64_t gap_end = gap->start + gap->size, start, end;
	bool is_found;
	int r = 0;

	if (!*file)
		return answer_builder_add(b, gap->start, gap->size, WORKER_SOURCE_NONE, NULL, 0);
	if (!s->functions)
		r = sources_functions(s->cache, s->request, &s->functions);
	if (r)
		return r;
	is_found = frame_functions_find(s->functions, address, &start, &end);
	snprintf(text, sizeof(text), "%s+0x%" PRIx64, file, start);
	start = start > gap->start ? start : gap->start;
	end = end < gap_end ? end : gap_end;
	return answer_builder_add(b, start, end - start,
				  is_found ? WORKER_SOURCE_FRAME : WORKER_SOURCE_NONE, &name,
				  is_found ? 1 : 0);
}

static int serve_add_symbol(struct answer_builder *b, struct name_sources *s, uint64_t address)
{
	struct frame_name frames[WORKER_FRAMES_MAX];
	struct symtab_symbol name = {0};
	uint64_t start, size;
	size_t n = 0;

	if (s->lines)
		n = dwarf_lines_find(s->lines, address, frames, WORKER_FRAMES_MAX, &start, &size);
	if (n > 0)
		n = serve_name_frames(s->names, address, frames, n, &start, &size);
	if (n > 0)
		return answer_builder_add(b, start, size, WORKER_SOURCE_DWARF, frames, n);
	if (!symtab_find(s->names, address, &name))
		return serve_add_nameless(b, s, address, &name);
	frames[0] = (struct frame_name){.system_name = name.name};
	return answer_builder_add(b, name.start, name.size, name.source, frames, 1);
}

int serve_symbols(struct cache *cache, const struct request *request, struct answer *ret)
{
	cleanup(answer_builder_freep) struct answer_builder *b = NULL;
	struct name_sources sources = {.cache = cache, .request = request};
	const uint64_t *addresses;
	size_t n;
	int r = sources_names(cache, request, &sources.names);

	if (r)
		return r;
	if (request->header.flags & WORKER_WANT_LINES) {
		r = sources_lines(cache, request, &sources.lines);
		if (r < 0)
			return r;
	}
	r = answer_builder_new(&b);
	addresses = request_addresses(request, &n);
	for (size_t i = 0; !r && i < n; i++)
		r = serve_add_symbol(b, &sources, addresses[i]);
	return r ?: answer_builder_finish(b, ANSWER_NAMES, &ret->data, &ret->length);
}

int serve_jit(struct cache *cache, const struct request *request, struct answer *ret)
{
	bool is_jitdump = request->files[WORKER_FILE_JITDUMP] >= 0;
	int fd = request->files[is_jitdump ? WORKER_FILE_JITDUMP : WORKER_FILE_PERF_MAP], r;
	enum worker_source source = is_jitdump ? WORKER_SOURCE_JITDUMP : WORKER_SOURCE_PERF_MAP;
	struct jit_question question = {.is_jitdump = is_jitdump};
	cleanup(answer_builder_freep) struct answer_builder *b = NULL;
	cleanup(jit_names_freep) struct jit_names *names = NULL;

	(void)cache;
	question.addresses = request_addresses(request, &question.n);
	r = jit_names_new(&names, fd, &question) ?: answer_builder_new(&b);
	for (size_t i = 0; !r && i < question.n; i++) {
		struct frame_name frame = {0};
		uint64_t start, size;
		bool found = jit_names_get(names, i, &frame, &start, &size);

		r = answer_builder_add(b, start, size, found ? source : WORKER_SOURCE_NONE, &frame,
				       found ? 1 : 0);
	}
	return r ?: answer_builder_finish(b, ANSWER_NAMES, &ret->data, &ret->length);
}

int serve_demangle(struct cache *cache, const struct request *request, struct answer *ret)
{
	const char *at = (const char *)request->payload;
	const char *end = at + request->header.payload_length;
	enum demangle_style style = request->header.flags & WORKER_NO_PARAMETERS
					    ? DEMANGLE_NO_PARAMETERS
				    : request->header.flags & WORKER_NO_CLONES ? DEMANGLE_NO_CLONES
									       : DEMANGLE_WHOLE;
	cleanup(memory_text_deinit) struct memory_text data = {0};
	char text[WORKER_TEXT_MAX + 1];
	int r = memory_text_open(&data);

	(void)cache;
	while (!r && at < end) {
		cleanup(freep) char *name = demangle_name(at, style);

		if (name)
			fwrite(text, 1, text_clean(name, strlen(name), text, WORKER_TEXT_MAX) + 1,
			       data.out);
		if (!name)
			r = error_origin(-ENOMEM);
		else if (ftell(data.out) > (long)WORKER_ANSWER_MAX)
			r = -E2BIG;
		at += strlen(at) + 1;
	}
	r = r ?: memory_text_close(&data);
	if (r)
		return r;
	ret->data = (uint8_t *)steal_ptr(&data.text);
	ret->length = data.length;
	return WORKER_DONE;
}

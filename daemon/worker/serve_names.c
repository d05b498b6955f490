/* SPDX-License-Identifier: MIT */
/*
 * Names of addresses, from what was read of the files now or for an earlier request with the same
 * key (cache.h).
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "common/error.h"
#include "common/image/debuglink.h"
#include "common/image/demangle.h"
#include "common/image/dwarf_lines.h"
#include "common/image/elf_names.h"
#include "common/image/jit_names.h"
#include "common/worker/text.h"
#include "daemon/worker/answer_builder.h"
#include "daemon/worker/serve.h"

enum thing { THING_NAMES, THING_LINES, THING_JIT };

static void free_names(void *thing)
{
	elf_names_free(thing);
}

static size_t names_bytes(const void *thing)
{
	return elf_names_bytes(thing);
}

static void free_lines(void *thing)
{
	dwarf_lines_free(thing);
}

static size_t lines_bytes(const void *thing)
{
	return dwarf_lines_bytes(thing);
}

static void free_jit(void *thing)
{
	jit_names_free(thing);
}

static size_t jit_bytes(const void *thing)
{
	return jit_names_bytes(thing);
}

static const struct cache_class classes[] = {
	[THING_NAMES] = {.free = free_names, .bytes = names_bytes},
	[THING_LINES] = {.free = free_lines, .bytes = lines_bytes},
	[THING_JIT] = {.free = free_jit, .bytes = jit_bytes},
};

static struct cache_key key_of(const struct request *request, enum thing type)
{
	return (struct cache_key){
		.key = request->header.key,
		.type = type,
		.made_of = request->header.files | (request->header.flags & WORKER_CHECK_CRC)
							   << N_WORKER_FILES,
	};
}

/* Each of these returns enum worker_outcome or -ENOMEM; *ret is the cache's. */
static int get_names(struct cache *cache, const struct request *request, struct elf_names **ret)
{
	const struct cache_key key = key_of(request, THING_NAMES);
	const struct elf_names_files files = {
		.image = request->files[WORKER_FILE_IMAGE],
		.debug = request->files[WORKER_FILE_DEBUG],
		.check_crc = request->header.flags & WORKER_CHECK_CRC,
	};
	int r;

	*ret = cache_get(cache, &key);
	if (*ret)
		return WORKER_DONE;
	r = elf_names_new(ret, &files);
	if (r == WORKER_DONE)
		cache_put(cache, &key, &classes[THING_NAMES], *ret);
	return r;
}

static int get_lines(struct cache *cache, const struct request *request, struct dwarf_lines **ret)
{
	const struct cache_key key = key_of(request, THING_LINES);
	struct dwarf_lines_files files = {
		.image = request->files[WORKER_FILE_IMAGE],
		.debug = request->files[WORKER_FILE_DEBUG],
		.alternate = request->files[WORKER_FILE_ALTERNATE],
	};
	int r;

	*ret = cache_get(cache, &key);
	if (*ret)
		return WORKER_DONE;
	if (request->header.flags & WORKER_CHECK_CRC && files.debug >= 0 &&
	    !debuglink_fits(files.image, files.debug))
		files.debug = files.alternate = -1;
	r = dwarf_lines_new(ret, &files);
	if (r == WORKER_DONE)
		cache_put(cache, &key, &classes[THING_LINES], *ret);
	return r;
}

static int get_jit(struct cache *cache, const struct request *request, struct jit_names **ret)
{
	bool is_jitdump = request->files[WORKER_FILE_JITDUMP] >= 0;
	int fd = request->files[is_jitdump ? WORKER_FILE_JITDUMP : WORKER_FILE_PERF_MAP], r;
	struct cache_key key = key_of(request, THING_JIT);
	struct stat st;

	if (fstat(fd, &st) < 0)
		return WORKER_UNREADABLE;
	/* Measured before it is read: what is written meanwhile is found the next time. */
	key.size = (uint64_t)st.st_size;
	key.mtime = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
	*ret = cache_get(cache, &key);
	if (*ret)
		return WORKER_DONE;
	r = jit_names_read(ret, fd, is_jitdump);
	if (r == WORKER_DONE)
		cache_put(cache, &key, &classes[THING_JIT], *ret);
	return r;
}

static const uint64_t *addresses_of(const struct request *request, size_t *ret_n)
{
	*ret_n = (size_t)request->header.payload_length / sizeof(uint64_t);
	return (const void *)request->payload;
}

static int finish(struct answer_builder *b, struct answer *ret)
{
	int r = answer_builder_finish(b, &ret->data, &ret->length);

	return r ? r : WORKER_DONE;
}

/*
 * DWARF has lines but no function for assembly, and no names for what dwz moved to a file that we
 * do not have: then it is the symbol's name, and what is inlined in it without a name is left out.
 * Returns how many of the @n frames remain; 0: there is no name at all.
 */
static size_t name_frames(const struct elf_names *names, uint64_t address,
			  struct frame_name *frames, size_t n, uint64_t *start, uint64_t *size)
{
	struct frame_name *outermost = &frames[n - 1];
	struct elf_name name;
	size_t n_named = 0;

	if (!outermost->system_name[0]) {
		uint64_t end = *start + *size;

		if (!elf_names_find(names, address, &name))
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

static int add_symbol(struct answer_builder *b, const struct elf_names *names,
		      struct dwarf_lines *lines, uint64_t address)
{
	struct frame_name frames[WORKER_FRAMES_MAX];
	struct elf_name name = {0};
	uint64_t start, size;
	size_t n = 0;

	if (lines)
		n = dwarf_lines_find(lines, address, frames, WORKER_FRAMES_MAX, &start, &size);
	if (n > 0)
		n = name_frames(names, address, frames, n, &start, &size);
	if (n > 0)
		return answer_builder_add(b, start, size, WORKER_SOURCE_DWARF, frames, n);
	if (!elf_names_find(names, address, &name))
		return answer_builder_add(b, name.start, name.size, WORKER_SOURCE_NONE, NULL, 0);
	frames[0] = (struct frame_name){.system_name = name.name};
	return answer_builder_add(b, name.start, name.size, name.source, frames, 1);
}

int serve_symbols(struct cache *cache, const struct request *request, struct answer *ret)
{
	cleanup(answer_builder_freep) struct answer_builder *b = NULL;
	struct dwarf_lines *lines = NULL;
	struct elf_names *names = NULL;
	const uint64_t *addresses;
	size_t n;
	int r;

	r = get_names(cache, request, &names);
	if (r)
		return r;
	if (request->header.flags & WORKER_WANT_LINES) {
		r = get_lines(cache, request, &lines);
		if (r < 0)
			return r;
		if (r) /* none that can be used: names alone */
			lines = NULL;
	}
	r = answer_builder_new(&b);
	addresses = addresses_of(request, &n);
	for (size_t i = 0; !r && i < n; i++)
		r = add_symbol(b, names, lines, addresses[i]);
	return r ? r : finish(b, ret);
}

int serve_jit(struct cache *cache, const struct request *request, struct answer *ret)
{
	cleanup(answer_builder_freep) struct answer_builder *b = NULL;
	enum worker_source source = request->files[WORKER_FILE_JITDUMP] >= 0
					    ? WORKER_SOURCE_JITDUMP
					    : WORKER_SOURCE_PERF_MAP;
	struct jit_names *names = NULL;
	const uint64_t *addresses;
	size_t n;
	int r;

	r = get_jit(cache, request, &names);
	if (r)
		return r;
	r = answer_builder_new(&b);
	addresses = addresses_of(request, &n);
	for (size_t i = 0; !r && i < n; i++) {
		struct frame_name frame = {0};
		uint64_t start, size;
		bool found = jit_names_find(names, addresses[i], &frame, &start, &size);

		r = answer_builder_add(b, start, size, found ? source : WORKER_SOURCE_NONE, &frame,
				       found ? 1 : 0);
	}
	return r ? r : finish(b, ret);
}

/* Texts as they go into an answer: one behind the other. */
struct texts {
	char *data;
	size_t length, n_allocated;
};

/* Cleans @text and appends it. Returns 0, -ENOMEM or -E2BIG. */
static int texts_add(struct texts *texts, const char *text)
{
	size_t length = strlen(text);
	/* A byte that may not be becomes three. */
	size_t needed = (length < WORKER_TEXT_MAX / 3 ? 3 * length : WORKER_TEXT_MAX) + 1;

	if (texts->length + needed > texts->n_allocated) {
		size_t n = 2 * texts->n_allocated + needed;
		char *grown = realloc(texts->data, n);

		if (!grown)
			return error_origin(-ENOMEM);
		texts->data = grown;
		texts->n_allocated = n;
	}
	texts->length += text_clean(text, length, texts->data + texts->length, needed - 1) + 1;
	return texts->length > WORKER_ANSWER_MAX ? -E2BIG : 0;
}

int serve_demangle(const struct request *request, struct answer *ret)
{
	const char *at = (const char *)request->payload;
	const char *end = at + request->header.payload_length;
	struct texts texts = {0};
	int r = 0;

	while (!r && at < end) {
		cleanup(freep) char *demangled = demangle(at);

		r = demangled ? texts_add(&texts, demangled) : error_origin(-ENOMEM);
		at += strlen(at) + 1;
	}
	if (r) {
		free(texts.data);
		return r;
	}
	ret->data = (uint8_t *)texts.data;
	ret->length = texts.length;
	return WORKER_DONE;
}

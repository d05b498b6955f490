/* SPDX-License-Identifier: MIT */
/*
 * A table has the parts of each kind of request; a request that differs is refused as a whole.
 *
 * Compiling an unwind table holds the sections (eh_frame.h has their bound), of a Go program what
 * go_frames.h makes of its table, the rows, twice that while their array grows, and the packed
 * table.
 */
#include "daemon/worker/serve.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/unwind/eh_frame.h"
#include "common/unwind/table.h"
#include "daemon/worker/elf/elf_image.h"
#include "daemon/worker/go/go_frames.h"
#include "daemon/worker/go/pclntab.h"
#include "daemon/worker/package/htlhash.h"
#include "daemon/worker/package/package_note.h"
#include "daemon/worker/runtime/interpreter.h"
#include "daemon/worker/sources.h"

static int serve_inspect(struct cache *cache, const struct request *request, struct answer *ret)
{
	struct worker_image *image = calloc(1, sizeof(*image));
	int r;

	(void)cache;
	if (!image)
		return error_origin(-ENOMEM);
	r = elf_inspect(request->files[WORKER_FILE_IMAGE], image);
	if (r) {
		free(image);
		return r;
	}
	ret->data = (uint8_t *)image;
	ret->length = sizeof(*image);
	return WORKER_DONE;
}

#define ROWS_MAX  (8u << 20)
#define RULES_MAX (1u << 20)

/* Code that lies past what a row's offset can say. */
static bool is_over_4g(const struct cfi_input *input)
{
	for (size_t i = 0; i < input->n_segments; i++)
		if (input->segments[i].offset + input->segments[i].length > UINT32_MAX)
			return true;
	return false;
}

/* Returns enum table_state of the image, or -ENOMEM. *ret_words is malloc'ed: of TABLE_LOADED. */
static int serve_table_compile(const struct cfi_input *input, uint64_t max_words,
			       struct worker_table *table, uint64_t **ret_words)
{
	const struct cfi_limits limits = {
		.max_rows = max_words < ROWS_MAX / 2 ? (size_t)max_words * 2 : ROWS_MAX,
		.max_rules = max_words < RULES_MAX ? (size_t)max_words : RULES_MAX,
	};
	cleanup(cfi_rows_freep) struct cfi_rows *rows = NULL;
	size_t n_words;
	int r = cfi_compile(&rows, input, &limits);

	if (r < 0)
		return r;
	if (r) {
		table->over_4g = r == CFI_E_TOO_BIG && is_over_4g(input);
		return r == CFI_E_NONE ? TABLE_NO_CFI : TABLE_REFUSED;
	}
	table->counters = rows->counters;
	r = table_pack(rows, (size_t)max_words, &table->slot, ret_words, &n_words);
	if (r)
		return r < 0 ? r : TABLE_REFUSED;
	table->slot.state = 0;
	table->n_words = n_words;
	return TABLE_LOADED;
}

/* Returns enum table_state, or -ENOMEM. */
static int serve_table_load(int fd, struct elf_image *image, uint64_t max_words,
			    struct worker_table *table, uint64_t **ret_words)
{
	cleanup(freep) struct cfi_own_rule *own = NULL;
	struct eh_frame frame;
	size_t n_own;
	int r;

	if (!table->elf.pointer_bytes)
		return TABLE_NO_CFI;
	go_build_read(image, &table->go);
	package_notes_read(image, &table->release);
	(void)htlhash_read(fd, table->release.htlhash);
	if (table->elf.pointer_bytes != 8)
		return TABLE_NO_CFI;
	interpreter_recognize(image, &table->runtime);
	r = go_frames_read(image, &own, &n_own);
	if (r)
		return r;
	r = eh_frame_read(fd, &frame);
	if (r < 0)
		return r;
	if (r)
		return r == EH_FRAME_E_NONE ? TABLE_NO_CFI : TABLE_REFUSED;
	if (n_own) {
		/* In .debug_frame Go's linker describes the same functions, less well. */
		frame.input.frame.length -= frame.input.debug_length;
		frame.input.debug_length = 0;
	}
	frame.input.own = own;
	frame.input.n_own = n_own;
	frame.input.read_code = eh_frame_read_code;
	frame.input.read_code_userdata = &fd;
	r = serve_table_compile(&frame.input, max_words, table, ret_words);
	eh_frame_deinit(&frame);
	return r;
}

/* What is no ELF file has no call frame information; one whose reading fails may have. */
static int serve_table(struct cache *cache, const struct request *request, struct answer *ret)
{
	uint64_t most = (WORKER_ANSWER_MAX - sizeof(struct worker_table)) / sizeof(uint64_t);
	uint64_t max_words = request->header.max_words;
	cleanup(elf_image_deinit) struct elf_image image = {0};
	cleanup(freep) uint64_t *words = NULL;
	int fd = request->files[WORKER_FILE_IMAGE], r = elf_image_open(&image, fd, 0);
	struct worker_table table;
	size_t length;
	uint8_t *data;

	(void)cache;
	if (r < 0 || r == WORKER_UNREADABLE)
		return r;
	memset(&table, 0, sizeof(table));
	if (!r)
		table.elf = image.summary;
	r = serve_table_load(fd, &image, max_words < most ? max_words : most, &table, &words);
	if (r < 0)
		return r;
	table.state = (uint32_t)r;
	length = sizeof(table) + (size_t)table.n_words * sizeof(*words);
	data = malloc(length);
	if (!data)
		return error_origin(-ENOMEM);
	memcpy(data, &table, sizeof(table));
	if (words)
		memcpy(data + sizeof(table), words, (size_t)table.n_words * sizeof(*words));
	ret->data = data;
	ret->length = length;
	return WORKER_DONE;
}

/* A device or a pipe could make a read wait for ever. */
static bool request_files_are_regular(const struct request *request)
{
	for (size_t i = 0; i < N_WORKER_FILES; i++) {
		struct stat st;

		if (request->files[i] >= 0 &&
		    (fstat(request->files[i], &st) < 0 || !S_ISREG(st.st_mode)))
			return false;
	}
	return true;
}

#define BIT(file) (1u << WORKER_FILE_##file)

/* What each kind needs, may have, and brings; and who serves it. */
static const struct serve_shape {
	uint32_t needs, may_have, flags;
	bool has_payload;
	int (*serve)(struct cache *cache, const struct request *request, struct answer *ret);
} shapes[] = {
	[WORKER_INSPECT] = {.needs = BIT(IMAGE), .serve = serve_inspect},
	[WORKER_TABLE] = {.needs = BIT(IMAGE), .serve = serve_table},
	[WORKER_SYMBOLS] = {.needs = BIT(IMAGE),
			    .may_have = BIT(DEBUG) | BIT(ALTERNATE),
			    .flags = WORKER_WANT_LINES | WORKER_CHECK_CRC,
			    .has_payload = true,
			    .serve = serve_symbols},
	/* One of the two: see below. */
	[WORKER_JIT] = {.may_have = BIT(PERF_MAP) | BIT(JITDUMP),
			.has_payload = true,
			.serve = serve_jit},
	[WORKER_DEMANGLE] = {.flags = WORKER_NO_CLONES | WORKER_NO_PARAMETERS,
			     .has_payload = true,
			     .serve = serve_demangle},
	[WORKER_INSTRUCTIONS] = {.needs = BIT(IMAGE),
				 .may_have = BIT(DEBUG) | BIT(ALTERNATE),
				 .flags = WORKER_WANT_LINES | WORKER_CHECK_CRC | WORKER_INTEL,
				 .has_payload = true,
				 .serve = serve_instructions},
	[WORKER_FUNCTIONS] = {.has_payload = true, .serve = serve_functions},
	[WORKER_CONTAINER] = {.needs = BIT(CONTAINERS),
			      .has_payload = true,
			      .serve = serve_container},
	[WORKER_PACKAGE] = {.needs = BIT(PACKAGES), .has_payload = true, .serve = serve_package},
};

_Static_assert(ARRAY_SIZE(shapes) == N_WORKER_KINDS, "a shape for each kind");

void server_answer(struct cache *cache, const struct request *request, struct answer *ret)
{
	int r;

	*ret = (struct answer){.outcome = WORKER_UNREADABLE};
	if (!request_files_are_regular(request))
		return;
	r = shapes[request->header.kind].serve(cache, request, ret);
	if (r == -ENOMEM) {
		cache_clear(cache);
		r = shapes[request->header.kind].serve(cache, request, ret);
	}
	/* Functions take less than lines. */
	if (r < 0 && request->header.flags & WORKER_WANT_LINES) {
		struct request less = *request;

		cache_clear(cache);
		less.header.flags &= ~WORKER_WANT_LINES;
		r = shapes[request->header.kind].serve(cache, &less, ret);
	}
	ret->outcome = r < 0 ? WORKER_NO_MEMORY : (enum worker_outcome)r;
	cache_settle(cache);
}

static bool are_addresses(const struct request *r)
{
	const uint64_t *addresses = (const void *)r->payload;
	size_t n = r->header.payload_length / sizeof(*addresses);

	if (!n || r->header.payload_length % sizeof(*addresses))
		return false;
	for (size_t i = 1; i < n; i++)
		if (addresses[i] < addresses[i - 1])
			return false;
	return true;
}

static bool is_range(const struct request *r)
{
	struct worker_range range;

	if (r->header.payload_length != sizeof(range))
		return false;
	memcpy(&range, r->payload, sizeof(range));
	return range.start < range.end && range.end - range.start <= WORKER_CODE_MAX;
}

static bool is_payload(const struct request *r)
{
	if (!shapes[r->header.kind].has_payload)
		return !r->header.payload_length;
	switch (r->header.kind) {
	case WORKER_DEMANGLE:
		return r->header.payload_length && !r->payload[r->header.payload_length - 1];
	case WORKER_INSTRUCTIONS:
		return is_range(r);
	case WORKER_FUNCTIONS:
		return request_has_code_objects(r);
	case WORKER_CONTAINER:
		return request_has_container_id(r);
	case WORKER_PACKAGE:
		return request_has_package_names(r);
	default:
		return are_addresses(r);
	}
}

/* Hands each file its descriptor, in the order of enum worker_file. */
static bool take_files(struct request *r, const int *fds, size_t n_fds)
{
	size_t n = 0;

	for (unsigned i = 0; i < N_WORKER_FILES; i++) {
		if (!(r->header.files & 1u << i))
			continue;
		if (n == n_fds)
			return false;
		r->files[i] = fds[n++];
	}
	return n == n_fds;
}

bool request_parse(const uint8_t *data, size_t length, const int *fds, size_t n_fds,
		   struct request *ret)
{
	struct worker_request_header *h = &ret->header;
	const struct serve_shape *shape;

	*ret = (struct request){.payload = data + sizeof(*h)};
	for (size_t i = 0; i < N_WORKER_FILES; i++)
		ret->files[i] = -1;
	if (length < sizeof(*h))
		return false;
	memcpy(h, data, sizeof(*h));
	if (h->magic != WORKER_MAGIC || h->kind >= N_WORKER_KINDS ||
	    h->payload_length != length - sizeof(*h) || h->file_name[WORKER_FILE_NAME - 1])
		return false;
	shape = &shapes[h->kind];
	if (h->flags & ~shape->flags || (h->files & shape->needs) != shape->needs ||
	    h->files & ~(shape->needs | shape->may_have))
		return false;
	if (h->kind == WORKER_JIT && h->files != BIT(PERF_MAP) && h->files != BIT(JITDUMP))
		return false;
	return take_files(ret, fds, n_fds) && is_payload(ret);
}

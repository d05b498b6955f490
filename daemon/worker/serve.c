/* SPDX-License-Identifier: MIT */
/* A table has the parts of each kind of request; a request that differs is refused as a whole. */
#include "daemon/worker/serve.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "daemon/worker/sources.h"

int serve_inspect(const struct request *request, struct answer *ret)
{
	struct worker_image *image = calloc(1, sizeof(*image));
	int r;

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

static int server_dispatch(struct cache *cache, const struct request *request, struct answer *ret)
{
	switch ((enum worker_kind)request->header.kind) {
	case WORKER_INSPECT:
		return serve_inspect(request, ret);
	case WORKER_TABLE:
		return serve_table(request, ret);
	case WORKER_SYMBOLS:
		return serve_symbols(cache, request, ret);
	case WORKER_JIT:
		return serve_jit(cache, request, ret);
	case WORKER_DEMANGLE:
		return serve_demangle(request, ret);
	case WORKER_INSTRUCTIONS:
		return serve_instructions(cache, request, ret);
	case N_WORKER_KINDS:
		break;
	}
	return WORKER_BAD_REQUEST;
}

void server_answer(struct cache *cache, const struct request *request, struct answer *ret)
{
	int r;

	*ret = (struct answer){.outcome = WORKER_UNREADABLE};
	if (!request_files_are_regular(request))
		return;
	r = server_dispatch(cache, request, ret);
	if (r == -ENOMEM) {
		cache_clear(cache);
		r = server_dispatch(cache, request, ret);
	}
	ret->outcome = r < 0 ? WORKER_NO_MEMORY : (enum worker_outcome)r;
	cache_settle(cache);
}

#define BIT(file) (1u << WORKER_FILE_##file)

/* What each kind needs, may have, and brings. */
static const struct shape {
	uint32_t needs, may_have, flags;
	bool has_payload;
} shapes[] = {
	[WORKER_INSPECT] = {.needs = BIT(IMAGE)},
	[WORKER_TABLE] = {.needs = BIT(IMAGE)},
	[WORKER_SYMBOLS] = {.needs = BIT(IMAGE),
			    .may_have = BIT(DEBUG) | BIT(ALTERNATE),
			    .flags = WORKER_WANT_LINES | WORKER_CHECK_CRC,
			    .has_payload = true},
	/* One of the two: see below. */
	[WORKER_JIT] = {.may_have = BIT(PERF_MAP) | BIT(JITDUMP), .has_payload = true},
	[WORKER_DEMANGLE] = {.flags = WORKER_NO_CLONES | WORKER_NO_PARAMETERS, .has_payload = true},
	[WORKER_INSTRUCTIONS] = {.needs = BIT(IMAGE),
				 .may_have = BIT(DEBUG) | BIT(ALTERNATE),
				 .flags = WORKER_WANT_LINES | WORKER_CHECK_CRC | WORKER_INTEL,
				 .has_payload = true},
};

_Static_assert(ARRAY_SIZE(shapes) == N_WORKER_KINDS, "a shape for each kind");

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
	const struct shape *shape;

	*ret = (struct request){.payload = data + sizeof(*h)};
	for (size_t i = 0; i < N_WORKER_FILES; i++)
		ret->files[i] = -1;
	if (length < sizeof(*h))
		return false;
	memcpy(h, data, sizeof(*h));
	if (h->magic != WORKER_MAGIC || h->kind >= N_WORKER_KINDS ||
	    h->payload_length != length - sizeof(*h))
		return false;
	shape = &shapes[h->kind];
	if (h->flags & ~shape->flags || (h->files & shape->needs) != shape->needs ||
	    h->files & ~(shape->needs | shape->may_have))
		return false;
	if (h->kind == WORKER_JIT && h->files != BIT(PERF_MAP) && h->files != BIT(JITDUMP))
		return false;
	return take_files(ret, fds, n_fds) && is_payload(ret);
}

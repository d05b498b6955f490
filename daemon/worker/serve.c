/* SPDX-License-Identifier: MIT */
#include "daemon/worker/serve.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "common/error.h"
#include "daemon/worker/names/elf_names.h"

struct server {
	struct cache *cache;
};

int server_new(struct server **ret, size_t cache_bytes)
{
	cleanup(server_freep) struct server *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_origin(-ENOMEM);
	r = cache_new(&s->cache, cache_bytes);
	if (r)
		return r;
	*ret = steal_ptr(&s);
	return 0;
}

void server_free(struct server *s)
{
	if (!s)
		return;
	cache_free(s->cache);
	free(s);
}

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

static int server_dispatch(struct server *s, const struct request *request, struct answer *ret)
{
	switch ((enum worker_kind)request->header.kind) {
	case WORKER_INSPECT:
		return serve_inspect(request, ret);
	case WORKER_TABLE:
		return serve_table(request, ret);
	case WORKER_SYMBOLS:
		return serve_symbols(s->cache, request, ret);
	case WORKER_JIT:
		return serve_jit(s->cache, request, ret);
	case WORKER_DEMANGLE:
		return serve_demangle(request, ret);
	case WORKER_INSTRUCTIONS:
		return serve_instructions(s->cache, request, ret);
	case N_WORKER_KINDS:
		break;
	}
	return WORKER_BAD_REQUEST;
}

void server_answer(struct server *s, const struct request *request, struct answer *ret)
{
	int r;

	*ret = (struct answer){.outcome = WORKER_UNREADABLE};
	if (!request_files_are_regular(request))
		return;
	r = server_dispatch(s, request, ret);
	if (r == -ENOMEM) {
		cache_clear(s->cache);
		r = server_dispatch(s, request, ret);
	}
	ret->outcome = r < 0 ? WORKER_NO_MEMORY : (enum worker_outcome)r;
	cache_settle(s->cache);
}

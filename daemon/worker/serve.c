/* SPDX-License-Identifier: MIT */
#include "daemon/worker/serve.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "common/error.h"
#include "daemon/worker/names/elf_names.h"

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

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_WORKER_SERVE_H
#define PROFD_WORKER_SERVE_H

/*
 * Answers requests: which parser each kind is for, and what becomes of its outcome. Sees no socket:
 * main.c receives and answers.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/worker/protocol.h"
#include "daemon/worker/cache.h"
#include "daemon/worker/request.h"

struct answer {
	enum worker_outcome outcome;
	uint8_t *data; /* malloc'ed, the caller's; NULL: no payload */
	size_t length;
};

/*
 * Serves @request, which request_parse() found to be one. What lacks memory is tried again with
 * nothing kept in @cache, then WORKER_NO_MEMORY. Blocks on the disk.
 */
void server_answer(struct cache *cache, const struct request *request, struct answer *ret);

/* The parts: each returns enum worker_outcome, -ENOMEM, or -E2BIG: past WORKER_ANSWER_MAX. */
int serve_inspect(const struct request *request, struct answer *ret);
int serve_table(const struct request *request, struct answer *ret); /* _table.c */
int serve_symbols(struct cache *cache, const struct request *request,
		  struct answer *ret); /* _names.c */
int serve_jit(struct cache *cache, const struct request *request, struct answer *ret);
int serve_demangle(const struct request *request, struct answer *ret);
int serve_instructions(struct cache *cache, const struct request *request,
		       struct answer *ret); /* _code.c */

#endif

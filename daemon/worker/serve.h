/* SPDX-License-Identifier: MIT */
#ifndef PROFD_WORKER_SERVE_H
#define PROFD_WORKER_SERVE_H

/*
 * Answers requests: which parser each kind is for, and what becomes of its outcome. Sees no socket:
 * main.c receives and answers.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/worker/protocol.h"

struct cache; /* sources.h */

/* A request as protocol.h describes it. */
struct request {
	struct worker_request_header header;
	int files[N_WORKER_FILES]; /* borrowed; -1: not this one */
	const uint8_t *payload;    /* borrowed; header.payload_length bytes, aligned to 8 bytes */
};

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

/* The parts elsewhere: each returns enum worker_outcome, -ENOMEM, or -E2BIG: past
 * WORKER_ANSWER_MAX. */
int serve_symbols(struct cache *cache, const struct request *request,
		  struct answer *ret); /* _names.c */
int serve_jit(struct cache *cache, const struct request *request, struct answer *ret);
int serve_demangle(struct cache *cache, const struct request *request, struct answer *ret);
int serve_instructions(struct cache *cache, const struct request *request,
		       struct answer *ret); /* _code.c */
int serve_functions(struct cache *cache, const struct request *request,
		    struct answer *ret); /* _functions.c */
/* Whether its payload is that of WORKER_FUNCTIONS. */
bool request_has_code_objects(const struct request *request);

int serve_container(struct cache *cache, const struct request *request,
		    struct answer *ret); /* _container.c */
/* Whether its payload is that of WORKER_CONTAINER. */
bool request_has_container_id(const struct request *request);

int serve_package(struct cache *cache, const struct request *request,
		  struct answer *ret); /* _package.c */
/* Whether its payload is that of WORKER_PACKAGE. */
bool request_has_package_names(const struct request *request);

/*
 * Pure. @data: one message, aligned to 8 bytes; @fds: those that came with it. False for anything
 * that protocol.h does not describe: kind, flags, files that the kind needs and has no use for,
 * payload. *ret's header is filled in from so much of it as there is, in either case.
 */
bool request_parse(const uint8_t *data, size_t length, const int *fds, size_t n_fds,
		   struct request *ret);

#endif

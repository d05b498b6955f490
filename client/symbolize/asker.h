/* SPDX-License-Identifier: MIT */
#ifndef PROFD_SYMBOLIZE_ASKER_H
#define PROFD_SYMBOLIZE_ASKER_H

/*
 * An image worker for callers that have time to wait for its answers. Each new one is asked
 * something harmless first: one that cannot answer that is no good for any file, so no file is
 * blamed for it; and one that could and dies later died of the file that it was asked about.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/worker/answer.h"
#include "common/worker/worker.h"

struct asker;

enum {
	ASKER_E_OK,
	ASKER_E_DIED, /* of this request */
	ASKER_E_NONE, /* no worker is to be had */
};

/* @path, @deadline_ns: as in worker.h; 0 is a patient deadline. Returns 0 or negative errno. */
int asker_new(struct asker **ret, const char *path, uint64_t deadline_ns);
void asker_free(struct asker *a);
DEFINE_CLEANUP(struct asker *, asker_free)

/* Each: ASKER_E_* or negative errno. What is answered is borrowed until the next question. */

/* WORKER_INSPECT. *ret is written if *ret_outcome is WORKER_DONE. */
int asker_image(struct asker *a, int fd, struct worker_image *ret,
		enum worker_outcome *ret_outcome);
/*
 * WORKER_SYMBOLS, @request, for @addresses (ascending, at most WORKER_ADDRESSES_MAX). *ret is
 * written if *ret_outcome is WORKER_DONE.
 */
int asker_names(struct asker *a, struct worker_request *request, const uint64_t *addresses,
		size_t n, enum worker_outcome *ret_outcome, struct answer_names *ret);
/* WORKER_INSTRUCTIONS, @request, of @range. *ret is written if *ret_outcome is WORKER_DONE. */
int asker_code(struct asker *a, struct worker_request *request, const struct worker_range *range,
	       enum worker_outcome *ret_outcome, struct answer_code *ret);
/*
 * WORKER_DEMANGLE of @n names, each with its NUL, in the @length bytes at @names (at most
 * ASKER_NAMES_MAX): as many texts, one behind the other; NULL: they are too much for the worker.
 */
#define ASKER_NAMES_MAX (WORKER_REQUEST_MAX - sizeof(struct worker_request_header))
int asker_demangle(struct asker *a, uint32_t flags, const char *names, size_t length, size_t n,
		   const char **ret);

/* Of the last ASKER_E_DIED or _NONE: "killed by signal 11", "too slow". */
const char *asker_error_text(const struct asker *a);

#endif

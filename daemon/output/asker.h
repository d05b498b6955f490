/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_ASKER_H
#define PROFD_OUTPUT_ASKER_H

/*
 * Questions to the image worker for symbols. A new worker inspects our own vdso first (the probe):
 * one that cannot do that is no good for any file, so that no file is blamed for it; and one that
 * could and dies later was killed by a file, so that its successor begins at once (worker.h rests
 * only after workers that never answered) and the images behind that file have their names in the
 * same window.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/worker/answer.h"
#include "common/worker/worker.h"
#include "daemon/output/symbols.h"

struct asker {
	struct worker *worker;
	int proven;       /* process of the worker that has inspected the vdso */
	uint64_t lost_ns; /* in this window, see asker_has_time() */
	int vdso_fd;      /* read-only, or -1 */
	bool has_vdso;
	struct elf_summary vdso;
	struct symbols_stats stats; /* but for the worker's own */
};

/* The file that a question is about: it is bad if the worker is lost over it. */
struct asker_file {
	atomic_bool *is_bad; /* or NULL: nobody keeps that */
	const char *path;    /* for messages */
};

/* Answers besides negative errno. */
enum {
	ASK_OK,
	ASK_NOT_NOW, /* no answer in this window */
	ASK_DIED,    /* of this request */
};

int asker_init(struct asker *a, const struct worker_options *options);
void asker_deinit(struct asker *a);
void asker_begin_window(struct asker *a);
/* Whether this window has not lost too much to files that workers die of and slow directories. */
bool asker_has_time(const struct asker *a);
/* The reply is the worker's until the next request. */
int asker_ask(struct asker *a, const struct worker_request *request, struct worker_reply *ret);
/*
 * WORKER_SYMBOLS or _JIT, @request, for @addresses (@n). *ret_outcome, and where that is
 * WORKER_DONE *ret, borrowed like a reply.
 */
int asker_ask_names(struct asker *a, struct worker_request *request, const struct asker_file *file,
		    const uint64_t *addresses, size_t n, enum worker_outcome *ret_outcome,
		    struct answer_names *ret);
/* WORKER_INSPECT of @fd. *ret is written if *ret_outcome is WORKER_DONE. */
int asker_inspect(struct asker *a, int fd, const struct asker_file *file, struct worker_image *ret,
		  enum worker_outcome *ret_outcome);
/* What the worker answered last is against the protocol. */
void asker_reject_answer(struct asker *a);
/* The headers of the [vdso], or NULL if they cannot be had (now). */
const struct elf_summary *asker_vdso(struct asker *a);

#endif

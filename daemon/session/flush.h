/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_SESSION_FLUSH_H
#define PROFD_DAEMON_SESSION_FLUSH_H

/*
 * Between closing a window and its files being durable lies the output thread. A flush stands for
 * somebody who waits for one or several windows: it ends when the last of them is written.
 */
#include <stdint.h>

#include "common/text_print.h"
#include "daemon/output/output.h"
#include "daemon/session/window.h"

struct session;

struct flush {
	unsigned n_pending;
	struct texts paths; /* of files */
	int error;          /* errno of the first write that failed */
	uint64_t used_ns;   /* CPU time of the output thread, for all of it */
	/* What was asked for, if it was that; owned. */
	Profd__Control__Listing *listing;
	Profd__Control__UsageTable *usage;
	struct collected *collected;
	uint64_t freed_files, freed_bytes;
	void (*done)(void *userdata, struct flush *flush);
	void *userdata;
};

/* Starts with one pending hold, which flush_release() ends. @done is called exactly once. */
int flush_new(struct flush **ret, void (*done)(void *userdata, struct flush *flush),
	      void *userdata);
/* Unless something failed before; @error: errno, or 0. Takes NULL. */
void flush_fail(struct flush *flush, int error);
/* The last release calls done and frees. */
void flush_release(struct flush *flush);

/* The cookie of a request to the output thread. */
struct flush_item {
	struct session *session; /* NULL: an epoch or a listing */
	struct flush *flush;     /* held, or NULL */
	unsigned attachment;     /* of the session, when the window was closed */
	struct window_closing closing;
};

/*
 * Hands @request to the output thread, its cookie being a copy of @item, whose flush it holds.
 * Returns OUTPUT_E_* or negative errno; unless that is OUTPUT_E_OK, the snapshot stays the
 * caller's.
 */
int flush_item_submit(const struct flush_item *item, struct output *output,
		      struct output_request *request);
/* Gives what came of it to the flush that waits for it. The caller still frees @result. */
int flush_item_finish(struct flush_item *item, struct output_result *result);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_OUTPUT_H
#define PROFD_OUTPUT_OUTPUT_H

/*
 * The output thread: takes snapshots, symbolizes, encodes, writes to the store, and reports back.
 * It shares nothing with the main thread but the two queues behind these functions.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/text_print.h"
#include "daemon/output/collect.h"
#include "daemon/output/listing.h"
#include "daemon/output/origin.h"
#include "daemon/output/retention.h"
#include "daemon/output/snapshot.h"
#include "daemon/output/symbols.h"
#include "daemon/output/usage.h"

enum {
	OUTPUT_E_OK,
	OUTPUT_E_BUSY, /* too much is asked for at once; never of OUTPUT_WRITE and OUTPUT_FILES */
};

struct output_options {
	int store_fd;                   /* directory fd of the state directory; borrowed */
	const char *store_path;         /* for messages and for the paths that are reported */
	const char *host_name;          /* of this machine; NULL: as the kernel has it */
	struct retention_limits limits; /* but for what is said of the clock */
	uint64_t background_bytes;      /* bound for profiles that are merged */
	uint32_t legacy_max_processes;
	uint64_t symbol_cache_bytes;  /* bound for names and symbol tables held */
	struct memory_budget *budget; /* as in symbols.h; not to be changed later */
	bool read_only;               /* nothing in the store changes */
	bool no_kernel;               /* no frame is the kernel's: nobody needs names of that */
	const char *fetched_path;     /* as in symbols.h */
	struct file_opener *opener;   /* the same */
	struct file_copier *copier;   /* the same */
	struct mount_root *host_root; /* the same */
};

enum output_task {
	OUTPUT_WRITE,   /* the snapshot */
	OUTPUT_FILES,   /* of the sessions @ids: see listing.h */
	OUTPUT_EPOCH,   /* begin an image epoch; its name comes in the result's only path */
	OUTPUT_LIST,    /* @list: see listing.h */
	OUTPUT_USAGE,   /* see usage.h; @what: the text and the range */
	OUTPUT_COLLECT, /* @what is stored when its turn comes, and the snapshot */
	OUTPUT_VACUUM,  /* delete what is over the limits */
};

struct output_request {
	enum output_task task;
	void *cookie; /* comes back in the result */
	/*
	 * To be written; or the open windows, or NULL, to be collected or listed. What is to be
	 * written goes before a collection, and in between. With at_once it has its turn among what
	 * is to be written, and the snapshot comes back if that fails.
	 */
	struct snapshot *snapshot;
	struct collect_options what;
	struct listing_options list;  /* OUTPUT_LIST */
	uint64_t max_age_s, max_size; /* OUTPUT_VACUUM; 0: the configured one */
	bool is_dry_run;              /* OUTPUT_VACUUM: count what it would delete */
	const uint64_t *ids;          /* OUTPUT_FILES; borrowed until the result is there */
	size_t n_ids;
	uint32_t steps, limit; /* OUTPUT_USAGE */
};

/* What became of one request, in the order of requests. */
struct output_result {
	void *request;       /* its cookie */
	int error;           /* 0, or the errno that kept files from being written */
	struct texts paths;  /* absolute; files that now exist durably */
	uint64_t started_ns; /* Unix time */
	double seconds;
	uint64_t used_ns;                  /* CPU time of the thread */
	Profd__Control__Listing *listing;  /* answer to OUTPUT_LIST */
	Profd__Control__UsageTable *usage; /* answer to OUTPUT_USAGE */
	/* Answer to OUTPUT_FILES and to OUTPUT_COLLECT; its message, if there is one, says why not.
	 */
	struct collected *collected;
	uint64_t freed_bytes, freed_files; /* answer to OUTPUT_VACUUM */
	/* Not NULL: the files could not be written (disk full after collecting): merge it back. Or
	 * it could not be collected. */
	struct snapshot *unwritten;
};

void output_result_free(struct output_result *r);

#define OUTPUT_SHARES_MAX 32

struct output_store_status {
	uint64_t bytes, n_files;
	struct index_share shares[OUTPUT_SHARES_MAX]; /* the largest, largest first */
	size_t n_shares;
	struct index_share share_max; /* of each user; 0: no bound */
	uint64_t oldest_ns;           /* Unix time, 0 for none */
	uint64_t newest_ns;           /* the end of the last window; the same */
	bool full;
	char epoch[16]; /* the image epoch in use, "" before the first */
};

/* What the thread was like after the last request. */
struct output_state {
	struct origin origin; /* of a store that is only read */
	struct output_store_status store;
	struct symbols_stats symbols; /* of the image worker for symbols */
	struct symbols_wanted wanted;
	uint64_t busy_since_ns; /* at the request in work (CLOCK_MONOTONIC); 0: at none */
	uint64_t windows_ns;    /* CPU time of writing windows */
	uint64_t background_ns; /* of rolling up, which is put off at any time and takes at most a
				 * quarter of one CPU */
	pid_t tid;
};

struct output;

/*
 * Opens the store and starts the thread, whose first work is to find out what is there and to
 * remove what a dead profd left half-written: sampling need not wait for that.
 */
int output_new(struct output **ret, const struct output_options *options);
/* Finishes what is queued, then stops the thread. Takes NULL. */
void output_free(struct output *o);
DEFINE_CLEANUP(struct output *, output_free)

/* Queues it; on OUTPUT_E_OK the snapshot is the thread's. Texts are copied. Never blocks. */
int output_submit(struct output *o, const struct output_request *request);
/* An eventfd, readable when results wait. */
int output_fd(struct output *o);
/* The next result, or NULL; the caller frees it. */
struct output_result *output_take_result(struct output *o);
/* New limits, e.g. after SIGHUP; copied. */
void output_configure(struct output *o, const struct output_options *options);
void output_get_state(struct output *o, struct output_state *ret);

#endif

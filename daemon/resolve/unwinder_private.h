/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_UNWINDER_PRIVATE_H
#define PROFD_RESOLVE_UNWINDER_PRIVATE_H

/*
 * What the parts of the unwinder share:
 *
 *   unwinder.c         the sink, the loop's calls, memory and tables
 *   unwinder_spaces.c  which mappings of which process the BPF programs have
 *   unwinder_walk.c    one sample: walking it, waiting for a table or for memory, delivering it
 */
#include <uthash.h>

#include "common/unwind/walk.h"
#include "daemon/resolve/extents.h"
#include "daemon/resolve/memory_reader.h"
#include "daemon/resolve/table_pool.h"
#include "daemon/resolve/unwinder.h"

/* User frames of a finished stack. */
#define UNWINDER_DEPTH 1024u
/* Of one sample. */
#define UNWINDER_READS_MAX 4u

/* Mappings in the host's array; children of a fork share them. */
struct space_run {
	uint32_t first, n;
	uint16_t runtime; /* as in struct unwind_root */
	unsigned n_references;
	uint64_t since_ns;      /* returned by then; 0: since the last round began */
	bool is_unnamed;        /* returned, and no root names it any more */
	struct space_run *next; /* in unwinder.returned */
};

/* What is known of a living process's address space in the host's memory. */
struct space {
	pid_t pid;
	uint64_t serial;     /* of its struct process */
	uint32_t version;    /* of its mappings when last looked at */
	uint32_t generation; /* the same */
	bool is_sampled;
	bool has_root;         /* the host may have a root of this pid */
	bool is_stuck;         /* it was to be withdrawn, and may be in force all the same */
	bool is_old;           /* the run is not what the mappings are now */
	struct space_run *run; /* or NULL */
	uint64_t published_ns;
	/* The root may name runs that were returned since then; UINT64_MAX: none of them. */
	uint64_t from_ns;
	/* Until that round children turn up that inherited an earlier root, of which was_ holds. */
	uint64_t changed_round, was_from_ns;
	uint64_t unstable_until_ns; /* it replaces mappings: not published until then */
	bool is_dirty;              /* in the list of those to be published */
	struct space *previous, *next;
	bool is_published; /* in the list of those that have a run, and a root that names it */
	struct space *older, *newer;
	UT_hash_handle hh;
};

/* A sample whose walk is not finished. */
struct unwinding {
	struct sample sample; /* rest: NULL */
	struct walk walk;     /* its frames follow the sample's kernel frames in unwinder.frames */
	struct process *process;
	uint32_t generation; /* of its mappings at the sample's time */
	/* NULL: none. Its frames are put among those of the walk at last. */
	struct sample_runtime *runtime;
};

struct waiter {
	struct unwinding unwinding;
	int outcome;          /* of enum walk_outcome: what it waits for */
	uint64_t cookie;      /* 0: never asked for memory */
	bool is_queued;       /* will ask when the reader is less busy */
	uint64_t deadline_ns; /* UINT64_MAX: not known yet, until the drain has ended */
	uint64_t *frames;     /* owned, kernel and user */
	size_t frame_bytes;
	uint8_t *stack;                 /* owned */
	struct sample_runtime *runtime; /* owned, or NULL */
	uint8_t *reads[UNWINDER_READS_MAX];
	unsigned n_reads;
	uint32_t n_certain; /* frames before memory was read later than the sample */
	size_t n_bytes;     /* of all that it holds */
	struct waiter *previous, *next;
};

struct unwinder {
	struct unwinder_options options;
	struct source_sink sink;
	const struct unwind_host *host; /* NULL: memory of our own, or not attached */
	struct table_memory memory;     /* the host's, or our own */
	struct table_pool *pool;        /* NULL: not attached */
	struct table_loader *loader;
	struct memory_reader *reader; /* NULL: nothing is read */
	int epoll_fd;
	int error;
	uint64_t now_ns;           /* of the last call that had it */
	uint64_t looked_ns;        /* when results were last looked for after a drain */
	struct table_result *held; /* list: tables that wait for room */
	size_t held_words;

	struct space *spaces;
	struct space *dirty;     /* list */
	struct space *published; /* list, by when they were published or sampled last */
	struct extents *runs;
	struct space_run *returned; /* list: those that nobody here needs; unwinder_spaces.c */
	size_t n_returned;          /* mappings in them */
	uint64_t unsure_ns; /* the least from_ns of roots that were unsure since the last round */
	uint64_t until_ns;  /* births up to then are known to the present round */
	bool knows_more;    /* than the one before did */
	uint64_t n_rounds;  /* that did */
	struct unwind_mapping *scratch; /* a process's mappings while they are compared */
	size_t n_scratch, n_spaces;
	uint16_t scratch_runtime; /* which of those in scratch, as in struct unwind_root */
	uint32_t next_version;
	uint64_t replaced_ns; /* the newest time that any process replaced a mapping */
	bool has_lost;        /* records were, and no scan has mended that yet */

	struct waiter *waiters; /* list, by deadline */
	size_t n_waiters, n_queued, waiting_bytes;
	uint64_t next_cookie;

	struct unwinder_stats stats; /* but for what the loader knows */
	uint64_t frames[SAMPLE_FRAMES_MAX];
	uint64_t merged[SAMPLE_FRAMES_MAX]; /* with those of an interpreter */
	struct sample_runtime runtime;
};

/* unwinder.c */
/* 0: nothing failed. */
void unwinder_fail(struct unwinder *u, int error);
/* Asks for the table of @slot. False: it will not come soon. */
bool unwinder_want_table(struct unwinder *u, uint32_t slot);

/* unwinder_spaces.c */
/* There is a host: the processes that are known already are to be published to it. */
void spaces_begin(struct unwinder *u);
/* After @event was applied. */
void spaces_see_event(struct unwinder *u, const struct process_event *event);
/* @p has a sample that the kernel could not walk, or not to its end. */
void spaces_see_sample(struct unwinder *u, struct process *p, const struct sample *sample);
/* How a mapping of a process is told to walks: SLOT_NONE and no image for what is no file. */
void spaces_describe(struct unwinder *u, const struct mapping *mapping, struct unwind_mapping *ret);
/* Code of an interpreter is in the image of that number: processes that map it have its frames. */
void spaces_see_interpreter(struct unwinder *u, uint32_t image);
void spaces_publish(struct unwinder *u);
void spaces_sweep(struct unwinder *u);
/* The host's memory goes away. */
void spaces_forget(struct unwinder *u);

/* unwinder_walk.c */
/* Takes a sample with a rest; delivers it now or later. */
void walk_sample(struct unwinder *u, const struct sample *sample);
/* Takes one that needs no walk. */
void walk_pass(struct unwinder *u, const struct sample *sample);
/* The table at @slot is there, or will not come. */
void wait_table_settled(struct unwinder *u, uint32_t slot, bool is_there);
void wait_memory_arrived(struct unwinder *u, uint64_t cookie, const uint8_t *data, size_t length);
/*
 * Delivers those that have waited past @now_ns; UINT64_MAX: all. Those that are new begin to wait.
 */
void wait_expire(struct unwinder *u, uint64_t now_ns);
/* Whether samples of @sampler (UNWINDER_ALL: any) wait. */
bool wait_any(const struct unwinder *u, unsigned sampler);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_SESSION_SAMPLERS_H
#define PROFD_DAEMON_SESSION_SAMPLERS_H

/*
 * One sampler per (event, rate) in use: sessions with the same pair share it. Keeps the ledger of
 * each, also of those that are gone, and the filter in the kernel in step with what the sessions
 * of a sampler want.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/ingest/source.h"
#include "daemon/ledger/ledger.h"
#include "daemon/resolve/process.h"

struct recorder;
struct samplers;

/* How a sampler's filter is to treat a process. */
enum samplers_want {
	WANT_NOT,
	WANT_PROCESS,
	WANT_CHILDREN, /* and what it forks from now on */
};

/* Asked for each living process when a filter is made anew. */
struct samplers_policy {
	bool (*wants_all)(void *userdata, unsigned sampler);
	enum samplers_want (*wants)(void *userdata, unsigned sampler, const struct process *p);
	/*
	 * Has what the source delivered of @sampler and others still hold back arrive now; may
	 * block a bit. @is_last: nothing of it may arrive later.
	 */
	int (*settle)(void *userdata, unsigned sampler, bool is_last);
	void *userdata;
};

/* @source and @processes are borrowed. */
int samplers_new(struct samplers **ret, struct source *source, struct process_table *processes,
		 const struct samplers_policy *policy);
void samplers_free(struct samplers *s);
DEFINE_CLEANUP(struct samplers *, samplers_free)

/* Tells @recorder (borrowed, or NULL) of each sampler that begins. */
void samplers_record(struct samplers *s, struct recorder *recorder);
/*
 * Finds or starts a sampler for @spec, leaving at least @spare for others. Returns SOURCE_E_* (with
 * @message) or negative errno.
 */
int samplers_acquire(struct samplers *s, const struct sampler_spec *spec, unsigned spare,
		     unsigned *ret, struct source_message *message);
/*
 * Gives it back; the last user stops it. Its samples up to now have arrived when this returns;
 * *ret_last is the ledger after that. Other users: refilter next.
 */
int samplers_release(struct samplers *s, unsigned sampler, struct ledger *ret_last);
/* Makes the filter of @sampler anew, after its sessions changed. Nothing if it is not in use. */
int samplers_refilter(struct samplers *s, unsigned sampler);
/* The same for one process that was born or changed (all samplers), or has died. */
int samplers_refilter_process(struct samplers *s, const struct process *p, bool is_dead);

/* Counts a delivered sample. */
void samplers_count(struct samplers *s, const struct sample *sample);
/* The ledger of one sampler, or of all there ever were, as it stands now. */
int samplers_ledger(struct samplers *s, unsigned sampler, struct ledger *ret);
int samplers_total(struct samplers *s, struct ledger *ret, struct source_stats *ret_stats);

#endif

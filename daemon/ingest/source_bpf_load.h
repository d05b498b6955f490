/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SOURCE_BPF_LOAD_H
#define PROFD_INGEST_SOURCE_BPF_LOAD_H

/* How source_bpf.c's object gets into the kernel, and what to say when it does not. */
#include <stdbool.h>

#include "daemon/ingest/source.h"

struct profile_bpf;

/*
 * Loads the programs and attaches the tracepoints; *ret_follows_children says whether those are
 * there. Logs how long that took. Returns SOURCE_E_OK, then the caller destroys *ret;
 * SOURCE_E_UNSUPPORTED or _DENIED with @message; or negative errno.
 */
int source_bpf_load(struct profile_bpf **ret, const struct source_options *options, unsigned n_cpus,
		    bool *ret_follows_children, struct source_message *message);

#endif

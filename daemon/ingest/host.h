/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_HOST_H
#define PROFD_INGEST_HOST_H

/* Which kernels the BPF source must not, or cannot, run on. */
#include "daemon/ingest/source.h"

/*
 * Pure. @release and @version are uname(2)'s; @signature is /proc/version_signature's text, or "".
 * Distributions keep the version of the stable kernel they are built from in the latter two.
 * Returns SOURCE_E_OK, or SOURCE_E_UNSUPPORTED with @message.
 */
int host_judge_bpf(const char *release, const char *version, const char *signature,
		   struct source_message *message);
/* The same for the running kernel, which must also have BTF. */
int host_check_bpf(struct source_message *message);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_HOST_H
#define PROFD_INGEST_HOST_H

/*
 * Which kernels the BPF source must not, or cannot, run on: those that lack what it uses
 * (common/bpf_features.h), and those with a fault that only their version reveals.
 */
#include "daemon/ingest/source.h"

/*
 * Pure. @release and @version are uname(2)'s; @signature is /proc/version_signature's text, or "".
 * Distributions keep the version of the stable kernel they are built from in the latter two.
 * Returns SOURCE_E_OK, or SOURCE_E_UNSUPPORTED with @message: its version has a fault, or cannot
 * be determined.
 */
int host_check_kernel_faults(const char *release, const char *version, const char *signature,
			     struct source_message *message);
/* Whether the running kernel is without these faults, and has what is used. Returns the same. */
int host_check_bpf(struct source_message *message);

#endif

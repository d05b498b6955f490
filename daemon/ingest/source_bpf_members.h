/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SOURCE_BPF_MEMBERS_H
#define PROFD_INGEST_SOURCE_BPF_MEMBERS_H

/*
 * source_bpf.c's side of the filter: the hash of member processes (bpf/filter.bpf.h), which the
 * fork and free tracepoints change at the same time. @map is its fd.
 */
#include <stdbool.h>
#include <sys/types.h>

/* As source_add_pid() and source_remove_pid(). */
int bpf_members_add(int map, unsigned sampler, pid_t pid, bool children);
int bpf_members_remove(int map, unsigned sampler, pid_t pid);
/* Takes all of @sampler's members out. */
void bpf_members_remove_sampler(int map, unsigned sampler);

#endif

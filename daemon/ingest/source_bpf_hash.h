/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SOURCE_BPF_HASH_H
#define PROFD_INGEST_SOURCE_BPF_HASH_H

/*
 * Updates of hashes that BPF programs use too. A bucket's lock may be taken by a program that this
 * CPU was in the middle of, or by a virtual CPU that does not run: the kernel then gives up, with
 * EBUSY, and since 6.15 with EDEADLK or ETIMEDOUT (kernel/bpf/hashtab.c, rqspinlock.c). That is no
 * fault, and passes: it is tried some times more.
 */
#include <stdint.h>

/* Each returns 0, -EAGAIN if the bucket stays busy, or another negative errno of bpf(2). */
int bpf_hash_update(int map, uint32_t key, const void *value, uint64_t flags);
int bpf_hash_delete(int map, uint32_t key);

#endif

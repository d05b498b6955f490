/* SPDX-License-Identifier: MIT */
#include "daemon/ingest/source_bpf_hash.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>

#include <bpf/bpf.h>

#define TRIES 4

static bool is_busy(int error)
{
	return error == EBUSY || error == EDEADLK || error == ETIMEDOUT;
}

int bpf_hash_update(int map, uint32_t key, const void *value, uint64_t flags)
{
	for (int i = 0; i < TRIES; i++) {
		if (bpf_map_update_elem(map, &key, value, flags) == 0)
			return 0;
		if (!is_busy(errno))
			return -errno;
		sched_yield();
	}
	return -EAGAIN;
}

int bpf_hash_delete(int map, uint32_t key)
{
	for (int i = 0; i < TRIES; i++) {
		if (bpf_map_delete_elem(map, &key) == 0)
			return 0;
		if (!is_busy(errno))
			return -errno;
		sched_yield();
	}
	return -EAGAIN;
}

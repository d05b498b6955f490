/* SPDX-License-Identifier: MIT */
#include "daemon/ingest/source_bpf_unwind.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/abi.h"
#include "common/error.h"
#include "daemon/ingest/source_bpf_hash.h"
#include "profile.skel.h"

#define BYTES_DEFAULT (UINT64_C(36) << 20)
#define BYTES_MIN     (UINT64_C(1) << 20)
#define BYTES_MAX     (UINT64_C(16) << 30) /* indexes are 32 bits, of 8-byte words */

void bpf_unwind_size(struct profile_bpf *skeleton, uint64_t bytes)
{
	if (!bytes)
		bytes = BYTES_DEFAULT;
	if (bytes < BYTES_MIN)
		bytes = BYTES_MIN;
	if (bytes > BYTES_MAX)
		bytes = BYTES_MAX;
	/* Tables need eight times what mappings do. */
	bpf_map__set_max_entries(skeleton->maps.words,
				 (uint32_t)(bytes / 9 * 8 / sizeof(uint64_t)));
	bpf_map__set_max_entries(skeleton->maps.mappings,
				 (uint32_t)(bytes / 9 / sizeof(struct unwind_mapping)));
}

static size_t map_array_bytes(size_t n, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (n * size + page - 1) / page * page;
}

/* All entries of @map, *ret_n of @size bytes; NULL: errno says why not. */
static void *map_array(struct bpf_map *map, size_t size, size_t *ret_n)
{
	size_t n = bpf_map__max_entries(map);
	void *at = mmap(NULL, map_array_bytes(n, size), PROT_READ | PROT_WRITE, MAP_SHARED,
			bpf_map__fd(map), 0);

	if (at == MAP_FAILED)
		return NULL;
	*ret_n = n;
	return at;
}

static int bpf_unwind_publish(void *userdata, const struct unwind_root *root)
{
	const struct bpf_unwind *u = userdata;
	struct abi_root value = {.root = *root};
	int r = bpf_hash_update(u->roots_fd, root->pid, &value, BPF_ANY);

	if (r == -E2BIG || r == -ENOMEM || r == -EAGAIN)
		return UNWIND_HOST_E_FULL;
	return r < 0 ? error_origin(r) : UNWIND_HOST_E_OK;
}

static int bpf_unwind_withdraw(void *userdata, pid_t pid)
{
	const struct bpf_unwind *u = userdata;
	int r = bpf_hash_delete(u->roots_fd, (uint32_t)pid);

	if (r == -EAGAIN)
		return UNWIND_HOST_E_FULL;
	return r < 0 && r != -ENOENT ? error_origin(r) : UNWIND_HOST_E_OK;
}

static uint64_t bpf_unwind_events_until(void *userdata)
{
	const struct bpf_unwind *u = userdata;

	return *u->events_until;
}

int bpf_unwind_open(struct bpf_unwind *u, struct profile_bpf *skeleton, const uint64_t *until)
{
	struct unwind_host *host = &u->host;

	host->words = map_array(skeleton->maps.words, sizeof(*host->words), &host->n_words);
	host->slots = map_array(skeleton->maps.slots, sizeof(*host->slots), &host->n_slots);
	host->mappings = map_array(skeleton->maps.mappings, sizeof(*host->mappings),
				   &host->n_mappings);
	if (!host->words || !host->slots || !host->mappings)
		return error_origin(-errno);
	host->publish = bpf_unwind_publish;
	host->withdraw = bpf_unwind_withdraw;
	host->events_until = bpf_unwind_events_until;
	host->userdata = u;
	u->roots_fd = bpf_map__fd(skeleton->maps.roots);
	u->events_until = until;
	return 0;
}

void bpf_unwind_close(struct bpf_unwind *u)
{
	struct unwind_host *host = &u->host;

	if (host->words)
		munmap(host->words, map_array_bytes(host->n_words, sizeof(*host->words)));
	if (host->slots)
		munmap(host->slots, map_array_bytes(host->n_slots, sizeof(*host->slots)));
	if (host->mappings)
		munmap(host->mappings, map_array_bytes(host->n_mappings, sizeof(*host->mappings)));
	*u = (struct bpf_unwind){0};
}

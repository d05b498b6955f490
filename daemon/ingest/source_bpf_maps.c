/* SPDX-License-Identifier: MIT */
/*
 * What profd writes for the programs: the members of the filter, by pid; and the memory of walks,
 * arrays that are mapped here, with each process's root in a hash that is written last.
 */
#include "daemon/ingest/source_bpf_private.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/abi.h"
#include "common/error.h"
#include "daemon/ingest/source.h"
#include "profile.skel.h"

#define TRIES 4

/*
 * Puts @value, or nothing if that is NULL, in the place of @key. A bucket's lock may be taken by a
 * program that this CPU was in the middle of, or by a virtual CPU that does not run: the kernel
 * then gives up, with EBUSY, and since 6.15 with EDEADLK or ETIMEDOUT (kernel/bpf/hashtab.c,
 * rqspinlock.c). That is no fault, and passes: it is tried some times more. Returns 0, -EAGAIN if
 * the bucket stays busy, or another negative errno of bpf(2).
 */
static int bpf_hash_put(int map, uint32_t key, const void *value, uint64_t flags)
{
	for (int i = 0; i < TRIES; i++) {
		if ((value ? bpf_map_update_elem(map, &key, value, flags)
			   : bpf_map_delete_elem(map, &key)) == 0)
			return 0;
		if (errno != EBUSY && errno != EDEADLK && errno != ETIMEDOUT)
			return -errno;
		sched_yield();
	}
	return -EAGAIN;
}

/* Writes @member back, or removes what no sampler wants. Returns 0 or negative errno. */
static int put_member(int map, uint32_t pid, const struct abi_member *member, uint64_t flags)
{
	int r = bpf_hash_put(map, pid, member->samplers ? member : NULL, flags);

	return r == -ENOENT && !member->samplers ? 0 : r;
}

static int bpf_member_clear_sampler(const struct bpf_source *s, unsigned sampler, uint32_t key)
{
	int map = bpf_map__fd(s->skeleton->maps.members);
	uint16_t bit = (uint16_t)(1u << sampler);
	struct abi_member member;
	int r;

	if (bpf_map_lookup_elem(map, &key, &member) < 0)
		return 0; /* it ended */
	if (!((member.samplers | member.inheriting) & bit))
		return 0;
	member.samplers &= (uint16_t)~bit;
	member.inheriting &= (uint16_t)~bit;
	r = put_member(map, key, &member, BPF_EXIST);
	/* One that stays lets through too much, which does no harm. */
	return r == -ENOENT || r == -EAGAIN ? 0 : r;
}

int bpf_filter_pid(struct source *source, unsigned sampler, pid_t pid, bool adds, bool children)
{
	const struct bpf_source *s = (struct bpf_source *)source;
	int map = bpf_map__fd(s->skeleton->maps.members);
	struct abi_member member;
	uint16_t bit = (uint16_t)(1u << sampler);
	uint32_t key = (uint32_t)pid;
	int r;

	if (!adds) {
		r = bpf_member_clear_sampler(s, sampler, key);
		return r < 0 ? error_origin(r) : SOURCE_E_OK;
	}
	if (children && !s->follows_children)
		return SOURCE_E_UNSUPPORTED;
	if (bpf_map_lookup_elem(map, &key, &member) < 0)
		member = (struct abi_member){0};
	member.samplers |= bit;
	if (children)
		member.inheriting |= bit;
	r = put_member(map, key, &member, BPF_ANY);
	if (r == -E2BIG || r == -EAGAIN)
		return SOURCE_E_FULL;
	if (r < 0)
		return error_origin(r);
	/* A process that ended before it was added will not be removed at its end. */
	if (kill(pid, 0) < 0 && errno == ESRCH) {
		member.samplers = 0;
		r = put_member(map, key, &member, BPF_ANY);
		return r < 0 && r != -EAGAIN ? error_origin(r) : SOURCE_E_GONE;
	}
	return SOURCE_E_OK;
}

void bpf_members_remove_sampler(const struct bpf_source *s, unsigned sampler)
{
	int map = bpf_map__fd(s->skeleton->maps.members);
	uint32_t key, next;
	bool more = bpf_map_get_next_key(map, NULL, &next) == 0;

	/* Bounded: where the next key goes away meanwhile, the iteration begins again. */
	for (unsigned i = 0; more && i < 4 * ABI_MEMBERS_MAX; i++) {
		key = next;
		more = bpf_map_get_next_key(map, &key, &next) == 0;
		bpf_member_clear_sampler(s, sampler, key);
	}
}

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
	const struct bpf_source *s = userdata;
	struct abi_root value = {.root = *root};
	int r = bpf_hash_put(bpf_map__fd(s->skeleton->maps.roots), root->pid, &value, BPF_ANY);

	if (r == -E2BIG || r == -ENOMEM || r == -EAGAIN)
		return UNWIND_HOST_E_FULL;
	return r < 0 ? error_origin(r) : UNWIND_HOST_E_OK;
}

static int bpf_unwind_withdraw(void *userdata, pid_t pid)
{
	const struct bpf_source *s = userdata;
	int r = bpf_hash_put(bpf_map__fd(s->skeleton->maps.roots), (uint32_t)pid, NULL, 0);

	if (r == -EAGAIN)
		return UNWIND_HOST_E_FULL;
	return r < 0 && r != -ENOENT ? error_origin(r) : UNWIND_HOST_E_OK;
}

static uint64_t bpf_unwind_events_until(void *userdata)
{
	const struct bpf_source *s = userdata;

	return s->events_until;
}

int bpf_unwind_open(struct bpf_source *s)
{
	struct unwind_host *host = &s->host;

	host->words = map_array(s->skeleton->maps.words, sizeof(*host->words), &host->n_words);
	host->slots = map_array(s->skeleton->maps.slots, sizeof(*host->slots), &host->n_slots);
	host->mappings = map_array(s->skeleton->maps.mappings, sizeof(*host->mappings),
				   &host->n_mappings);
	if (!host->words || !host->slots || !host->mappings)
		return error_origin(-errno);
	host->publish = bpf_unwind_publish;
	host->withdraw = bpf_unwind_withdraw;
	host->removes_ended = true; /* roots_free() */
	host->events_until = bpf_unwind_events_until;
	host->userdata = s;
	return 0;
}

void bpf_unwind_close(struct bpf_source *s)
{
	const struct unwind_host *host = &s->host;

	if (host->words)
		munmap(host->words, map_array_bytes(host->n_words, sizeof(*host->words)));
	if (host->slots)
		munmap(host->slots, map_array_bytes(host->n_slots, sizeof(*host->slots)));
	if (host->mappings)
		munmap(host->mappings, map_array_bytes(host->n_mappings, sizeof(*host->mappings)));
}

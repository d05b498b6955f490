/* SPDX-License-Identifier: MIT */
#include "daemon/ingest/source_bpf_members.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>

#include <bpf/bpf.h>

#include "bpf/abi.h"
#include "common/error.h"
#include "daemon/ingest/source.h"
#include "daemon/ingest/source_bpf_hash.h"

/* Writes @member back, or removes what no sampler wants. Returns 0 or negative errno. */
static int put_member(int map, uint32_t pid, const struct abi_member *member, uint64_t flags)
{
	int r;

	if (member->samplers)
		return bpf_hash_update(map, pid, member, flags);
	r = bpf_hash_delete(map, pid);
	return r == -ENOENT ? 0 : r;
}

int bpf_members_add(int map, unsigned sampler, pid_t pid, bool children)
{
	struct abi_member member;
	uint16_t bit = (uint16_t)(1u << sampler);
	uint32_t key = (uint32_t)pid;
	int r;

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

static int bpf_member_clear_sampler(int map, uint16_t bit, uint32_t key)
{
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

int bpf_members_remove(int map, unsigned sampler, pid_t pid)
{
	int r = bpf_member_clear_sampler(map, (uint16_t)(1u << sampler), (uint32_t)pid);

	return r < 0 ? error_origin(r) : SOURCE_E_OK;
}

void bpf_members_remove_sampler(int map, unsigned sampler)
{
	uint32_t key, next;
	bool more = bpf_map_get_next_key(map, NULL, &next) == 0;

	/* Bounded: where the next key goes away meanwhile, the iteration begins again. */
	for (unsigned i = 0; more && i < 4 * ABI_MEMBERS_MAX; i++) {
		key = next;
		more = bpf_map_get_next_key(map, &key, &next) == 0;
		bpf_member_clear_sampler(map, (uint16_t)(1u << sampler), key);
	}
}

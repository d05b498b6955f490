/* SPDX-License-Identifier: MIT */
/* A hash by pid; in a member, bit i is sampler i. A member without bits is removed. */
#include "daemon/ingest/members.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <uthash.h>

#include "common/error.h"
#include "common/proc.h"

struct member {
	pid_t pid;
	uint32_t samplers, inheriting;
	bool ended;
	UT_hash_handle hh;
};

static void member_delete(struct members *m, struct member *member)
{
	HASH_DEL(m->by_pid, member);
	free(member);
}

void members_deinit(struct members *m)
{
	struct member *member, *next;

	HASH_ITER (hh, m->by_pid, member, next)
		member_delete(m, member);
}

static struct member *members_find(const struct members *m, pid_t pid)
{
	struct member *member;

	HASH_FIND_INT(m->by_pid, &pid, member);
	return member;
}

static int members_find_or_add(struct members *m, pid_t pid, struct member **ret)
{
	struct member *member = members_find(m, pid);

	if (!member) {
		member = calloc(1, sizeof(*member));
		if (!member)
			return error_origin(-ENOMEM);
		member->pid = pid;
		HASH_ADD_INT(m->by_pid, pid, member);
	}
	*ret = member;
	return 0;
}

int members_add(struct members *m, unsigned sampler, pid_t pid, bool children)
{
	uint32_t bit = UINT32_C(1) << sampler;
	struct member *member;
	int r = members_find_or_add(m, pid, &member);

	if (r < 0)
		return r;
	member->samplers |= bit;
	if (children)
		member->inheriting |= bit;
	return 0;
}

static void member_clear_sampler(struct members *m, struct member *member, unsigned sampler)
{
	uint32_t bit = UINT32_C(1) << sampler;

	member->samplers &= ~bit;
	member->inheriting &= ~bit;
	if (!member->samplers)
		member_delete(m, member);
}

void members_remove(struct members *m, unsigned sampler, pid_t pid)
{
	struct member *member = members_find(m, pid);

	if (member)
		member_clear_sampler(m, member, sampler);
}

void members_remove_sampler(struct members *m, unsigned sampler)
{
	struct member *member, *next;

	HASH_ITER (hh, m->by_pid, member, next)
		member_clear_sampler(m, member, sampler);
}

bool members_has(const struct members *m, unsigned sampler, pid_t pid)
{
	const struct member *member = members_find(m, pid);

	return member && member->samplers >> sampler & 1;
}

int members_follow(struct members *m, const struct process_event *event)
{
	struct member *member;
	uint32_t inheriting;
	int r;

	if (event->kind == PROCESS_EVENT_EXIT && event->pid == event->tid) {
		member = members_find(m, event->pid);
		if (member)
			member->ended = true;
	}
	/* Threads are born of their own process. */
	if (event->kind != PROCESS_EVENT_FORK || event->pid != event->tid)
		return 0;
	member = members_find(m, event->pid);
	if (member && member->ended) /* the pid is in use again */
		member_delete(m, member);
	member = members_find(m, event->parent);
	if (!member || !member->inheriting)
		return 0;
	inheriting = member->inheriting;
	r = members_find_or_add(m, event->pid, &member);
	if (r < 0)
		return r;
	member->samplers |= inheriting;
	member->inheriting |= inheriting;
	return 0;
}

void members_sweep(struct members *m, bool (*is_alive)(pid_t pid))
{
	struct member *member, *next;

	HASH_ITER (hh, m->by_pid, member, next)
		if (member->ended && !is_alive(member->pid))
			member_delete(m, member);
}

#define GENERATIONS 3

static int own_processes_add_tree(struct members *m, int proc_fd, pid_t pid, unsigned generations)
{
	cleanup(freep) char *text = NULL;
	char name[32], *rest, *end;
	size_t length;
	int r = members_add(m, OWN_SAMPLER, pid, true);

	if (r || !generations)
		return r;
	/* proc_pid_children(5): some numbers. */
	snprintf(name, sizeof(name), "task/%d/children", pid);
	r = proc_read_file(proc_fd, pid, name, &text, &length);
	if (r)
		return r == PROC_E_GONE ? 0 : r;
	rest = text;
	for (long child; !r && (child = strtol(rest, &end, 10)) > 0; rest = end)
		r = own_processes_add_tree(m, proc_fd, (pid_t)child, generations - 1);
	return r;
}

int own_processes_add(struct members *m, int proc_fd, pid_t pid)
{
	return own_processes_add_tree(m, proc_fd, pid, GENERATIONS);
}

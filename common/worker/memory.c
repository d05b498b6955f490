/* SPDX-License-Identifier: MIT */
#include "common/worker/memory.h"

#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/helper/descendants.h"

/*
 * Of what is left: the rest is for what grows meanwhile, and for another worker, if none claims. Of
 * that, for the request: answers are in our memory and in the memfd as well.
 */
#define LEFT_PARTS    7 / 8
#define REQUEST_PARTS 3 / 4
#define CLAIM_PARTS   7 / 8

/* The part of the budget by which a process grows until it is looked through for what is free. */
#define GROWN_PART 32
/* Less than so large a part is left: it is short. */
#define SHORT_PART 16

/* proc(5), in pages; all 0: no such process. */
struct statm {
	unsigned long resident, shared, text;
};

static struct statm statm_read(pid_t pid)
{
	cleanup(fclosep) FILE *f = NULL;
	struct statm m;
	char path[64];

	if (!pid)
		return (struct statm){0};
	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%*s %lu %lu %lu", &m.resident, &m.shared, &m.text) != 3)
		return (struct statm){0};
	return m;
}

uint64_t memory_resident_bytes(pid_t pid)
{
	return (uint64_t)statm_read(pid).resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool memory_is_worker(const struct memory_budget *b, pid_t pid)
{
	for (unsigned i = 0; b && i < N_MEMORY_WORKERS; i++)
		if (b->workers[i] == pid)
			return true;
	return false;
}

/* The size of its code tells a child that was forked, and executed nothing, from another program.
 */
uint64_t memory_descendants_bytes(const struct memory_budget *b)
{
	struct statm own = statm_read(getpid());
	struct descendants found;
	uint64_t sum = 0;

	descendants_find(&found, getpid());
	for (size_t i = 1; i < found.n; i++) {
		struct statm m = {0};

		if (!memory_is_worker(b, found.pids[i]))
			m = statm_read(found.pids[i]);
		sum += m.resident - (m.text == own.text ? m.shared : 0);
	}
	return sum * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* One that works may come to use all that it is allowed. */
static uint64_t memory_of_worker(struct memory_budget *b, unsigned number)
{
	uint64_t has = memory_resident_bytes(b->workers[number]), may = b->allowed[number];

	return has > may ? has : may;
}

static bool memory_is_claimed(const struct memory_budget *b)
{
	return b->claimed_until_ns && clock_ns(CLOCK_MONOTONIC) < b->claimed_until_ns;
}

uint64_t memory_budget_begin(struct memory_budget *b, unsigned number, pid_t pid)
{
	uint64_t used = memory_resident_bytes(getpid()) + b->other_bytes, left;
	bool is_claimed = memory_is_claimed(b), is_claimant = is_claimed && b->claimant == number;

	b->workers[number] = pid;
	b->allowed[number] = 0;
	for (unsigned i = 0; i < N_MEMORY_WORKERS; i++)
		used += i == number ? 0 : memory_of_worker(b, i);
	left = used < b->bytes ? b->bytes - used : 0;
	if (!is_claimant)
		left = left * LEFT_PARTS;
	if (left < MEMORY_LEFT_MIN || (is_claimed && !is_claimant))
		left = MEMORY_LEFT_MIN;
	b->allowed[number] = left;
	return is_claimant ? left * CLAIM_PARTS : left * REQUEST_PARTS;
}

void memory_budget_end(struct memory_budget *b, unsigned number)
{
	b->allowed[number] = 0;
}

bool memory_budget_claim(struct memory_budget *b, unsigned number)
{
	if (memory_is_claimed(b) && b->claimant == number)
		return false;
	b->claimant = number;
	b->has_given = false;
	b->claimed_until_ns = clock_ns(CLOCK_MONOTONIC) + MEMORY_CLAIM_NS;
	return true;
}

bool memory_budget_has_made_room(const struct memory_budget *b, unsigned number)
{
	for (unsigned i = 0; i < N_MEMORY_WORKERS; i++)
		if (i != number && b->allowed[i] > MEMORY_LEFT_MIN)
			return false;
	return b->has_given;
}

bool memory_budget_is_short(struct memory_budget *b)
{
	uint64_t used = memory_resident_bytes(getpid()) + b->other_bytes;

	for (unsigned i = 0; i < N_MEMORY_WORKERS; i++)
		used += memory_resident_bytes(b->workers[i]);
	return memory_is_claimed(b) || used > b->bytes - b->bytes / SHORT_PART;
}

void memory_budget_give_back(struct memory_budget *b)
{
	uint64_t has = memory_resident_bytes(getpid());

	if (has > b->least + b->bytes / GROWN_PART || memory_budget_is_short(b)) {
		malloc_trim(0);
		b->least = memory_resident_bytes(getpid());
	} else if (has < b->least) {
		b->least = has;
	}
	b->has_given = true;
}

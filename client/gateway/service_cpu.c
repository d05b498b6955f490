/* SPDX-License-Identifier: MIT */
#include "client/gateway/service_cpu.h"

#include <errno.h>
#include <string.h>

#define HASH_NONFATAL_OOM      1
#define uthash_nonfatal_oom(e) ((e)->is_lost = true)
#include <uthash.h>

#include "common/clock.h"
#include "common/error.h"

/*
 * A window that is open overlaps an anchor of now, and may not do so any more when it is stored:
 * its file's name has whole seconds.
 */
#define BACK_NS  (2 * NS_PER_S)
#define STAY_NS  (600 * NS_PER_S)
#define RESET_NS (3600 * NS_PER_S)
#define DAY_NS   (86400 * NS_PER_S)

struct service_cpu_entry {
	UT_hash_handle hh;
	bool is_lost;
	int64_t base_ns;            /* to be added to a listing's; */
	uint64_t listed_ns;         /* that of the last one */
	uint64_t shown_ns, seen_ns; /* what was counted; when it was listed last */
	char name[];
};

struct service_cpu {
	struct service_cpu_entry *entries;
	uint64_t anchor_ns, updated_ns;
};

int service_cpu_new(struct service_cpu **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : error_origin(-ENOMEM);
}

static void service_cpu_drop(struct service_cpu *s, struct service_cpu_entry *e)
{
	HASH_DEL(s->entries, e);
	free(e);
}

/* Those that were not seen since @ns. */
static void service_cpu_drop_old(struct service_cpu *s, uint64_t ns)
{
	struct service_cpu_entry *e, *next;

	HASH_ITER (hh, s->entries, e, next) {
		if (e->seen_ns < ns)
			service_cpu_drop(s, e);
	}
}

void service_cpu_free(struct service_cpu *s)
{
	if (s)
		service_cpu_drop_old(s, UINT64_MAX);
	free(s);
}

uint64_t service_cpu_since(struct service_cpu *s, uint64_t now_ns)
{
	if (now_ns > s->updated_ns + RESET_NS || now_ns + RESET_NS < s->updated_ns) {
		service_cpu_drop_old(s, UINT64_MAX);
		s->anchor_ns = now_ns - BACK_NS;
		s->updated_ns = now_ns;
	}
	return s->anchor_ns;
}

/* *ret: NULL if there are too many. */
static int service_cpu_find(struct service_cpu *s, const char *name, struct service_cpu_entry **ret)
{
	size_t length = strlen(name);
	struct service_cpu_entry *e;

	HASH_FIND(hh, s->entries, name, length, e);
	if (!e && HASH_COUNT(s->entries) < SERVICE_CPU_MAX) {
		e = calloc(1, sizeof(*e) + length + 1);
		if (!e)
			return error_origin(-ENOMEM);
		memcpy(e->name, name, length);
		HASH_ADD_KEYPTR(hh, s->entries, e->name, length, e);
		if (e->is_lost) {
			free(e);
			return error_origin(-ENOMEM);
		}
	}
	*ret = e;
	return 0;
}

static void service_cpu_forget_listed(struct service_cpu *s)
{
	struct service_cpu_entry *e, *next;

	HASH_ITER (hh, s->entries, e, next)
		e->listed_ns = 0;
}

/* A counter that falls is taken for one that began anew: windows may be deleted, or lost. */
static void service_cpu_show(struct service_cpu_entry *e)
{
	int64_t ns = e->base_ns + (int64_t)e->listed_ns;

	if (ns < (int64_t)e->shown_ns)
		e->base_ns += (int64_t)e->shown_ns - ns;
	else
		e->shown_ns = (uint64_t)ns;
}

int service_cpu_update(struct service_cpu *s, const Profd__Control__Listing *listing,
		       uint64_t now_ns, uint64_t *ret_since)
{
	struct service_cpu_entry *e = NULL, *next;

	service_cpu_forget_listed(s);
	for (size_t i = 0; i < listing->n_rows; i++) {
		int r = service_cpu_find(s, listing->rows[i]->service, &e);

		if (r)
			return r;
		if (!e)
			continue;
		e->listed_ns = listing->rows[i]->cpu_ns;
		e->seen_ns = now_ns;
	}
	HASH_ITER (hh, s->entries, e, next)
		service_cpu_show(e);
	s->updated_ns = now_ns;
	*ret_since = now_ns > s->anchor_ns + STAY_NS ? now_ns - BACK_NS : 0;
	return 0;
}

void service_cpu_move(struct service_cpu *s, const Profd__Control__Listing *listing,
		      uint64_t since_ns)
{
	struct service_cpu_entry *e, *next;

	HASH_ITER (hh, s->entries, e, next)
		e->base_ns = (int64_t)e->shown_ns;
	for (size_t i = 0; i < listing->n_rows; i++) {
		const char *name = listing->rows[i]->service;

		HASH_FIND(hh, s->entries, name, strlen(name), e);
		if (e)
			e->base_ns -= (int64_t)listing->rows[i]->cpu_ns;
	}
	s->anchor_ns = since_ns;
	service_cpu_drop_old(s, since_ns - DAY_NS);
}

const struct service_cpu_entry *service_cpu_next(const struct service_cpu *s,
						 const struct service_cpu_entry *e)
{
	return e ? e->hh.next : s->entries;
}

const char *service_cpu_name(const struct service_cpu_entry *e)
{
	return e->name;
}

uint64_t service_cpu_ns(const struct service_cpu_entry *e)
{
	return e->shown_ns;
}

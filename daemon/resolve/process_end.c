/* SPDX-License-Identifier: MIT */
/*
 * The end of processes. Records and samples of those that have ended may still come, so they are
 * known for a while longer: two seconds, as sweeps see it. Where so many begin and end that these
 * would be tens of thousands, each look-up would be one in memory that no cache has: then those go
 * first that no drain can have samples of any more.
 */
#include <stdlib.h>
#include <utlist.h>

#include "common/clock.h"
#include "daemon/resolve/jit_files.h"
#include "daemon/resolve/proc.h"
#include "daemon/resolve/process_private.h"

/* Samples lie in a ring for at most the drain interval; ten times that is "for a while". */
#define ENDED_KEEP_NS (2 * NS_PER_S)
#define ENDED_MANY    2048
/* A record that the kernel was writing when a drain came by keeps all after it for the next one. */
#define ENDED_DRAINS 2

static void process_take_from_ended(struct process_table *t, struct process *p)
{
	if (!p->is_in_ended)
		return;
	DL_DELETE2(t->ended, p, ended_before, ended_after);
	p->is_in_ended = false;
	t->n_ended--;
}

void process_end(struct process_table *t, struct process *p, uint64_t time_ns)
{
	p->died_ns = time_ns ? time_ns : 1;
	p->end_drain = t->n_drains;
	if (p->is_in_ended)
		return;
	DL_APPEND2(t->ended, p, ended_before, ended_after);
	p->is_in_ended = true;
	t->n_ended++;
}

void process_die(struct process_table *t, struct process *p, uint64_t time_ns)
{
	process_end(t, p, time_ns);
	if (t->observer.died)
		t->observer.died(t->observer.userdata, p);
}

static void process_forget(struct process_table *t, struct process *p)
{
	struct process **link;
	struct slot *slot;

	HASH_FIND_INT(t->slots, &p->pid, slot);
	for (link = &slot->newest; *link != p; link = &(*link)->older)
		;
	*link = p->older;
	if (!slot->newest) {
		HASH_DEL(t->slots, slot);
		free(slot);
	}
	process_unref(p);
}

void process_table_drained(struct process_table *t)
{
	struct process *p;

	t->n_drains++;
	while (t->n_ended > ENDED_MANY && t->ended->end_drain + ENDED_DRAINS < t->n_drains) {
		p = t->ended;
		process_take_from_ended(t, p);
		if (p->n_references == 1)
			process_forget(t, p);
	}
}

/* Whose mappings were refused is asked for them with its next sample, now that there is room. */
static void process_table_read_refused(struct process_table *t)
{
	struct slot *slot, *next;

	HASH_ITER (hh, t->slots, slot, next) {
		struct process *p = slot->newest;

		if (!p->mappings_refused || p->died_ns || !user_room_has_plenty(&t->room, p->uid))
			continue;
		p->mappings_refused = p->mappings_known = false;
		p->asked_ns = 0;
	}
}

void process_table_sweep(struct process_table *t, uint64_t now_ns)
{
	size_t n = 0, n_refused = 0, bytes = 0;
	struct slot *slot, *next;

	user_room_reset(&t->room);
	HASH_ITER (hh, t->slots, slot, next) {
		struct process **link = &slot->newest, *p;

		while ((p = *link)) {
			if (p->died_ns && !p->swept_ns)
				p->swept_ns = now_ns;
			if (p->swept_ns && p->n_references == 1 &&
			    p->swept_ns + ENDED_KEEP_NS < now_ns) {
				process_take_from_ended(t, p);
				*link = p->older;
				process_unref(p);
				continue;
			}
			if (p->leader_gone && !p->died_ns &&
			    proc_life(t->proc_fd, p->pid) == PROC_LIFE_ENDED)
				process_die(t, p, now_ns);
			n += !p->died_ns;
			n_refused += p->mappings_refused;
			bytes += sizeof(*p) + 64;
			user_room_add(&t->room, p->uid, mappings_share_bytes(p->mappings),
				      p->died_ns);
			link = &p->older;
		}
		if (!slot->newest) {
			HASH_DEL(t->slots, slot);
			free(slot);
		}
	}
	if (n_refused)
		process_table_read_refused(t);
	image_table_sweep(t->images);
	jit_files_sweep(t->jit_files);
	t->stats.n_processes = n;
	t->stats.bytes = bytes + t->room.bytes + image_table_bytes(t->images);
}

/* SPDX-License-Identifier: MIT */
/*
 * A hash by pid leads to the newest program of that pid; `older` leads on to what ran there
 * before, as long as samples may still come for it (they may, after EXIT) or somebody counts it.
 * The table holds one reference on each.
 */
#include "daemon/resolve/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/frame.h"
#include "daemon/resolve/jit_files.h"
#include "daemon/resolve/proc.h"
#include "daemon/resolve/process_private.h"

int process_table_new(struct process_table **ret, int proc_fd, size_t max_bytes)
{
	cleanup(process_table_freep) struct process_table *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return error_origin(-ENOMEM);
	t->proc_fd = proc_fd;
	t->room.max_bytes = max_bytes;
	t->room.self = (uid_t)-1;
	t->next_serial = 1;
	t->only_uid = (uid_t)-1;
	r = containers_new(&t->containers)
		    ?: image_table_new(&t->images, proc_fd)
		    ?: jit_files_new(&t->jit_files, proc_fd, image_table_roots(t->images));
	if (r)
		return r;
	*ret = steal_ptr(&t);
	return 0;
}

struct mount_root *process_table_host_root(struct process_table *t)
{
	return mount_roots_host(image_table_roots(t->images));
}

struct process *process_ref(struct process *p)
{
	p->n_references++;
	return p;
}

void process_unref(struct process *p)
{
	if (!p || --p->n_references > 0)
		return;
	mappings_unref(p->mappings);
	image_unref(p->program);
	jit_process_free(p->jit);
	process_unit_unref(p->unit);
	free(p);
}
DEFINE_CLEANUP(struct process *, process_unref)

void process_table_free(struct process_table *t)
{
	struct slot *slot, *next;

	if (!t)
		return;
	HASH_ITER (hh, t->slots, slot, next) {
		HASH_DEL(t->slots, slot);
		while (slot->newest) {
			struct process *p = slot->newest;

			slot->newest = p->older;
			process_unref(p);
		}
		free(slot);
	}
	process_scan_free(t->scan);
	process_forget_groups(t);
	containers_free(t->containers);
	user_room_reset(&t->room);
	image_table_free(t->images);
	jit_files_free(t->jit_files);
	free(t);
}

void process_table_observe(struct process_table *t, const struct process_observer *observer)
{
	t->observer = *observer;
}

void process_table_trust_lives(struct process_table *t)
{
	t->lives_told = true;
}

struct process *process_newest(struct process_table *t, pid_t pid)
{
	struct slot *slot;

	HASH_FIND_INT(t->slots, &pid, slot);
	return slot ? slot->newest : NULL;
}

struct process *process_table_living(struct process_table *t, pid_t pid)
{
	struct process *p = process_newest(t, pid);

	return p && !p->died_ns ? p : NULL;
}

void process_copy_comm(char to[SAMPLE_COMM_SIZE], const char *from)
{
	size_t length = strnlen(from, SAMPLE_COMM_SIZE - 1);

	memcpy(to, from, length);
	memset(to + length, 0, SAMPLE_COMM_SIZE - length);
}

/* Where moves are reported, @p is where @like was, and there is nothing to ask. */
static void process_inherit_place(struct process_table *t, struct process *p,
				  const struct process *like)
{
	p->unit = process_unit_ref(like->unit);
	p->cgroup_id = like->cgroup_id;
	p->uid = like->uid;
	p->root_id = like->root_id;
	if (!t->lives_told || !like->unit_told)
		return;
	p->unit_told = true;
	p->unit_is_of_group = like->unit_is_of_group;
	p->group_known = like->group_known;
	p->asked_ns = like->asked_ns;
}

/*
 * A new program at the head of its pid's chain. What @like has of unit and owner is taken over, and
 * @mappings are shared; NULL: it has none yet.
 */
static int process_new(struct process_table *t, pid_t pid, const struct process *like,
		       struct mappings *mappings, struct process **ret)
{
	cleanup(process_unrefp) struct process *p = calloc(1, sizeof(*p));
	struct slot *slot;
	int r;

	if (!p)
		return error_origin(-ENOMEM);
	p->n_references = 1;
	p->mappings = mappings_ref(mappings);
	r = mappings ? 0 : mappings_new(&p->mappings);
	if (r)
		return r;
	p->serial = p->life = p->stay = t->next_serial++;
	p->pid = pid;
	if (like)
		process_inherit_place(t, p, like);
	else
		r = process_unit_new(&p->unit, "other", "", "");
	if (r)
		return r;

	HASH_FIND_INT(t->slots, &pid, slot);
	if (!slot) {
		slot = calloc(1, sizeof(*slot));
		if (!slot)
			return error_origin(-ENOMEM);
		slot->pid = pid;
		HASH_ADD_INT(t->slots, pid, slot);
	}
	p->older = slot->newest;
	*ret = slot->newest = steal_ptr(&p);
	return 0;
}

static void notify_born(struct process_table *t, struct process *p, struct process *parent)
{
	if (t->observer.born)
		t->observer.born(t->observer.userdata, p, parent);
}

static int process_table_apply_fork(struct process_table *t, const struct process_event *event)
{
	struct process *parent, *p;
	int r;

	if (event->pid == event->parent)
		return 0; /* a thread */
	parent = process_table_living(t, event->parent);
	/* The child may be gone before anybody can ask where it belongs. */
	r = parent && !parent->asked_ns ? process_table_confirm(t, parent) : 0;
	if (r)
		return r;
	p = process_table_living(t, event->pid);
	if (p)
		process_die(t, p, event->time_ns);
	r = process_new(t, event->pid, parent, parent ? parent->mappings : NULL, &p);
	if (r)
		return r;
	p->born_ns = event->time_ns;
	if (parent) {
		process_copy_comm(p->comm, parent->comm);
		p->mappings_known = parent->mappings_known;
		p->program = image_ref(parent->program);
		p->kernel_thread = parent->kernel_thread;
		p->uid_known = parent->uid_known;
		p->only_uid = parent->only_uid;
		p->may_generate = parent->may_generate;
		r = jit_files_inherit(p, parent);
		if (r)
			return r;
	}
	notify_born(t, p, parent);
	return 0;
}

static int process_table_apply_exec(struct process_table *t, const struct process_event *event)
{
	struct process *before = process_newest(t, event->pid), *p;
	bool alive = before && !before->died_ns;
	int r;

	/* A program that the kernel starts is none of its own threads. */
	r = process_new(t, event->pid, alive && !before->kernel_thread ? before : NULL, NULL, &p);
	if (r)
		return r;
	p->born_ns = before ? event->time_ns : 0;
	if (alive) {
		p->start_ns = before->start_ns;
		p->life = before->life;
	}
	p->mappings_known = true;
	process_copy_comm(p->comm, event->comm);
	if (alive)
		process_end(t, before, event->time_ns);
	notify_born(t, p, alive ? before : NULL);
	return 0;
}

/* d_path() marks a file that has no name any more; the mark is not part of the path. */
static int strip_deleted_mark(const char *path, char **ret)
{
	static const char mark[] = " (deleted)";
	size_t length = strlen(path);

	if (length > sizeof(mark) && strcmp(path + length - (sizeof(mark) - 1), mark) == 0)
		length -= sizeof(mark) - 1;
	*ret = strndup(path, length);
	return *ret ? 0 : error_origin(-ENOMEM);
}

/*
 * Adds within the bounds; what is refused is counted, and its addresses stay raw: if others left no
 * room, until there is some.
 */
static int process_add_mapping(struct process_table *t, struct process *p,
			       const struct mapping *mapping, uint64_t time_ns)
{
	size_t before = mappings_bytes(p->mappings);
	const struct mappings *shared = p->mappings;
	bool full = user_room_is_full(&t->room, p->uid);
	int r;

	r = mappings_add(&p->mappings, mapping, time_ns, full);
	if (r < 0)
		return r;
	t->stats.refused_mappings += r == MAPPINGS_E_FULL;
	p->mappings_refused |= full && r == MAPPINGS_E_FULL;
	user_room_add(&t->room, p->uid,
		      mappings_bytes(p->mappings) - (p->mappings == shared ? before : 0), false);
	return 0;
}

static int process_table_apply_mmap(struct process_table *t, const struct process_event *event)
{
	struct process *p = process_table_living(t, event->pid);
	cleanup(freep) char *path = NULL;
	struct image_key key = {
		.device_major = event->map.device_major,
		.device_minor = event->map.device_minor,
		.inode = event->map.inode,
		.inode_generation = event->map.inode_generation,
		.pid = event->pid,
		.start = event->map.start,
		.end = event->map.start + event->map.length,
		.time_ns = event->time_ns,
	};
	cleanup(image_unrefp) struct image *image = NULL;
	int r;

	if (key.end <= key.start)
		return 0;
	r = strip_deleted_mark(event->map.path, &path);
	if (r)
		return r;
	key.path = path;
	if (!p) {
		/* No record announced it, or it was thought to have ended. */
		r = process_new(t, event->pid, NULL, NULL, &p);
		if (r)
			return r;
		notify_born(t, p, NULL);
	}
	key.root_id = &p->root_id;
	r = image_table_get(t->images, &key, &image);
	if (r)
		return r;
	/* The kernel maps the program first, its interpreter after it (fs/binfmt_elf.c). */
	if (!p->program && image->kind == IMAGE_FILE)
		p->program = image_ref(image);
	p->may_generate |= jit_file_is_for(image);
	return process_add_mapping(t, p,
				   &(struct mapping){.start = key.start,
						     .end = key.end,
						     .offset = event->map.offset,
						     .image = image,
						     .writable = event->map.prot & 0x2},
				   event->time_ns);
}

/*
 * Unless the source reports lives, the record of a first thread's end means three things: the
 * process has ended; its other threads go on; or nothing has ended at all, but the program that it
 * now runs may not be looked at, and the kernel took its events away (begin_new_exec() calls
 * perf_event_exit_task()).
 */
static int process_table_apply_exit(struct process_table *t, const struct process_event *event)
{
	struct process *p = process_table_living(t, event->pid);
	enum proc_life life = PROC_LIFE_ENDED;

	if (!p || (event->tid != event->pid && !p->leader_gone) ||
	    (t->lives_told && event->time_ns < p->born_ns)) /* it came late: another's */
		return 0;
	if (!t->lives_told && t->proc_fd >= 0 && proc_is_process(t->proc_fd, p->pid, p->start_ns))
		life = proc_life(t->proc_fd, p->pid);
	p->leader_gone = life == PROC_LIFE_LEADER_GONE;
	if (life == PROC_LIFE_ENDED)
		process_die(t, p, event->time_ns);
	/* EXEC came before the program had its credentials: only now /proc tells the truth. */
	return life == PROC_LIFE_ALIVE ? process_table_confirm_again(t, p) : 0;
}

int process_table_apply(struct process_table *t, const struct process_event *event)
{
	struct process *p;

	switch (event->kind) {
	case PROCESS_EVENT_FORK:
		return process_table_apply_fork(t, event);
	case PROCESS_EVENT_EXEC:
		return process_table_apply_exec(t, event);
	case PROCESS_EVENT_MMAP:
		return process_table_apply_mmap(t, event);
	case PROCESS_EVENT_COMM:
		p = process_table_living(t, event->pid);
		if (p && event->tid == event->pid)
			process_copy_comm(p->comm, event->comm);
		return 0;
	case PROCESS_EVENT_EXIT:
		return process_table_apply_exit(t, event);
	case PROCESS_EVENT_LOST:
		t->wants_scan = true;
		return 0;
	case PROCESS_EVENT_MOVED:
		p = process_table_living(t, event->pid);
		return p ? process_change_cgroup(t, p, event->cgroup_id) : 0;
	case PROCESS_EVENT_BEGUN:
		p = process_table_living(t, event->pid);
		if (!p || event->time_ns < p->born_ns)
			return 0;
		if (!event->owner_known)
			return process_table_confirm(t, p);
		process_place_by_owner(t, p, event->uid, event->only_uid);
		return 0;
	case N_PROCESS_EVENTS:
		break;
	}
	return error_origin(-EINVAL);
}

bool process_table_wants_scan(const struct process_table *t)
{
	return t->wants_scan || t->scan;
}

static void apply_to_table(void *userdata, const struct process_event *event)
{
	struct process_table *t = userdata;
	int r = process_table_apply(t, event);

	if (r && !t->error)
		t->error = r;
}

int process_read_mappings(struct process_table *t, struct process *p)
{
	const struct source_sink sink = {.process_event = apply_to_table, .userdata = t};
	int r = proc_emit_mappings(t->proc_fd, p->pid, 0, &sink);

	if (r < 0 || t->error)
		return r < 0 ? r : t->error;
	p->mappings_known = r == PROC_E_OK;
	return 0;
}

/* A process that no record announced: what /proc still knows of it, else what the sample says. */
static int process_new_for_sample(struct process_table *t, const struct sample *sample,
				  struct process **ret)
{
	struct process *p = process_newest(t, sample->pid);
	struct process_event event = process_event_of(PROCESS_EVENT_EXEC, sample->pid, 0);
	int r;

	t->stats.unknown++;
	if (p && !p->died_ns)
		process_die(t, p, sample->time_ns);
	process_copy_comm(event.comm, sample->comm);
	r = process_table_apply(t, &event);
	if (r)
		return r;
	p = process_newest(t, sample->pid);
	p->start_ns = sample->start_ns;
	p->kernel_thread = sample->kernel_thread;
	p->mappings_known = p->kernel_thread;
	if (!p->kernel_thread && t->proc_fd >= 0 &&
	    proc_is_process(t->proc_fd, sample->pid, sample->start_ns))
		r = process_read_mappings(t, p);
	*ret = p;
	return r;
}

/*
 * Start times tell processes of one pid apart. Those known from FORK get theirs with the first
 * sample; the newest program that had begun when the sample was taken is the one.
 */
static struct process *find_known_process(struct process_table *t, const struct sample *sample)
{
	struct process *newest = process_newest(t, sample->pid), *candidate = NULL;

	for (struct process *p = newest; p; p = p->older) {
		if (sample->start_ns && p->start_ns && sample->start_ns != p->start_ns)
			continue;
		candidate = p;
		if (p->born_ns <= sample->time_ns)
			break;
	}
	if (candidate && !candidate->start_ns)
		for (struct process *p = newest; p; p = p->older)
			if (p->life == candidate->life)
				p->start_ns = sample->start_ns;
	return candidate;
}

int process_table_find(struct process_table *t, const struct sample *sample, struct process **ret)
{
	struct process *p = find_known_process(t, sample);
	int r;

	if (!p) {
		r = process_new_for_sample(t, sample, &p);
		if (r)
			return r;
	}
	if (!p->comm[0])
		process_copy_comm(p->comm, sample->comm);
	r = process_place(t, p, sample);
	if (r)
		return r;
	*ret = p;
	return 0;
}

static bool is_in_generated_code(const struct process *p, const struct sample *sample)
{
	uint32_t generation = mappings_generation(p->mappings, sample->time_ns);

	for (uint32_t i = sample->n_kernel; i < sample->n_frames; i++) {
		const struct mapping *m = NULL;

		if (frame_kind(sample->frames[i]) == FRAME_USER)
			m = mappings_find(p->mappings, generation, sample->frames[i]);
		if (m && jit_file_is_for(m->image))
			return true;
	}
	return false;
}

int process_table_see_sample(struct process_table *t, struct process *p,
			     const struct sample *sample)
{
	if (!p->may_generate || !is_in_generated_code(p, sample))
		return 0;
	return jit_files_see_sample(t->jit_files, p, clock_ns(CLOCK_MONOTONIC));
}

int process_table_complete(struct process_table *t, struct process *p)
{
	return jit_files_complete(t->jit_files, p, clock_ns(CLOCK_MONOTONIC));
}

void process_table_each(struct process_table *t, void (*fn)(void *userdata, struct process *p),
			void *userdata)
{
	struct slot *slot, *next;

	HASH_ITER (hh, t->slots, slot, next)
		if (slot->newest && !slot->newest->died_ns)
			fn(userdata, slot->newest);
}

void process_table_name_containers(struct process_table *t, containers_ask_fn ask, void *userdata)
{
	containers_ask_by(t->containers, ask, userdata);
}

static void notify_in_container(void *userdata, struct process *p)
{
	struct process_table *t = userdata;

	if (p->unit->in && t->observer.changed)
		t->observer.changed(t->observer.userdata, p);
}

void process_table_look_at_containers(struct process_table *t)
{
	if (containers_look(t->containers, clock_ns(CLOCK_MONOTONIC)))
		process_table_each(t, notify_in_container, t);
}

bool process_table_wants_end(const struct process_table *t)
{
	return user_room_wants_end(&t->room);
}

void process_table_get_stats(struct process_table *t, struct process_table_stats *ret)
{
	t->stats.n_images = image_table_count(t->images);
	t->stats.avoided_files = image_table_avoided(t->images);
	t->stats.refused_jit_files = jit_files_refused(t->jit_files);
	*ret = t->stats;
}

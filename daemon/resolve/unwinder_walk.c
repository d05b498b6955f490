/* SPDX-License-Identifier: MIT */
/*
 * Samples. Most are finished and pass; of the others the walk goes on here, by the mappings of the
 * sample's moment.
 *
 * A walk in the kernel may have gone by mappings that had just been replaced, as events reach us
 * and our answer the kernel only tens of milliseconds later. Such a stack is cut where it first
 * says what the mappings of its moment do not. Whether that can be is known without a look at the
 * process, but for the second after any process replaced a mapping.
 *
 * One that lacks a table or memory waits, with copies of what it needs: its frames so far, and its
 * stack from the frame on at which it stopped. The list of those is in order of deadlines, as each
 * waits equally long.
 *
 * Memory of a process that is read now is not what it was at the sample's moment. Callers far up
 * are mostly still there; where the walk over such memory comes to a bad end, the stack ends before
 * it instead.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <utlist.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/frame.h"
#include "daemon/resolve/unwinder_private.h"

/*
 * The kernel's side of a birth is later than the event's time by less than that; and a root that a
 * child inherited has the time of the birth, though its mappings may be older by a drain or two.
 */
#define BIRTH_NS   (10 * NS_PER_MS)
#define INHERIT_NS NS_PER_S

/* Dead processes are remembered for two seconds (process.c). */
#define WAIT_NS     (3 * NS_PER_S / 2)
#define WAITERS_MAX 4096u
/* Of unwinder_options.memory_bytes: the rest is for tables that are being made, or all of them. */
#define WAIT_SHARE 4
/* Most stacks fit; where memory gets short, only so much of each is kept. */
#define SHORT_COPY    (16u << 10)
#define SHORTEST_COPY (4u << 10)
#define PAGE          UINT64_C(4096)
#define READ_BYTES    (4 * PAGE)
/* A stack's copy is kept from so far below its pointer on. */
#define BELOW UINT64_C(256)

/* The mappings of one process at one moment, as a walk asks for them. */
struct moment {
	struct unwinder *u;
	const struct mappings *mappings;
	uint32_t generation;
	const struct mapping *current; /* of the last answer */
	struct unwind_mapping found;
};

static const struct unwind_mapping *moment_find_mapping(void *userdata, uint64_t address)
{
	struct moment *m = userdata;
	const struct mapping *mapping = m->current;

	if (mapping && mapping->start <= address && address < mapping->end)
		return &m->found;
	mapping = mappings_find(m->mappings, m->generation, address);
	if (!mapping)
		return NULL;
	spaces_describe(m->u, mapping, &m->found);
	m->current = mapping;
	return &m->found;
}

/* Only what is in memory already: a page that was just executed nearly always is. */
static bool moment_read_code(void *userdata, const struct unwind_mapping *mapping, uint64_t address,
			     uint8_t *ret, size_t length)
{
	const struct moment *m = userdata;
	const struct image *image = m->current ? m->current->image : NULL;
	struct iovec to = {.iov_base = ret, .iov_len = length};
	uint64_t offset = address - mapping->start + mapping->offset;

	if (!image || image->kind != IMAGE_FILE || image->fd < 0)
		return false;
	return preadv2(image->fd, &to, 1, (off_t)offset, RWF_NOWAIT) == (ssize_t)length;
}

/* Goes on; returns enum walk_outcome. The frames are in u->frames. */
static int walk_unwinding(struct unwinder *u, struct unwinding *w)
{
	struct moment moment = {.u = u,
				.mappings = w->process->mappings,
				.generation = w->generation};
	const struct walk_maps maps = {
		.find = moment_find_mapping,
		.read_code = moment_read_code,
		.userdata = &moment,
		.words = u->memory.words,
		.n_words = u->memory.n_words,
		.slots = u->memory.slots,
		.n_slots = u->memory.n_slots,
		.now_s = (uint32_t)(u->now_ns / NS_PER_S),
	};

	w->walk.frames = u->frames + w->sample.n_kernel;
	return walk_run(&w->walk, &maps);
}

/* The mapping of generation @generation that has @offset of the image @id, or NULL. */
static const struct mapping *find_image_mapping(const struct mappings *m, uint32_t generation,
						uint32_t id, uint32_t offset)
{
	const struct mapping *all;
	size_t n;

	all = mappings_all(m, &n);
	for (size_t i = 0; i < n; i++)
		if (all[i].image->id == id && all[i].from <= generation &&
		    generation < all[i].until && offset >= all[i].offset &&
		    offset - all[i].offset < all[i].end - all[i].start)
			return &all[i];
	return NULL;
}

/* FRAME_IMAGE to addresses; what is not mapped any more stays as it is. */
static void make_raw(struct unwinding *w, uint64_t *frames)
{
	const struct mapping *m = NULL;
	uint32_t id, offset;

	for (uint32_t i = w->sample.n_kernel; i < w->sample.n_frames; i++) {
		if (frame_kind(frames[i]) != FRAME_IMAGE)
			continue;
		id = frame_image(frames[i]);
		offset = frame_offset(frames[i]);
		if (!m || m->image->id != id || offset < m->offset ||
		    offset - m->offset >= m->end - m->start)
			m = find_image_mapping(w->process->mappings, w->generation, id, offset);
		if (m)
			frames[i] = m->start + (offset - m->offset);
	}
}

/*
 * Puts an interpreter's groups of frames before the native ones that they belong to, or at the end
 * where the native walk did not come to those. A recording has no names, so none of them either.
 */
static void merge_runtime(struct unwinder *u, const struct sample_runtime *runtime,
			  struct sample *sample)
{
	const uint64_t *frames = runtime->frames;
	uint32_t n = 0, i = 0;

	for (uint32_t g = 0; g < runtime->n_groups; g++) {
		const struct walk_anchor *a = &runtime->anchors[g];
		uint32_t n_native = sample->n_frames - sample->n_kernel;
		bool is_placed = a->at < n_native;

		for (uint32_t end = sample->n_kernel + (is_placed ? a->at : n_native); i < end; i++)
			u->merged[n++] = sample->frames[i];
		memcpy(u->merged + n, frames, runtime->lengths[g] * sizeof(*frames));
		n += runtime->lengths[g];
		frames += runtime->lengths[g];
		if (is_placed && a->is_loop && i == sample->n_kernel + a->at)
			u->merged[n - 1] |= FRAME_RUNTIME_LOOP;
	}
	for (; i < sample->n_frames; i++)
		u->merged[n++] = sample->frames[i];
	sample->frames = u->merged;
	sample->n_frames = n;
}

/* Gives the sample to the next sink; its runtime is @runtime, or NULL. */
static void pass_on(struct unwinder *u, const struct sample_runtime *runtime,
		    const struct sample *sample)
{
	bool has_room = runtime && sample->n_frames + runtime->n_frames <= SAMPLE_FRAMES_MAX;
	bool is_cut = runtime && (!has_room || runtime->is_cut);
	struct sample plain = *sample;

	plain.rest = NULL;
	plain.runtime = NULL;
	if (has_room && !u->options.raw_frames)
		merge_runtime(u, runtime, &plain);
	if (is_cut && !u->options.raw_frames &&
	    (plain.quality == STACK_COMPLETE || plain.quality == STACK_GUESSED)) {
		plain.quality = STACK_TRUNCATED;
		plain.reason = TRUNCATED_DEPTH;
	}
	u->options.next->sample(u->options.next->userdata, &plain);
}

/* Gives the sample of @w, with u->frames, to the next sink. */
static void walk_deliver(struct unwinder *u, struct unwinding *w)
{
	struct sample *sample = &w->sample;

	sample->n_frames = sample->n_kernel + w->walk.n_frames;
	sample->quality = w->walk.quality;
	sample->reason = w->walk.reason;
	sample->frames = u->frames;
	if (u->options.raw_frames)
		make_raw(w, u->frames);
	pass_on(u, w->runtime, sample);
}

/* --- samples that wait ------------------------------------------------------------------------ */

static void waiter_free(struct waiter *w)
{
	if (!w)
		return;
	process_unref(w->unwinding.process);
	free(w->frames);
	free(w->stack);
	free(w->runtime);
	for (unsigned i = 0; i < w->n_reads; i++)
		free(w->reads[i]);
	free(w);
}
DEFINE_CLEANUP(struct waiter *, waiter_free)

/* What all that wait may hold. */
static uint64_t wait_max_bytes(const struct unwinder *u)
{
	return u->options.memory_bytes / WAIT_SHARE;
}

/* The frames, in u->frames, become the waiter's. */
static int waiter_copy_frames(struct unwinder *u, struct waiter *w)
{
	size_t n = w->unwinding.sample.n_kernel + w->unwinding.walk.n_frames;
	uint64_t *frames = reallocarray(w->frames, n ? n : 1, sizeof(*frames));

	if (!frames)
		return error_origin(-ENOMEM);
	memcpy(frames, u->frames, n * sizeof(*frames));
	w->frames = frames;
	w->n_bytes += n * sizeof(*frames) - w->frame_bytes;
	w->frame_bytes = n * sizeof(*frames);
	return 0;
}

/*
 * The copy of the stack, from the present frame on: a walk only goes up, but for signal frames. A
 * little below: in epilogues, rules tell of registers where they were before they were popped.
 */
static int waiter_copy_stack(struct waiter *w, const struct sample_rest *rest, size_t max_copy)
{
	struct unwind_region *region = &w->unwinding.walk.memory.regions[0];
	uint64_t skip = w->unwinding.walk.registers.sp - BELOW - region->address;
	size_t length;

	if (!rest->stack_length)
		return 0;
	if (skip > rest->stack_length)
		skip = 0;
	length = rest->stack_length - skip;
	if (length > max_copy)
		length = max_copy;
	w->n_bytes += length;
	w->stack = malloc(length ? length : 1);
	if (!w->stack)
		return error_origin(-ENOMEM);
	memcpy(w->stack, rest->stack + skip, length);
	*region = (struct unwind_region){.address = region->address + skip,
					 .length = length,
					 .data = w->stack};
	return 0;
}

/* The interpreter's frames, with what is placed of them, become the waiter's. */
static int waiter_copy_runtime(struct waiter *w)
{
	struct unwinding *uw = &w->unwinding;

	if (!uw->runtime)
		return 0;
	w->runtime = malloc(sizeof(*w->runtime));
	if (!w->runtime)
		return error_origin(-ENOMEM);
	*w->runtime = *uw->runtime;
	w->n_bytes += sizeof(*w->runtime);
	uw->runtime = w->runtime;
	uw->walk.anchors = w->runtime->anchors;
	return 0;
}

static bool waiter_send_request(struct unwinder *u, struct waiter *w)
{
	const struct unwinding *uw = &w->unwinding;
	const struct memory_read read = {
		.process = uw->process->pid,
		/* One that waits is there, also when the process's first thread has ended. */
		.task = uw->sample.wait ? uw->sample.tid : uw->process->pid,
		.uid = uw->process->uid,
		.address = uw->walk.address & ~(PAGE - 1),
		.length = READ_BYTES,
	};

	w->cookie = u->next_cookie++;
	if (memory_reader_request(u->reader, w->cookie, &read))
		return true;
	u->stats.memory_failed++;
	return false;
}

/* Many come at a time when threads that sleep are visited: they take their turn. */
static bool waiter_request_memory(struct unwinder *u, struct waiter *w)
{
	const struct unwinding *uw = &w->unwinding;

	if (!u->reader || w->n_reads == UNWINDER_READS_MAX ||
	    uw->walk.memory.n_regions == UNWIND_REGIONS_MAX ||
	    process_table_living(u->options.processes, uw->process->pid) != uw->process)
		return false;
	if (u->waiting_bytes + READ_BYTES > wait_max_bytes(u)) {
		u->stats.no_room++;
		return false;
	}
	u->stats.memory_reads++;
	if (!w->n_reads)
		w->n_certain = uw->walk.n_frames;
	w->is_queued = memory_reader_is_busy(u->reader);
	u->n_queued += w->is_queued;
	return w->is_queued || waiter_send_request(u, w);
}

/* Asks for what it lacks. False: there is no hope. */
static bool waiter_request(struct unwinder *u, struct waiter *w)
{
	if (w->outcome == WALK_TABLE)
		return unwinder_want_table(u, w->unwinding.walk.slot);
	return waiter_request_memory(u, w);
}

/* The end of @w, whose frames are in u->frames. */
static void waiter_finish(struct unwinder *u, struct waiter *w)
{
	struct walk *walk = &w->unwinding.walk;

	bool is_good = walk->quality == STACK_COMPLETE || walk->quality == STACK_GUESSED ||
		       (walk->quality == STACK_TRUNCATED && walk->reason == TRUNCATED_DEPTH);

	if (w->n_reads && !is_good) {
		walk->n_frames = w->n_certain;
		walk->quality = STACK_TRUNCATED;
		walk->reason = TRUNCATED_COPY;
	}
	DL_DELETE2(u->waiters, w, previous, next);
	u->n_waiters--;
	u->n_queued -= w->is_queued;
	u->waiting_bytes -= w->n_bytes;
	walk_deliver(u, &w->unwinding);
	waiter_free(w);
}

static void waiter_give_up(struct unwinder *u, struct waiter *w)
{
	memcpy(u->frames, w->frames,
	       (w->unwinding.sample.n_kernel + w->unwinding.walk.n_frames) * sizeof(*u->frames));
	walk_give_up(&w->unwinding.walk, w->outcome);
	u->stats.gave_up++;
	waiter_finish(u, w);
}

/* What it lacked is there. */
static void waiter_resume(struct unwinder *u, struct waiter *w)
{
	struct walk *walk = &w->unwinding.walk;
	size_t before = w->n_bytes;
	int r;

	memcpy(u->frames, w->frames,
	       (w->unwinding.sample.n_kernel + walk->n_frames) * sizeof(*u->frames));
	w->outcome = walk_unwinding(u, &w->unwinding);
	if (w->outcome == WALK_ENDED) {
		u->stats.finished++;
		u->stats.waited++;
	} else {
		r = waiter_copy_frames(u, w);
		unwinder_fail(u, r);
		u->waiting_bytes += w->n_bytes - before;
		if (!r && waiter_request(u, w))
			return;
		walk_give_up(walk, w->outcome);
		u->stats.gave_up++;
	}
	waiter_finish(u, w);
}

static int waiter_from_unwinding(struct unwinder *u, const struct unwinding *unwinding,
				 const struct sample_rest *rest, int outcome, size_t max_copy,
				 struct waiter **ret)
{
	cleanup(waiter_freep) struct waiter *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return error_origin(-ENOMEM);
	w->unwinding = *unwinding;
	process_ref(unwinding->process);
	w->outcome = outcome;
	w->deadline_ns = UINT64_MAX;
	w->n_bytes = sizeof(*w);
	r = waiter_copy_frames(u, w)
		?: waiter_copy_stack(w, rest, max_copy)
		?: waiter_copy_runtime(w);
	if (r)
		return r;
	*ret = steal_ptr(&w);
	return 0;
}

/* How much of a stack a new waiter may keep; 0: there is no room for it. */
static size_t waiter_max_copy(const struct unwinder *u)
{
	uint64_t all = wait_max_bytes(u);
	uint64_t left = all > u->waiting_bytes ? all - u->waiting_bytes : 0;

	if (u->n_waiters == WAITERS_MAX || left < SHORTEST_COPY + 2 * sizeof(struct waiter))
		return 0;
	left -= 2 * sizeof(struct waiter);
	if (left > all / 2)
		return left;
	if (left > all / 4)
		return SHORT_COPY < left ? SHORT_COPY : left;
	return SHORTEST_COPY;
}

/* Lets the sample wait for what @outcome says it lacks, or delivers it as it is. */
static void wait_add(struct unwinder *u, struct unwinding *w, const struct sample_rest *rest,
		     int outcome)
{
	struct waiter *waiter = NULL;
	size_t max_copy = waiter_max_copy(u);
	int r = 0;

	if (!max_copy)
		u->stats.no_room++;
	else
		r = waiter_from_unwinding(u, w, rest, outcome, max_copy, &waiter);
	unwinder_fail(u, r);
	if (waiter) {
		DL_APPEND2(u->waiters, waiter, previous, next);
		u->n_waiters++;
		u->waiting_bytes += waiter->n_bytes;
		if (!waiter_request(u, waiter))
			waiter_give_up(u, waiter);
		return;
	}
	if (outcome == WALK_TABLE)
		unwinder_want_table(u, w->walk.slot);
	walk_give_up(&w->walk, outcome);
	walk_deliver(u, w);
}

void wait_table_settled(struct unwinder *u, uint32_t slot, bool is_there)
{
	struct waiter *w, *next;

	DL_FOREACH_SAFE2(u->waiters, w, next, next)
	{
		if (w->outcome != WALK_TABLE || w->unwinding.walk.slot != slot)
			continue;
		if (is_there)
			waiter_resume(u, w);
		else
			waiter_give_up(u, w);
	}
}

static void waiter_take_memory(struct unwinder *u, struct waiter *w, const uint8_t *data,
			       size_t length)
{
	struct unwind_memory *memory;
	uint64_t from, missing;
	uint8_t *copy;

	memory = &w->unwinding.walk.memory;
	missing = w->unwinding.walk.address;
	from = missing & ~(PAGE - 1);
	copy = missing - from + sizeof(uint64_t) <= length ? malloc(length) : NULL;
	if (!copy) {
		u->stats.memory_failed++;
		waiter_give_up(u, w);
		return;
	}
	memcpy(copy, data, length);
	w->reads[w->n_reads++] = copy;
	w->n_bytes += length;
	u->waiting_bytes += length;
	memory->regions[memory->n_regions++] =
		(struct unwind_region){.address = from, .length = length, .data = copy};
	waiter_resume(u, w);
}

/* The oldest of those that wait to ask do so now. */
static void wait_send_requests(struct unwinder *u)
{
	struct waiter *w, *next;

	DL_FOREACH_SAFE2(u->waiters, w, next, next)
	{
		if (!u->n_queued || memory_reader_is_busy(u->reader))
			return;
		if (!w->is_queued)
			continue;
		w->is_queued = false;
		u->n_queued--;
		if (!waiter_send_request(u, w))
			waiter_give_up(u, w);
	}
}

void wait_memory_arrived(struct unwinder *u, uint64_t cookie, const uint8_t *data, size_t length)
{
	struct waiter *w;

	DL_SEARCH_SCALAR2(u->waiters, w, cookie, cookie, next);
	/* Unless it has given up. */
	if (w && !w->is_queued && w->outcome == WALK_MEMORY)
		waiter_take_memory(u, w, data, length);
	wait_send_requests(u);
}

void wait_expire(struct unwinder *u, uint64_t now_ns)
{
	struct waiter *w = u->waiters ? u->waiters->previous : NULL;

	/* However long the drain took that brought them; the head's previous one is the last. */
	for (; now_ns < UINT64_MAX && w && w->deadline_ns == UINT64_MAX; w = w->previous) {
		w->deadline_ns = now_ns + WAIT_NS;
		if (w == u->waiters)
			break;
	}
	while (u->waiters && u->waiters->deadline_ns <= now_ns)
		waiter_give_up(u, u->waiters);
}

static bool waiter_is_of_sampler(const struct waiter *w, unsigned sampler)
{
	return sampler == UNWINDER_ALL || w->unwinding.sample.sampler == sampler;
}

bool wait_any(const struct unwinder *u, unsigned sampler)
{
	for (const struct waiter *w = u->waiters; w; w = w->next)
		if (waiter_is_of_sampler(w, sampler))
			return true;
	return false;
}

void unwinder_release_waiters(struct unwinder *u, unsigned sampler)
{
	struct waiter *w, *next;

	DL_FOREACH_SAFE2(u->waiters, w, next, next)
	{
		if (waiter_is_of_sampler(w, sampler))
			waiter_give_up(u, w);
	}
}

/* --- samples that come ------------------------------------------------------------------------ */

/* As the source had it, less its rest. */
static void deliver_unfinished(struct unwinder *u, const struct sample *sample)
{
	pass_on(u, sample->runtime, sample);
}

/* The generation by whose mappings the kernel walked, at the oldest. */
static uint32_t generation_walked(const struct process *p, const struct sample *sample)
{
	uint64_t until_ns = sample->walked_until_ns;

	if (until_ns <= p->born_ns + BIRTH_NS)
		until_ns -= until_ns < INHERIT_NS ? until_ns : INHERIT_NS;
	return mappings_generation(p->mappings, until_ns);
}

/* Whether @frame says the same by the mappings of both generations. */
static bool frame_is_current(const struct mappings *m, uint64_t frame, uint32_t walked,
			     uint32_t now)
{
	const struct mapping *before, *after;
	uint64_t address = frame;

	if (frame_kind(frame) == FRAME_IMAGE) {
		before = find_image_mapping(m, walked, frame_image(frame), frame_offset(frame));
		if (!before)
			return find_image_mapping(m, now, frame_image(frame), frame_offset(frame));
		address = before->start + (frame_offset(frame) - before->offset);
	} else {
		before = mappings_find(m, walked, address);
	}
	after = mappings_find(m, now, address);
	if (!before || !after)
		return before == after;
	return before->image == after->image &&
	       before->start - before->offset == after->start - after->offset;
}

/* How many of the sample's user frames are not stale. */
static uint32_t count_current_frames(const struct process *p, const struct sample *sample,
				     uint32_t generation)
{
	uint32_t walked, n = sample->n_frames - sample->n_kernel;

	if (!sample->walked_until_ns)
		return n;
	walked = generation_walked(p, sample);
	if (walked == generation)
		return n;
	for (uint32_t i = 0; i < n; i++)
		if (!frame_is_current(p->mappings, sample->frames[sample->n_kernel + i], walked,
				      generation))
			return i;
	return n;
}

static bool may_be_stale(const struct unwinder *u, const struct sample *sample)
{
	return sample->walked_until_ns && sample->walked_until_ns < u->replaced_ns + INHERIT_NS;
}

static void unwinding_add_runtime(struct unwinder *u, const struct sample_runtime *runtime,
				  struct unwinding *w)
{
	u->runtime = *runtime;
	w->runtime = &u->runtime;
	w->walk.anchors = u->runtime.anchors;
	w->walk.n_anchors = runtime->n_groups;
	while (w->walk.next_anchor < runtime->n_groups &&
	       runtime->anchors[w->walk.next_anchor].at != WALK_UNPLACED)
		w->walk.next_anchor++;
}

/* False: its process cannot be had, or its frames do not fit, which no source lets happen. */
static bool unwinding_init(struct unwinder *u, const struct sample *sample, struct unwinding *ret)
{
	struct process *p;
	int r = process_table_find(u->options.processes, sample, &p);

	unwinder_fail(u, r);
	if (r || sample->n_kernel > sample->n_frames || sample->n_frames > SAMPLE_FRAMES_MAX)
		return false;
	memcpy(u->frames, sample->frames, sample->n_frames * sizeof(*u->frames));
	*ret = (struct unwinding){
		.sample = *sample,
		.process = p,
		.generation = mappings_generation(p->mappings, sample->time_ns),
	};
	ret->sample.rest = NULL;
	ret->sample.runtime = NULL;
	if (sample->runtime)
		unwinding_add_runtime(u, sample->runtime, ret);
	ret->walk.n_frames = sample->n_frames - sample->n_kernel;
	ret->walk.max_frames = SAMPLE_FRAMES_MAX - sample->n_kernel;
	if (ret->walk.max_frames > UNWINDER_DEPTH)
		ret->walk.max_frames = UNWINDER_DEPTH;
	ret->walk.quality = (uint8_t)sample->quality;
	ret->walk.reason = (uint8_t)sample->reason;
	return true;
}

/* Cuts what is stale; true if there was something. */
static bool cut_stale(struct unwinder *u, struct unwinding *w)
{
	uint32_t n = count_current_frames(w->process, &w->sample, w->generation);

	if (n == w->walk.n_frames)
		return false;
	w->walk.n_frames = n;
	w->walk.quality = STACK_BROKEN;
	w->walk.reason = BROKEN_STALE;
	u->stats.stale++;
	return true;
}

void walk_pass(struct unwinder *u, const struct sample *sample)
{
	bool may_stale = may_be_stale(u, sample);
	bool is_raw = u->options.raw_frames && sample->n_frames > sample->n_kernel;
	/* No root, and no room for a copy: only the kernel's next walk can be helped. */
	bool is_unknown = !sample->walked_until_ns && sample->quality == STACK_BROKEN &&
			  sample->reason != BROKEN_QUEUED;
	struct unwinding w;

	if (sample->kernel_thread || sample->by_interrupt || !(may_stale || is_raw || is_unknown) ||
	    !unwinding_init(u, sample, &w)) {
		deliver_unfinished(u, sample);
		return;
	}
	if (is_unknown)
		spaces_see_sample(u, w.process, sample);
	if (may_stale)
		cut_stale(u, &w);
	walk_deliver(u, &w);
}

static void unwinding_add_rest(struct unwinding *w, const struct sample_rest *rest)
{
	w->walk.registers = rest->registers;
	w->walk.pushed = rest->pushed;
	w->walk.start_stack = rest->start_stack;
	w->walk.start_code = rest->start_code;
	w->walk.end_code = rest->end_code;
	w->walk.had_no_room = w->sample.quality == STACK_BROKEN &&
			      w->sample.reason == BROKEN_NO_COPY;
	if (!rest->stack_length)
		return;
	w->walk.memory.regions[0] = (struct unwind_region){
		.address = rest->stack_address,
		.length = rest->stack_length,
		.data = rest->stack,
	};
	w->walk.memory.n_regions = 1;
}

void walk_sample(struct unwinder *u, const struct sample *sample)
{
	struct unwinding w;
	int outcome;

	if (!unwinding_init(u, sample, &w)) {
		deliver_unfinished(u, sample);
		return;
	}
	spaces_see_sample(u, w.process, sample);
	if (may_be_stale(u, sample) && cut_stale(u, &w)) {
		walk_deliver(u, &w);
		return;
	}
	unwinding_add_rest(&w, sample->rest);
	outcome = walk_unwinding(u, &w);
	if (outcome != WALK_ENDED) {
		wait_add(u, &w, sample->rest, outcome);
		return;
	}
	u->stats.finished++;
	walk_deliver(u, &w);
}

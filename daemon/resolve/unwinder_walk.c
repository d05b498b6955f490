/* SPDX-License-Identifier: MIT */
/*
 * One sample. Most are finished and pass; of the others the walk goes on here, by the mappings of
 * the sample's moment.
 *
 * A walk in the kernel may have gone by mappings that had just been replaced, as events reach us
 * and our answer the kernel only tens of milliseconds later. Such a stack is cut where it first
 * says what the mappings of its moment do not. Whether that can be is known without a look at the
 * process, but for the second after any process replaced a mapping.
 */
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/uio.h>

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
	int r;

	if (mapping && mapping->start <= address && address < mapping->end)
		return &m->found;
	mapping = mappings_find(m->mappings, m->generation, address);
	if (!mapping)
		return NULL;
	r = spaces_describe(m->u, mapping, &m->found);
	unwinder_fail(m->u, r);
	m->current = r ? NULL : mapping;
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

int walk_unwinding(struct unwinder *u, struct unwinding *w)
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

void walk_deliver(struct unwinder *u, struct unwinding *w)
{
	struct sample *sample = &w->sample;

	sample->n_frames = sample->n_kernel + w->walk.n_frames;
	sample->quality = w->walk.quality;
	sample->reason = w->walk.reason;
	sample->frames = u->frames;
	sample->rest = NULL;
	if (u->options.raw_frames)
		make_raw(w, u->frames);
	u->options.next->sample(u->options.next->userdata, sample);
}

/* As the source had it, less its rest. */
static void deliver_unfinished(struct unwinder *u, const struct sample *sample)
{
	struct sample plain = *sample;

	plain.rest = NULL;
	u->options.next->sample(u->options.next->userdata, &plain);
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
	bool is_unknown = !sample->walked_until_ns && sample->quality == STACK_BROKEN;
	struct unwinding w;

	if (sample->kernel_thread || !(may_stale || is_raw || is_unknown) ||
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

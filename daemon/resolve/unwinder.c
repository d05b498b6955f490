/* SPDX-License-Identifier: MIT */
/*
 * The parts and the order in which they run: spaces (unwinder_spaces.c) publish mappings, walks
 * (unwinder_walk.c) finish stacks or wait, and tables come from the loader into the pool here;
 * those that find no room are held and tried again.
 */
#include "daemon/resolve/unwinder.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <utlist.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/worker/answer.h"
#include "daemon/resolve/unwinder_private.h"

/* Of unwinder_options.memory_bytes, where the tables are in our own memory; and at least so much.
 */
#define TABLE_SHARE     2
#define TABLE_BYTES_MIN (1u << 20)
/* Of the same: compiled tables that found no room yet. */
#define HELD_SHARE 8
/* Of all words, the most that one image's table may have. */
#define TABLE_PART 2
/* Results that one call of unwinder_dispatch() handles. */
#define DISPATCH_MAX 32u
/* The loader has results now and then that do not show on its fd (table_loader.h). */
#define SETTLE_SLICE_MS 20
/* After drains they are looked for so often while no sample waits: many drains are of events alone.
 */
#define LOOK_NS (50 * NS_PER_MS)

void unwinder_fail(struct unwinder *u, int error)
{
	if (!u->error)
		u->error = error;
}

bool unwinder_want_table(struct unwinder *u, uint32_t slot)
{
	struct image *image;
	int r;

	r = table_pool_request(u->pool, slot, u->now_ns, &image);
	if (r)
		return r == TABLE_POOL_E_PENDING;
	r = table_loader_request(u->loader, image);
	unwinder_fail(u, r);
	return !r;
}

static void unwinder_on_sample(void *userdata, const struct sample *sample)
{
	struct unwinder *u = userdata;

	/* Until the source switches back. */
	cpu_causes_switch(u->options.cpu_causes, CPU_SAMPLING);
	if (!sample->rest || sample->rest->is_witness || !u->pool) {
		walk_pass(u, sample);
		return;
	}
	walk_sample(u, sample);
}

static void unwinder_on_process_event(void *userdata, const struct process_event *event)
{
	struct unwinder *u = userdata;

	u->options.next->process_event(u->options.next->userdata, event);
	spaces_see_event(u, event);
}

const struct source_sink *unwinder_sink(struct unwinder *u)
{
	return &u->sink;
}

int unwinder_new(struct unwinder **ret, const struct unwinder_options *options)
{
	cleanup(unwinder_freep) struct unwinder *u = calloc(1, sizeof(*u));
	int r;

	if (!u)
		return error_origin(-ENOMEM);
	u->epoll_fd = -1;
	u->options = *options;
	u->sink = (struct source_sink){.sample = unwinder_on_sample,
				       .process_event = unwinder_on_process_event,
				       .userdata = u};
	u->next_version = 1;
	u->n_rounds = 1; /* spaces begin with round 0 */
	u->unsure_ns = UINT64_MAX;
	u->next_cookie = 1;
	u->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (u->epoll_fd < 0)
		return error_origin(-errno);
	r = options->proc_fd >= 0 ? memory_reader_new(&u->reader, u->epoll_fd) : 0;
	if (r)
		return r;
	*ret = steal_ptr(&u);
	return 0;
}

static int use_own_memory(struct unwinder *u)
{
	uint64_t bytes = u->options.table_bytes ? u->options.table_bytes
						: u->options.memory_bytes / TABLE_SHARE;

	if (bytes < TABLE_BYTES_MIN)
		bytes = TABLE_BYTES_MIN;
	/* Pages that were never written cost nothing. */
	u->memory.n_words = bytes / sizeof(uint64_t);
	u->memory.words = calloc(u->memory.n_words, sizeof(uint64_t));
	u->memory.n_slots = TABLE_SLOTS_MAX;
	u->memory.slots = calloc(u->memory.n_slots, sizeof(struct table_slot));
	return u->memory.words && u->memory.slots ? 0 : error_origin(-ENOMEM);
}

static int unwinder_make_parts(struct unwinder *u)
{
	struct epoll_event event = {.events = EPOLLIN};
	int r;

	if (u->host) {
		u->memory = (struct table_memory){.words = u->host->words,
						  .n_words = u->host->n_words,
						  .slots = u->host->slots,
						  .n_slots = u->host->n_slots};
		r = extents_new(&u->runs, u->host->n_mappings, TABLE_POOL_REST_NS);
	} else {
		r = use_own_memory(u);
	}
	if (!r)
		r = table_pool_new(&u->pool, &u->memory, &u->stats);
	if (!r)
		r = table_loader_new(&u->loader, u->memory.n_words / TABLE_PART, u->options.budget);
	if (!r && epoll_ctl(u->epoll_fd, EPOLL_CTL_ADD, table_loader_fd(u->loader), &event) < 0)
		r = error_origin(-errno);
	return r;
}

int unwinder_attach(struct unwinder *u, const struct unwind_host *host, uint64_t now_ns)
{
	int r;

	u->now_ns = now_ns;
	u->host = host;
	r = unwinder_make_parts(u);
	if (r) {
		unwinder_detach(u);
		return r;
	}
	spaces_begin(u);
	return u->error;
}

/* Takes *link out of the list of those that are held. */
static void held_pop(struct unwinder *u, struct table_result **link)
{
	struct table_result *result = *link;

	*link = result->next;
	u->held_words -= result->n_words;
	table_result_free(result);
}

void unwinder_detach(struct unwinder *u)
{
	wait_expire(u, UINT64_MAX);
	table_loader_free(u->loader);
	while (u->held)
		held_pop(u, &u->held);
	if (u->host && u->runs && u->pool)
		spaces_forget(u);
	table_pool_free(u->pool);
	extents_free(u->runs);
	if (!u->host) {
		free(u->memory.words);
		free(u->memory.slots);
	}
	u->loader = NULL;
	u->pool = NULL;
	u->runs = NULL;
	u->host = NULL;
	u->memory = (struct table_memory){};
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	unwinder_detach(u);
	memory_reader_free(u->reader);
	closep(&u->epoll_fd);
	free(u->scratch);
	free(u);
}

int unwinder_fd(const struct unwinder *u)
{
	return u->epoll_fd;
}

/*
 * Installs those that are held and whose time has come: they are new, or may find room now. What
 * finds none is held on, as far as there is memory for that.
 */
static int install_held(struct unwinder *u)
{
	size_t max_words = u->options.memory_bytes / HELD_SHARE / sizeof(uint64_t);
	struct table_result **link = &u->held, *result;
	uint32_t slot;
	int r;

	while ((result = *link)) {
		if (result->retry_ns > u->now_ns) {
			link = &result->next;
			continue;
		}
		r = table_pool_install(u->pool, result, u->now_ns, &slot);
		if (r < 0)
			return r;
		if (r == TABLE_POOL_E_FULL && u->held_words <= max_words) {
			result->retry_ns = u->now_ns + TABLE_POOL_REST_NS;
			link = &result->next;
			continue;
		}
		if (r == TABLE_POOL_E_FULL)
			table_pool_drop(u->pool, result, u->now_ns);
		held_pop(u, link);
		wait_table_settled(u, slot, r == TABLE_POOL_E_OK);
	}
	return 0;
}

static void unwinder_refuse_runtime(struct unwinder *u, const struct image *image,
				    const char *because)
{
	text_clean(image->path, strlen(image->path), u->stats.refused_runtime,
		   sizeof(u->stats.refused_runtime) - 1);
	u->stats.refused_because = because;
}

/* Where there is no room for it now, its frames are missing: no walk depends on them. */
static void unwinder_add_runtime(struct unwinder *u, const struct table_result *result)
{
	struct image *image = result->image;
	const struct elf_summary *elf = image_elf(image);
	const struct elf_segment *text = elf ? elf_summary_find(elf, result->runtime.text, true)
					     : NULL;
	const struct unwind_host_runtime runtime = {
		.device_major = image->device_major,
		.device_minor = image->device_minor,
		.inode = image->inode,
		.size = image->size,
		.image = image->id <= FRAME_IMAGES_MAX ? (uint32_t)image->id : 0,
		.text_offset = text ? text->offset : 0,
		.text = result->runtime.text,
		.state = result->runtime.state,
		.check = result->runtime.check,
		.dynamic = result->runtime.dynamic,
		.debug = result->runtime.debug,
		.loop = result->runtime.loop,
		.tls_index = result->runtime.tls_index,
		.count = result->runtime.count,
		.version = result->runtime.version,
		.check_value = result->runtime.check_value,
		.loop_bytes = result->runtime.loop_bytes,
		.state_bytes = result->runtime.state_bytes,
		.libc = result->runtime.libc,
		.tls_at = result->runtime.tls_at,
		.v8 = result->runtime.v8,
	};

	if (result->runtime.refusal)
		unwinder_refuse_runtime(u, image,
					result->runtime.refusal == WORKER_RUNTIME_DEBUG
						? "a debug build"
						: "a build without the GIL");
	if ((!runtime.version && !runtime.debug) || image->kind != IMAGE_FILE || !u->host ||
	    !u->host->add_runtime)
		return;
	if (u->host->add_runtime(u->host->userdata, &runtime) == UNWIND_HOST_E_UNKNOWN) {
		unwinder_refuse_runtime(u, image, "of a version that profd does not know");
		return;
	}
	if (!runtime.version || !runtime.image)
		return;
	image->is_interpreter = true;
	spaces_see_interpreter(u, runtime.image);
}

static int unwinder_receive_tables(struct unwinder *u)
{
	struct table_result *result;
	int r = 0;

	for (unsigned i = 0; !r && i < DISPATCH_MAX && u->loader; i++) {
		r = table_loader_receive(u->loader, &result);
		if (r || !result)
			return r;
		unwinder_add_runtime(u, result);
		LL_PREPEND(u->held, result);
		u->held_words += result->n_words;
		r = install_held(u);
	}
	return r;
}

static void unwinder_receive_memory(struct unwinder *u)
{
	const uint8_t *data;
	uint64_t cookie;
	size_t length;

	for (unsigned i = 0; i < DISPATCH_MAX && u->reader; i++) {
		if (!memory_reader_receive(u->reader, &cookie, &data, &length))
			break;
		wait_memory_arrived(u, cookie, data, length);
	}
}

int unwinder_dispatch(struct unwinder *u, uint64_t now_ns)
{
	int r;

	u->now_ns = now_ns;
	unwinder_receive_memory(u);
	/* The worker gets what walks lack by now. */
	r = unwinder_receive_tables(u);
	return r ? r : u->error;
}

/* For what samples wait for, and for those that have waited too long. */
static int unwinder_look(struct unwinder *u)
{
	int r = (u->pool ? install_held(u) : 0) ?: unwinder_receive_tables(u);

	if (r)
		return r;
	if (u->reader)
		memory_reader_tick(u->reader, u->now_ns);
	unwinder_receive_memory(u);
	wait_expire(u, u->now_ns);
	return 0;
}

int unwinder_after_drain(struct unwinder *u, uint64_t now_ns)
{
	enum cpu_cause before;
	int r;

	u->now_ns = now_ns;
	if (u->n_waiters || now_ns - u->looked_ns >= LOOK_NS) {
		u->looked_ns = now_ns;
		before = cpu_causes_switch(u->options.cpu_causes, CPU_SAMPLING);
		r = unwinder_look(u);
		cpu_causes_switch(u->options.cpu_causes, before);
		if (r)
			return r;
	}
	spaces_publish(u);
	return u->error;
}

int unwinder_sweep(struct unwinder *u, uint64_t now_ns)
{
	u->now_ns = now_ns;
	spaces_sweep(u);
	if (u->pool)
		table_pool_sweep(u->pool, now_ns);
	return u->error;
}

int unwinder_settle(struct unwinder *u, unsigned sampler, uint64_t now_ns, unsigned timeout_ms)
{
	uint64_t ahead_ns = clock_ns(CLOCK_MONOTONIC) - now_ns,
		 end_ns = now_ns + timeout_ms * NS_PER_MS;
	struct pollfd fd = {.fd = u->epoll_fd, .events = POLLIN};
	int r = 0;

	while (!r && wait_any(u, sampler) && now_ns < end_ns) {
		uint64_t left_ms = (end_ns - now_ns) / 1000000 + 1;

		if (poll(&fd, 1, left_ms < SETTLE_SLICE_MS ? (int)left_ms : SETTLE_SLICE_MS) < 0 &&
		    errno != EINTR)
			return error_origin(-errno);
		now_ns = clock_ns(CLOCK_MONOTONIC) - ahead_ns;
		r = unwinder_dispatch(u, now_ns);
	}
	return r ? r : u->error;
}

void unwinder_get_stats(const struct unwinder *u, struct unwinder_stats *ret)
{
	*ret = u->stats;
	if (u->loader)
		table_loader_get_stats(u->loader, &ret->loader);
	ret->memory_keeper = u->reader ? memory_reader_keeper(u->reader) : 0;
	ret->waiting = u->n_waiters;
	ret->memory_bytes = sizeof(*u) + u->waiting_bytes + u->held_words * sizeof(uint64_t) +
			    u->n_spaces * sizeof(struct space) +
			    u->n_scratch * sizeof(struct unwind_mapping) +
			    (u->host ? 0 : ret->table_bytes);
}

int unwinder_error(const struct unwinder *u)
{
	return u->error;
}

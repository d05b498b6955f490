/* SPDX-License-Identifier: MIT */
/*
 * Samples of waits (bpf/waits.bpf.h). A sampler is a clock of theirs; the programs, their scratch
 * memory and the rings that ask for interrupts are there while there is any clock, so that a
 * machine without pays nothing. The programs are those of a second copy of the object, whose maps
 * are the first one's. A clock begins when its cell is written, which is last, and has ended on all
 * CPUs when a grace period of RCU has.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/read_end.h"
#include "daemon/ingest/source_bpf_private.h"
#include "daemon/ingest/sources.h"
#include "profile.skel.h"

#define CELL_MAX     UINT32_MAX
#define KALLSYMS_MAX (64u << 20)
/* Threads that sleep are visited once in VISIT_NS, VISIT_BYTES of records in each drain. */
#define VISIT_NS    (60 * NS_PER_S)
#define VISIT_BYTES 16384u
#define VISIT_ROOM  (2 * 32768u) /* what the kernel prints at a time, and a record that was cut */

static const char *bpf_waits_missing(const struct bpf_source *s)
{
	return s->waits.missing;
}

/* The pages of a ring (kernel/bpf/ringbuf.c) that say up to where it is read and written. */
struct bpf_wait_ring {
	void *read, *written; /* or NULL */
};

static void *bpf_wait_ring_map(int fd, int prot, size_t page, off_t at)
{
	void *mapped = mmap(NULL, page, prot, MAP_SHARED, fd, at);

	return mapped == MAP_FAILED ? NULL : mapped;
}

/* The ring of @cpu that asks for interrupts. Its memory is the kernel's once it is in the map. */
static int bpf_waits_add_ring(struct bpf_source *s, __u32 cpu)
{
	cleanup(closep) int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "profd_wait_irq", 0, 0,
						ABI_WAIT_RING_BYTES, NULL);
	struct bpf_wait_ring *ring = &s->waits.rings[cpu];
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (fd < 0)
		return error_origin(-errno);
	ring->read = bpf_wait_ring_map(fd, PROT_READ | PROT_WRITE, page, 0);
	ring->written = bpf_wait_ring_map(fd, PROT_READ, page, (off_t)page);
	s->waits.n_rings++;
	if (!ring->read || !ring->written ||
	    bpf_map_update_elem(bpf_map__fd(s->skeleton->maps.wait_rings), &cpu, &fd, 0) < 0)
		return error_origin(-errno);
	return 0;
}

/* All that is in it was discarded: there is nothing to be read. */
static void bpf_wait_ring_skip(const struct bpf_wait_ring *ring)
{
	unsigned long written = __atomic_load_n((unsigned long *)ring->written, __ATOMIC_ACQUIRE);

	__atomic_store_n((unsigned long *)ring->read, written, __ATOMIC_RELEASE);
}

static void bpf_waits_free_rings(struct bpf_wait_clocks *w)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (unsigned i = 0; i < w->n_rings; i++) {
		if (w->rings[i].read)
			munmap(w->rings[i].read, page);
		if (w->rings[i].written)
			munmap(w->rings[i].written, page);
	}
	free(w->rings);
	w->rings = NULL;
	w->n_rings = 0;
}

/* The scratch memory of all CPUs becomes number @which in the map. */
static int bpf_waits_make_scratch(struct bpf_source *s, __u32 which, int *ret_fd)
{
	DECLARE_LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_INNER_MAP);

	*ret_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "profd_wait_mem", sizeof(__u32),
				 s->waits.scratch_bytes, s->n_possible_cpus, &options);
	if (*ret_fd < 0 ||
	    bpf_map_update_elem(bpf_map__fd(s->skeleton->maps.wait_memory), &which, ret_fd, 0) < 0)
		return error_origin(-errno);
	return 0;
}

static void bpf_waits_free_scratch(struct bpf_source *s, __u32 which, int *fd)
{
	bpf_map_delete_elem(bpf_map__fd(s->skeleton->maps.wait_memory), &which);
	closep(fd);
	*fd = -1;
}

static int bpf_waits_make_memory(struct bpf_source *s)
{
	int r = bpf_waits_make_scratch(s, 0, &s->waits.memory_fd);

	if (r)
		return r;
	s->waits.rings = calloc(s->n_possible_cpus, sizeof(*s->waits.rings));
	if (!s->waits.rings)
		return error_origin(-ENOMEM);
	for (__u32 cpu = 0; cpu < s->n_possible_cpus && !r; cpu++)
		r = bpf_waits_add_ring(s, cpu);
	return r;
}

static bool bpf_waits_is_among(const struct bpf_program *program, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(bpf_program__name(program), *names))
			return true;
	return false;
}

/* A copy of the object with these programs, up to a NULL. @what they sample, for the message. */
static int bpf_waits_load(struct bpf_source *s, const char *const *names, const char *what,
			  struct profile_bpf **ret, struct source_message *message)
{
	struct profile_bpf *skeleton = profile_bpf__open();
	struct source_message said = {""};
	struct bpf_program *program;
	struct bpf_map *map;
	int r = 0;

	*ret = skeleton;
	if (!skeleton)
		return error_origin(-errno);
	bpf_object__for_each_program(program, skeleton->obj)
		bpf_program__set_autoload(program, bpf_waits_is_among(program, names));
	bpf_object__for_each_map(map, skeleton->obj)
	{
		const char *name = bpf_map__name(map);

		r = r
			    ?: bpf_map__reuse_fd(map,
						 bpf_object__find_map_fd_by_name(s->skeleton->obj,
										 name));
	}
	bpf_source_hear(&said);
	r = r ?: profile_bpf__load(skeleton);
	bpf_source_hear(NULL);
	if (r < 0)
		return source_refuse(message, SOURCE_E_UNSUPPORTED,
				     "cannot sample %s: the BPF programs for them cannot be loaded "
				     "(%.150s)",
				     what, *said.text ? said.text : strerror(-r));
	return 0;
}

static int bpf_waits_attach(struct bpf_source *s)
{
	struct bpf_program *programs[] = {s->waits.skeleton->progs.wait_visit,
					  s->waits.skeleton->progs.wait_take,
					  s->waits.skeleton->progs.wait_switch};

	for (unsigned i = 0; i < ARRAY_SIZE(programs); i++) {
		s->waits.links[i] = bpf_program__attach(programs[i]);
		if (!s->waits.links[i])
			return error_origin(-errno);
	}
	return 0;
}

/* --- visits ----------------------------------------------------------------------------------- */

struct bpf_visit {
	struct bpf_sampler *sampler;
	int fd;
	size_t length; /* bytes of records that have not been delivered */
	uint8_t records[VISIT_ROOM];
};

static void bpf_visit_free(struct bpf_visit *v)
{
	if (!v)
		return;
	closep(&v->fd);
	free(v);
}
DEFINE_CLEANUP(struct bpf_visit *, bpf_visit_free)

static int bpf_visit_new(struct bpf_visit **ret, struct bpf_source *s, __u32 clock)
{
	cleanup(bpf_visit_freep) struct bpf_visit *v = calloc(1, sizeof(*v));

	if (!v)
		return error_origin(-ENOMEM);
	v->sampler = s->waits.clocks[clock].sampler;
	v->fd = bpf_iter_create(bpf_link__fd(s->waits.links[0]));
	if (v->fd < 0)
		return error_origin(-errno);
	s->skeleton->bss->wait_visited = clock;
	*ret = steal_ptr(&v);
	return 0;
}

/* How long the record at @data is; 0: longer than @length. */
static size_t bpf_visit_record_length(const uint8_t *data, size_t length)
{
	struct abi_sample head;
	size_t expected;

	if (length < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	expected = sizeof(head) + ((size_t)head.n_kernel + head.n_user) * sizeof(uint64_t) +
		   (head.rest & ABI_REST ? sizeof(struct unwind_registers) : 0);
	return expected <= length ? expected : 0;
}

static int bpf_visit_deliver(struct bpf_source *s, struct bpf_visit *v)
{
	size_t used = 0, n;
	bool is_younger;

	for (; (n = bpf_visit_record_length(v->records + used, v->length - used)) != 0; used += n) {
		if (bpf_deliver_record(s, v->records + used, n, &is_younger))
			continue;
		if (s->error < 0)
			return s->error;
		v->sampler->malformed++;
	}
	v->length -= used;
	memmove(v->records, v->records + used, v->length);
	return 0;
}

/* Goes on with the visit. *ret_more: it is not over. */
static int bpf_visit_go_on(struct bpf_source *s, bool *ret_more)
{
	struct bpf_visit *v = s->waits.visit;
	ssize_t n;
	int r;

	do {
		n = read(v->fd, v->records + v->length, VISIT_BYTES);
	} while (n < 0 && (errno == EINTR || errno == EAGAIN));
	if (n < 0)
		return error_origin(-errno);
	v->length += (size_t)n;
	r = bpf_visit_deliver(s, v);
	*ret_more = n > 0;
	if (n > 0 || r)
		return r;
	bpf_visit_free(steal_ptr(&s->waits.visit));
	return 0;
}

/* The clock after @sampler's, or the first one if it is NULL. False: there is none. */
static bool bpf_waits_next_clock(const struct bpf_source *s, const struct bpf_sampler *sampler,
				 __u32 *ret)
{
	__u32 i = 0;

	while (sampler && i < ABI_WAIT_CLOCKS_MAX && s->waits.clocks[i++].sampler != sampler)
		;
	while (i < ABI_WAIT_CLOCKS_MAX && !s->waits.clocks[i].sampler)
		i++;
	*ret = i;
	return i < ABI_WAIT_CLOCKS_MAX;
}

/* One clock's threads after the other's, and all anew some time after the first one's began. */
static int bpf_waits_visit(struct bpf_source *s)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	const struct bpf_sampler *sampler;
	bool more;
	__u32 clock;
	int r;

	if (!s->waits.visit) {
		if (now_ns < s->waits.next_visit_ns || !bpf_waits_next_clock(s, NULL, &clock))
			return 0;
		s->waits.next_visit_ns = now_ns + VISIT_NS;
		r = bpf_visit_new(&s->waits.visit, s, clock);
		if (r)
			return r;
	}
	sampler = s->waits.visit->sampler;
	r = bpf_visit_go_on(s, &more);
	if (r || more || !bpf_waits_next_clock(s, sampler, &clock))
		return r;
	return bpf_visit_new(&s->waits.visit, s, clock);
}

/*
 * All of the threads of @sampler that sleep now, or wait for a CPU. Of the latter other sessions of
 * this sampler, too, have one frame up to now where they would have had the stack at the wait's
 * end: better than that the one that ends has nothing of the whole wait.
 */
static int bpf_waits_account(struct bpf_sampler *sampler)
{
	struct bpf_source *s = sampler->owner;
	bool more = true;
	__u32 clock = 0;
	int r;

	while (clock < ABI_WAIT_CLOCKS_MAX && s->waits.clocks[clock].sampler != sampler)
		clock++;
	if (clock == ABI_WAIT_CLOCKS_MAX)
		return 0;
	bpf_visit_free(steal_ptr(&s->waits.visit));
	s->skeleton->bss->wait_visits_queued = 1;
	r = bpf_visit_new(&s->waits.visit, s, clock);
	while (!r && more)
		r = bpf_visit_go_on(s, &more);
	s->skeleton->bss->wait_visits_queued = 0;
	return r;
}

/* --- clocks ----------------------------------------------------------------------------------- */

static void bpf_waits_wait_for_calls(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

/* The last clock has ended. Takes what was not begun, or not wholly. */
static void bpf_waits_end(struct bpf_source *s)
{
	struct bpf_wait_clocks *w = &s->waits;

	for (unsigned i = 0; i < ARRAY_SIZE(w->links); i++) {
		bpf_link__destroy(w->links[i]);
		w->links[i] = NULL;
	}
	bpf_waits_wait_for_calls();
	bpf_waits_free_scratch(s, 0, &w->memory_fd);
	for (__u32 cpu = 0; cpu < s->n_possible_cpus; cpu++)
		bpf_map_delete_elem(bpf_map__fd(s->skeleton->maps.wait_rings), &cpu);
	bpf_visit_free(steal_ptr(&w->visit));
	profile_bpf__destroy(w->skeleton);
	w->skeleton = NULL;
	bpf_waits_free_rings(w);
}

static bool bpf_waits_have_clock(const struct bpf_source *s)
{
	for (unsigned i = 0; i < ABI_WAIT_CLOCKS_MAX; i++)
		if (s->waits.clocks[i].sampler)
			return true;
	return false;
}

/* Clocks whose waits have wakers: bpf/wakers.bpf.h. */
static unsigned bpf_wakers_count(const struct bpf_source *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < ABI_WAIT_CLOCKS_MAX; i++)
		n += s->waits.clocks[i].sampler && s->waits.clocks[i].has_wakers;
	return n;
}

static int bpf_wakers_make_woken(struct bpf_source *s)
{
	__u32 first = 0;

	s->waits.woken_fd = bpf_map_create(BPF_MAP_TYPE_LRU_HASH, "profd_woken", sizeof(__u32),
					   sizeof(struct abi_waker), ABI_WAKERS_MAX, NULL);
	if (s->waits.woken_fd < 0 || bpf_map_update_elem(bpf_map__fd(s->skeleton->maps.wait_woken),
							 &first, &s->waits.woken_fd, 0) < 0)
		return error_origin(-errno);
	return 0;
}

/* For the first of them. */
static int bpf_wakers_begin(struct bpf_source *s, struct source_message *message)
{
	static const char *const programs[] = {"wait_wakes", NULL};
	struct bpf_wait_clocks *w = &s->waits;
	int r;

	if (!wait_places_have_interrupts(&s->parts.places))
		return source_refuse(message, SOURCE_E_UNSUPPORTED,
				     "cannot sample what wakes threads: the kernel's addresses are "
				     "hidden, so that interrupts cannot be told from threads");
	r = bpf_waits_make_scratch(s, 1, &w->wakers_fd)
		    ?: bpf_wakers_make_woken(s)
		    ?: bpf_waits_load(s, programs, "what wakes threads", &w->wakers_skeleton,
				      message);
	if (r)
		return r;
	w->wakers = bpf_program__attach(w->wakers_skeleton->progs.wait_wakes);
	if (!w->wakers)
		return error_origin(-errno);
	s->skeleton->bss->wait_wakers = 1;
	return 0;
}

/* The last one has ended. Takes what was not begun, or not wholly. */
static void bpf_wakers_end(struct bpf_source *s)
{
	struct bpf_wait_clocks *w = &s->waits;
	__u32 first = 0;

	s->skeleton->bss->wait_wakers = 0;
	bpf_link__destroy(steal_ptr(&w->wakers));
	bpf_waits_wait_for_calls();
	s->skeleton->bss->wait_compared_at = 0;
	bpf_waits_free_scratch(s, 1, &w->wakers_fd);
	bpf_map_delete_elem(bpf_map__fd(s->skeleton->maps.wait_woken), &first);
	closep(&w->woken_fd);
	w->woken_fd = -1;
	profile_bpf__destroy(steal_ptr(&w->wakers_skeleton));
}

/* Without kallsyms, or its addresses, states are what the records say. */
static void bpf_waits_find_places(struct bpf_source *s)
{
	cleanup(closep) int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(freep) char *text = NULL;
	size_t length;

	if (s->parts.places.n || proc_fd < 0 ||
	    read_end_text(proc_fd, "kallsyms", KALLSYMS_MAX, &text, &length))
		return;
	wait_places_parse(text, length, &s->parts.places);
}

/* What @sampler keeps of threads. */
static int bpf_waits_make_kept(struct bpf_source *s, __u32 clock)
{
	s->waits.clocks[clock].kept_fd = bpf_map_create(BPF_MAP_TYPE_HASH, "profd_waits",
							sizeof(__u32), sizeof(struct abi_wait_kept),
							ABI_WAITS_KEPT_MAX, NULL);
	if (s->waits.clocks[clock].kept_fd < 0 ||
	    bpf_map_update_elem(bpf_map__fd(s->skeleton->maps.waits_kept), &clock,
				&s->waits.clocks[clock].kept_fd, 0) < 0)
		return error_origin(-errno);
	return 0;
}

/* For the first clock. */
static int bpf_waits_begin(struct bpf_source *s, struct source_message *message)
{
	static const char *const programs[] = {"wait_switch", "wait_take", "wait_visit", NULL};

	s->waits.next_visit_ns = clock_ns(CLOCK_MONOTONIC) + VISIT_NS;
	bpf_waits_find_places(s);
	return bpf_waits_make_memory(s)
		       ?: bpf_waits_load(s, programs, "waits", &s->waits.skeleton, message)
		       ?: bpf_waits_attach(s);
}

static uint64_t bpf_waits_cell_ns(const struct sampler_spec *spec)
{
	uint64_t cell_ns = spec->is_period ? spec->rate : NS_PER_S / spec->rate;

	return cell_ns < CELL_MAX ? cell_ns : CELL_MAX;
}

static int bpf_waits_start(struct bpf_sampler *sampler, const struct cpus *cpus,
			   struct source_message *message)
{
	struct bpf_source *s = sampler->owner;
	const struct sampler_spec *spec = &s->source.samplers[sampler->index].spec;
	bool is_first = !bpf_waits_have_clock(s);
	__u32 clock = 0;
	int r = 0;

	(void)cpus; /* all of them */
	while (clock < ABI_WAIT_CLOCKS_MAX && s->waits.clocks[clock].sampler)
		clock++;
	if (clock == ABI_WAIT_CLOCKS_MAX)
		return source_refuse(
			message, SOURCE_E_FULL,
			"waits are sampled in %d ways (rate, wakers): use one of them, "
			"or stop a session",
			ABI_WAIT_CLOCKS_MAX);
	s->waits.clocks[clock].sampler = sampler;
	s->waits.clocks[clock].has_wakers = spec->has_wakers;
	if (is_first)
		r = bpf_waits_begin(s, message);
	if (!r && spec->has_wakers && bpf_wakers_count(s) == 1)
		r = bpf_wakers_begin(s, message);
	r = r ?: bpf_waits_make_kept(s, clock);
	/* They need memory of the kernel's, which may have a limit: others go on without. */
	if (r < 0)
		return source_refuse(message, SOURCE_E_UNSUPPORTED, "cannot sample waits: %s",
				     strerror(-r));
	if (r)
		return r;
	s->skeleton->bss->wait_clocks[clock].since_ns = 0;
	s->skeleton->bss->wait_clocks[clock].sampler = sampler->index;
	s->skeleton->bss->wait_clocks[clock].wakers = spec->has_wakers;
	__atomic_store_n(&s->skeleton->bss->wait_clocks[clock].cell_ns, bpf_waits_cell_ns(spec),
			 __ATOMIC_RELEASE);
	return 0;
}

static void bpf_waits_stop(struct bpf_sampler *sampler)
{
	struct bpf_source *s = sampler->owner;
	bool had_wakers;
	__u32 clock = 0;

	while (clock < ABI_WAIT_CLOCKS_MAX && s->waits.clocks[clock].sampler != sampler)
		clock++;
	if (clock == ABI_WAIT_CLOCKS_MAX)
		return;
	__atomic_store_n(&s->skeleton->bss->wait_clocks[clock].cell_ns, 0, __ATOMIC_RELEASE);
	if (s->waits.visit && s->waits.visit->sampler == sampler)
		bpf_visit_free(steal_ptr(&s->waits.visit));
	s->waits.clocks[clock].sampler = NULL;
	had_wakers = s->waits.clocks[clock].has_wakers;
	if (had_wakers && !bpf_wakers_count(s))
		bpf_wakers_end(s);
	if (bpf_waits_have_clock(s))
		bpf_waits_wait_for_calls();
	else
		bpf_waits_end(s);
	bpf_map_delete_elem(bpf_map__fd(s->skeleton->maps.waits_kept), &clock);
	closep(&s->waits.clocks[clock].kept_fd);
	s->waits.clocks[clock].kept_fd = -1;
}

const struct bpf_cause bpf_waits = {
	.programs = {"wait_switch", "wait_take", "wait_visit", "wait_wakes"},
	.loads_late = true,
	.missing = bpf_waits_missing,
	.start = bpf_waits_start,
	.account = bpf_waits_account,
	.stop = bpf_waits_stop,
};

void bpf_waits_init(struct bpf_source *s)
{
	cleanup(closep) int sys_fd = open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (sys_fd < 0 || bpf_features_read_missing(BPF_FEATURES_WAITS, sys_fd, s->waits.missing))
		strcpy(s->waits.missing, "BTF");
	s->waits.memory_fd = -1;
	s->waits.wakers_fd = s->waits.woken_fd = -1;
	for (unsigned i = 0; i < ABI_WAIT_CLOCKS_MAX; i++)
		s->waits.clocks[i].kept_fd = -1;
}

int bpf_waits_drain(struct bpf_source *s)
{
	for (unsigned i = 0; i < s->waits.n_rings; i++)
		bpf_wait_ring_skip(&s->waits.rings[i]);
	return s->waits.n_rings ? bpf_waits_visit(s) : 0;
}

uint64_t bpf_waits_bytes(const struct bpf_source *s)
{
	uint64_t sum = (uint64_t)s->waits.n_rings * ABI_WAIT_RING_BYTES;

	sum += ((s->waits.memory_fd >= 0) + (s->waits.wakers_fd >= 0)) *
	       (uint64_t)s->waits.scratch_bytes * s->n_possible_cpus;
	if (s->waits.woken_fd >= 0)
		sum += ABI_WAKERS_MAX * (sizeof(struct abi_waker) + 8 + 64 + 16);
	for (unsigned i = 0; i < ABI_WAIT_CLOCKS_MAX; i++)
		if (s->waits.clocks[i].sampler)
			sum += ABI_WAITS_KEPT_MAX *
			       (sizeof(struct abi_wait_kept) + 8 + 48 + 16); /* as map_bytes() */
	return sum;
}

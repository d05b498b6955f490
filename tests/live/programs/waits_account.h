/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_WAITS_ACCOUNT_H
#define PROFD_TESTS_WAITS_ACCOUNT_H

/*
 * What each thread of the program waits did, by its functions, from its begin to its end: it enters
 * one when it leaves the one before. Others read it at any time.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define N_WAYS  12
#define N_SLOTS 40000
#define NS      UINT64_C(1000000000)

/* clang-format off */
#define FUNCTIONS(X)                                                                           \
	X(work) X(wait_nap) X(wait_futex) X(wait_pipe) X(wait_epoll) X(wait_poll) X(wait_disk)     \
	X(wait_sync) X(wait_vfork) X(wait_birth) X(ask) X(wait_request) X(wait_delay) X(wake)      \
	X(wait_line) X(wait_go) X(wait_join) X(enter)
/* clang-format on */

#define FUNCTION_ENUM(name) F_##name,
enum function { FUNCTIONS(FUNCTION_ENUM) N_FUNCTIONS };
#define FUNCTION_NAME(name) #name,
static const char *const function_names[] = {FUNCTIONS(FUNCTION_NAME)};

struct times {
	uint64_t wall_ns, cpu_ns;
};

struct sum {
	uint64_t n, wall_ns, cpu_ns;
};

/* A thread's, written by it alone; seq is odd while it is. Those of ended ones stay. */
struct slot {
	atomic_uint seq;
	unsigned way; /* N_WAYS: none */
	const char *role;
	pid_t tid;
	clockid_t clock;
	int has_ended;
	uint64_t delay_before_ns, slices_before; /* when it began */
	uint64_t delay_ns, slices;               /* when it ended */
	struct times begun, since;
	enum function function; /* what it has been in since then */
	struct sum sums[N_FUNCTIONS];
};

static struct {
	atomic_uint n_slots;
	struct slot *slots;
} account;

static _Thread_local struct slot *own;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t) != 0)
		return 0; /* of a thread that has ended */
	return (uint64_t)t.tv_sec * NS + (uint64_t)t.tv_nsec;
}

static struct times now(void)
{
	return (struct times){clock_ns(CLOCK_MONOTONIC), clock_ns(CLOCK_THREAD_CPUTIME_ID)};
}

/* Should the CPU be lost between the two, wall_ns has that time. */
static struct times now_at_last(void)
{
	struct times t = {.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID)};

	t.wall_ns = clock_ns(CLOCK_MONOTONIC);
	return t;
}

/* Of another thread: both at once, unless the reader loses its CPU in between. */
static struct times now_of(clockid_t clock)
{
	struct times t;
	unsigned tries = 0;

	do {
		t.wall_ns = clock_ns(CLOCK_MONOTONIC);
		t.cpu_ns = clock_ns(clock);
	} while (clock_ns(CLOCK_MONOTONIC) - t.wall_ns > 20000 && ++tries < 100);
	return t;
}

static void write_slot(void)
{
	atomic_fetch_add(&own->seq, 1);
}

static void read_schedstat(pid_t tid, uint64_t *ret_delay_ns, uint64_t *ret_slices)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", tid);
	f = fopen(path, "re");
	if (!f)
		return; /* it has ended meanwhile */
	if (fscanf(f, "%*u %lu %lu", ret_delay_ns, ret_slices) != 2)
		die(path);
	fclose(f);
}

static void slot_begin(unsigned way, const char *role, enum function first)
{
	unsigned i = atomic_fetch_add(&account.n_slots, 1);

	if (i >= N_SLOTS)
		abort();
	own = &account.slots[i];
	write_slot();
	own->way = way;
	own->role = role;
	own->tid = (pid_t)syscall(SYS_gettid);
	own->function = first;
	read_schedstat(own->tid, &own->delay_before_ns, &own->slices_before);
	own->since = own->begun = now();
	if (pthread_getcpuclockid(pthread_self(), &own->clock) != 0)
		abort();
	write_slot();
}

static void leave(struct times t)
{
	struct sum *sum = &own->sums[own->function];

	write_slot();
	sum->n++;
	sum->wall_ns += t.wall_ns - own->since.wall_ns;
	sum->cpu_ns += t.cpu_ns - own->since.cpu_ns;
	own->since = t;
	own->function = F_enter;
	write_slot();
}

/*
 * The step ends here; what follows is another one's. A thread that loses the CPU while it looks at
 * its clocks, as it may whenever a system call returns, does so in this function, and in no step.
 */
__attribute__((noinline, noclone)) static void enter(enum function function)
{
	leave(now());
	leave(now_at_last());
	own->function = function;
	__asm__ volatile("" : : : "memory");
}

static void slot_end(void)
{
	uint64_t delay_ns = 0, slices = 0;

	enter(F_enter);
	read_schedstat(own->tid, &delay_ns, &slices);
	leave(now_at_last());
	write_slot();
	own->delay_ns = delay_ns;
	own->slices = slices;
	own->has_ended = 1;
	write_slot();
}

/* A copy in which the step that it is in has been added up to now. */
static struct slot slot_now(struct slot *slot)
{
	struct slot copy;
	unsigned before;

	do {
		before = atomic_load(&slot->seq);
		copy = *slot;
		if (!copy.has_ended && before > 0) {
			struct sum *sum = &copy.sums[copy.function];
			struct times t = now_of(copy.clock);

			sum->n++;
			sum->wall_ns += t.wall_ns - copy.since.wall_ns;
			if (t.cpu_ns > copy.since.cpu_ns) /* else it has ended */
				sum->cpu_ns += t.cpu_ns - copy.since.cpu_ns;
		}
		atomic_thread_fence(memory_order_acquire);
	} while (before % 2 || atomic_load(&slot->seq) != before);
	return copy;
}

static void print_way(unsigned way)
{
	return way < N_WAYS ? (void)printf("\"way\":\"way_%u\"", way)
			    : (void)printf("\"way\":\"\"");
}

static void print_sums(unsigned way, const struct sum *sums)
{
	for (unsigned i = 0; i < N_FUNCTIONS; i++) {
		if (sums[i].n == 0)
			continue;
		printf("{");
		print_way(way);
		printf(",\"function\":\"%s\",\"n\":%lu,\"wall_ns\":%lu,\"cpu_ns\":%lu,\"off_ns\":%"
		       "ld}\n",
		       function_names[i], sums[i].n, sums[i].wall_ns, sums[i].cpu_ns,
		       (long)(sums[i].wall_ns - sums[i].cpu_ns));
	}
}

static void print_slot(struct slot *slot)
{
	struct sum total = {0};
	uint64_t n = 0;

	if (!slot->has_ended)
		read_schedstat(slot->tid, &slot->delay_ns, &slot->slices);
	for (unsigned i = 0; i < N_FUNCTIONS; i++) {
		total.wall_ns += slot->sums[i].wall_ns;
		total.cpu_ns += slot->sums[i].cpu_ns;
		n += i == F_work ? 0 : slot->sums[i].n;
	}
	printf("{\"tid\":%d,\"role\":\"%s\",", slot->tid, slot->role);
	print_way(slot->way);
	printf(",\"wall_ns\":%lu,\"cpu_ns\":%lu,\"off_ns\":%ld,\"delay_ns\":%lu,\"slices\":%lu,"
	       "\"waits\":%lu,\"begun_ns\":%lu}\n",
	       total.wall_ns, total.cpu_ns, (long)(total.wall_ns - total.cpu_ns),
	       slot->delay_ns - slot->delay_before_ns, slot->slices - slot->slices_before, n,
	       slot->begun.wall_ns);
}

static void look(void)
{
	static struct sum sums[N_WAYS + 1][N_FUNCTIONS];
	unsigned n = atomic_load(&account.n_slots);

	memset(sums, 0, sizeof(sums));
	for (unsigned i = 0; i < n; i++) {
		struct slot slot = slot_now(&account.slots[i]);

		if (!slot.role)
			continue; /* not yet */
		for (unsigned f = 0; f < N_FUNCTIONS; f++) {
			sums[slot.way][f].n += slot.sums[f].n;
			sums[slot.way][f].wall_ns += slot.sums[f].wall_ns;
			sums[slot.way][f].cpu_ns += slot.sums[f].cpu_ns;
		}
		print_slot(&slot);
	}
	for (unsigned way = 0; way <= N_WAYS; way++)
		print_sums(way, sums[way]);
	printf("{\"looked_ns\":%lu}\n", clock_ns(CLOCK_MONOTONIC));
	fflush(stdout);
}

static void account_init(void)
{
	account.slots = mmap(NULL, N_SLOTS * sizeof(struct slot), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (account.slots == MAP_FAILED)
		die("memory");
}

#endif

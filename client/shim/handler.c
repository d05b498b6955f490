/* SPDX-License-Identifier: MIT */
/*
 * The handler of the timers' signal: whose tick it is, the walk, and where the stack is counted, in
 * our own profile, a server, or both. Async-signal-safe, all of it.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "client/shim/core/tick.h"
#include "client/shim/shim.h"
#include "client/shim/signals.h"
#include "common/clock.h"
#include "common/reasons.h"

/* Ticks a second of CPU time that look whether the server wants samples again. */
#define IDLE_FREQUENCY 10
#define LOOK_FIRST_NS  (NS_PER_S / 100)

/* What a tick is counted for. */
struct uses {
	bool own, link;
	uint32_t frequency; /* that the timer ran at */
	uint32_t wanted;    /* that it is to run at */
};

uint32_t shim_wanted_frequency(void)
{
	uint32_t frequency;

	if (atomic_load(&shim.is_on))
		return shim.settings.frequency;
	frequency = link_frequency(&shim.link);
	if (frequency)
		return frequency;
	return shim_wants_ticks() ? IDLE_FREQUENCY : 0;
}

uint32_t shim_frequency_of(const struct thread *thread)
{
	return shim.itimer.is_on ? atomic_load(&shim.itimer.frequency)
				 : atomic_load(&thread->frequency);
}

/* A tick of a timer that ran at another frequency is of another length, and is dropped. */
static struct uses uses_of(const struct thread *thread, bool has_server)
{
	struct uses uses = {
		.frequency = shim_frequency_of(thread),
		.wanted = shim_wanted_frequency(),
	};

	if (uses.frequency != uses.wanted)
		return uses;
	uses.own = atomic_load(&shim.is_on);
	uses.link = has_server && link_frequency(&shim.link) &&
		    !(uses.own && shim.settings.is_realtime);
	return uses;
}

static void shim_retime(struct thread *thread, uint32_t frequency)
{
	if (shim.itimer.is_on)
		itimer_retime(&shim.itimer, frequency);
	else
		threads_retime(thread, frequency);
}

static void shim_count_not_walked(const struct uses *uses, uint32_t weight, bool is_filtered)
{
	if (uses->own) {
		shim_counter_add(&shim.counters.seen, weight);
		shim_counter_add(is_filtered ? &shim.counters.filtered : &shim.counters.lost,
				 weight);
	}
	if (uses->link)
		link_not_walked(&shim.link, weight, is_filtered);
}

/* The stack in @thread. */
static void shim_tally_stack(struct thread *thread, uint32_t weight)
{
	switch (tally_add(shim.tally, thread->frames, thread->n_frames, weight)) {
	case TALLY_CUT:
		shim_counter_add(&shim.counters.cut, weight);
		break;
	case TALLY_FULL:
		shim_counter_add(&shim.counters.lost, weight);
		return;
	}
	atomic_fetch_add(&shim.samples, (int)weight);
}

static void shim_count_stack(struct thread *thread, uint32_t weight)
{
	shim_counter_add(thread->quality == STACK_COMPLETE    ? &shim.counters.complete
			 : thread->quality == STACK_TRUNCATED ? &shim.counters.truncated
							      : &shim.counters.broken,
			 weight);
	shim_tally_stack(thread, weight);
}

static void send_stack(const struct images_view *view, const struct thread *thread,
		       uint32_t frequency, uint32_t weight)
{
	struct ring_sample sample = {
		.tid = (uint32_t)atomic_load(&thread->tid),
		.weight = weight,
		.frequency = (uint16_t)frequency,
		.quality = thread->quality,
		.reason = thread->reason,
		.frames = thread->frames,
		.n_frames = thread->n_frames,
	};

	link_maps(&shim.link, view);
	link_sample(&shim.link, view, &sample);
}

/* Returns whether there is code that the view does not have. */
static bool shim_sample(const struct images_view *view, struct thread *thread, const void *ucontext,
			const struct uses *uses, uint32_t weight)
{
	int (*filter)(void *) = uses->own ? atomic_load(&shim.filter) : NULL;
	struct unwind_registers registers;
	struct tick_stack stack;

	if (filter && !filter(atomic_load(&shim.filter_argument))) {
		shim_count_not_walked(uses, weight, true);
		return false;
	}
	tick_registers(ucontext, &registers);
	tick_walk(shim.images, view, thread, &registers, &stack);
	thread->n_frames = stack.n;
	thread->quality = stack.quality;
	thread->reason = stack.reason;
	if (uses->own) {
		shim_counter_add(&shim.counters.seen, weight);
		shim_count_stack(thread, weight);
	}
	if (uses->link)
		send_stack(view, thread, uses->frequency, weight);
	return stack.is_outside;
}

/* The slot of the thread that a tick is for, and how many periods it stands for; or NULL. */
static struct thread *shim_find_thread(const siginfo_t *info, uint32_t *ret_weight)
{
	struct threads *threads = atomic_load(&shim.threads);
	struct thread *thread = NULL;

	if (info->si_code == SI_TIMER && threads && info->si_overrun >= 0) {
		thread = threads_of_value(threads, info->si_value.sival_int);
		/* Of a timer whose thread has ended: older kernels let the last one through. */
		if (!thread || atomic_load(&thread->tid) != gettid())
			return NULL;
		*ret_weight = 1 + (uint32_t)info->si_overrun;
		atomic_fetch_add(&thread->n_told, *ret_weight);
	} else if (info->si_code == SI_KERNEL && threads && shim.itimer.is_on) {
		*ret_weight = itimer_take(&shim.itimer);
		thread = *ret_weight ? threads_find(threads, gettid()) : NULL;
		if (!thread && *ret_weight && (thread = threads_claim(threads)) != NULL)
			atomic_store(&thread->tid, gettid());
	}
	return thread;
}

/* --- what nobody tells of --------------------------------------------------------------------- */

/*
 * What the library is not called for: threads that were not made by pthread_create(3) or
 * thrd_create(3), and code that was not loaded by dlopen(3), or by one that had to be left to its
 * caller (hooks.c); JIT compilers' for one. Handlers that sample look for it: for threads every
 * second, for code as a sample shows some that is not known, less and less often.
 */

/*
 * Calls @work on @stack, of @length bytes: that of a handler of signals may be a few kilobytes
 * (sigaltstack(2)). Not by makecontext(3), of which AddressSanitizer warns the user. Asking for the
 * frame's address has stacks walked by it meanwhile.
 */
__attribute__((noinline)) static void own_stack_call(void *stack, size_t length, void (*work)(void))
{
	char *top = (char *)stack + (length & ~(size_t)15);

	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
#if defined(__x86_64__)
	__asm__ volatile("mov %%rsp, %%rbx\n\t"
			 "mov %[top], %%rsp\n\t"
			 "call *%[work]\n\t"
			 "mov %%rbx, %%rsp"
			 : [top] "+r"(top), [work] "+r"(work)
			 :
			 : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
			   "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
			   "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory",
			   "cc");
#elif defined(__aarch64__)
	__asm__ volatile("mov x19, sp\n\t"
			 "mov sp, %[top]\n\t"
			 "blr %[work]\n\t"
			 "mov sp, x19"
			 : [top] "+r"(top), [work] "+r"(work)
			 :
			 : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
			   "x12", "x13", "x14", "x15", "x16", "x17", "x19", "x30", "v0", "v1", "v2",
			   "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
			   "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23",
			   "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "memory", "cc");
#else
#error "no stack can be changed on this architecture"
#endif
}

void shim_run_on_stack(void (*work)(void))
{
	own_stack_call(shim.stack, SHIM_STACK_BYTES, work);
}

static void look_for_threads(void)
{
	const struct threads_timing when = shim_timing();
	bool any;

	if (!shim.itimer.is_on && when.frequency)
		threads_scan(shim.threads, &when, &any);
}

static void look_for_code(void)
{
	images_refresh(shim.images);
}

/* The lock is held. */
static void shim_scan_locked(bool wants, uint64_t now)
{
	if (wants) {
		shim_run_on_stack(look_for_code);
		shim.look_wait_ns = shim.look_wait_ns ? shim.look_wait_ns * 2 : LOOK_FIRST_NS;
		if (shim.look_wait_ns > NS_PER_S)
			shim.look_wait_ns = NS_PER_S;
	}
	if (now - shim.scanned_ns >= NS_PER_S) {
		shim_run_on_stack(look_for_threads);
		shim.scanned_ns = now;
	}
	atomic_store(&shim.look_ns, now + (shim.look_wait_ns ? shim.look_wait_ns : LOOK_FIRST_NS));
}

/* Threads that have no slot; if @wants, new code as well. */
static void shim_scan_if_due(bool wants)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC_COARSE), due = atomic_load(&shim.look_ns);

	if (now < due || (!wants && now - due < NS_PER_S) || !lock_try(&shim.lock))
		return;
	if (shim_wants_ticks() && shim.pid == getpid())
		shim_scan_locked(wants, now);
	lock_release_only(&shim.lock);
}

/* --- a tick ----------------------------------------------------------------------------------- */

static void shim_handle_tick(struct thread *thread, const void *ucontext, uint32_t weight)
{
	bool has_server, wants_look = false;
	struct images_view *view;
	struct uses uses;

	link_tick(&shim.link);
	has_server = link_enter(&shim.link);
	view = images_enter(shim.images);
	/* The server came after the program had begun. */
	if (!view && has_server) {
		shim_scan_if_due(true);
		view = images_enter(shim.images);
	}
	uses = uses_of(thread, has_server);
	if (!view)
		shim_count_not_walked(&uses, weight, false);
	else if (uses.own || uses.link)
		wants_look = shim_sample(view, thread, ucontext, &uses, weight);
	if (view)
		images_leave(view);
	if (has_server)
		link_leave(&shim.link);
	if (uses.wanted != uses.frequency)
		shim_retime(thread, uses.wanted);
	if (has_server || atomic_load(&shim.is_on))
		shim_scan_if_due(wants_look);
}

/* Others send this signal as well. The kernel's own is of setitimer(2), also the program's. */
static bool is_tick(const siginfo_t *info)
{
	return (info->si_code == SI_TIMER && threads_is_value(info->si_value.sival_int)) ||
	       (info->si_code == SI_KERNEL && shim.uses_itimer);
}

/*
 * All signals are blocked: nothing interrupts it, and nothing leaves it but its end, or what the
 * program wants done with a signal that is no tick.
 */
void shim_on_tick(int number, siginfo_t *info, void *ucontext)
{
	int kept = errno;
	uint32_t weight = 0;
	struct thread *thread;

	if (!is_tick(info)) {
		program_action_run(number, info, ucontext);
		return;
	}
	thread = shim_find_thread(info, &weight);
	if (thread)
		shim_handle_tick(thread, ucontext, weight);
	errno = kept;
}

/* --- what no tick told ------------------------------------------------------------------------ */

static void send_missed_ticks(const struct thread *thread, uint32_t n)
{
	struct images_view *view = images_enter(shim.images);

	if (view) {
		send_stack(view, thread, shim_frequency_of(thread), n);
		images_leave(view);
	} else {
		link_not_walked(&shim.link, n, false);
	}
}

/* Of a thread that no tick has met: what it has run is below there. 0: unknown. */
static uint64_t thread_begin(const struct thread *thread)
{
	if (thread->start)
		return (uint64_t)(uintptr_t)thread->start;
	return atomic_load(&thread->tid) == shim.pid ? getauxval(AT_ENTRY) : 0;
}

void shim_count_missed_ticks(struct thread *thread, bool own, bool link)
{
	uint64_t n = shim.itimer.is_on ? itimer_take(&shim.itimer) : threads_missed_ticks(thread);
	bool was_seen = thread->n_frames;

	/* A filter is asked in the thread, and of the moment. */
	if (!n || n > INT32_MAX || (own && atomic_load(&shim.filter)))
		return;
	if (!was_seen) {
		thread->frames[0] = thread_begin(thread);
		if (!thread->frames[0])
			return;
		thread->n_frames = 1;
		thread->quality = STACK_BROKEN;
		thread->reason = BROKEN_UNKNOWN;
	}
	if (own) {
		shim_counter_add(&shim.counters.seen, (uint32_t)n);
		shim_counter_add(&shim.counters.repeated, (uint32_t)n);
		if (!was_seen)
			shim_counter_add(&shim.counters.unseen, (uint32_t)n);
	}
	if (own && was_seen)
		shim_count_stack(thread, (uint32_t)n);
	else if (own)
		shim_tally_stack(thread, (uint32_t)n);
	if (link)
		send_missed_ticks(thread, (uint32_t)n);
}

void shim_count_end(struct thread *thread)
{
	bool has_server = link_enter(&shim.link);
	struct uses uses = uses_of(thread, has_server);

	if (uses.own || uses.link)
		shim_count_missed_ticks(thread, uses.own, uses.link);
	if (has_server)
		link_leave(&shim.link);
}

/* SPDX-License-Identifier: MIT */
#include "client/shim/shim.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include <unistd.h>

#include "client/shim/shim_private.h"
#include "client/shim/tick.h"
#include "common/cleanup.h"
#include "common/reasons.h"

#define TALLY_WORDS (8u << 20)
/* Ticks a second of CPU time that look whether the server wants samples again. */
#define IDLE_FREQUENCY 10
/* The kernel leaves at least this much below the main thread's stack (arch/x86/mm/mmap.c). */
#define MAIN_STACK_GAP (64u << 20)

_Static_assert(offsetof(struct ProfilerState, enabled) == 0, "as libprofiler has it");
_Static_assert(offsetof(struct ProfilerState, start_time) == 8, "as libprofiler has it");
_Static_assert(offsetof(struct ProfilerState, profile_name) == 16, "as libprofiler has it");
_Static_assert(offsetof(struct ProfilerState, samples_gathered) == 1040, "as libprofiler has it");
_Static_assert(sizeof(struct ProfilerState) == 1048, "as libprofiler has it");

struct shim shim = {.file.fd = -1};

void shim_say(const char *format, ...)
{
	char text[PATH_MAX + 256] = "libprofd: ";
	size_t n = strlen(text);
	ssize_t written;
	va_list args;
	int r;

	va_start(args, format);
	r = vsnprintf(text + n, sizeof(text) - n - 1, format, args);
	va_end(args);
	if (r < 0)
		return;
	n += (size_t)r < sizeof(text) - n - 1 ? (size_t)r : sizeof(text) - n - 2;
	text[n++] = '\n';
	written = write(STDERR_FILENO, text, n);
	(void)written;
}

static void count(_Atomic uint64_t *counter, uint32_t weight)
{
	atomic_fetch_add_explicit(counter, weight, memory_order_relaxed);
}

/* --- the handler -------------------------------------------------------------------------- */

/* Who has a tick. */
struct uses {
	bool own, link;
	uint32_t frequency; /* that the thread's timer ran at */
	uint32_t wanted;    /* that it is to run at */
};

static uint32_t wanted_frequency(void)
{
	uint32_t frequency;

	if (atomic_load(&shim.is_on))
		return shim.settings.frequency;
	frequency = link_frequency(&shim.link);
	if (frequency)
		return frequency;
	return shim_wants_ticks() ? IDLE_FREQUENCY : 0;
}

/* A tick of a timer that ran at another frequency stands for something else, and is nobody's. */
static struct uses uses_of(const struct thread *thread)
{
	struct uses uses = {
		.frequency = atomic_load(&thread->frequency),
		.wanted = wanted_frequency(),
	};

	if (uses.frequency != uses.wanted)
		return uses;
	uses.own = atomic_load(&shim.is_on);
	uses.link = link_is_on(&shim.link) && link_frequency(&shim.link) &&
		    !(uses.own && shim.settings.is_realtime);
	return uses;
}

static void lose(const struct uses *uses, uint32_t weight)
{
	if (uses->own) {
		count(&shim.counters.seen, weight);
		count(&shim.counters.lost, weight);
	}
	if (uses->link)
		link_lost(&shim.link, weight);
}

static void filter_out(const struct uses *uses, uint32_t weight)
{
	count(&shim.counters.seen, weight);
	count(&shim.counters.filtered, weight);
	if (uses->link)
		link_filtered(&shim.link, weight);
}

static void keep(const struct thread *thread, const struct tick_stack *stack, uint32_t weight)
{
	count(&shim.counters.seen, weight);
	if (stack->quality == STACK_COMPLETE)
		count(&shim.counters.complete, weight);
	else if (stack->quality == STACK_TRUNCATED)
		count(&shim.counters.truncated, weight);
	else
		count(&shim.counters.broken, weight);
	switch (tally_add(shim.tally, thread->frames, stack->n, weight)) {
	case TALLY_CUT:
		count(&shim.counters.cut, weight);
		break;
	case TALLY_FULL:
		count(&shim.counters.lost, weight);
		return;
	}
	atomic_fetch_add(&shim.samples, (int)weight);
}

static void sample(const struct images_view *view, struct thread *thread, const void *ucontext,
		   const struct uses *uses, uint32_t weight)
{
	int (*filter)(void *) = uses->own ? atomic_load(&shim.filter) : NULL;
	struct unwind_registers registers;
	struct tick_stack stack;

	if (filter && !filter(atomic_load(&shim.filter_argument))) {
		filter_out(uses, weight);
		return;
	}
	tick_registers(ucontext, &registers);
	tick_walk(shim.images, view, thread, &registers, &stack);
	if (uses->own)
		keep(thread, &stack, weight);
	if (uses->link) {
		struct ring_sample to_link = {
			.tid = (uint32_t)atomic_load(&thread->tid),
			.weight = weight,
			.frequency = (uint16_t)uses->frequency,
			.quality = stack.quality,
			.frames = thread->frames,
			.n_frames = stack.n,
		};

		link_maps(&shim.link, view);
		link_sample(&shim.link, view, &to_link);
	}
}

static void tick(struct thread *thread, const void *ucontext, uint32_t weight)
{
	struct attach_reason reason;
	struct images_view *view;
	struct uses uses;

	/* In a forked process the first tick is the first that asks. */
	link_ask(&shim.link, &reason);
	view = images_enter(shim.images);
	uses = uses_of(thread);
	if (!view)
		lose(&uses, weight);
	else if (uses.own || uses.link)
		sample(view, thread, ucontext, &uses, weight);
	if (view)
		images_leave(view);
	if (uses.wanted != uses.frequency)
		threads_retime(thread, uses.wanted);
}

/* All signals are blocked: nothing interrupts it, and nothing leaves it but its end. */
static void on_tick(int number, siginfo_t *info, void *ucontext)
{
	struct threads *threads = atomic_load(&shim.threads);
	struct thread *thread;
	int kept = errno;

	(void)number;
	/* Others may send this signal as well. */
	thread = info->si_code == SI_TIMER && threads && info->si_overrun >= 0
			 ? threads_at(threads, info->si_value.sival_int)
			 : NULL;
	/* Of a timer whose thread has ended: older kernels let the last one through. */
	if (thread && atomic_load(&thread->tid) != gettid())
		thread = NULL;
	if (thread)
		tick(thread, ucontext, 1 + (uint32_t)info->si_overrun);
	errno = kept;
}

/* --- writing ------------------------------------------------------------------------------ */

/* The lock is held. */
static void write_file(bool is_last)
{
	cleanup(freep) uint8_t *bytes = NULL;
	struct profile_facts facts = {
		.period_us = 1000000 / shim.settings.frequency,
		.counters = &shim.counters,
	};
	size_t length;

	/* A forked process that was never sampled is not worth a file. */
	if (shim.file.fd < 0 && !atomic_load(&shim.samples))
		return;
	if (profile_encode(shim.tally, shim.images, &facts, &bytes, &length) < 0 ||
	    !profile_file_write(&shim.file, bytes, length, is_last))
		shim_say("%s cannot be written: %s", shim.file.path, strerrordesc_np(errno));
}

/* --- starting ----------------------------------------------------------------------------- */

struct threads_timing shim_timing(void)
{
	return (struct threads_timing){
		.frequency = wanted_frequency(),
		.signal = shim.settings.tick_signal,
		.is_realtime = atomic_load(&shim.is_on) && shim.settings.is_realtime,
	};
}

bool shim_wants_ticks(void)
{
	return atomic_load(&shim.is_on) || atomic_load(&shim.link.state) != LINK_NONE;
}

bool shim_reserve(void)
{
	struct threads *threads = atomic_load(&shim.threads);

	if (!threads && threads_new(&threads) == 0)
		atomic_store(&shim.threads, threads);
	if (!shim.images)
		images_new(&shim.images);
	return threads && shim.images;
}

bool shim_take_signal(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = {.sa_sigaction = handler}, before;

	if (sigaction(number, NULL, &before) < 0)
		return false;
	if (before.sa_flags & SA_SIGINFO && before.sa_sigaction == handler)
		return true;
	if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
		return false;
	action.sa_flags = SA_SIGINFO | SA_RESTART | flags;
	sigfillset(&action.sa_mask);
	return sigaction(number, &action, NULL) == 0;
}

static bool set_names(const char *name)
{
	char folder[PATH_MAX];

	snprintf(shim.name, sizeof(shim.name), "%s", name);
	return settings_name(shim.base, getcwd(folder, sizeof(folder)), name, "") &&
	       settings_name(shim.file.path, NULL, shim.base, "");
}

void shim_start_threads(void)
{
	const struct threads_timing when = shim_timing();
	struct thread *mine;
	unsigned n;

	n = threads_scan(shim.threads, &when);
	if (n)
		shim_say("%u threads have got no timer and are not sampled", n);
	/* In the main thread the stack's end is known: what the kernel put there at the start. */
	mine = threads_find(shim.threads, getpid());
	if (mine && !mine->end) {
		mine->end = getauxval(AT_RANDOM) & ~UINT64_C(7);
		mine->low = mine->end - MAIN_STACK_GAP;
	}
}

void shim_reset(void)
{
	tally_reset(shim.tally);
	memset(&shim.counters, 0, sizeof(shim.counters));
	atomic_store(&shim.samples, 0);
}

bool shim_start_locked(const char *name, const struct ProfilerOptions *options)
{
	if (atomic_load(&shim.is_on) || shim.is_secure || !name || shim.settings.is_bad_signal)
		return false;
	/* Made by a system call of its own, this process has another's threads in its books. */
	if (shim.pid != getpid())
		return false;
	if (!shim_reserve() || (!shim.tally && tally_new(&shim.tally, TALLY_WORDS) < 0)) {
		shim_say("there is no memory for a profile");
		return false;
	}
	if (!shim_take_signal(shim.settings.tick_signal, on_tick, SA_ONSTACK)) {
		shim_say("signal %d belongs to the program: there is no profile",
			 shim.settings.tick_signal);
		return false;
	}
	if (!set_names(name) || !profile_file_open(&shim.file))
		return false;
	shim.start_time = time(NULL);
	shim_reset();
	atomic_store(&shim.filter_argument, options ? options->filter_in_thread_arg : NULL);
	atomic_store(&shim.filter, options ? options->filter_in_thread : NULL);
	images_refresh(shim.images, true);
	/* Whatever becomes of the program, there is a whole file. */
	write_file(false);
	/* Timers that run for a server run as the profile says from now on. */
	threads_disarm_all(shim.threads);
	atomic_store(&shim.is_on, true);
	shim_start_threads();
	return true;
}

/* Returns ATTACH_E_*, or -1. */
static int start_link_locked(const char *socket, struct attach_reason *ret_reason)
{
	int r;

	if (shim.settings.is_bad_signal || strlen(socket) >= LINK_PATH_SIZE || !shim_reserve() ||
	    !shim_take_signal(shim.settings.tick_signal, on_tick, SA_ONSTACK))
		return -1;
	link_init(&shim.link, socket);
	r = link_ask(&shim.link, ret_reason);
	if (r)
		return r;
	images_refresh(shim.images, true);
	shim_start_threads();
	return 0;
}

/*
 * In files and pipes what a program writes to standard error is read by other programs, or sent by
 * mail: they are told nothing that the program would not say without us.
 */
void shim_start_link(const char *socket)
{
	static const char *const outcomes[] = {
		[ATTACH_E_NOBODY] = "nobody answers there",
		[ATTACH_E_DENIED] = "permission denied",
		[ATTACH_E_TIMEOUT] = "it does not answer in time",
		[ATTACH_E_REFUSED] = "it refuses",
	};
	struct attach_reason reason = {""};
	sigset_t mask;
	int r;

	lock_take(&shim.lock, &mask);
	r = start_link_locked(socket, &reason);
	if (!r)
		shim_admit_ticks(&mask);
	lock_release(&shim.lock, &mask);
	if (r && isatty(STDERR_FILENO))
		shim_say("%s does not get this program's samples: %s%s%s", socket,
			 r < 0 ? "they cannot be taken" : outcomes[r], *reason.text ? ": " : "",
			 reason.text);
}

void shim_admit_ticks(sigset_t *mask)
{
	sigdelset(mask, shim.settings.tick_signal);
}

bool shim_start(const char *name, const struct ProfilerOptions *options)
{
	sigset_t mask;
	bool good;
	int kept;

	lock_take(&shim.lock, &mask);
	good = shim_start_locked(name, options);
	kept = errno;
	if (good)
		shim_admit_ticks(&mask);
	lock_release(&shim.lock, &mask);
	errno = kept;
	return good;
}

void shim_stop_locked(void)
{
	if (!atomic_load(&shim.is_on) || shim.pid != getpid())
		return;
	threads_disarm_all(shim.threads);
	atomic_store(&shim.is_on, false);
	images_wait(shim.images);
	images_refresh(shim.images, true);
	write_file(true);
	profile_file_close(&shim.file);
	if (shim_wants_ticks())
		shim_start_threads();
}

void shim_stop(void)
{
	int kept = errno;
	sigset_t mask;

	lock_take(&shim.lock, &mask);
	shim_stop_locked();
	lock_release(&shim.lock, &mask);
	errno = kept;
}

void shim_flush(void)
{
	int kept = errno;
	sigset_t mask;

	lock_take(&shim.lock, &mask);
	if (atomic_load(&shim.is_on) && shim.pid == getpid()) {
		images_refresh(shim.images, true);
		write_file(false);
	}
	lock_release(&shim.lock, &mask);
	errno = kept;
}

/* --- questions ---------------------------------------------------------------------------- */

bool shim_is_on(void)
{
	return atomic_load(&shim.is_on);
}

void shim_get_state(struct ProfilerState *ret)
{
	_Atomic int *samples = &shim.samples;
	sigset_t mask;
	size_t n;

	memset(ret, 0, sizeof(*ret));
	lock_take(&shim.lock, &mask);
	if (atomic_load(&shim.is_on)) {
		ret->enabled = 1;
		ret->start_time = shim.start_time;
		ret->samples_gathered = atomic_load(samples);
		n = strnlen(shim.name, sizeof(ret->profile_name) - 1);
		memcpy(ret->profile_name, shim.name, n);
		if (n + 1 + sizeof(samples) <= sizeof(ret->profile_name))
			memcpy(ret->profile_name + n + 1, &samples, sizeof(samples));
	}
	lock_release(&shim.lock, &mask);
}

static int trace(const struct unwind_registers *registers, void **result, int max_depth,
		 int64_t skip)
{
	struct threads *threads = atomic_load(&shim.threads);
	struct thread *room = threads ? threads_claim(threads) : NULL;
	struct images_view *view = room && shim.images ? images_enter(shim.images) : NULL;
	struct tick_stack stack;
	int n = 0;

	if (view) {
		tick_walk(shim.images, view, room, registers, &stack);
		for (; skip < stack.n && n < max_depth; skip++)
			result[n++] = (void *)(uintptr_t)(room->frames[skip] + 1);
		images_leave(view);
	}
	if (room)
		threads_release(room);
	return n;
}

/* Two frames are ours: this function and the interface's. */
__attribute__((noinline)) int shim_stack_trace(void **result, int max_depth, int skip)
{
	struct unwind_registers registers;
	sigset_t all, mask;
	ucontext_t here;
	int n;

	getcontext(&here);
	tick_registers(&here, &registers);
	/* A handler that does not return must not keep what is held in between. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	n = trace(&registers, result, max_depth, 2 + (int64_t)skip);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return n;
}

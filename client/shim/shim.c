/* SPDX-License-Identifier: MIT */
/*
 * A profile begins with a file that is whole, a view of the process's code and timers for all its
 * threads; it ends in the opposite order, and the file is written again. A server that wants
 * samples has the same timers. And what becomes of both as threads begin and end, the process
 * forks, and is switched.
 */
#include "client/shim/shim.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "client/shim/signals.h"
#include "common/cleanup.h"

#define TALLY_WORDS (8u << 20)
/* The kernel leaves at least this much below the main thread's stack (arch/x86/mm/mmap.c). */
#define MAIN_STACK_GAP (64u << 20)

struct shim shim = {.file.fd = -1};

/* A line on standard error. */
__attribute__((format(printf, 1, 2))) static void shim_print(const char *format, ...)
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

/* --- writing ------------------------------------------------------------------------------ */

/* The lock is held. */
static void shim_write_file(bool is_last)
{
	cleanup(freep) uint8_t *bytes = NULL;
	size_t length;

	/* A forked process that was never sampled is not worth a file. */
	if (shim.file.fd < 0 && !atomic_load(&shim.samples))
		return;
	if (profile_encode(shim.tally, shim.images, 1000000 / shim.settings.frequency,
			   &shim.counters, &bytes, &length) < 0 ||
	    !profile_file_write(&shim.file, bytes, length, is_last))
		shim_print("%s cannot be written: %s", shim.file.path, strerrordesc_np(errno));
}

/* --- starting ----------------------------------------------------------------------------- */

struct threads_timing shim_timing(void)
{
	bool is_realtime = atomic_load(&shim.is_on) && shim.settings.is_realtime;

	return (struct threads_timing){
		.frequency = shim_wanted_frequency(),
		.signal = shim.settings.tick_signal,
		.is_realtime = is_realtime,
		.is_main_only = is_realtime && !shim.settings.is_per_thread,
	};
}

bool shim_wants_ticks(void)
{
	return atomic_load(&shim.is_on) || atomic_load(&shim.link.state) != LINK_NONE;
}

/* Room for threads and images, once. */
static bool shim_reserve(void)
{
	struct threads *threads = atomic_load(&shim.threads);

	if (!threads && threads_new(&threads) == 0)
		atomic_store(&shim.threads, threads);
	if (!shim.images)
		images_new(&shim.images);
	if (!shim.stack)
		shim.stack = malloc(SHIM_STACK_BYTES);
	return threads && shim.images && shim.stack;
}

/* Sets the handler of a signal that has none. False: it has one. */
static bool shim_install_handler(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = {.sa_sigaction = handler}, before;

	if (hooks_sigaction(number, NULL, &before) < 0)
		return false;
	if (before.sa_flags & SA_SIGINFO && before.sa_sigaction == handler)
		return true;
	if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
		return false;
	action.sa_flags = SA_SIGINFO | SA_RESTART | flags;
	sigfillset(&action.sa_mask);
	if (handler == shim_on_tick)
		program_action(&before, NULL);
	return hooks_sigaction(number, &action, NULL) == 0;
}

static bool shim_set_names(const char *name)
{
	char dir[PATH_MAX];

	snprintf(shim.name, sizeof(shim.name), "%s", name);
	return settings_name(shim.base, getcwd(dir, sizeof(dir)), name, "") &&
	       settings_name(shim.file.path, NULL, shim.base, "");
}

/* Why threads have got none, errno says. */
static void shim_handle_no_timers(void)
{
	int why = errno;

	if (shim.itimer.is_on)
		return;
	/* Of all or none: what has both would count twice. */
	if (!shim.has_timers && !shim_timing().is_realtime &&
	    shim.settings.tick_signal == SIGPROF) {
		shim.uses_itimer = itimer_start(&shim.itimer, shim_timing().frequency);
		if (shim.uses_itimer)
			return;
	}
	if (!shim.said_no_timer)
		shim_print("threads have got no timer and are not sampled: %s",
			   strerrordesc_np(why));
	shim.said_no_timer = true;
}

/* This thread gets a timer, or the process does if it has had none. */
static void shim_start_thread(struct thread *thread)
{
	const struct threads_timing when = shim_timing();

	if (shim.itimer.is_on || !when.frequency)
		return;
	if (threads_arm(shim.threads, thread, &when))
		shim.has_timers = true;
	else
		shim_handle_no_timers();
}

/* Gives all threads timers. */
static void shim_start_threads(void)
{
	const struct threads_timing when = shim_timing();
	struct thread *mine;

	shim.has_timers = shim.uses_itimer = shim.said_no_timer = false;
	/* The server may have gone in this moment: then no ticks are wanted. */
	if (when.frequency && threads_scan(shim.threads, &when, &shim.has_timers))
		shim_handle_no_timers();
	/* In the main thread the stack's end is known: what the kernel put there at the start. */
	mine = threads_find(shim.threads, getpid());
	if (mine && !mine->end) {
		mine->end = getauxval(AT_RANDOM) & ~UINT64_C(7);
		mine->low = mine->end - MAIN_STACK_GAP;
	}
}

static void shim_reset(void)
{
	tally_reset(shim.tally);
	memset(&shim.counters, 0, sizeof(shim.counters));
	atomic_store(&shim.samples, 0);
}

static bool shim_start_locked(const char *name, const struct ProfilerOptions *options)
{
	if (atomic_load(&shim.is_on) || shim.is_secure || !name || shim.settings.is_bad_signal)
		return false;
	/* Made by a system call of its own, this process has another's threads in its books. */
	if (shim.pid != getpid())
		return false;
	if (!shim_reserve() || (!shim.tally && tally_new(&shim.tally, TALLY_WORDS) < 0)) {
		shim_print("there is no memory for a profile");
		return false;
	}
	if (!shim_install_handler(shim.settings.tick_signal, shim_on_tick, SA_ONSTACK)) {
		shim_print("signal %d belongs to the program: there is no profile",
			   shim.settings.tick_signal);
		return false;
	}
	if (!shim_set_names(name) || !profile_file_open(&shim.file))
		return false;
	shim.start_time = time(NULL);
	shim_reset();
	atomic_store(&shim.filter_argument, options ? options->filter_in_thread_arg : NULL);
	atomic_store(&shim.filter, options ? options->filter_in_thread : NULL);
	images_refresh(shim.images);
	/* Whatever becomes of the program, there is a whole file. */
	shim_write_file(false);
	/* Timers that run for a server run as the profile says from now on. */
	threads_disarm_all(shim.threads);
	itimer_stop(&shim.itimer);
	atomic_store(&shim.look_ns, 0);
	shim.look_wait_ns = 0;
	atomic_store(&shim.is_on, true);
	shim_start_threads();
	fatal_begin();
	return true;
}

/* Returns ATTACH_E_*, or -1. */
static int start_link_locked(const char *socket, struct attach_reason *ret_reason)
{
	int r;

	if (shim.settings.is_bad_signal || strlen(socket) >= LINK_PATH_SIZE || !shim_reserve() ||
	    !shim_install_handler(shim.settings.tick_signal, shim_on_tick, SA_ONSTACK))
		return -1;
	r = link_init(&shim.link, socket, ret_reason);
	/* Else at the first tick that somebody wants. */
	if (!r)
		images_refresh(shim.images);
	shim_start_threads();
	return r;
}

/*
 * In files and pipes what a program writes to standard error is read by other programs, or sent by
 * mail: nothing is printed there that the program would not print without us.
 */
static void shim_start_link(const char *socket)
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
	if (r >= 0)
		sigdelset(&mask, shim.settings.tick_signal);
	lock_release(&shim.lock, &mask);
	if (r && isatty(STDERR_FILENO))
		shim_print("%s does not get this program's samples: %s%s%s", socket,
			   r < 0 ? "they cannot be taken" : outcomes[r], *reason.text ? ": " : "",
			   reason.text);
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
		sigdelset(&mask, shim.settings.tick_signal);
	lock_release(&shim.lock, &mask);
	errno = kept;
	return good;
}

/* Of each thread that is sampled: of this one alone where the process has the timer. */
static void shim_count_missed(void (*count)(struct thread *thread))
{
	struct thread *thread = shim.itimer.is_on ? threads_find(shim.threads, gettid()) : NULL;

	if (thread)
		count(thread);
	for (int i = 0; (thread = threads_at(shim.threads, i)) != NULL; i++)
		if (thread->has_timer)
			count(thread);
}

static void shim_count_own(struct thread *thread)
{
	shim_count_missed_ticks(thread, true, false);
}

void shim_stop_locked(void)
{
	if (!atomic_load(&shim.is_on) || shim.pid != getpid())
		return;
	atomic_store(&shim.is_on, false);
	images_wait(shim.images);
	shim_count_missed(shim_count_own);
	threads_disarm_all(shim.threads);
	itimer_stop(&shim.itimer);
	fatal_end();
	images_refresh(shim.images);
	shim_write_file(true);
	profile_file_close(&shim.file);
	if (shim_wants_ticks())
		shim_start_threads();
}

void shim_flush(void)
{
	int kept = errno;
	sigset_t mask;

	lock_take(&shim.lock, &mask);
	if (atomic_load(&shim.is_on) && shim.pid == getpid()) {
		images_refresh(shim.images);
		shim_write_file(false);
	}
	lock_release(&shim.lock, &mask);
	errno = kept;
}

/* --- questions ---------------------------------------------------------------------------- */

/* A child of vfork(2) has actions of its own, in its parent's memory. */
bool shim_has_signal(int number)
{
	struct sigaction now;

	return number == shim.settings.tick_signal && shim.pid == getpid() &&
	       hooks_sigaction(number, NULL, &now) == 0 && now.sa_flags & SA_SIGINFO &&
	       now.sa_sigaction == shim_on_tick;
}

int shim_tick_signal(void)
{
	return shim_wants_ticks() ? shim.settings.tick_signal : 0;
}

/* --- threads ------------------------------------------------------------------------------ */

/* At the end of a thread: pthread_key_create(3). */
static void end_thread(void *slot)
{
	struct thread *thread = slot;
	sigset_t mask;

	lock_take(&shim.lock, &mask);
	if (thread->has_timer)
		shim_count_end(thread);
	threads_disarm(thread);
	threads_release(thread);
	lock_release(&shim.lock, &mask);
}

struct thread *shim_thread_prepare(void *(*run)(void *), void *argument)
{
	struct threads *threads = atomic_load(&shim.threads);
	struct thread *thread = NULL;
	sigset_t mask;

	if (shim.is_secure || !shim.has_key)
		return NULL;
	if (!threads) {
		lock_take(&shim.lock, &mask);
		shim_reserve();
		threads = atomic_load(&shim.threads);
		lock_release(&shim.lock, &mask);
	}
	if (threads)
		thread = threads_claim(threads);
	if (thread) {
		thread->start = run;
		thread->argument = argument;
	}
	return thread;
}

/* The bounds of this thread's stack; in the main thread they are not the kernel's. */
static void measure_stack(struct thread *thread)
{
	pthread_attr_t attributes;
	void *low;
	size_t length;

	if (getpid() == gettid() || pthread_getattr_np(pthread_self(), &attributes))
		return;
	if (pthread_attr_getstack(&attributes, &low, &length) == 0) {
		thread->low = (uint64_t)(uintptr_t)low;
		thread->end = thread->low + length;
	}
	pthread_attr_destroy(&attributes);
}

/* The lock is held. A slot that threads_scan() gave it, or that an older thread left, goes. */
static void shim_register_thread(struct thread *thread, int tid)
{
	struct thread *other = threads_find(shim.threads, tid);

	if (other) {
		threads_disarm(other);
		threads_release(other);
	}
	atomic_store(&thread->tid, tid);
	/* Made by a system call of its own, this process has another's profile. */
	if (shim_wants_ticks() && shim.pid == getpid())
		shim_start_thread(thread);
}

void shim_thread_begin(struct thread *thread)
{
	sigset_t mask;

	if (!thread)
		thread = shim_thread_prepare(NULL, NULL);
	if (!thread)
		return;
	measure_stack(thread);
	lock_take(&shim.lock, &mask);
	shim_register_thread(thread, gettid());
	if (shim_wants_ticks())
		sigdelset(&mask, shim.settings.tick_signal);
	lock_release(&shim.lock, &mask);
	pthread_setspecific(shim.key, thread);
}

void shim_libraries_changed(void)
{
	sigset_t mask;

	if (!shim_wants_ticks())
		return;
	lock_take(&shim.lock, &mask);
	if (shim_wants_ticks())
		images_refresh(shim.images);
	lock_release(&shim.lock, &mask);
}

/* --- the process -------------------------------------------------------------------------- */

/* The lock is held over the fork, and with it no tick can interrupt that: a long one would begin
 * again and again. */
static void shim_fork_prepare(void)
{
	struct threads *threads;
	sigset_t mask;

	lock_take(&shim.lock, &mask);
	program_action_hold();
	shim.fork_mask = mask;
	threads = atomic_load(&shim.threads);
	shim.forks = threads ? threads_find(threads, gettid()) : NULL;
}

static void shim_fork_parent(void)
{
	sigset_t mask = shim.fork_mask;

	program_action_release();
	lock_release(&shim.lock, &mask);
}

/* A profile of its own, in a file of its own, that is not made before it is written. */
static void begin_as_child(int parent)
{
	profile_file_close(&shim.file);
	if (!settings_child_name(shim.file.path, shim.base, parent, shim.pid)) {
		atomic_store(&shim.is_on, false);
		return;
	}
	memcpy(shim.name, shim.file.path, sizeof(shim.name));
	shim.start_time = time(NULL);
	shim_reset();
}

static void arm_child(void)
{
	if (shim.forks)
		shim_start_thread(shim.forks);
	else
		shim_start_threads();
}

static void shim_fork_child(void)
{
	struct threads *threads = atomic_load(&shim.threads);
	sigset_t mask = shim.fork_mask;
	char path[PATH_MAX];
	int parent = shim.pid;

	program_action_release();
	shim.pid = getpid();
	if (threads)
		threads_after_fork(threads, shim.forks, gettid());
	if (shim.images)
		images_after_fork(shim.images);
	link_after_fork(&shim.link);
	shim.itimer.is_on = false;
	if (atomic_load(&shim.is_on))
		begin_as_child(parent);
	if (shim_wants_ticks())
		arm_child();
	if (shim.settings.switch_signal &&
	    settings_child_name(path, shim.settings.path, parent, shim.pid))
		memcpy(shim.settings.path, path, sizeof(path));
	lock_release(&shim.lock, &mask);
}

/* Begins a profile or ends it. */
static void on_switch(int number, siginfo_t *info, void *ucontext)
{
	char name[PATH_MAX], suffix[16];
	int kept = errno;
	sigset_t mask;

	(void)number;
	(void)info;
	(void)ucontext;
	lock_take(&shim.lock, &mask);
	if (atomic_load(&shim.is_on)) {
		shim_run_on_stack(shim_stop_locked);
	} else {
		snprintf(suffix, sizeof(suffix), ".%u", shim.n_switched++);
		if (!settings_name(name, NULL, shim.settings.path, suffix) ||
		    !shim_start_locked(name, NULL))
			shim_print("there is no profile %s%s: %s", shim.settings.path, suffix,
				   strerrordesc_np(errno));
	}
	lock_release(&shim.lock, &mask);
	errno = kept;
}

void shim_begin(void)
{
	const struct settings *settings = &shim.settings;

	shim.pid = getpid();
	shim.is_secure = getauxval(AT_SECURE) != 0;
	settings_read(&shim.settings, shim.is_secure ? NULL : getenv, shim.pid);
	if (shim.is_secure)
		return;
	shim.has_key = pthread_key_create(&shim.key, end_thread) == 0;
	pthread_atfork(shim_fork_prepare, shim_fork_parent, shim_fork_child);
	if (settings->socket)
		shim_start_link(settings->socket);
	if (settings->is_bad_signal)
		shim_print("CPUPROFILESIGNAL or CPUPROFILE_TIMER_SIGNAL is no signal that can be "
			   "used");
	else if (!settings->path[0])
		return;
	else if (settings->switch_signal &&
		 !shim_install_handler(settings->switch_signal, on_switch, 0))
		shim_print("signal %d belongs to the program: it switches no profile",
			   settings->switch_signal);
	else if (!settings->switch_signal && !shim_start(settings->path, NULL))
		shim_print("there is no profile %s: %s", settings->path, strerrordesc_np(errno));
}

/*
 * Hands over what is owed to the server: ticks of this thread, whose name is in its samples,
 * and what was mapped since the last look, such as generated code. The lock is held.
 */
static void end_link(void)
{
	struct thread *mine = threads_find(shim.threads, gettid());
	uint32_t frequency = link_frequency(&shim.link);
	struct images_view *view;

	atomic_store(&shim.link.state, LINK_NONE);
	images_wait(shim.images);
	if (frequency && mine && (mine->has_timer || shim.itimer.is_on) &&
	    shim_frequency_of(mine) == frequency)
		shim_count_missed_ticks(mine, false, true);
	if (!link_has_samples(&shim.link))
		return;
	images_refresh(shim.images);
	view = images_enter(shim.images);
	if (view) {
		link_maps(&shim.link, view);
		images_leave(view);
	}
}

void shim_end(void)
{
	sigset_t mask;

	if (!shim_wants_ticks() || shim.pid != getpid())
		return;
	lock_take(&shim.lock, &mask);
	if (atomic_load(&shim.is_on))
		shim_run_on_stack(shim_stop_locked);
	if (link_enter(&shim.link)) {
		shim_run_on_stack(end_link);
		link_leave(&shim.link);
	}
	lock_release(&shim.lock, &mask);
}

/*
 * All threads end. The process's timer, and signals of it that wait, would go on and end the next
 * program.
 */
void shim_exec_begin(void)
{
	sigset_t mask;

	if (!shim_wants_ticks() || shim.pid != getpid())
		return;
	lock_take(&shim.lock, &mask);
	shim_count_missed(shim_count_end);
	itimer_stop(&shim.itimer);
	lock_release(&shim.lock, &mask);
	/* Most forked processes become other programs before they are sampled once. */
	if (shim.file.fd >= 0 || atomic_load(&shim.samples))
		shim_flush();
}

/* Timers begin anew: their signals would count again what was counted before. */
void shim_exec_failed(void)
{
	int kept = errno;
	sigset_t mask;

	if (!shim_wants_ticks() || shim.pid != getpid())
		return;
	lock_take(&shim.lock, &mask);
	threads_disarm_all(shim.threads);
	shim_start_threads();
	lock_release(&shim.lock, &mask);
	errno = kept;
}

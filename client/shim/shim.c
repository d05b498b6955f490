/* SPDX-License-Identifier: MIT */
/*
 * A profile begins with a file that is whole, a view of the process's code and timers for all its
 * threads; it ends in the opposite order, and the file is written again. A server that wants
 * samples has the same timers.
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

void shim_print(const char *format, ...)
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
	return (struct threads_timing){
		.frequency = shim_wanted_frequency(),
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
	if (!shim.stack)
		shim.stack = malloc(SHIM_STACK_BYTES);
	return threads && shim.images && shim.stack;
}

bool shim_install_handler(int number, void (*handler)(int, siginfo_t *, void *), int flags)
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

void shim_start_thread(struct thread *thread)
{
	const struct threads_timing when = shim_timing();

	if (shim.itimer.is_on || !when.frequency)
		return;
	if (threads_arm(shim.threads, thread, &when))
		shim.has_timers = true;
	else
		shim_handle_no_timers();
}

void shim_start_threads(void)
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

void shim_stop_locked(void)
{
	struct thread *thread = NULL;

	if (!atomic_load(&shim.is_on) || shim.pid != getpid())
		return;
	atomic_store(&shim.is_on, false);
	images_wait(shim.images);
	if (shim.itimer.is_on)
		thread = threads_find(shim.threads, gettid());
	if (thread)
		shim_count_missed_ticks(thread, true, false);
	for (int i = 0; (thread = threads_at(shim.threads, i)) != NULL; i++)
		if (thread->has_timer)
			shim_count_missed_ticks(thread, true, false);
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

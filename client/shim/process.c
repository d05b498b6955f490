/* SPDX-License-Identifier: MIT */
/* What becomes of the profile as threads begin and end, the process forks, and is switched. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "client/shim/shim.h"
#include "client/shim/signals.h"

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

/* The process's timer, and signals of it that wait, would go on and end the next program. */
void shim_exec_begin(void)
{
	sigset_t mask;

	if (!shim_wants_ticks() || shim.pid != getpid())
		return;
	lock_take(&shim.lock, &mask);
	itimer_stop(&shim.itimer);
	lock_release(&shim.lock, &mask);
	/* Most forked processes become other programs before they are sampled once. */
	if (shim.file.fd >= 0 || atomic_load(&shim.samples))
		shim_flush();
}

void shim_exec_failed(void)
{
	int kept = errno;
	sigset_t mask;

	if (!shim_wants_ticks() || shim.pid != getpid())
		return;
	lock_take(&shim.lock, &mask);
	if (shim.uses_itimer)
		itimer_start(&shim.itimer, shim_timing().frequency);
	lock_release(&shim.lock, &mask);
	errno = kept;
}

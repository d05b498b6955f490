/* SPDX-License-Identifier: MIT */
/*
 * Threads are rows, found by what their labels say. What functions are is found out once a
 * function, what a location is from these each time: of a stack only a few are looked at, but for
 * those of Go's runtime, whose stacks are short.
 */
#include "client/analysis/idle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/wall.h"
#include "common/clamped.h"
#include "common/error.h"
#include "common/profile/intern.h"
#include "common/profile/measure.h"
#include "common/profile/profile.h"
#include "common/profile/value_types.h"
#include "common/room.h"

#define PLACE_FRAMES   8
#define RUNTIME_FRAMES 16 /* of a thread that Go's runtime keeps: it has fewer */

/* System calls in which a thread waits for whatever happens next: the label `wait`. */
static const char *const idle_calls[] = {
	"epoll_wait",   "epoll_pwait",     "epoll_pwait2",  "poll",    "ppoll",
	"select",       "pselect6",        "accept",        "accept4", "io_uring_enter",
	"io_getevents", "rt_sigtimedwait", "io_pgetevents",
};

/* Parts of names of functions that wait on a condition variable, or until they are given work. */
static const char *const idle_conditions[] = {
	"pthread_cond_wait",
	"pthread_cond_timedwait",
	"pthread_cond_clockwait",
	"condition_variable",
	"Condvar",
	"cnd_wait",
	"cnd_timedwait",
	"thread::park",
};

/* Go's threads that have no goroutine, and the one that watches over them. */
static const char *const idle_runtime[] = {
	"runtime.stopm",  "runtime.findRunnable",   "runtime.findrunnable",
	"runtime.sysmon", "runtime.templateThread",
};

enum { IDLE_KNOWN = 1, IDLE_CONDITION = 2, IDLE_RUNTIME = 4, IDLE_LOCK = 8 };

/* Strings of the profile, or numbers; without padding. */
struct idle_key {
	int64_t pid, tid;
	uint32_t pid_text, tid_text, thread, is_base;
};

struct idle_thread {
	struct idle_key key;
	uint32_t place[PLACE_FRAMES]; /* locations, leaf first */
	uint32_t n_place;
	bool has_waited, is_busy;      /* it does something else than wait for work */
	int64_t waited_ns, runtime_ns; /* of waiting for work; of that in Go's runtime */
};

struct idle {
	struct idle_thread *threads;
	struct intern in;
	uint8_t *functions; /* IDLE_* bits, of the profile's functions */
	size_t max_functions;
	unsigned cpu, off; /* types */
	bool has_cpu, has_off, is_decided;
	uint32_t pid_key, tid_key, thread_key, state_key, wait_key; /* strings */
	uint32_t sleep, runnable, futex;
	uint32_t calls[ARRAY_SIZE(idle_calls)];
	int64_t slept_ns;
	struct idle_sum sum;
};

int idle_new(struct idle **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : error_origin(-ENOMEM);
}

void idle_free(struct idle *idle)
{
	if (!idle)
		return;
	intern_deinit(&idle->in);
	free(idle->threads);
	free(idle->functions);
	free(idle);
}

bool idle_may_be(const struct profile *p)
{
	unsigned type;

	return profile_find_type(p, WALL_OFF_TYPE, &type);
}

/* --- what samples are ------------------------------------------------------------------------- */

static bool idle_name_has(const char *name, const char *const *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

static bool idle_name_is(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static uint8_t idle_function(struct idle *idle, const struct profile *p, uint32_t function)
{
	uint8_t *bits = &idle->functions[function];
	const char *name;

	if (*bits)
		return *bits;
	name = profile_string(p, p->functions[function].name);
	*bits = IDLE_KNOWN;
	if (idle_name_has(name, idle_conditions, ARRAY_SIZE(idle_conditions)))
		*bits |= IDLE_CONDITION;
	if (idle_name_is(name, idle_runtime, ARRAY_SIZE(idle_runtime)))
		*bits |= IDLE_RUNTIME;
	/* Python's own lock is made of a condition variable. */
	if (strcmp(name, "take_gil") == 0)
		*bits |= IDLE_LOCK;
	return *bits;
}

/* What the functions of the innermost @max user frames are, and these in @ret (or NULL). */
static uint8_t idle_stack(struct idle *idle, const struct profile *p,
			  const struct profile_sample *s, uint32_t max, uint32_t *ret,
			  uint32_t *ret_n)
{
	uint8_t bits = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_locations && n < max; i++) {
		uint32_t location = p->sample_locations[s->first_location + i];
		const struct profile_location *l = &p->locations[location];

		if (profile_is_kernel_location(p, l))
			continue;
		if (ret)
			ret[n] = location;
		n++;
		for (uint32_t k = 0; k < l->n_lines; k++) {
			uint32_t function = p->lines[l->first_line + k].function;

			if (function < p->n_functions)
				bits |= idle_function(idle, p, function);
		}
	}
	if (ret_n)
		*ret_n = n;
	return bits;
}

/* What the labels of a sample say. */
struct idle_labels {
	struct idle_key key;
	uint32_t state, wait;
	bool has_thread; /* a label that says which it is, if only by its process */
};

static void idle_read_labels(const struct idle *idle, const struct profile *p,
			     const struct profile_sample *s, struct idle_labels *ret)
{
	*ret = (struct idle_labels){0};
	for (uint32_t i = 0; i < s->n_labels; i++) {
		const struct profile_label *l = &p->sample_labels[s->first_label + i];

		if (l->key == idle->pid_key) {
			ret->key.pid = l->num;
			ret->key.pid_text = l->str;
		} else if (l->key == idle->tid_key) {
			ret->key.tid = l->num;
			ret->key.tid_text = l->str;
		} else if (l->key == idle->thread_key) {
			ret->key.thread = l->str;
		} else if (l->key == idle->state_key) {
			ret->state = l->str;
		} else if (l->key == idle->wait_key) {
			ret->wait = l->str;
		}
	}
	ret->has_thread = ret->key.pid || ret->key.pid_text || ret->key.tid || ret->key.tid_text ||
			  ret->key.thread;
	ret->key.is_base = compare_is_base(p, &p->sample_labels[s->first_label], s->n_labels);
}

/* Of a wait, whether it is one for work. @bits: of its innermost frames. */
static bool idle_waits_for_work(const struct idle *idle, const struct idle_labels *l, uint8_t bits)
{
	if (l->state && l->state != idle->sleep)
		return false;
	if (l->wait == idle->futex)
		return (bits & IDLE_CONDITION) && !(bits & IDLE_LOCK);
	for (size_t i = 0; i < ARRAY_SIZE(idle->calls); i++)
		if (l->wait == idle->calls[i])
			return true;
	return false;
}

static int64_t idle_value(const struct profile *p, size_t sample, bool has, unsigned type)
{
	int64_t value = has ? p->sample_values[sample * p->n_sample_types + type] : 0;

	return value == INT64_MIN ? INT64_MAX : llabs(value);
}

static bool idle_is_runtime(struct idle *idle, const struct profile *p,
			    const struct profile_sample *s)
{
	return idle_stack(idle, p, s, RUNTIME_FRAMES, NULL, NULL) & IDLE_RUNTIME;
}

/* --- learning --------------------------------------------------------------------------------- */

static int idle_bind(struct idle *idle, struct profile *p)
{
	const struct {
		const char *text;
		uint32_t *string;
	} texts[] = {
		{"pid", &idle->pid_key},       {"tid", &idle->tid_key},
		{"thread", &idle->thread_key}, {"state", &idle->state_key},
		{"wait", &idle->wait_key},     {"sleep", &idle->sleep},
		{"runnable", &idle->runnable}, {"futex", &idle->futex},
	};
	const size_t before = idle->max_functions;
	int r = 0;

	idle->has_cpu = profile_find_type(p, WALL_CPU_TYPE, &idle->cpu);
	idle->has_off = profile_find_type(p, WALL_OFF_TYPE, &idle->off);
	for (size_t i = 0; i < ARRAY_SIZE(texts) && !r; i++)
		r = profile_add_text(p, texts[i].text, texts[i].string);
	for (size_t i = 0; i < ARRAY_SIZE(idle_calls) && !r; i++)
		r = profile_add_text(p, idle_calls[i], &idle->calls[i]);
	r = r ?: room_make(&idle->functions, &idle->max_functions, p->n_functions + 1, 1);
	if (!r && idle->max_functions > before)
		memset(idle->functions + before, 0, idle->max_functions - before);
	return r;
}

/* The innermost frames are those of all waits before, as far as either has any. */
static bool idle_is_same_place(const struct idle_thread *t, const uint32_t *place, uint32_t n)
{
	const uint32_t both = n < t->n_place ? n : t->n_place;

	return !t->has_waited || (both && !memcmp(t->place, place, both * sizeof(*place)));
}

static void idle_learn_wait(struct idle *idle, const struct profile *p, size_t sample,
			    const struct idle_labels *labels, struct idle_thread *t)
{
	const struct profile_sample *s = &p->samples[sample];
	const int64_t ns = idle_value(p, sample, true, idle->off);
	uint32_t place[PLACE_FRAMES], n = 0;
	uint8_t bits = idle_stack(idle, p, s, PLACE_FRAMES, place, &n);

	if (labels->state != idle->runnable)
		idle->slept_ns = clamped_add(idle->slept_ns, ns);
	if (idle_is_runtime(idle, p, s)) {
		if (labels->state != idle->runnable)
			t->runtime_ns = clamped_add(t->runtime_ns, ns);
		t->is_busy = true; /* beyond that */
		return;
	}
	t->is_busy |= !idle_is_same_place(t, place, n);
	if (!t->has_waited || n > t->n_place) {
		memcpy(t->place, place, n * sizeof(*place));
		t->n_place = n;
	}
	t->has_waited = true;
	if (labels->state == idle->runnable)
		return;
	t->is_busy |= !labels->has_thread || !idle_waits_for_work(idle, labels, bits);
	t->waited_ns = clamped_add(t->waited_ns, ns);
}

int idle_learn(struct idle *idle, struct profile *p)
{
	int r = idle_bind(idle, p);

	for (size_t i = 0; i < p->n_samples && !r; i++) {
		struct idle_labels labels;
		struct idle_thread thread = {0};
		uint32_t index;

		idle_read_labels(idle, p, &p->samples[i], &labels);
		thread.key = labels.key;
		r = intern_add(&idle->in, &idle->threads, &thread, sizeof(thread),
			       sizeof(thread.key), &index);
		if (r)
			break;
		idle->threads[index].is_busy |= idle_value(p, i, idle->has_cpu, idle->cpu) != 0;
		if (idle_value(p, i, idle->has_off, idle->off))
			idle_learn_wait(idle, p, i, &labels, &idle->threads[index]);
	}
	return r;
}

void idle_decide(struct idle *idle)
{
	struct idle_sum sum = {0};

	idle->is_decided = true;
	for (size_t i = 0; i < idle->in.n; i++) {
		const struct idle_thread *t = &idle->threads[i];
		int64_t ns = clamped_add(t->runtime_ns, t->is_busy ? 0 : t->waited_ns);

		if (!ns)
			continue;
		sum.ns = clamped_add(sum.ns, ns);
		sum.n_threads++;
		sum.is_at_least |= !t->key.tid && !t->key.tid_text;
	}
	if (sum.ns == idle->slept_ns)
		idle->is_decided = false;
	else
		idle->sum = sum;
}

/* --- afterwards ------------------------------------------------------------------------------- */

bool idle_is(void *context, const struct profile *p, size_t sample)
{
	struct idle *idle = context;
	const struct profile_sample *s = &p->samples[sample];
	struct idle_labels labels;
	uint32_t index;

	if (!idle->is_decided || !idle->sum.n_threads || !idle_value(p, sample, true, idle->off))
		return false;
	idle_read_labels(idle, p, s, &labels);
	if (labels.state == idle->runnable)
		return false;
	index = intern_find(&idle->in, idle->threads, &labels.key, sizeof(struct idle_thread),
			    sizeof(labels.key));
	if (index == PROFILE_NONE)
		return false;
	return !idle->threads[index].is_busy ||
	       (idle->threads[index].runtime_ns && idle_is_runtime(idle, p, s));
}

struct idle_sum idle_sum(const struct idle *idle)
{
	return idle->sum;
}

const char *idle_note(const struct idle *idle, char ret[IDLE_NOTE_MAX])
{
	char text[MEASURE_TEXT_MAX];
	const struct idle_sum *sum = &idle->sum;

	*ret = '\0';
	if (sum->n_threads)
		snprintf(ret, IDLE_NOTE_MAX, "Idle: %s of %zu%s thread%s hidden; --idle shows them",
			 measure_print(text, sizeof(text), sum->ns, "nanoseconds", "auto"),
			 sum->n_threads, sum->is_at_least ? " or more" : "",
			 sum->n_threads == 1 && !sum->is_at_least ? "" : "s");
	return ret;
}

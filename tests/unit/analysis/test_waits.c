/* SPDX-License-Identifier: MIT */
/* Where a stack waits, and the table of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/analysis/wait_place.h"
#include "common/utf8.h"
#include "tests/unit/report/fixture.h"

#define LIBC   "/usr/lib/x86_64-linux-gnu/libc.so.6"
#define PYTHON "/usr/bin/python3.11"

/* "name@object@file", the leaf first, as samples have them: "" of both is the program's. */
static struct fixture_stack *push(struct fixture *f, const char *const *frames, int64_t value)
{
	struct fixture_stack *s;
	uint32_t n = 0;

	while (frames[n])
		n++;
	s = fixture_push(f, n, value);
	for (uint32_t i = 0; i < n; i++) {
		char text[256], *rest = text, *name, *object, *file;
		struct frame frame;
		size_t k = 0;

		assert_true(strlen(frames[i]) < sizeof(text));
		strcpy(text, frames[i]);
		name = strsep(&rest, "@");
		object = strsep(&rest, "@");
		file = strsep(&rest, "@");
		frame = (struct frame){.name = fixture_text(f, name),
				       .object = fixture_text(f, object ? object : "/opt/pool"),
				       .filename = fixture_text(f, file ? file : "")};
		while (k < f->n_frames && memcmp(&f->frames[k], &frame, sizeof(frame)) != 0)
			k++;
		f->frames[k] = frame;
		f->n_frames = k < f->n_frames ? f->n_frames : k + 1;
		s->frames[i] = (uint32_t)k;
	}
	return s;
}

static const char *name_of(const struct fixture *f, uint32_t frame)
{
	return frame == WAIT_PLACE_NONE ? "" : profile_string(f->p, f->frames[frame].name);
}

static void expect(struct fixture *f, const char *const *frames, const char *at, const char *caller)
{
	struct view_input input;
	struct stack stack;
	struct wait_place place;

	push(f, frames, 1);
	input = fixture_input(f);
	stack = fixture_get(f, f->n_stacks - 1);
	place = wait_place_of(&input, &stack, "read");
	assert_string_equal(name_of(f, place.at), at);
	assert_string_equal(name_of(f, place.caller), caller);
}

#define EXPECT(f, at, caller, ...) expect(f, (const char *const[]){__VA_ARGS__, NULL}, at, caller)

static void test_native(void **state)
{
	struct fixture *f = *state;

	EXPECT(f, "pthread_cond_wait", "queue_pop", "futex_do_wait@[kernel.kallsyms]",
	       "__futex_abstimed_wait_common@" LIBC, "pthread_cond_wait@" LIBC, "queue_pop",
	       "worker", "start_thread@" LIBC);
	EXPECT(f, "std::condition_variable::wait", "Pool::run", "__futex@" LIBC,
	       "pthread_cond_wait@" LIBC, "std::condition_variable::wait@/lib/libstdc++.so.6.0.30",
	       "Pool::run", "main");
	EXPECT(f, "void std::this_thread::sleep_for<long, std::ratio<1>>", "void retry<int>",
	       "clock_nanosleep@" LIBC, "void std::this_thread::sleep_for<long, std::ratio<1>>",
	       "void retry<int>", "main");
	/* Its own system call. */
	EXPECT(f, "spin_then_sleep", "", "do_futex@[kernel.kallsyms]", "spin_then_sleep", "lock");
	/* A program that has its libraries in it. */
	EXPECT(f, "pthread_mutex_lock", "put", "__lll_lock_wait", "pthread_mutex_lock", "put");
	EXPECT(f, "read", "load", "__syscall_cp_c", "read", "load");
	EXPECT(f, "<std::thread::thread::Thread>::park_timeout", "pool::run", "syscall",
	       "<std::thread::thread::Thread>::park_timeout", "pool::run");
	/* A library's thread that calls nobody. */
	EXPECT(f, "read", "", "read@" LIBC, "start_thread@" LIBC, "clone3@" LIBC);
	EXPECT(f, "kthread", "", "kthread@[kernel.kallsyms]", "ret_from_fork@[kernel.kallsyms]");
}

static void test_languages(void **state)
{
	struct fixture *f = *state;

	EXPECT(f, "os.(*File).Read", "", "os.(*File).Read", "main.load");
	EXPECT(f, "internal/poll.(*FD).Read", "os.(*File).Read", "syscall.Syscall",
	       "internal/poll.(*FD).Read", "os.(*File).Read", "main.load");
	EXPECT(f, "runtime.findRunnable", "", "runtime.futex", "runtime.stopm",
	       "runtime.findRunnable", "runtime.schedule", "runtime.mcall");
	/* The library of the language, and the interpreter that says nothing. */
	EXPECT(f, "get", "consume", "sem_clockwait@" LIBC, "PyThread_acquire_lock_timed@" PYTHON,
	       "_PyEval_EvalFrameDefault@" PYTHON,
	       "wait@" PYTHON "@/usr/lib/python3.11/threading.py",
	       "get@" PYTHON "@/usr/lib/python3.11/queue.py", "consume@" PYTHON "@/srv/app.py",
	       "main@" PYTHON "@/srv/app.py");
	EXPECT(f, "read", "load", "read@" LIBC, "_io_FileIO_read@" PYTHON,
	       "_PyEval_EvalFrameDefault@" PYTHON, "load@" PYTHON "@/srv/app.py");
	EXPECT(f, "take_gil", "spin", "pthread_cond_timedwait@" LIBC, "take_gil@" PYTHON,
	       "PyEval_RestoreThread@" PYTHON, "spin@" PYTHON "@/srv/app.py");
	/* A package is the program's, wherever it is installed. */
	EXPECT(f, "poll", "wait_for", "poll@" LIBC, "select_poll@" PYTHON,
	       "wait_for@" PYTHON "@/usr/lib/python3/dist-packages/urllib3/util.py",
	       "main@" PYTHON "@/srv/app.py");
}

static const char *const cond[] = {"futex_do_wait@[kernel.kallsyms]", "pthread_cond_wait@" LIBC,
				   "queue_pop", "worker", NULL};
static const char *const lock[] = {"pthread_mutex_lock@" LIBC,
				   "Queue<std::basic_string<char>>::emplace_back_and_wait_for_lock",
				   "worker", NULL};

static const char *const lock_elsewhere[] = {
	"pthread_mutex_lock@/opt/old/libc.so.6",
	"Queue<std::basic_string<char>>::emplace_back_and_wait_for_lock@/opt/old/pool", "worker",
	NULL};

static void label(struct fixture *f, struct fixture_stack *s, const char *state, const char *wait,
		  const char *waker)
{
	if (state)
		fixture_label(f, s, "state", state, 0, NULL);
	if (wait)
		fixture_label(f, s, "wait", wait, 0, NULL);
	if (waker)
		fixture_label(f, s, "waker", waker, 0, NULL);
}

/* What the view writes, with options. */
static char *table(struct fixture *f, const struct view_options *options)
{
	struct view_input input = fixture_input(f);
	char *text;

	input.type = 1;
	assert_int_equal(fixture_try(f, &view_waits, options, &input, &text), 0);
	for (const char *line = text; *line && !options->json; line += strcspn(line, "\n") + 1) {
		char one[256];

		snprintf(one, sizeof(one), "%.*s", (int)strcspn(line, "\n"), line);
		if (utf8_length(one) > 80)
			fail_msg("too wide: %s", one);
	}
	return text;
}

static void has(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("no '%s' in:\n%s", what, text);
}

static void test_table(void **state)
{
	struct fixture *f = *state;
	struct view_options options = fixture_bare();
	char *text;

	/* Equal rows are one, in whichever file; a waker makes another one. */
	label(f, push(f, lock, 400), "sleep", "futex", NULL);
	label(f, push(f, lock_elsewhere, 100), "sleep", "futex", NULL);
	label(f, push(f, lock, 300), "sleep", "futex", "flusher-with-a-long-name");
	label(f, push(f, cond, 199), "disk", "pwrite64", NULL);
	label(f, push(f, cond, 1), "runnable", NULL, NULL);
	push(f, cond, 0);
	for (size_t i = 0; i < 5; i++)
		f->stacks[i].values[0] = 1;
	text = table(f, &options);
	has(text, "Showing 3 of 4 rows\n");
	has(text, "500ns 50.00%        2  futex          pthread_mutex_lo… < …nd_wait_for_lock\n");
	has(text,
	    "\n                                           woken by flusher-with-a-long-name\n");
	has(text, "  disk pwrite64");
	has(text, " 50.00%");
	assert_null(strstr(text, "runnable"));
	free(text);

	options.trim = false;
	text = table(f, &options);
	has(text, "  runnable ");
	free(text);
	options.trim = true;
	options.nodecount = 1;
	text = table(f, &options);
	has(text, "Showing 1 of 4 rows\n");
	assert_null(strstr(text, "disk"));
	free(text);
}

static const char *const generic[] = {
	"read",
	"<pool::workers::Terminal as pool::workers::Waits<pool::workers::Job>>::wait_for::<i32>",
	"main", NULL};

static void test_long_names(void **state)
{
	struct fixture *f = *state;
	struct view_options options = fixture_bare();
	char *text;

	label(f, push(f, generic, 100), "sleep", "read", NULL);
	text = table(f, &options);
	has(text, "  read  read < pool::workers::Terminal::wait_for\n");
	free(text);
}

/* Where there is room, names are whole. */
static void test_names(void **state)
{
	struct fixture *f = *state;
	struct view_options options = fixture_bare();
	char *text;

	label(f, push(f, cond, 500), "sleep", "futex", NULL);
	push(f, cond, 0);
	label(f, push(f, cond, 250), "sleep", "futex", NULL);
	text = table(f, &options);
	has(text, "     750ns   100%      750  futex  pthread_cond_wait < queue_pop\n");
	assert_null(strstr(text, "woken by"));
	free(text);
}

static void test_json(void **state)
{
	struct fixture *f = *state;
	struct view_options options = fixture_bare();
	char *text;

	options.json = true;
	label(f, push(f, lock, 300), "sleep", "futex", "flusher");
	label(f, push(f, cond, 100), "disk", NULL, NULL);
	text = table(f, &options);
	has(text,
	    "{\"type\":\"cpu\",\"unit\":\"nanoseconds\",\"total\":400,\"notes\":[],\"waits\":[");
	has(text, "{\"state\":\"sleep\",\"wait\":\"futex\",\"place\":\"pthread_mutex_lock\","
		  "\"caller\":\"Queue\\u003cstd::basic_string\\u003cchar>>::emplace_back_and_wait_"
		  "for_lock\",\"waker\":\"flusher\",\"time\":300,\"share\":0.750000,"
		  "\"samples\":300}");
	has(text, "{\"state\":\"disk\",\"wait\":null,");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_native, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_languages, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_table, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_long_names, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_names, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_json, fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Names and lines of interpreters' code in a window, and workers that some of it is too much for.
 */
#include "tests/unit/output/code_fixture.h"

#include "common/frame.h"
#include "daemon/output/code_names.h"
#include "daemon/output/context.h"
#include "daemon/output/view.h"

/* Long enough for a worker that is well, on a machine that is not. */
#define HOSTILE_DEADLINE (2 * NS)

static struct context open_context(const char *worker)
{
	const struct symbols_options options = {
		.max_bytes = 8 << 20,
		.worker_path = worker,
		.deadline_ns = worker ? HOSTILE_DEADLINE : 60 * NS,
	};
	struct context c = {.text_bytes = 1 << 20};

	assert_int_equal(symbols_new(&c.symbols, &options), 0);
	return c;
}

/* A window in which each frame is a sample. */
static struct snapshot *make_window(const struct fixture *f, const struct code_book *book,
				    const uint64_t *frames, size_t n)
{
	struct snapshot *s = make_snapshot(f, T0, NULL, 0);

	s->symbolize = SYMBOLIZE_LINES;
	code_volumes_take(&s->codes, book);
	for (size_t i = 0; i < n; i++) {
		const struct aggregate_key key = {.process = 1,
						  .thread_name = "main",
						  .stack = {.n_frames = 1, .frames = &frames[i]}};

		assert_int_equal(aggregate_add(s->aggregate, &key, 1, 1), 0);
	}
	return s;
}

static struct code_names *ask_names(const struct context *c, const struct snapshot *s)
{
	cleanup(view_freep) struct view *view = NULL;
	struct code_names *names = NULL;

	symbols_begin_window(c->symbols);
	assert_int_equal(view_new(&view, s), 0);
	assert_int_equal(code_names_new(&names, view, c), 0);
	return names;
}

/* NULL: unknown. */
static const char *name_of(const struct code_names *n, uint64_t frame)
{
	uint32_t line;
	const struct code_name *name = code_names_find(n, frame, &line);

	return name ? name->name : NULL;
}

static struct symbols_stats stats_of(const struct context *c)
{
	struct symbols_stats stats;

	symbols_get_stats(c->symbols, &stats);
	return stats;
}

static void test_names(void **state)
{
	struct context c = open_context(NULL);
	cleanup(code_book_freep) struct code_book *book = NULL;
	cleanup(snapshot_freep) struct snapshot *s = NULL;
	cleanup(code_names_freep) struct code_names *names = NULL;
	const struct code_name *name;
	uint32_t line = 77, f, g;

	assert_int_equal(code_book_new(&book, 4 << 20), 0);
	f = add_code(book, 1, "f");
	g = add_code(book, 2, "g\n\xe4");
	const uint64_t frames[] = {frame_in_runtime(g, 16), frame_in_runtime(f, 0),
				   frame_in_runtime(g, 4),
				   frame_in_runtime(f, 0) | FRAME_RUNTIME_LOOP,
				   frame_in_runtime(UINT32_MAX, 4)};

	s = make_window(*state, book, frames, ARRAY_SIZE(frames));
	names = ask_names(&c, s);
	assert_null(code_names_find(names, frames[4], &line));
	assert_int_equal(line, 77);
	name = code_names_find(names, frames[0], &line);
	assert_string_equal(name->name, "g?\xc3\xa4");
	assert_string_equal(name->file, "/app/f.py");
	assert_int_equal(name->first_line, 10);
	assert_int_equal(line, 13);
	assert_ptr_equal(code_names_find(names, frames[2], &line), name);
	assert_int_equal(line, 11);
	assert_string_equal(name_of(names, frames[3]), "f");
	/* What the window does not have, nobody asked for. */
	assert_ptr_equal(code_names_find(names, frame_in_runtime(g, 6), &line), name);
	assert_int_equal(line, 0);
	symbols_free(c.symbols);
}

/* More than one question: by code, and by instructions of one. */
static void test_many(void **state)
{
	enum { CODES = 3000, OFFSETS = 10000 };
	struct context c = open_context(NULL);
	cleanup(code_book_freep) struct code_book *book = NULL;
	cleanup(snapshot_freep) struct snapshot *s = NULL;
	cleanup(code_names_freep) struct code_names *names = NULL;
	uint64_t *frames = calloc(CODES + OFFSETS, sizeof(*frames));
	uint32_t line;
	char name[16];

	assert_non_null(frames);
	assert_int_equal(code_book_new(&book, 4 << 20), 0);
	for (uint32_t i = 0; i < CODES; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		frames[i] = frame_in_runtime(add_code(book, i, name), 16);
	}
	for (uint32_t i = 0; i < OFFSETS; i++)
		frames[CODES + i] = frame_in_runtime(frame_code(frames[7]), i);
	s = make_window(*state, book, frames, CODES + OFFSETS);
	names = ask_names(&c, s);
	for (uint32_t i = 0; i < CODES; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		assert_string_equal(code_names_find(names, frames[i], &line)->name, name);
		assert_int_equal(line, 13);
	}
	for (uint32_t i = 0; i < OFFSETS; i++) {
		assert_string_equal(code_names_find(names, frames[CODES + i], &line)->name, "f7");
		assert_int_equal(line, i < 16 ? 11 : i < 20 ? 13 : 0);
	}
	free(frames);
	symbols_free(c.symbols);
}

/* Code that a worker dies of, hangs over or lies about is bad; all other code has its names. */
static void test_hostile(void **state)
{
	static const struct {
		const char *name;
		bool is_hang;
	} hostile[] = {{"picky:d", false}, {"picky:h", true}, {"picky:l", false}};

	for (size_t i = 0; i < ARRAY_SIZE(hostile); i++) {
		struct context c = open_context(TEST_PROGRAMS "/picky_worker");
		cleanup(code_book_freep) struct code_book *book = NULL;
		cleanup(snapshot_freep) struct snapshot *s = NULL;
		struct code_names *names;
		uint64_t died;

		assert_int_equal(code_book_new(&book, 4 << 20), 0);
		const uint64_t frames[] = {
			frame_in_runtime(add_code(book, 1, "before"), 0),
			frame_in_runtime(add_code(book, 2, hostile[i].name), 0),
			frame_in_runtime(add_code(book, 3, "behind"), 0),
		};

		s = make_window(*state, book, frames, ARRAY_SIZE(frames));
		names = ask_names(&c, s);
		assert_string_equal(name_of(names, frames[0]), "before");
		assert_null(name_of(names, frames[1]));
		/* A window loses two deadlines, and no more. */
		if (!hostile[i].is_hang)
			assert_string_equal(name_of(names, frames[2]), "behind");
		code_names_free(names);
		assert_true(code_volumes_find(&s->codes, frame_code(frames[1]))->is_bad);
		assert_false(code_volumes_find(&s->codes, frame_code(frames[2]))->is_bad);
		assert_int_equal(stats_of(&c).bad_images, 1);
		assert_string_equal(stats_of(&c).last_bad_image, "an interpreter's code");
		died = stats_of(&c).workers_died;
		names = ask_names(&c, s);
		assert_string_equal(name_of(names, frames[0]), "before");
		assert_null(name_of(names, frames[1]));
		assert_string_equal(name_of(names, frames[2]), "behind");
		assert_int_equal(stats_of(&c).workers_died, died);
		code_names_free(names);
		symbols_free(c.symbols);
	}
}

/* Without a worker there are no names, now; nothing is to blame. */
static void test_no_worker(void **state)
{
	struct context c = open_context("/nonexistent/worker");
	cleanup(code_book_freep) struct code_book *book = NULL;
	cleanup(snapshot_freep) struct snapshot *s = NULL;
	cleanup(code_names_freep) struct code_names *names = NULL;
	uint64_t frame;

	assert_int_equal(code_book_new(&book, 4 << 20), 0);
	frame = frame_in_runtime(add_code(book, 1, "f"), 0);
	s = make_window(*state, book, &frame, 1);
	names = ask_names(&c, s);
	assert_null(name_of(names, frame));
	assert_false(code_volumes_find(&s->codes, frame_code(frame))->is_bad);
	assert_string_not_equal(stats_of(&c).trouble, "");
	symbols_free(c.symbols);
}

/* Texts are bounded; what is beyond is counted. */
static void test_bound(void **state)
{
	struct context c = open_context(NULL);
	cleanup(code_book_freep) struct code_book *book = NULL;
	cleanup(snapshot_freep) struct snapshot *s = NULL;
	cleanup(code_names_freep) struct code_names *names = NULL;
	uint64_t frame;

	c.text_bytes = 8;
	assert_int_equal(code_book_new(&book, 4 << 20), 0);
	frame = frame_in_runtime(add_code(book, 1, "f"), 0);
	s = make_window(*state, book, &frame, 1);
	names = ask_names(&c, s);
	assert_null(name_of(names, frame));
	assert_int_equal(stats_of(&c).cut, 1);
	symbols_free(c.symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_many, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_hostile, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_no_worker, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_bound, fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

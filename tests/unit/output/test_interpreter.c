/* SPDX-License-Identifier: MIT */
/*
 * Frames of an interpreter in a pprof file: names, lines; and the loop's native frame, which keeps
 * its address.
 */
#include "tests/unit/output/code_fixture.h"

#include "common/frame.h"

static const struct profile_location *location_of(const struct profile *p, uint32_t sample,
						  uint32_t i)
{
	return &p->locations[p->sample_locations[p->samples[sample].first_location + i]];
}

static void assert_line(const struct profile *p, const struct profile_location *l, const char *name,
			int64_t line)
{
	const struct profile_line *at = &p->lines[l->first_line];
	const struct profile_function *f = &p->functions[at->function];

	assert_int_equal(l->n_lines, 1);
	assert_string_equal(profile_string(p, f->name), name);
	assert_string_equal(profile_string(p, f->filename), "/app/f.py");
	assert_int_equal(f->start_line, 10);
	assert_int_equal(at->line, line);
}

/* @worker: NULL for the real one. */
static struct writer *open_worker_writer(const struct fixture *f, const char *worker,
					 uint64_t now_s)
{
	const struct writer_world world = {.host = "host/1",
					   .proc_fd = f->proc_fd,
					   .sys_fd = f->sys_fd,
					   .worker_path = worker};
	const struct output_options options = default_options(f);
	struct writer *w = NULL;

	assert_int_equal(writer_new(&w, &options, &world, now_s * NS), 0);
	return w;
}

static struct profile *write_frames(struct fixture *f, enum symbolize symbolize, const char *worker,
				    uint64_t start_s)
{
	cleanup(writer_freep) struct writer *w = open_worker_writer(f, worker, start_s);
	cleanup(code_book_freep) struct code_book *book = NULL;
	struct snapshot *s;

	assert_int_equal(code_book_new(&book, 4 << 20), 0);
	const struct script script[] = {
		{.process = 1,
		 .count = 5,
		 .user = {PROGRAM_AT + 0x100, frame_in_runtime(add_code(book, 1, "leaf"), 16),
			  frame_in_runtime(add_code(book, 2, "outer"), 4) | FRAME_RUNTIME_LOOP,
			  PROGRAM_AT + 0x200, PROGRAM_AT + 0x300}}};

	s = make_snapshot(f, start_s, script, 1);
	s->symbolize = symbolize;
	code_volumes_take(&s->codes, book);
	write_quietly(w, s, start_s + 60);
	return read_pprof(path_of(f, start_s == T0 ? DAY_A "20261121T090000Z-60s.pb.gz"
						   : DAY_A "20261121T090100Z-60s.pb.gz"));
}

static void test_frames(void **state)
{
	cleanup(profile_freep) struct profile *p = write_frames(*state, SYMBOLIZE_LINES, NULL, T0);
	const struct profile_location *loop;

	assert_int_equal(profile_total(p, 0), 5);
	assert_int_equal(p->samples[0].n_locations, 4);
	assert_line(p, location_of(p, 0, 1), "leaf", 13);
	assert_int_equal(location_of(p, 0, 1)->mapping, PROFILE_NONE);
	loop = location_of(p, 0, 2);
	assert_line(p, loop, "outer", 11);
	assert_int_not_equal(loop->mapping, PROFILE_NONE);
	assert_int_equal(location_of(p, 0, 3)->address - loop->address, 0x100);
}

/* Of functions only where they begin, and without them the names all the same. */
static void test_less(void **state)
{
	cleanup(profile_freep) struct profile *p = write_frames(*state, SYMBOLIZE_NONE, NULL, T0);

	assert_line(p, location_of(p, 0, 1), "leaf", 0);
}

/* Without a worker: as many frames and samples, but for the loop's, which have no name. */
static void test_nobody_decodes(void **state)
{
	cleanup(profile_freep) struct profile *p = write_frames(*state, SYMBOLIZE_LINES,
								"/nonexistent", T0);

	assert_int_equal(profile_total(p, 0), 5);
	assert_int_equal(p->samples[0].n_locations, 4);
	for (uint32_t i = 1; i < 3; i++) {
		const struct profile_line *at = &p->lines[location_of(p, 0, i)->first_line];
		const struct profile_function *function = &p->functions[at->function];

		assert_string_equal(profile_string(p, function->name), "[unknown code]");
	}
}

/* The image profile of the interpreter has those whose leaf is a function of it. */
static void test_image(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_worker_writer(f, NULL, T0);
	cleanup(image_profile_freep) struct image_profile *p = NULL;
	cleanup(code_book_freep) struct code_book *book = NULL;

	assert_int_equal(code_book_new(&book, 4 << 20), 0);
	const uint64_t leaf = frame_in_runtime(add_code(book, 1, "leaf"), 16);
	const struct script script[] = {
		{.process = 1,
		 .count = 5,
		 .user = {leaf, leaf | FRAME_RUNTIME_LOOP, PROGRAM_AT + 0x200}},
		{.process = 1, .count = 7, .user = {leaf}},
	};

	write_quietly(w, make_snapshot(f, T0, script, 2), T0 + 60);
	p = read_image(
		path_of(f, IMAGES_1 "worker.1111111111111111111111111111111111111111.cpu-clock"));
	assert_int_equal(p->total, 5);
	assert_int_equal(p->counts[0].offset, 0x200 - 0x40);
	image_profile_free(p);
	p = read_image(path_of(f, IMAGES_1 "unknown@host%2F1.cpu-clock"));
	assert_int_equal(p->total, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_frames, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_less, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_nobody_decodes, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_image, fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Which file is the debug file: in a world of files that say what the test wants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "common/worker/debug_files.h"

#define FILES_MAX 8
#define STOPPED   7

struct file {
	const char *path; /* NULL: it is fetched */
	struct worker_image facts;
	enum worker_outcome outcome;
	ino_t inode; /* of what was opened for it */
};

struct world {
	struct file files[FILES_MAX];
	size_t n, n_opened, n_fetched;
	bool stops; /* nothing can be inspected */
};

static void set_id(uint8_t *id, uint32_t *length, uint8_t number)
{
	*length = number ? 4 : 0;
	memset(id, number, 4);
}

/* @id 0: none. */
static struct file *add_file(struct world *w, const char *path, uint8_t id)
{
	struct file *f = &w->files[w->n++];

	f->path = path;
	f->outcome = WORKER_DONE;
	set_id(f->facts.elf.build_id, &f->facts.elf.build_id_length, id);
	return f;
}

static int open_one(struct file *f)
{
	int fd = memfd_create("debug", MFD_CLOEXEC);
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	f->inode = st.st_ino;
	return fd;
}

static int world_open(void *context, const char *path)
{
	struct world *w = context;

	w->n_opened++;
	for (size_t i = 0; i < w->n; i++)
		if (w->files[i].path && strcmp(w->files[i].path, path) == 0)
			return open_one(&w->files[i]);
	return -1;
}

static int world_inspect(void *context, int fd, struct worker_image *ret,
			 enum worker_outcome *ret_outcome)
{
	struct world *w = context;
	struct stat st;

	if (w->stops)
		return STOPPED;
	assert_int_equal(fstat(fd, &st), 0);
	for (size_t i = 0; i < w->n; i++) {
		if (w->files[i].inode != st.st_ino)
			continue;
		*ret_outcome = w->files[i].outcome;
		if (*ret_outcome == WORKER_DONE)
			*ret = w->files[i].facts;
		return 0;
	}
	fail();
	return 0;
}

static int world_fetch(void *context, const uint8_t *id, size_t length)
{
	struct world *w = context;

	(void)id;
	assert_int_equal(length, 4);
	w->n_fetched++;
	for (size_t i = 0; i < w->n; i++)
		if (!w->files[i].path && !w->files[i].inode)
			return open_one(&w->files[i]);
	return -1;
}

static struct worker_image image_of(uint8_t id, const char *link)
{
	struct worker_image image = {0};

	set_id(image.elf.build_id, &image.elf.build_id_length, id);
	snprintf(image.debuglink, sizeof(image.debuglink), "%s", link);
	return image;
}

static struct debug_choice choose_with(struct world *w, const struct worker_image *image,
				       bool want_lines, bool can_fetch, int expected)
{
	const struct debug_choice_world world = {
		.context = w,
		.open = world_open,
		.inspect = world_inspect,
		.fetch = can_fetch ? world_fetch : NULL,
	};
	struct debug_choice choice;

	assert_int_equal(debug_choice_make(&world, "/usr/bin/prog", image, want_lines, &choice),
			 expected);
	return choice;
}

static struct debug_choice choose(struct world *w, const struct worker_image *image,
				  bool want_lines)
{
	return choose_with(w, image, want_lines, true, 0);
}

static bool is(int fd, const struct file *f)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == f->inode;
}

static void test_by_build_id(void **state)
{
	struct world w = {0};
	struct worker_image image = image_of(1, "prog.debug");
	struct debug_choice choice;
	const struct file *right;

	(void)state;
	add_file(&w, "/usr/lib/debug/.build-id/01/010101.debug", 2); /* not the one it says */
	add_file(&w, "/usr/bin/prog.debug", 3);
	add_file(&w, "/usr/bin/.debug/prog.debug", 1)->outcome = WORKER_NOT_ELF;
	right = add_file(&w, "/usr/lib/debug/usr/bin/prog.debug", 1);
	choice = choose(&w, &image, true);
	assert_true(is(choice.debug, right));
	assert_false(choice.check_crc);
	assert_int_equal(choice.alternate, -1);
	assert_int_equal(w.n_fetched, 0);
	debug_choice_close(&choice);
	assert_int_equal(choice.debug, -1);
	debug_choice_close(&choice);
}

/* Where one of them has no build id the CRC tells; a build id must be found by debuglink only. */
static void test_by_crc(void **state)
{
	const uint8_t ids[][2] = {{0, 0}, {1, 0}, {0, 1}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		struct world w = {0};
		struct worker_image image = image_of(ids[i][0], "prog.debug");
		const struct file *right;
		struct debug_choice choice;

		add_file(&w, "/usr/lib/debug/.build-id/01/010101.debug", 0);
		right = add_file(&w, "/usr/bin/prog.debug", ids[i][1]);
		choice = choose(&w, &image, false);
		assert_true(is(choice.debug, right));
		assert_true(choice.check_crc);
		debug_choice_close(&choice);
	}
}

static void test_nothing_is_looked_for_where_all_is_there(void **state)
{
	struct world w = {0};
	struct worker_image image = image_of(1, "prog.debug");
	struct debug_choice choice;

	(void)state;
	add_file(&w, "/usr/lib/debug/.build-id/01/010101.debug", 1);
	image.has_symtab = true;
	choice = choose(&w, &image, false);
	assert_int_equal(choice.debug, -1);
	assert_int_equal(w.n_opened, 0);
	choice = choose(&w, &image, true);
	assert_true(is(choice.debug, &w.files[0]));
	debug_choice_close(&choice);
}

static void test_fetched(void **state)
{
	struct world w = {0};
	struct worker_image image = image_of(1, "");
	struct debug_choice choice;
	struct file *f;

	(void)state;
	choice = choose_with(&w, &image, false, false, 0);
	assert_int_equal(choice.debug, -1);
	/* What comes has to be what was asked for. */
	add_file(&w, NULL, 2);
	choice = choose(&w, &image, false);
	assert_int_equal(choice.debug, -1);
	f = add_file(&w, NULL, 1);
	choice = choose(&w, &image, false);
	assert_true(is(choice.debug, f));
	debug_choice_close(&choice);
	assert_int_equal(w.n_fetched, 2);
	/* The image's own compressed symbols are enough for functions, not for lines. */
	image.has_debugdata = true;
	choice = choose(&w, &image, false);
	assert_int_equal(w.n_fetched, 2);
	f = add_file(&w, NULL, 1);
	choice = choose(&w, &image, true);
	assert_int_equal(w.n_fetched, 3);
	assert_true(is(choice.debug, f));
	debug_choice_close(&choice);
	/* Nothing has no build id. */
	image = image_of(0, "");
	choice = choose(&w, &image, true);
	assert_int_equal(w.n_fetched, 3);
}

static void test_alternate(void **state)
{
	struct world w = {0};
	struct worker_image image = image_of(1, "");
	struct debug_choice choice;
	const struct file *right;
	struct file *debug;

	(void)state;
	/* Named by the debug file, from its directory. */
	debug = add_file(&w, "/usr/lib/debug/.build-id/01/010101.debug", 1);
	strcpy(debug->facts.alternate, "../../.dwz/common");
	set_id(debug->facts.alternate_id, &debug->facts.alternate_id_length, 5);
	add_file(&w, "/usr/lib/debug/.build-id/01/../../.dwz/common", 6);
	right = add_file(&w, "/usr/lib/debug/.dwz/common", 5);
	choice = choose(&w, &image, true);
	assert_true(is(choice.debug, debug));
	assert_true(is(choice.alternate, right));
	debug_choice_close(&choice);
	/* Fetched, for lines alone. */
	w.files[2].path = "/elsewhere";
	choice = choose(&w, &image, false);
	assert_int_equal(choice.alternate, -1);
	assert_int_equal(w.n_fetched, 0);
	debug_choice_close(&choice);
	right = add_file(&w, NULL, 5);
	choice = choose(&w, &image, true);
	assert_true(is(choice.alternate, right));
	debug_choice_close(&choice);
}

static void test_inspection_that_fails(void **state)
{
	struct world w = {.stops = true};
	struct worker_image image = image_of(1, "");
	struct debug_choice choice;

	(void)state;
	add_file(&w, "/usr/lib/debug/.build-id/01/010101.debug", 1);
	choice = choose_with(&w, &image, false, true, STOPPED);
	assert_int_equal(choice.debug, -1);
	assert_int_equal(choice.alternate, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_build_id),
		cmocka_unit_test(test_by_crc),
		cmocka_unit_test(test_nothing_is_looked_for_where_all_is_there),
		cmocka_unit_test(test_fetched),
		cmocka_unit_test(test_alternate),
		cmocka_unit_test(test_inspection_that_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

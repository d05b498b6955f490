/* SPDX-License-Identifier: MIT */
/* The state directory, or what is in it, is removed while profd runs; disks that are read-only. */
#include "tests/unit/output/fixture.h"

#include <sys/file.h>

static int fail_read_only(int dir, const char *name, int flags, mode_t mode)
{
	(void)dir, (void)name, (void)flags, (void)mode;
	errno = EROFS;
	return -1;
}

static void remove_tree(struct fixture *f, const char *name)
{
	char command[PATH_MAX + 32];

	snprintf(command, sizeof(command), "rm -rf '%s/%s'", f->path, name);
	assert_int_equal(system(command), 0);
}

/* A store one directory deeper, so that its parent can be taken away. */
static struct writer *open_deep(struct fixture *f)
{
	int outer = dir_at(f->dir.fd, "outer");

	close(f->store_fd);
	f->store_fd = dir_at(outer, "store");
	close(outer);
	snprintf(f->store_path, sizeof(f->store_path), "%s/outer/store", f->path);
	assert_int_equal(flock(f->store_fd, LOCK_EX | LOCK_NB), 0);
	return open_writer(f, NULL, NULL, T0);
}

static void expect_files(struct fixture *f, struct writer *w, int64_t samples)
{
	struct output_store_status status;
	struct census c = take_census(f);

	status = store_status(w);
	assert_int_equal(c.pprof, samples);
	assert_int_equal(c.images, samples);
	assert_int_equal(status.n_files, c.n_pprof + c.n_legacy + c.n_images);
	assert_int_equal(status.bytes, c.blocks * 512);
}

static void test_removed_and_made_again(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_deep(f);
	cleanup(closep) int again = -1;

	write_quietly(w, everything_at(f, T0), T0 + 60);
	remove_tree(f, "outer/store");
	write_quietly(w, everything_at(f, T0 + 60), T0 + 120);
	assert_true(writer_conditions(w) & WRITER_REVIVED);
	expect_files(f, w, EVERYTHING);
	/* The lock came along, and so did whoever has the fd. */
	again = open(f->store_path, O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(again, LOCK_EX | LOCK_NB), -1);
	assert_true(exists(f, "services"));
	write_quietly(w, everything_at(f, T0 + 120), T0 + 180);
	assert_false(writer_conditions(w) & WRITER_REVIVED);
	expect_files(f, w, 2 * EVERYTHING);
}

static void test_gone_until_it_is_back(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_deep(f);
	struct snapshot *s = everything_at(f, T0 + 60);
	int outer;

	write_quietly(w, everything_at(f, T0), T0 + 60);
	remove_tree(f, "outer");
	for (unsigned i = 0; i < 3; i++) {
		struct output_result *r = calloc(1, sizeof(*r));

		writer_write(w, s, (T0 + 120) * NS, r);
		assert_int_equal(r->error, ENOENT);
		assert_ptr_equal(r->unwritten, s);
		r->unwritten = NULL;
		output_result_free(r);
		assert_int_equal(writer_conditions(w) & WRITER_CANNOT_WRITE, WRITER_GONE);
		assert_non_null(strstr(writer_describe(w, WRITER_GONE), f->store_path));
		assert_null(strstr(writer_describe(w, WRITER_GONE), "Success"));
	}
	outer = dir_at(f->dir.fd, "outer");
	close(dir_at(outer, "store"));
	close(outer);
	write_quietly(w, s, T0 + 180);
	expect_files(f, w, EVERYTHING);
}

/* Whoever took the place meanwhile keeps it. */
static void test_another_one_took_the_place(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_deep(f);
	struct output_result *r = calloc(1, sizeof(*r));
	cleanup(closep) int other = -1;

	remove_tree(f, "outer/store");
	mkdir(f->store_path, 0755);
	other = open(f->store_path, O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	writer_write(w, everything_at(f, T0), (T0 + 60) * NS, r);
	assert_int_equal(r->error, EWOULDBLOCK);
	assert_non_null(r->unwritten);
	output_result_free(r);
}

/* One that others could change is not taken for it, until they cannot. */
static void test_one_for_everybody_took_the_place(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	struct output_result *r = calloc(1, sizeof(*r));

	write_quietly(w, everything_at(f, T0), T0 + 60);
	remove_tree(f, "store");
	assert_int_equal(mkdir(f->store_path, 0700), 0);
	assert_int_equal(chmod(f->store_path, 01777), 0);
	writer_write(w, everything_at(f, T0 + 60), (T0 + 120) * NS, r);
	assert_int_not_equal(r->error, 0);
	output_result_free(r);
	assert_int_equal(chmod(f->store_path, 0755), 0);
	write_quietly(w, everything_at(f, T0 + 120), T0 + 180);
}

static void test_emptied(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);

	write_quietly(w, everything_at(f, T0), T0 + 60);
	remove_tree(f, "store/services");
	remove_tree(f, "store/images");
	write_quietly(w, everything_at(f, T0 + 60), T0 + 120);
	expect_files(f, w, EVERYTHING);
}

/* Not a matter of room: nothing is collected for it, and nothing is lost. */
static void test_read_only(void **state)
{
	struct fixture *f = *state;
	struct file_ops ops = file_ops_system;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, &ops, T0);
	struct output_result *r = calloc(1, sizeof(*r));
	struct snapshot *s = everything_at(f, T0 + 600);

	for (unsigned i = 0; i < 8; i++)
		write_quietly(w, everything_at(f, T0 + 60 * i), T0 + 60 * i + 60);
	ops.open = fail_read_only;
	writer_write(w, s, (T0 + 660) * NS, r);
	assert_int_equal(r->error, EROFS);
	assert_ptr_equal(r->unwritten, s);
	r->unwritten = NULL;
	output_result_free(r);
	assert_int_equal(writer_conditions(w) & WRITER_CANNOT_WRITE, WRITER_FAILED);
	expect_files(f, w, 8 * EVERYTHING);
	ops = file_ops_system;
	write_quietly(w, s, T0 + 720);
	assert_false(writer_conditions(w) & WRITER_CANNOT_WRITE);
	expect_files(f, w, 9 * EVERYTHING);
}

#define T(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_removed_and_made_again),
		T(test_gone_until_it_is_back),
		T(test_another_one_took_the_place),
		T(test_one_for_everybody_took_the_place),
		T(test_emptied),
		T(test_read_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

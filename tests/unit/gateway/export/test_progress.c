/* SPDX-License-Identifier: MIT */
/* What was sent is known after a restart, whatever was cut or came in between. */
#include "client/gateway/export/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define DAY    "/20261121/"
#define FIRST  "services/a.service" DAY "20261121T140300Z-60s.pb.gz"
#define SECOND "services/a.service" DAY "20261121T140400Z-60s.pb.gz"
#define THIRD  "services/a.service" DAY "20261121T140500Z-60s.pb.gz"
#define OTHER  "services/b.service" DAY "20261121T140300Z-60s.pb.gz"
#define LAST   "services/a.service" DAY "20261121T145900Z-60s.pb.gz"
#define HOUR   "services/a.service" DAY "20261121T140000Z-3600s.pb.gz"
#define DIGEST UINT64_C(0xfedcba9876543210)
#define BEGIN  UINT64_C(1795269780) /* 14:03:00 */

static char folder[] = "/tmp/profd-progress-XXXXXX", path[64];

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/target", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

static struct progress *open_progress(uint64_t now_s)
{
	struct progress *p = NULL;

	assert_int_equal(progress_open(&p, path, now_s), 0);
	return p;
}

static struct progress *reopen(struct progress *p)
{
	progress_free(p);
	return open_progress(BEGIN + 86400);
}

static void test_windows_in_turn(void **state)
{
	struct progress *p = open_progress(BEGIN);

	(void)state;
	assert_int_equal(progress_since(p), BEGIN);
	assert_true(progress_lacks(p, FIRST));
	assert_false(progress_lacks(p, "services/a.service" DAY "20261121T140200Z-60s.pb.gz"));
	assert_int_equal(progress_mark_done(p, FIRST), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(progress_since(p), BEGIN);
		assert_false(progress_lacks(p, FIRST));
		assert_true(progress_lacks(p, SECOND));
		assert_true(progress_lacks(p, OTHER));
		p = reopen(p);
	}
	progress_free(p);
}

static void test_parts(void **state)
{
	struct progress *p = open_progress(BEGIN);
	uint64_t digest = 0;

	(void)state;
	assert_int_equal(progress_mark_part(p, FIRST, 1, 5), 0);
	assert_int_equal(progress_mark_part(p, FIRST, 2, DIGEST), 0);
	p = reopen(p);
	assert_int_equal(progress_parts(p, FIRST, &digest), 2);
	assert_true(digest == DIGEST);
	/* It is to be gone on with, whatever window of its service is listed. */
	assert_string_equal(progress_begun(p, HOUR), FIRST);
	assert_null(progress_begun(p, OTHER));
	assert_int_equal(progress_parts(p, SECOND, &digest), 0);
	assert_true(progress_lacks(p, FIRST));
	assert_int_equal(progress_mark_done(p, FIRST), 0);
	assert_null(progress_begun(p, HOUR));
	assert_int_equal(progress_parts(p, FIRST, &digest), 0);
	p = reopen(p);
	assert_int_equal(progress_parts(p, FIRST, &digest), 0);
	progress_free(p);
}

/* An hour that was rolled up has windows that were sent and others. */
static void test_rolled_up(void **state)
{
	struct progress *p = open_progress(BEGIN);

	(void)state;
	assert_true(progress_lacks(p, HOUR));
	assert_int_equal(progress_until(p, HOUR), BEGIN);
	assert_int_equal(progress_mark_done(p, FIRST), 0);
	assert_true(progress_lacks(p, HOUR));
	assert_int_equal(progress_until(p, HOUR), BEGIN + 60);
	assert_int_equal(progress_mark_done(p, HOUR), 0);
	assert_false(progress_lacks(p, SECOND));
	assert_true(progress_lacks(p, "services/a.service" DAY "20261121T150000Z-60s.pb.gz"));
	assert_false(progress_lacks(p, LAST));
	progress_free(p);
}

/* With its last window the hour is done; a second file of one window is another. */
static void test_last_of_an_hour(void **state)
{
	struct progress *p = open_progress(BEGIN);

	(void)state;
	assert_int_equal(progress_mark_done(p, LAST), 0);
	assert_false(progress_lacks(p, HOUR));
	assert_false(progress_lacks(p, LAST));
	assert_true(progress_lacks(p, LAST ".1"));
	assert_true(progress_lacks(p, "services/a.service" DAY "20261121T145930Z-30s.pb.gz"));
	progress_free(p);
}

static void test_held(void **state)
{
	struct progress *p = open_progress(BEGIN);

	(void)state;
	assert_int_equal(progress_hold(p, FIRST), 0);
	assert_int_equal(progress_hold(p, OTHER), 0);
	assert_int_equal(progress_mark_done(p, SECOND), 0);
	p = reopen(p);
	assert_string_equal(progress_held(p), FIRST);
	assert_int_equal(progress_count_held(p), 2);
	assert_false(progress_lacks(p, FIRST));
	assert_int_equal(progress_mark_done(p, FIRST), 0);
	assert_false(progress_lacks(p, SECOND));
	p = reopen(p);
	assert_string_equal(progress_held(p), OTHER);
	assert_int_equal(progress_mark_done(p, OTHER), 0);
	assert_null(progress_held(p));
	assert_int_equal(progress_count_held(p), 0);
	progress_free(p);
}

/* Refused in the middle of it: what is there is not sent again, and others' parts are theirs. */
static void test_held_parts(void **state)
{
	struct progress *p = open_progress(BEGIN);
	uint64_t digest = 0;

	(void)state;
	assert_int_equal(progress_mark_part(p, FIRST, 2, 77), 0);
	assert_int_equal(progress_hold(p, FIRST), 0);
	assert_int_equal(progress_mark_part(p, SECOND, 1, 88), 0);
	for (unsigned i = 0; i < 2; i++) {
		p = reopen(p);
		assert_int_equal(progress_parts(p, FIRST, &digest), 2);
		assert_int_equal(digest, 77);
		assert_int_equal(progress_parts(p, SECOND, &digest), 1);
		assert_int_equal(digest, 88);
	}
	assert_int_equal(progress_mark_part(p, FIRST, 3, 99), 0);
	p = reopen(p);
	assert_int_equal(progress_parts(p, FIRST, &digest), 3);
	assert_int_equal(digest, 99);
	assert_int_equal(progress_parts(p, SECOND, &digest), 1);
	assert_int_equal(progress_mark_done(p, FIRST), 0);
	assert_int_equal(progress_parts(p, FIRST, &digest), 0);
	assert_null(progress_held(p));
	progress_free(p);
}

static void test_move(void **state)
{
	struct progress *p = open_progress(BEGIN);

	(void)state;
	assert_int_equal(progress_mark_done(p, FIRST), 0);
	assert_int_equal(progress_move(p, BEGIN + 90), 0);
	p = reopen(p);
	assert_int_equal(progress_since(p), BEGIN + 90);
	assert_false(progress_lacks(p, FIRST));
	assert_false(progress_lacks(p, OTHER));
	assert_true(progress_lacks(p, SECOND));
	progress_free(p);
}

/* The machine stopped in the middle of a line; a person wrote another one. */
static void test_damaged(void **state)
{
	static const char text[] = "since 1795269780\ndone nothing\nheld\npart x " FIRST
				   "\npart 3 7 " FIRST "\npart 4 " FIRST "\npart 4 x " FIRST
				   "\ndone services/../etc/x\n\ndone " FIRST;
	FILE *out = fopen(path, "w");
	struct progress *p;
	uint64_t digest = 0;

	(void)state;
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
	p = open_progress(BEGIN + 86400);
	assert_int_equal(progress_since(p), BEGIN);
	assert_true(progress_lacks(p, FIRST));
	assert_int_equal(progress_parts(p, FIRST, &digest), 3);
	assert_int_equal(digest, 7);
	progress_free(p);
}

/* The file does not grow without end. */
static void test_rewritten(void **state)
{
	struct progress *p = open_progress(BEGIN);
	uint64_t digest = 0;
	struct stat st;

	(void)state;
	for (unsigned i = 0; i < 40000; i++)
		assert_int_equal(progress_mark_part(p, FIRST, i, DIGEST), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size < (2 << 20));
	p = reopen(p);
	assert_int_equal(progress_parts(p, FIRST, &digest), 39999);
	progress_free(p);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_windows_in_turn),
		IN_FOLDER(test_parts),
		IN_FOLDER(test_rolled_up),
		IN_FOLDER(test_last_of_an_hour),
		IN_FOLDER(test_held),
		IN_FOLDER(test_held_parts),
		IN_FOLDER(test_move),
		IN_FOLDER(test_damaged),
		IN_FOLDER(test_rewritten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* What comments say of the files of mappings is found again, and nothing that they do not say. */
#include "common/profile/file_ids.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/profile/profile.h"

#define HASH_A "00112233445566778899aabbccddeeff"
#define HASH_B "ffeeddccbbaa99887766554433221100"
#define GNU    "0123456789abcdef0123456789abcdef01234567"
#define GO     "aaaa/bbbb/cccc/dddd"

struct world {
	struct profile *p;
	struct file_ids_table t;
};

static int make_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	*state = w;
	return profile_new(&w->p);
}

static int free_world(void **state)
{
	struct world *w = *state;

	file_ids_deinit(&w->t);
	profile_free(w->p);
	free(w);
	return 0;
}

static void add_line(struct world *w, const char *line)
{
	assert_int_equal(profile_add_comment(w->p, line), 0);
}

static void add_ids(struct world *w, const char *htlhash, const char *go, const char *gnu,
		    const char *path)
{
	char *line = file_ids_print(&(struct file_ids){htlhash, go, gnu, path});

	assert_non_null(line);
	add_line(w, line);
	free(line);
}

/* Reads what was added before, once. */
static const struct file_ids *find_ids(struct world *w, const char *gnu, const char *path)
{
	struct profile_mapping m = {.start = 0x1000, .limit = 0x2000};

	assert_int_equal(profile_add_text(w->p, gnu, &m.build_id), 0);
	assert_int_equal(profile_add_text(w->p, path, &m.path), 0);
	if (!w->t.text)
		assert_int_equal(file_ids_read(&w->t, w->p), 0);
	return file_ids_find(&w->t, w->p, &m);
}

static void assert_ids(struct world *w, const char *gnu, const char *path, const char *htlhash,
		       const char *go)
{
	const struct file_ids *ids = find_ids(w, gnu, path);

	assert_non_null(ids);
	assert_string_equal(ids->htlhash, htlhash);
	assert_string_equal(ids->go, go);
}

static void test_as_written(void **state)
{
	struct world *w = *state;

	add_line(w, "# profd host: build id: htlhash=" HASH_B " file=/a");
	add_ids(w, HASH_A, "", GNU, "/usr/bin/a");
	add_ids(w, HASH_B, GO, "", "/opt/with blanks=and file");
	add_ids(w, "", GO, "", "/go");
	/* As several windows of an hour have it. */
	add_ids(w, HASH_A, "", GNU, "/usr/bin/a");
	assert_string_equal(profile_string(w->p, w->p->comments[1]),
			    "# profd build id: htlhash=" HASH_A " gnu=" GNU " file=/usr/bin/a");
	assert_ids(w, GNU, "/usr/bin/a", HASH_A, "");
	assert_ids(w, "", "/opt/with blanks=and file", HASH_B, GO);
	assert_ids(w, "", "/go", "", GO);
	assert_null(find_ids(w, "", "/usr/bin/a"));
	assert_null(find_ids(w, GNU, "/go"));
	assert_null(find_ids(w, "", "/a"));
	assert_null(find_ids(w, "", ""));
}

/* A release took another's place at its path: they are told apart, if they can be. */
static void test_releases(void **state)
{
	struct world *w = *state;

	add_ids(w, HASH_A, "", GNU, "/app");
	add_ids(w, HASH_B, "", "ff" GNU, "/app");
	add_ids(w, HASH_A, "", "", "/plain");
	add_ids(w, HASH_B, "", "", "/plain");
	add_ids(w, HASH_A, GO, "", "/go");
	add_ids(w, HASH_A, GO "x", "", "/go");
	add_ids(w, HASH_A, GO, "", "/last");
	assert_ids(w, GNU, "/app", HASH_A, "");
	assert_ids(w, "ff" GNU, "/app", HASH_B, "");
	assert_null(find_ids(w, "", "/plain"));
	assert_null(find_ids(w, "", "/go"));
	assert_ids(w, "", "/last", HASH_A, GO);
}

static void test_malformed(void **state)
{
	static const char *const lines[] = {
		"# profd build id:",
		"# profd build id: htlhash=" HASH_A,
		"# profd build id: htlhash=" HASH_A "file=/x",
		"# profd build id: htlhash=" HASH_A "0 file=/x",
		"# profd build id: htlhash=x file=/x",
		"# profd build id: htlhash=" HASH_A "\xff file=/x",
		"# profd build id: HTLHASH file=/x",
	};
	struct world *w = *state;

	for (size_t i = 0; i + 1 < sizeof(lines) / sizeof(*lines); i++)
		add_line(w, lines[i]);
	assert_null(find_ids(w, "", "/x"));
	file_ids_deinit(&w->t);
	w->t = (struct file_ids_table){0};
	/* It says nothing, but of that file. */
	add_line(w, lines[sizeof(lines) / sizeof(*lines) - 1]);
	assert_ids(w, "", "/x", "", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_as_written, make_world, free_world),
		cmocka_unit_test_setup_teardown(test_releases, make_world, free_world),
		cmocka_unit_test_setup_teardown(test_malformed, make_world, free_world),
	};

	return cmocka_run_group_tests_name("file_ids", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* A profile says what its Go programs were built of, and which images an image worker died of. */
#include "tests/unit/output/fixture.h"

#include "daemon/output/pprof_spots.h"

#define FILE_A DAY_A "20261121T090000Z-60s.pb.gz"
#define FILE_B DAY_B "20261121T090000Z-60s.pb.gz"
#define FILE_D DAY_A "20261121T090200Z-60s.pb.gz"
#define FILE_C DAY_A "20261121T090100Z-60s.pb.gz"
#define COUNT  "# profd ledger: bad_images="
#define NAME   "# profd bad image: "
#define BUILD  "# profd go build: "

static unsigned count_comments(const struct profile *p, const char *beginning)
{
	unsigned n = 0;

	for (size_t i = 0; i < p->n_comments; i++)
		n += strncmp(profile_string(p, p->comments[i]), beginning, strlen(beginning)) == 0;
	return n;
}

static void write_it(struct fixture *f, struct snapshot *s)
{
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);

	s->formats = FORMAT_PPROF;
	write_quietly(w, s, T0 + 60);
}

static void test_none(void **state)
{
	struct fixture *f = *state;
	cleanup(profile_freep) struct profile *p = NULL;

	write_it(f, everything_at(f, T0));
	p = read_pprof(path_of(f, FILE_A));
	assert_int_equal(count_comments(p, COUNT), 0);
	assert_int_equal(count_comments(p, NAME), 0);
	assert_int_equal(count_comments(p, BUILD), 0);
	assert_int_equal(count_comments(p, "# profd ledger: "), 1);
}

/* Only in the profiles in which they occur. */
static void test_images(void **state)
{
	struct fixture *f = *state;
	cleanup(profile_freep) struct profile *a = NULL;
	cleanup(profile_freep) struct profile *b = NULL;

	atomic_store(&f->library->is_bad, true);
	atomic_store(&f->plain->is_bad, true);
	write_it(f, everything_at(f, T0));
	a = read_pprof(path_of(f, FILE_A));
	assert_int_equal(count_comments(a, COUNT "1"), 1);
	assert_int_equal(count_comments(a, NAME), 1);
	assert_int_equal(count_comments(a, NAME "/lib/libx.so.1"), 1);
	b = read_pprof(path_of(f, FILE_B));
	assert_int_equal(count_comments(b, NAME), 1);
	assert_int_equal(count_comments(b, NAME "/opt/no headers"), 1);
}

static void test_builds(void **state)
{
	static const struct go_build whole = {.go = "go1.26.8",
					      .module = "example.org/a",
					      .version = "v1.2.3",
					      .revision = "0123abc",
					      .is_modified = 1};
	static const struct go_build bare = {.go = "go1.17"};
	static const struct go_build forged = {.go = "devel go1.27",
					       .module = "m file=/usr/sbin/sshd"};
	struct fixture *f = *state;
	const struct elf_summary elf = *image_elf(f->library);
	cleanup(profile_freep) struct profile *a = NULL;
	cleanup(profile_freep) struct profile *b = NULL;
	cleanup(profile_freep) struct profile *c = NULL;
	cleanup(profile_freep) struct profile *d = NULL;

	change_facts(f->library, &elf, &whole);
	write_it(f, everything_at(f, T0));
	a = read_pprof(path_of(f, FILE_A));
	assert_int_equal(count_comments(a, BUILD), 1);
	assert_int_equal(count_comments(a, BUILD "module=example.org/a version=v1.2.3 "
						 "revision=0123abc modified=true go=go1.26.8 "
						 "file=/lib/libx.so.1"),
			 1);
	b = read_pprof(path_of(f, FILE_B));
	assert_int_equal(count_comments(b, BUILD), 0);
	change_facts(f->library, &elf, &bare);
	write_it(f, everything_at(f, T0 + 60));
	c = read_pprof(path_of(f, FILE_C));
	assert_int_equal(count_comments(c, BUILD), 1);
	assert_int_equal(count_comments(c, BUILD "go=go1.17 file=/lib/libx.so.1"), 1);
	/* A field that would be another one ends where that begins. */
	change_facts(f->library, &elf, &forged);
	write_it(f, everything_at(f, T0 + 120));
	d = read_pprof(path_of(f, FILE_D));
	assert_int_equal(count_comments(d, BUILD), 1);
	assert_int_equal(count_comments(d, BUILD "module=m go=devel file=/lib/libx.so.1"), 1);
}

/* However many there are and however much they say. */
static void test_many_builds(void **state)
{
	struct script script[2 * PPROF_BUILDS_MAX];
	struct image *images[ARRAY_SIZE(script)];
	cleanup(profile_freep) struct profile *p = NULL;
	struct fixture *f = *state;
	struct go_build go = {.is_modified = 1};
	struct snapshot *s;

	memset(go.go, 'g', sizeof(go.go) - 1);
	memset(go.module, 'm', sizeof(go.module) - 1);
	memset(go.version, 'v', sizeof(go.version) - 1);
	memset(go.revision, 'r', sizeof(go.revision) - 1);
	for (unsigned i = 0; i < ARRAY_SIZE(script); i++) {
		uint64_t at = PROGRAM_AT + (i + 1) * 0x10000;
		char path[16];

		snprintf(path, sizeof(path), "/%02u", i);
		images[i] = make_image(100 + i, IMAGE_FILE, path, 0x44);
		change_facts(images[i], &(struct elf_summary){.pointer_bytes = 8}, &go);
		script[i] = (struct script){.process = 1, .user = {at + 0x10}, .count = 1};
	}
	s = make_snapshot(f, T0, script, ARRAY_SIZE(script));
	for (unsigned i = 0; i < ARRAY_SIZE(script); i++) {
		map(&s->processes[0].mappings, images[i], PROGRAM_AT + (i + 1) * 0x10000, 0x1000,
		    1);
		image_unref(images[i]);
	}
	write_it(f, s);
	p = read_pprof(path_of(f, FILE_A));
	assert_int_equal(count_comments(p, BUILD), PPROF_BUILDS_MAX);
	for (size_t i = 0; i < p->n_comments; i++) {
		const char *line = profile_string(p, p->comments[i]);

		if (strncmp(line, BUILD, strlen(BUILD)) == 0)
			assert_non_null(strstr(line, " file=/"));
	}
}

/* Of names of generated code, however many processes share them. */
static void test_jit_files(void **state)
{
	static const struct script script[] = {
		{1, 0, NULL, {0}, {ANON_AT + 0x10}, 0, 0, 3},
		{1, 0, NULL, {0}, {ANON_AT + 0x20}, 0, 0, 3},
		{2, 0, NULL, {0}, {ANON_AT + 0x20}, 0, 0, 3},
	};
	struct fixture *f = *state;
	struct jit_file map_file = {.n_references = 9, .id = 1, .fd = -1, .is_bad = true},
			dump = map_file;
	struct snapshot *s = make_snapshot(f, T0, script, ARRAY_SIZE(script));
	cleanup(profile_freep) struct profile *p = NULL;

	map_file.path = (char[]){"/tmp/perf-\n3.map"};
	dump.path = (char[]){"/tmp/jit-3.dump"};
	dump.is_jitdump = true;
	dump.id = 2;
	map(&s->processes[1].mappings, f->anon, ANON_AT, 0, 1);
	for (unsigned i = 0; i < 2; i++) {
		s->processes[i].perf_map = &map_file;
		s->processes[i].jitdump = &dump;
	}
	write_it(f, s);
	p = read_pprof(path_of(f, FILE_A));
	assert_int_equal(count_comments(p, COUNT "2"), 1);
	assert_int_equal(count_comments(p, NAME), 2);
	assert_int_equal(count_comments(p, NAME "/tmp/jit-3.dump"), 1);
	assert_int_equal(count_comments(p, NAME "/tmp/perf-\xef\xbf\xbd"
						"3.map"),
			 1);
}

/* However many there are and whatever their names: so many lines, of so many bytes. */
static void test_bounds(void **state)
{
	struct fixture *f = *state;
	struct script script[2 * PPROF_BAD_MAX];
	struct image *images[ARRAY_SIZE(script)];
	cleanup(profile_freep) struct profile *p = NULL;
	struct snapshot *s;
	char path[5000];

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	for (unsigned i = 0; i < ARRAY_SIZE(script); i++) {
		uint64_t at = PROGRAM_AT + (i + 1) * 0x10000;

		path[0] = (char)('a' + i);
		images[i] = make_image(100 + i, IMAGE_FILE, path, 0x44);
		atomic_store(&images[i]->is_bad, true);
		script[i] = (struct script){.process = 1, .user = {at + 0x10}, .count = 1};
	}
	s = make_snapshot(f, T0, script, ARRAY_SIZE(script));
	for (unsigned i = 0; i < ARRAY_SIZE(script); i++) {
		map(&s->processes[0].mappings, images[i], PROGRAM_AT + (i + 1) * 0x10000, 0x1000,
		    1);
		image_unref(images[i]);
	}
	write_it(f, s);
	p = read_pprof(path_of(f, FILE_A));
	assert_int_equal(count_comments(p, COUNT "16"), 1);
	assert_int_equal(count_comments(p, NAME), PPROF_BAD_MAX);
	assert_int_equal(count_comments(p, NAME "ax"), 1);
	assert_int_equal(count_comments(p, NAME "hx"), 1);
	for (size_t i = 0; i < p->n_comments; i++)
		assert_true(strlen(profile_string(p, p->comments[i])) < 300);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(test_none),      TEST(test_images),
					   TEST(test_builds),    TEST(test_many_builds),
					   TEST(test_jit_files), TEST(test_bounds)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Where the programs of a profile are looked for, in which order, and what of it may be changed:
 * the programs are copies of this test, which the real image worker reads.
 */
#include <elf.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "client/report/binaries.h"
#include "client/symbolize/object.h"
#include "common/cleanup.h"
#include "tests/support/files.h"
#include "tests/support/own_text.h"
#include "tests/support/temp_dir.h"

#define BASE     UINT64_C(0x7f0000000000)
#define OTHER_ID "000102030405060708090a0b0c0d0e0f10111213"
#define GONE     "/no/such/folder/prog"

struct world {
	struct temp_dir dir;
	char id[ELF_BUILD_ID_TEXT]; /* of the test's own program */
	struct profile *p;
	struct report_inputs inputs;
	struct load_options options;
	struct own_text text;
	unsigned n_notes;
};

static void note(void *context, const char *text)
{
	(void)text;
	((struct world *)context)->n_notes++;
}

static int find_id(struct dl_phdr_info *info, size_t size, void *userdata)
{
	struct elf_summary elf = {0};

	(void)size;
	for (ElfW(Half) i = 0; i < info->dlpi_phnum && !elf.build_id_length; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_NOTE)
			elf.build_id_length = elf_notes_build_id(
				(const uint8_t *)(info->dlpi_addr + segment->p_vaddr),
				segment->p_memsz, false, elf.build_id);
	}
	elf_build_id_print(elf.build_id, elf.build_id_length, userdata);
	return 1; /* the program comes first */
}

static int world_make(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	temp_dir_make(&w->dir);
	assert_int_equal(profile_new(&w->p), 0);
	assert_int_equal(profile_add_sample_type(w->p, "samples", "count"), 0);
	w->text = own_text_find();
	dl_iterate_phdr(find_id, w->id);
	assert_true(strlen(w->id) > 16);
	report_inputs_init(&w->inputs);
	w->options = (struct load_options){.inputs = &w->inputs,
					   .listener = {.note = note, .context = w}};
	assert_int_equal(unsetenv("PPROF_BINARY_PATH"), 0);
	assert_int_equal(setenv("HOME", w->dir.path, 1), 0);
	*state = w;
	return 0;
}

static int world_remove(void **state)
{
	struct world *w = *state;

	profile_free(w->p);
	temp_dir_remove(&w->dir);
	free(w);
	return 0;
}

static const char *at(const struct world *w, const char *name)
{
	return temp_dir_at(&w->dir, name);
}

static void look_below(const char *dirs)
{
	assert_int_equal(setenv("PPROF_BINARY_PATH", dirs, 1), 0);
}

static void put_program(const struct world *w, const char *path)
{
	size_t length = 0;
	cleanup(freep) uint8_t *data = read_file("/proc/self/exe", &length);

	assert_non_null(data);
	write_file(w->dir.fd, path, data, length);
}

/* The location of the_target() in a mapping of the program's text, named @name or "". */
static uint32_t add_location(struct world *w, const char *path, const char *build_id,
			     const char *name)
{
	struct profile_mapping m = {
		.start = BASE * (w->p->n_mappings + 1),
		.offset = w->text.segment.p_offset,
		.has_functions = *name,
	};
	struct profile_function function = {0};
	struct profile_line line = {.line = 7};
	uint32_t mapping, location;

	m.limit = m.start + w->text.segment.p_memsz;
	assert_int_equal(profile_add_text(w->p, path, &m.path), 0);
	assert_int_equal(profile_add_text(w->p, build_id, &m.build_id), 0);
	assert_int_equal(profile_add_mapping(w->p, &m, &mapping), 0);
	assert_int_equal(profile_add_text(w->p, name, &function.name), 0);
	assert_int_equal(profile_add_function(w->p, &function, &line.function), 0);
	assert_int_equal(profile_add_location(w->p, mapping,
					      (uintptr_t)the_target - w->text.bias -
						      w->text.segment.p_vaddr + m.start,
					      &line, *name ? 1 : 0, &location),
			 0);
	return location;
}

static void name(struct world *w)
{
	assert_int_equal(binaries_name(w->p, &w->options), 0);
}

static void expect_path(const struct world *w, size_t mapping, const char *expected)
{
	assert_string_equal(profile_string(w->p, w->p->mappings[mapping].path), expected);
}

static void expect_name(const struct world *w, uint32_t location, const char *expected)
{
	const struct profile_location *l = &w->p->locations[location];

	assert_int_equal(l->n_lines != 0, *expected != '\0');
	if (*expected)
		assert_string_equal(
			profile_string(w->p,
				       w->p->functions[w->p->lines[l->first_line].function].name),
			expected);
}

static void test_is_program(void **state)
{
	struct world *w = *state;

	put_program(w, "prog");
	write_text(w->dir.fd, "text", "no program");
	write_text(w->dir.fd, "short", "\177EL");
	assert_int_equal(mkfifoat(w->dir.fd, "fifo", 0600), 0);
	assert_true(binaries_is_program(at(w, "prog")));
	assert_false(binaries_is_program(at(w, "text")));
	assert_false(binaries_is_program(at(w, "short")));
	assert_false(binaries_is_program(at(w, "fifo")));
	assert_false(binaries_is_program(at(w, "none")));
	assert_false(binaries_is_program(w->dir.path));
}

/* Best last: each is found before those that were put there earlier. */
static void test_order_below_a_dir(void **state)
{
	struct world *w = *state;
	char by_path[128], by_id[128], by_both[128];
	const char *const places[] = {"lib" GONE, "lib/prog", by_path, by_id, by_both};

	snprintf(by_path, sizeof(by_path), "lib" GONE "/%s", w->id);
	snprintf(by_id, sizeof(by_id), "lib/%s/whatever", w->id);
	snprintf(by_both, sizeof(by_both), "lib/%s/prog", w->id);
	assert_true(symbolize_mode_parse("none", &w->inputs.mode));
	w->options.want_code = true;
	look_below(at(w, "lib"));
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		/* No file is a directory, too. */
		if (i == 2)
			assert_int_equal(unlinkat(w->dir.fd, places[0], 0), 0);
		put_program(w, places[i]);
		add_location(w, GONE, w->id, "named");
		name(w);
		expect_path(w, i, at(w, places[i]));
	}
	/* By the id alone. */
	add_location(w, "", w->id, "named");
	name(w);
	expect_path(w, 5, at(w, by_both));
	/* Without an id there is none to look for; one with a slash is none. */
	add_location(w, GONE, "", "named");
	add_location(w, "/no/such/folder/other", "../" OTHER_ID, "named");
	name(w);
	expect_path(w, 6, at(w, "lib/prog"));
	expect_path(w, 7, "/no/such/folder/other");
	assert_int_equal(w->n_notes, 0);
}

/* Another build of the program is passed over, be it the first or the only one. */
static void test_other_builds(void **state)
{
	struct world *w = *state;
	cleanup(freep) uint8_t *data = NULL;
	size_t length = 0;
	char dirs[1024];

	data = read_file("/bin/sh", &length);
	assert_non_null(data);
	write_file(w->dir.fd, "old/prog", data, length);
	put_program(w, "new/prog");
	w->options.want_code = true;
	snprintf(dirs, sizeof(dirs), "%s:%s", at(w, "old"), at(w, "new"));
	look_below(dirs);
	add_location(w, GONE, w->id, "named");
	add_location(w, GONE, "", "named");
	name(w);
	expect_path(w, 0, at(w, "new/prog"));
	expect_path(w, 1, at(w, "old/prog"));
	assert_int_equal(w->n_notes, 1);
	add_location(w, GONE, OTHER_ID, "named");
	name(w);
	expect_path(w, 2, GONE);
}

static void test_order_of_dirs(void **state)
{
	struct world *w = *state;
	char dirs[1024];

	assert_true(symbolize_mode_parse("none", &w->inputs.mode));
	w->options.want_code = true;
	put_program(w, "pprof/binaries/prog");
	add_location(w, GONE, "", "named");
	name(w);
	expect_path(w, 0, at(w, "pprof/binaries/prog"));

	/* The variable is instead of that, and its directories are in order. */
	snprintf(dirs, sizeof(dirs), "%s::%s", at(w, "none"), at(w, "b"));
	look_below(dirs);
	add_location(w, GONE, "", "named");
	name(w);
	expect_path(w, 1, GONE);
	put_program(w, "b/prog");
	name(w);
	expect_path(w, 1, at(w, "b/prog"));
}

/* What is no file keeps its name, whatever lies about. */
static void test_no_files(void **state)
{
	static const char *const paths[] = {"[vdso]", "//anon", "[kernel.kallsyms]", ""};
	struct world *w = *state;

	w->options.want_code = true;
	look_below(w->dir.path);
	put_program(w, "[vdso]");
	put_program(w, "anon");
	put_program(w, "[kernel.kallsyms]");
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		add_location(w, paths[i], "", "named");
	name(w);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		expect_path(w, i, paths[i]);
}

/* Programs are looked for while names are wanted, or who reads them. */
static void test_when(void **state)
{
	struct world *w = *state;

	look_below(w->dir.path);
	put_program(w, "prog");
	add_location(w, GONE, "", "named");
	w->options.want_lines = true;
	assert_false(binaries_are_wanted(w->p, &w->options));
	name(w);
	expect_path(w, 0, GONE);
	w->options.want_code = true;
	assert_true(binaries_are_wanted(w->p, &w->options));
	name(w);
	expect_path(w, 0, at(w, "prog"));
	expect_name(w, 0, "named");
	assert_int_equal(w->n_notes, 0);
}

static void test_names(void **state)
{
	struct world *w = *state;
	uint32_t location = add_location(w, GONE, "", "");

	look_below(w->dir.path);
	put_program(w, "prog");
	assert_true(binaries_are_wanted(w->p, &w->options));
	assert_true(symbolize_mode_parse("none", &w->inputs.mode));
	assert_false(binaries_are_wanted(w->p, &w->options));
	name(w);
	expect_name(w, location, "");
	expect_path(w, 0, GONE);
	assert_true(symbolize_mode_parse("force:fastlocal", &w->inputs.mode));
	name(w);
	expect_name(w, location, "the_target");
	assert_int_equal(w->p->lines[w->p->locations[location].first_line].line, 0);
}

static void test_force(void **state)
{
	struct world *w = *state;
	uint32_t location = add_location(w, GONE, "", "wrong");

	look_below(w->dir.path);
	put_program(w, "prog");
	assert_true(symbolize_mode_parse("local", &w->inputs.mode));
	assert_false(binaries_are_wanted(w->p, &w->options));
	name(w);
	expect_name(w, location, "wrong");
	assert_true(symbolize_mode_parse("force", &w->inputs.mode));
	assert_true(binaries_are_wanted(w->p, &w->options));
	name(w);
	expect_name(w, location, "the_target");
}

/* The program that is named is the first mapping, wherever others of its name lie. */
static void test_program(void **state)
{
	struct world *w = *state;
	uint32_t location = add_location(w, GONE, "", "");

	look_below(at(w, "lib"));
	put_program(w, "lib/prog");
	put_program(w, "mine");
	w->options.program = at(w, "mine");
	name(w);
	expect_path(w, 0, at(w, "mine"));
	expect_name(w, location, "the_target");
}

/* A legacy profile of addresses alone gets a mapping for them. */
static void test_program_without_mappings(void **state)
{
	struct world *w = *state;
	uint32_t location;

	assert_int_equal(profile_add_location(w->p, PROFILE_NONE, 1, NULL, 0, &location), 0);
	assert_true(symbolize_mode_parse("none", &w->inputs.mode));
	w->options.program = "/bin/sh";
	w->inputs.buildid = OTHER_ID;
	name(w);
	assert_int_equal(w->p->n_mappings, 1);
	assert_int_equal(w->p->locations[location].mapping, 0);
	assert_string_equal(profile_string(w->p, w->p->mappings[0].build_id), OTHER_ID);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_make, world_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_is_program),    TEST(test_order_below_a_dir),
		TEST(test_order_of_dirs), TEST(test_other_builds),
		TEST(test_no_files),      TEST(test_when),
		TEST(test_names),         TEST(test_force),
		TEST(test_program),       TEST(test_program_without_mappings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

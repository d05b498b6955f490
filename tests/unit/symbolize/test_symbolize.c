/* SPDX-License-Identifier: MIT */
/*
 * Profiles of this program, below a root of the test's own: named by the real image worker, and by
 * one that answers in ways that can be told beforehand (picky_worker).
 */
#include <elf.h>
#include <inttypes.h>
#include <link.h>
#include <sys/utsname.h>
#include <time.h>

#include "client/symbolize/symbolize.h"
#include "common/profile/image_profile.h"
#include "tests/support/files.h"
#include "tests/support/own_text.h"
#include "tests/support/temp_dir.h"

#define NS       UINT64_C(1000000000)
#define PICKY    TEST_PROGRAMS "/picky_worker"
#define BASE     UINT64_C(0x7f0000000000)
#define KERNEL   UINT64_C(0xffffffff81000000)
#define MODULE   UINT64_C(0xffffffffc0200000)
#define OTHER_ID "000102030405060708090a0b0c0d0e0f10111213"

struct world {
	struct temp_dir dir;
	struct profile *p;
	struct symbolize_result result;
	struct own_text text;
};

static int world_make(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	temp_dir_make(&w->dir);
	assert_int_equal(profile_new(&w->p), 0);
	w->text = own_text_find();
	*state = w;
	return 0;
}

static int world_remove(void **state)
{
	struct world *w = *state;

	symbolize_result_deinit(&w->result);
	profile_free(w->p);
	temp_dir_remove(&w->dir);
	free(w);
	return 0;
}

/* A copy of this program. @mark: for picky_worker, or 0. */
static void put_program(struct world *w, const char *path, char mark)
{
	cleanup(freep) uint8_t *data = NULL;
	const char trailer[] = {'p', 'i', 'c', 'k', 'y', ':', mark};
	size_t length = 0;

	data = read_file("/proc/self/exe", &length);
	assert_non_null(data);
	data = realloc(data, length + sizeof(trailer));
	assert_non_null(data);
	memcpy(data + length, trailer, sizeof(trailer));
	write_file(w->dir.fd, path, data, length + (mark ? sizeof(trailer) : 0));
}

/* The program's text is mapped at @start, as its file @path. */
static uint32_t add_mapping(struct world *w, const char *path, const char *build_id, uint64_t start)
{
	struct profile_mapping m = {
		.start = start,
		.limit = start + w->text.segment.p_memsz,
		.offset = w->text.segment.p_offset,
	};
	uint32_t mapping;

	assert_int_equal(profile_add_text(w->p, path, &m.path), 0);
	assert_int_equal(profile_add_text(w->p, build_id, &m.build_id), 0);
	assert_int_equal(profile_add_mapping(w->p, &m, &mapping), 0);
	return mapping;
}

/* @address: as in this process. */
static uint32_t add_location(struct world *w, uint32_t mapping, uint64_t address)
{
	uint32_t location;

	address = address - w->text.bias - w->text.segment.p_vaddr + w->p->mappings[mapping].start;
	assert_int_equal(profile_add_location(w->p, mapping, address, NULL, 0, &location), 0);
	return location;
}

/* One whose link-time address divided by 4 leaves @rest. */
static uint32_t add_rest(struct world *w, uint32_t mapping, unsigned rest)
{
	uint64_t vaddr = w->text.segment.p_vaddr + 64;

	return add_location(w, mapping, (vaddr & ~UINT64_C(3)) + rest + w->text.bias);
}

static int symbolize_with(struct world *w, const char *worker, bool want_lines)
{
	const struct symbolize_options options = {
		.want_lines = want_lines,
		.root_fd = w->dir.fd,
		.worker_path = worker,
		.deadline_ns = worker ? NS : 60 * NS,
	};

	symbolize_result_deinit(&w->result);
	return symbolize_profile(w->p, &options, &w->result);
}

static void symbolize(struct world *w, const char *worker, bool want_lines)
{
	assert_int_equal(symbolize_with(w, worker, want_lines), SYMBOLIZE_E_OK);
}

static const char *name_of(const struct world *w, uint32_t location)
{
	const struct profile_location *l = &w->p->locations[location];

	if (!l->n_lines)
		return NULL;
	return profile_string(w->p, w->p->functions[w->p->lines[l->first_line].function].name);
}

static bool has_note(const struct world *w, const char *text)
{
	for (size_t i = 0; i < w->result.notes.n; i++)
		if (strstr(w->result.notes.lines[i], text))
			return true;
	return false;
}

static void test_names(void **state)
{
	struct world *w = *state;
	uint32_t first, again, elsewhere, outside;

	put_program(w, "bin/prog", 0);
	first = add_location(w, add_mapping(w, "/bin/prog", "", BASE), (uintptr_t)the_target);
	/* The same program in another process, and in two mappings. */
	again = add_location(w, add_mapping(w, "/bin/prog", "", 2 * BASE), (uintptr_t)the_target);
	elsewhere = add_location(w, add_mapping(w, "[vdso]", "", 3 * BASE), (uintptr_t)the_target);
	assert_int_equal(profile_add_location(w->p, 0, 1, NULL, 0, &outside), 0);
	symbolize(w, NULL, false);
	assert_string_equal(name_of(w, first), "the_target");
	assert_string_equal(name_of(w, again), "the_target");
	assert_null(name_of(w, elsewhere));
	assert_null(name_of(w, outside));
	assert_int_equal(w->result.n_locations, 4);
	assert_int_equal(w->result.n_named, 2);
	assert_int_equal(w->result.n_new, 2);
	assert_int_equal(w->result.notes.n, 1);
	assert_true(has_note(w, "/bin/prog: taken for the file that ran"));
	/* One of its locations has no name. */
	assert_false(w->p->mappings[0].has_functions);
	assert_true(w->p->mappings[1].has_functions);
	assert_false(w->p->mappings[1].has_line_numbers);
}

/* A copy that lacks its section headers, and with them the symbols: as one that was stripped. */
static void put_stripped(struct world *w, const char *path)
{
	cleanup(freep) uint8_t *data = NULL;
	ElfW(Ehdr) header;
	size_t length = 0;

	data = read_file("/proc/self/exe", &length);
	assert_non_null(data);
	memcpy(&header, data, sizeof(header));
	header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
	memcpy(data, &header, sizeof(header));
	write_file(w->dir.fd, path, data, length);
}

/* A function without a symbol is named by where it starts, until its true name can be had. */
static void test_stripped(void **state)
{
	struct world *w = *state;
	uint64_t at = (uintptr_t)the_target;
	uint32_t mapping = add_mapping(w, "/bin/prog (deleted)", "", BASE), first, second;
	char expected[64];

	snprintf(expected, sizeof(expected), "prog+0x%" PRIx64, at - w->text.bias);
	put_stripped(w, "bin/prog (deleted)");
	first = add_location(w, mapping, at);
	second = add_location(w, mapping, at + 1);
	for (int again = 0; again < 2; again++) {
		symbolize(w, NULL, again);
		assert_string_equal(name_of(w, first), expected);
		assert_string_equal(name_of(w, second), expected);
		assert_int_equal(w->result.n_named, 0);
		assert_int_equal(w->result.n_new, 0);
		assert_false(w->p->mappings[0].has_functions);
		assert_true(has_note(w, again ? "no lines in it" : "no names in it"));
	}
	put_program(w, "bin/prog (deleted)", 0);
	symbolize(w, NULL, false);
	assert_string_equal(name_of(w, first), "the_target");
	assert_int_equal(w->result.n_named, 2);
	assert_int_equal(w->result.n_new, 2);
	assert_true(w->p->mappings[0].has_functions);
}

static void test_flags_are_truthful(void **state)
{
	struct world *w = *state;
	uint32_t all, inlined, none;

	put_program(w, "prog", 'f');
	all = add_mapping(w, "/prog", "", BASE);
	add_rest(w, all, 1);
	inlined = add_mapping(w, "/prog", "", 2 * BASE);
	add_rest(w, inlined, 0);
	add_rest(w, inlined, 2); /* a function without a line */
	none = add_mapping(w, "/prog", "", 3 * BASE);
	add_rest(w, none, 3);
	w->p->mappings[none].has_filenames = true; /* what nothing was found for stays */
	symbolize(w, PICKY, true);
	assert_int_equal(w->result.n_new, 3);
	assert_true(w->p->mappings[all].has_functions && w->p->mappings[all].has_filenames &&
		    w->p->mappings[all].has_line_numbers);
	assert_false(w->p->mappings[all].has_inline_frames);
	assert_true(w->p->mappings[inlined].has_functions &&
		    w->p->mappings[inlined].has_inline_frames);
	assert_false(w->p->mappings[inlined].has_line_numbers);
	assert_int_equal(w->p->locations[1].n_lines, 2);
	assert_true(w->p->mappings[none].has_filenames);
	assert_false(w->p->mappings[none].has_functions);
}

static void name_it(struct world *w, uint32_t location, const char *name)
{
	struct profile_function f = {0};
	struct profile_line line = {0};

	assert_int_equal(profile_add_text(w->p, name, &f.name), 0);
	assert_int_equal(profile_add_function(w->p, &f, &line.function), 0);
	assert_int_equal(profile_set_lines(w->p, location, &line, 1), 0);
}

/* What has names keeps them, but for lines, from the very file. */
static void test_names_stay(void **state)
{
	struct world *w = *state;
	uint32_t with_line, without, folded, stranger;

	put_program(w, "prog", 'f');
	stranger = add_rest(w, add_mapping(w, "/prog", "", BASE), 1);
	name_it(w, stranger, "theirs");
	symbolize(w, PICKY, false);
	assert_string_equal(name_of(w, stranger), "theirs");
	symbolize(w, PICKY, true);
	assert_string_equal(name_of(w, stranger), "theirs");
	assert_true(has_note(w, "/prog: names stay as they are"));
	assert_int_equal(w->result.n_new, 0);

	/* The build id of this program, by way of the note that tells it. */
	add_rest(w, add_mapping(w, "/prog", OTHER_ID, 2 * BASE), 3);
	symbolize(w, PICKY, false);
	for (size_t i = 0; i < w->result.notes.n; i++) {
		const char *id = strstr(w->result.notes.lines[i], "the file here has ");
		uint32_t mapping;

		if (!id)
			continue;
		id += strlen("the file here has ");
		mapping = add_mapping(w, "/prog", id, 3 * BASE);
		with_line = add_rest(w, mapping, 1);
		without = add_rest(w, mapping, 2);
		name_it(w, with_line, "old");
		name_it(w, without, "old");
		folded = add_rest(w, mapping, 1);
		w->p->locations[folded].is_folded = true;
		name_it(w, folded, "one of several");
		symbolize(w, PICKY, false);
		assert_string_equal(name_of(w, with_line), "old");
		symbolize(w, PICKY, true);
		assert_string_equal(name_of(w, folded), "one of several");
		assert_string_not_equal(name_of(w, with_line), "old");
		assert_string_equal(name_of(w, without), "old");
		assert_int_equal(w->result.n_new, 1);
		return;
	}
	fail_msg("no build id");
}

/* A machine has hundreds of files without names: one line for all. */
static void test_files_without_names(void **state)
{
	static const char *const paths[] = {"/a", "/b", "/b", "/c"};
	struct world *w = *state;

	write_text(w->dir.fd, "etc/os-release", "ID=debian\n");
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		put_program(w, paths[i] + 1, 'f');
		add_rest(w, add_mapping(w, paths[i], "", (i + 1) * BASE), 3);
		symbolize(w, PICKY, false);
		if (!i)
			assert_true(has_note(w, "/a: no names in it, and no debug file"));
	}
	assert_true(has_note(w, "/b and 2 more: no names in them, and no debug files with such "
				"were found; build them with -g, install their -dbgsym packages, "
				"or use profctl symbolize "
				"--debuginfod https://debuginfod.debian.net"));
	assert_int_equal(w->result.notes.n, 2); /* nothing tells whether they are the files */
	symbolize(w, PICKY, true);
	assert_true(has_note(w, "/b and 2 more: no lines in them, and no debug files"));
}

/* The debug package is named, by whose the file is for dpkg. */
static void test_debug_package(void **state)
{
	static const struct {
		const char *list, *text, *package;
	} cases[] = {
		{"other.list", "/.\n/opt/bin/prog\n/opt/usr/bin/prog\n/bin/prog2\n/bin", NULL},
		{"other.list.md5", "/.\n/bin/prog\n", NULL},
		{"empty.list", "", NULL},
		{"prog-1.2:amd64.list", "/.\n/bin\n/bin/prog\n", "prog-1.2-dbgsym,"},
		{"prog-1.2:amd64.list", "/.\n/usr/bin/prog\n/usr/bin/x\n", "prog-1.2-dbgsym,"},
		{"libc6:amd64.list", "/.\n/bin/prog\n", "libc6-dbg,"},
		{"python3.11-minimal.list", "/.\n/bin/prog\n", "python3.11-dbg,"},
		{"libpython3.13-stdlib:arm64.list", "/.\n/bin/prog\n", "python3.13-dbg,"},
	};
	struct world *w = *state;
	char expected[128], list[128];

	write_text(w->dir.fd, "etc/os-release", "ID=debian\n");
	put_program(w, "usr/bin/prog", 'f');
	put_program(w, "bin/prog", 'f');
	add_rest(w, add_mapping(w, "/usr/bin/prog", "", BASE), 3);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(list, sizeof(list), "var/lib/dpkg/info/%s", cases[i].list);
		write_text(w->dir.fd, list, cases[i].text);
		snprintf(expected, sizeof(expected), "found; %s%s",
			 cases[i].package ? "install " : "build it with -g, install its -dbgsym ",
			 cases[i].package ? cases[i].package : "package, or use");
		symbolize(w, PICKY, false);
		assert_true(has_note(w, expected));
		assert_int_equal(unlinkat(w->dir.fd, list, 0), 0);
	}
	add_rest(w, add_mapping(w, "/bin/prog", "", 2 * BASE), 3);
	write_text(w->dir.fd, "var/lib/dpkg/info/prog.list", "/.\n/bin/prog\n");
	symbolize(w, PICKY, false);
	assert_true(has_note(w, "install prog-dbgsym and the like, or use"));
	/* However many files are not there. */
	for (size_t i = 0; i < NOTES_MAX; i++) {
		snprintf(list, sizeof(list), "/gone%zu", i);
		add_rest(w, add_mapping(w, list, "", (3 + i) * BASE), 3);
	}
	symbolize(w, PICKY, false);
	assert_non_null(strstr(w->result.notes.lines[0], "install prog-dbgsym and the like"));
}

static void test_other_build_id(void **state)
{
	struct world *w = *state;
	uint32_t location;

	put_program(w, "prog", 0);
	location = add_location(w, add_mapping(w, "/prog", OTHER_ID, BASE), (uintptr_t)the_target);
	symbolize(w, NULL, false);
	assert_null(name_of(w, location));
	assert_true(has_note(w, "/prog: build id " OTHER_ID ", the file here has "));
	assert_int_equal(w->result.notes.n, 1);
}

static void test_files_of_no_use(void **state)
{
	struct world *w = *state;

	write_text(w->dir.fd, "text", "no ELF");
	write_text(w->dir.fd, "outside", "no ELF");
	assert_int_equal(mkfifoat(w->dir.fd, "fifo", 0600), 0);
	assert_int_equal(symlinkat("/dev/zero", w->dir.fd, "device"), 0);
	put_program(w, "gone", 0);
	add_location(w, add_mapping(w, "/text", "", BASE), (uintptr_t)the_target);
	add_location(w, add_mapping(w, "/fifo", "", 2 * BASE), (uintptr_t)the_target);
	add_location(w, add_mapping(w, "/device", "", 3 * BASE), (uintptr_t)the_target);
	add_location(w, add_mapping(w, "/gone (deleted)", "", 4 * BASE), (uintptr_t)the_target);
	add_location(w, add_mapping(w, "/../outside", "", 5 * BASE), (uintptr_t)the_target);
	symbolize(w, NULL, false);
	assert_int_equal(w->result.n_named, 0);
	assert_int_equal(w->result.notes.n, 5);
	assert_true(has_note(w, "/text: no ELF file"));
	assert_true(has_note(w, "/fifo: not a regular file"));
	/* The root's, where there is none; and nothing leads out of the root. */
	assert_true(has_note(w, "/device: no such file here"));
	assert_true(has_note(w, "/gone (deleted): and no build id to know it by"));
	assert_true(has_note(w, "/../outside: no ELF file"));
}

/* A file system that lets whoever it likes wait is not looked at. */
static void test_slow_mounts(void **state)
{
	struct world *w = *state;

	put_program(w, "home/prog", 0);
	put_program(w, "slow/prog", 0);
	assert_int_equal(symlinkat("/slow/prog", w->dir.fd, "home/link"), 0);
	write_text(w->dir.fd, "proc/self/mountinfo",
		   "1 0 8:1 / / rw - ext4 x rw\n"
		   "2 1 8:2 / /home rw - ext4 x rw\n"
		   "3 1 0:9 / /slow rw - fuse.evil x rw\n");
	add_location(w, add_mapping(w, "/home/prog", "", BASE), (uintptr_t)the_target);
	add_location(w, add_mapping(w, "/slow/prog", "", 2 * BASE), (uintptr_t)the_target);
	add_location(w, add_mapping(w, "/home/link", "", 3 * BASE), (uintptr_t)the_target);
	symbolize(w, NULL, false);
	assert_string_equal(name_of(w, 0), "the_target");
	assert_null(name_of(w, 1));
	assert_null(name_of(w, 2));
	assert_true(has_note(w, "/slow/prog: on a file system that may let us wait"));
}

/* A worker that dies, lies or hangs over one file: the others are named. */
static void test_bad_files(void **state)
{
	static const char marks[] = "dilh";
	struct world *w = *state;
	uint32_t good;

	for (unsigned i = 0; marks[i]; i++) {
		char path[8] = {'/', 'x', marks[i]};

		put_program(w, path + 1, marks[i]);
		add_rest(w, add_mapping(w, path, "", BASE * (i + 2)), 1);
	}
	put_program(w, "prog", 'f');
	good = add_rest(w, add_mapping(w, "/prog", "", BASE), 1);
	symbolize(w, PICKY, true);
	for (unsigned i = 0; marks[i]; i++) {
		char note[32];

		snprintf(note, sizeof(note), "/x%c: skipped, the image worker", marks[i]);
		if (!has_note(w, note))
			fail_msg("%s", note);
	}
	assert_int_equal(w->result.n_named, 1);
	assert_non_null(name_of(w, good));
}

static void test_no_worker(void **state)
{
	struct world *w = *state;

	put_program(w, "prog", 0);
	add_location(w, add_mapping(w, "/prog", "", BASE), (uintptr_t)the_target);
	assert_int_equal(symbolize_with(w, "/bin/false", false), SYMBOLIZE_E_NO_WORKER);
	assert_string_equal(w->result.trouble, "exited with status 1");
	assert_int_equal(w->result.n_named, 0);
}

static void test_kernel(void **state)
{
	static const uint8_t notes[] = {4, 0, 0,   0,   3,   0, 0,    0,    3,    0,
					0, 0, 'G', 'N', 'U', 0, 0xab, 0xcd, 0xef, 0};
	static const struct {
		uint64_t start, limit, address;
		const char *build_id, *name, *note;
	} cases[] = {
		{KERNEL, KERNEL + 0x3000, KERNEL + 0x1010, "abcdef", "open_it", NULL},
		/* It lay elsewhere then. */
		{KERNEL + 0x70000, KERNEL + 0x73000, KERNEL + 0x72fff, "abcdef", "close_it", NULL},
		{KERNEL, KERNEL + 0x9000, KERNEL + 0x1020, "abcdef", "open_it", NULL},
		{KERNEL + 1, KERNEL + 0x3000, KERNEL + 0x1030, "abcdef", NULL, "where it lay"},
		{KERNEL, KERNEL + 0x3000, KERNEL + 0x1040, "abcdee", NULL, "not known to be"},
		{KERNEL, KERNEL + 0x3000, KERNEL + 0x1050, "", NULL, "not known to be"},
		{KERNEL, KERNEL + 0x9000, KERNEL + 0x4000, "abcdef", NULL, NULL},
	};
	struct world *w = *state;

	write_file(w->dir.fd, "sys/kernel/notes", notes, sizeof(notes));
	write_text(w->dir.fd, "proc/kallsyms",
		   "ffffffff81000000 T _stext\nffffffff81001000 t open_it\n"
		   "ffffffff81002000 T close_it\nffffffff81003000 T _etext\n"
		   "ffffffff81003000 T behind\n");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct profile_mapping m = {.start = cases[i].start, .limit = cases[i].limit};
		uint32_t mapping, location;

		profile_add_text(w->p, "[kernel.kallsyms]", &m.path);
		profile_add_text(w->p, cases[i].build_id, &m.build_id);
		assert_int_equal(profile_add_mapping(w->p, &m, &mapping), 0);
		assert_int_equal(profile_add_location(w->p, mapping, cases[i].address, NULL, 0,
						      &location),
				 0);
		symbolize(w, "/bin/false", true);
		if (cases[i].name)
			assert_string_equal(name_of(w, location), cases[i].name);
		else
			assert_null(name_of(w, location));
		assert_true(!cases[i].note || has_note(w, cases[i].note));
	}
	write_text(w->dir.fd, "proc/kallsyms",
		   "0000000000000000 T _stext\n0000000000000000 T open_it\n");
	symbolize(w, "/bin/false", false);
	assert_true(has_note(w, "hides"));
}

/* What a case of test_kernel_parts() says of a location, and what is to become of it. */
struct part_case {
	const char *path, *build_id;
	uint64_t start, size, offset;
	const char *name, *note; /* NULL: none */
};

static void check_part(struct world *w, const struct part_case *c)
{
	struct profile_mapping m = {.start = c->start, .limit = c->start + c->size};
	uint32_t mapping, location;

	assert_int_equal(profile_add_text(w->p, c->path, &m.path), 0);
	assert_int_equal(profile_add_text(w->p, c->build_id, &m.build_id), 0);
	assert_int_equal(profile_add_mapping(w->p, &m, &mapping), 0);
	assert_int_equal(
		profile_add_location(w->p, mapping, c->start + c->offset, NULL, 0, &location), 0);
	symbolize(w, "/bin/false", false);
	if (c->name)
		assert_string_equal(name_of(w, location), c->name);
	else
		assert_null(name_of(w, location));
	if (c->note)
		assert_true(has_note(w, c->note));
	else
		for (size_t i = 0; i < w->result.notes.n; i++)
			assert_true(strncmp(w->result.notes.lines[i], c->path, strlen(c->path)));
	/* The next one is told by itself. */
	w->p->locations[location].mapping = PROFILE_NONE;
}

/* Modules, by their addresses or as image profiles have them; the kernel as those have it. */
static void test_kernel_parts(void **state)
{
	static const uint8_t notes[] = {4, 0, 0,   0,   3,   0, 0,    0,    3,    0,
					0, 0, 'G', 'N', 'U', 0, 0x12, 0x34, 0x56, 0};
	char of_kernel[IMAGE_ID_SIZE], of_plain[IMAGE_ID_SIZE];
	const struct part_case cases[] = {
		{"[ext9]", "123456", 0, 0x2000, 0x10, "ext9_init", NULL},
		{"[ext9]", "123456", 0, 0x2000, 0x1008, "ext9_read", NULL},
		{"[ext9]", "123456", MODULE, 0x2000, 0x1008, "ext9_read", NULL},
		{"[ext9]", "123456", MODULE + 0x70000, 0x2000, 0x1008, "ext9_read", NULL},
		/* The last one has no end but the module's. */
		{"[ext9]", "123456", 0, 0x2001, 0x1fff, "ext9_read", NULL},
		{"[ext9]", "123456", 0, 0x2001, 0x2000, NULL, NULL},
		{"[ext9]", "123457", 0, 0x2000, 0x10, NULL, "[ext9]: not known to be"},
		{"[ext9]", "", 0, 0x2000, 0x10, NULL, "[ext9]: not known to be"},
		{"[plain_2]", of_plain, 0, 0x1000, 0x20, "plain_go", NULL},
		{"[plain_2]", of_kernel, 0, 0x1000, 0x20, NULL, "[plain_2]: not known to be"},
		{"[gone]", "123456", 0, 0x2000, 0x10, NULL, "[gone]: no such module is loaded"},
		{"[hidden]", of_plain, 0, 0x2000, 0x10, NULL, "[hidden]: not known to be"},
		/* None of these is a module: nothing to say. */
		{"[vdso]", "123456", 0, 0x2000, 0x10, NULL, NULL},
		{"[stack]", "", 0, 0x2000, 0x10, NULL, NULL},
		{"[ext9]", "123456", BASE, 0x2000, 0x10, NULL, NULL},
		{"[ext9", "123456", 0, 0x2000, 0x10, NULL, NULL},
		{"[../x]", "123456", 0, 0x2000, 0x10, NULL, NULL},
		{"[ext9] (deleted)", "123456", 0, 0x2000, 0x10, NULL, NULL},
		{"[]", "123456", 0, 0x2000, 0x10, NULL, NULL},
		{"[kernel.kallsyms]", of_kernel, 0, 0x3000, 0x1010, "open_it", NULL},
		{"[kernel.kallsyms]_text", of_kernel, KERNEL, 0x3000, 0x1010, "open_it", NULL},
		{"[kernel.kallsyms]", of_plain, 0, 0x3000, 0x1010, NULL, "[kernel.kallsyms]: not"},
	};
	struct world *w = *state;
	struct utsname name;

	assert_int_equal(uname(&name), 0);
	image_id_of_kernel("vmlinux", name.release, of_kernel);
	image_id_of_kernel("plain_2.ko", name.release, of_plain);
	write_file(w->dir.fd, "sys/module/ext9/notes/.note.gnu.build-id", notes, sizeof(notes));
	write_text(w->dir.fd, "proc/modules",
		   "plain_2 4096 0 - Live 0xffffffffc0100000\n"
		   "ext9 8192 2 plain_2, Live 0xffffffffc0200000 (OE)\n"
		   "hidden 8192 0 - Live 0x0000000000000000\n");
	write_text(w->dir.fd, "proc/kallsyms",
		   "ffffffff81000000 T _stext\nffffffff81001000 t open_it\n"
		   "ffffffff81003000 T _etext\nffffffffc0100000 t plain_go\t[plain_2]\n"
		   "ffffffffc0200000 t ext9_init\t[ext9]\n"
		   "ffffffffc0201000 t ext9_read\t[ext9]\n");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_part(w, &cases[i]);
	image_id_of_kernel("hidden.ko", name.release, of_plain);
	check_part(w, &(struct part_case){"[hidden]", of_plain, 0, 0x2000, 0x10, NULL,
					  "[hidden]: the kernel hides"});
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_make, world_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_names),           TEST(test_flags_are_truthful),
		TEST(test_names_stay),      TEST(test_other_build_id),
		TEST(test_files_of_no_use), TEST(test_slow_mounts),
		TEST(test_bad_files),       TEST(test_no_worker),
		TEST(test_kernel),          TEST(test_files_without_names),
		TEST(test_debug_package),   TEST(test_kernel_parts),
		TEST(test_stripped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

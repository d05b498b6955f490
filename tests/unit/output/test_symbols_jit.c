/* SPDX-License-Identifier: MIT */
/* Names of generated code, by the real worker, from files that change. */
#include "common/worker/memory.h"
#include "daemon/output/symbols.h"
#include "daemon/resolve/lent_fd.h"
#include "tests/unit/output/fixture.h"

/* @worker: its program; NULL: the real one. */
static struct symbols *open_symbols_of(const char *worker, uint64_t deadline_ns)
{
	const struct symbols_options options = {
		.max_bytes = 8 << 20,
		.worker_path = worker,
		.deadline_ns = deadline_ns,
	};
	struct symbols *s = NULL;

	assert_int_equal(symbols_new(&s, &options), 0);
	return s;
}

static struct symbols *open_symbols(void)
{
	return open_symbols_of(NULL, 60 * NS);
}

/* The file @name of the fixture's directory. */
static struct jit_file *open_jit(const struct fixture *f, uint64_t id, const char *name)
{
	struct jit_file *file = calloc(1, sizeof(*file));

	assert_non_null(file);
	file->n_references = 1;
	file->id = id;
	file->path = strdup(name);
	file->fd = openat(f->dir.fd, name, O_RDONLY | O_CLOEXEC);
	assert_true(file->fd >= 0);
	return file;
}

static const char *name_at(struct symbols *s, struct jit_file *file, uint64_t address)
{
	const struct symbols_names *names = NULL;
	const struct symbols_frame *frames;
	uint32_t n;

	assert_int_equal(symbols_prepare_jit(s, file, &address, 1, &names), 0);
	assert_non_null(names);
	if (!symbols_names_find(names, address, &frames, &n))
		return NULL;
	return n ? symbols_names_text(names, frames[0].name) : "";
}

static struct symbols_stats stats_of(const struct symbols *s)
{
	struct symbols_stats stats;

	symbols_get_stats(s, &stats);
	return stats;
}

static uint64_t asked(const struct symbols *s)
{
	return stats_of(s).addresses_asked;
}

/* Times of files are as coarse as the kernel's tick: a test can write twice within one. */
static void write_later(const struct fixture *f, const char *name, const char *text, time_t second)
{
	const struct timespec times[2] = {{.tv_sec = second}, {.tv_sec = second}};

	write_text(f->dir.fd, name, text);
	assert_int_equal(utimensat(f->dir.fd, name, times, 0), 0);
}

static void test_it_is_read_when_it_changed(void **state)
{
	struct fixture *f = *state;
	cleanup(symbols_freep) struct symbols *s = open_symbols();
	cleanup(jit_file_unrefp) struct jit_file *file = NULL;

	write_later(f, "map", "1000 100 first\n2000 10 second\n", 1);
	file = open_jit(f, 1, "map");
	assert_string_equal(name_at(s, file, 0x1080), "first");
	assert_string_equal(name_at(s, file, 0x1000), "first");
	assert_int_equal(asked(s), 1);
	assert_string_equal(name_at(s, file, 0x2000), "second");
	assert_string_equal(name_at(s, file, 0x3000), "");
	assert_string_equal(name_at(s, file, 0x3100), "");
	assert_int_equal(asked(s), 3);
	/* Other code took the place of the first, and there is more. */
	write_later(f, "map", "1000 100 first\n2000 10 second\n1000 100 third\n3000 200 fourth\n",
		    2);
	assert_string_equal(name_at(s, file, 0x1080), "third");
	assert_string_equal(name_at(s, file, 0x3100), "fourth");
	assert_string_equal(name_at(s, file, 0x2000), "second");
	assert_int_equal(asked(s), 6);
	/* As long as before, written anew. */
	write_later(f, "map", "1000 100 FIRST\n2000 10 second\n1000 100 THIRD\n3000 200 fourth\n",
		    3);
	assert_string_equal(name_at(s, file, 0x1080), "THIRD");
	/* Closed to make room: what it said still holds. */
	lent_fd_give_up(&file->fd);
	assert_string_equal(name_at(s, file, 0x1080), "THIRD");
	assert_null(name_at(s, file, 0x2000));
}

static void test_no_map(void **state)
{
	struct fixture *f = *state;
	cleanup(symbols_freep) struct symbols *s = open_symbols();
	cleanup(jit_file_unrefp) struct jit_file *empty = NULL, *dump = NULL;

	write_text(f->dir.fd, "empty", "");
	empty = open_jit(f, 1, "empty");
	assert_string_equal(name_at(s, empty, 0x1080), "");
	write_text(f->dir.fd, "dump", "1000 100 this is no jitdump, however long it may be\n");
	dump = open_jit(f, 2, "dump");
	dump->is_jitdump = true;
	assert_null(name_at(s, dump, 0x1080));
	assert_null(name_at(s, dump, 0x1080));
	assert_int_equal(asked(s), 2);
	atomic_store(&empty->is_bad, true);
	(void)name_at(s, empty, 0x9999);
	assert_int_equal(asked(s), 2);
}

/* The worker is lost over @bad, number @n: that file is to blame, and nothing else suffers. */
static void assert_blamed(struct symbols *s, struct jit_file *bad, struct jit_file *good,
			  unsigned n)
{
	uint64_t before;

	assert_null(name_at(s, bad, 0x1080));
	assert_true(bad->is_bad);
	before = asked(s);
	assert_null(name_at(s, bad, 0x1080));
	assert_null(name_at(s, bad, 0x2080));
	assert_int_equal(asked(s), before);
	/* At once, in the same window. */
	assert_string_equal(name_at(s, good, 0x1000 + n), "first");
	assert_false(good->is_bad);
	assert_int_equal(stats_of(s).workers_died, n);
	assert_int_equal(stats_of(s).bad_images, n);
	assert_string_equal(stats_of(s).last_bad_image, bad->path);
	assert_string_equal(stats_of(s).trouble, "");
}

/* Files that a worker dies of, hangs over or lies about are bad (picky_worker.c). */
static void test_hostile(void **state)
{
	static const struct {
		const char *name, *text;
		bool is_jitdump;
	} files[] = {
		{"dies", "1000 100 first\npicky:d", false},
		{"lies", "1000 100 first\npicky:l", false},
		{"hangs", "1000 100 first\npicky:h", false},
		{"dump", "a jitdump, picky:d", true},
	};
	struct fixture *f = *state;
	cleanup(symbols_freep) struct symbols *s = open_symbols_of(TEST_PROGRAMS "/picky_worker",
								   NS);

	for (unsigned i = 0; i < ARRAY_SIZE(files); i++) {
		cleanup(jit_file_unrefp) struct jit_file *bad = NULL, *good = NULL;

		write_text(f->dir.fd, "good", "1000 100 first\n");
		write_text(f->dir.fd, files[i].name, files[i].text);
		good = open_jit(f, 10 + i, "good");
		bad = open_jit(f, 20 + i, files[i].name);
		bad->is_jitdump = files[i].is_jitdump;
		assert_blamed(s, bad, good, i + 1);
	}
}

/* What a file said before the worker died of what was added to it, still holds. */
static void test_hostile_later(void **state)
{
	struct fixture *f = *state;
	cleanup(symbols_freep) struct symbols *s = open_symbols_of(TEST_PROGRAMS "/picky_worker",
								   NS);
	cleanup(jit_file_unrefp) struct jit_file *file = NULL;

	write_later(f, "map", "1000 100 first\n", 1);
	file = open_jit(f, 1, "map");
	assert_string_equal(name_at(s, file, 0x1080), "first");
	write_later(f, "map", "1000 100 first\n2000 100 second\npicky:d", 2);
	assert_null(name_at(s, file, 0x2080));
	assert_true(file->is_bad);
	assert_string_equal(name_at(s, file, 0x1080), "first");
	assert_int_equal(stats_of(s).bad_images, 1);
}

/* jitdump-specification.txt: one piece of code. */
static void write_jitdump(const struct fixture *f, const char *name, uint64_t address,
			  const char *function)
{
	struct {
		uint32_t magic, version, size, machine, pad, pid;
		uint64_t time, flags;
		uint32_t id, record_size;
		uint64_t record_time;
		uint32_t code_pid, code_tid;
		uint64_t vma, address, code_size, index;
		char name[16], code[16];
	} dump = {
		.magic = 0x4a695444,
		.version = 1,
		.size = 40,
		.machine = 62,
		.pid = 7,
		.vma = address,
		.address = address,
		.code_size = sizeof(dump.code),
	};

	dump.record_size = sizeof(dump) - 40;
	snprintf(dump.name, sizeof(dump.name), "%-15s", function);
	write_file(f->dir.fd, name, &dump, sizeof(dump));
}

/* The name of the leaf of the samples of the process @pid whose leaf is at @address. */
static const char *leaf_name(const struct profile *p, int64_t pid, uint64_t address)
{
	const char *found = NULL;

	for (size_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		const struct profile_location *l =
			&p->locations[p->sample_locations[s->first_location]];
		bool is_his = false;

		for (uint32_t j = 0; j < s->n_labels; j++) {
			const struct profile_label *label = &p->sample_labels[s->first_label + j];

			is_his |= strcmp(profile_string(p, label->key), "pid") == 0 &&
				  label->num == pid;
		}
		if (!is_his || l->address != address)
			continue;
		assert_null(found);
		found = "";
		if (l->n_lines) {
			const struct profile_line *line = &p->lines[l->first_line];

			found = profile_string(p, p->functions[line->function].name);
		}
	}
	return found;
}

/*
 * Process 2 was forked from process 1: they share mappings. The same address is other code in each;
 * what the jitdump does not know the perf map may.
 */
static void test_profile(void **state)
{
	static const struct script script[] = {
		{1, 0, NULL, {0}, {ANON_AT + 0x10, PROGRAM_AT + 0x200}, 0, 0, 3},
		{1, 0, NULL, {0}, {ANON_AT + 0x1010, PROGRAM_AT + 0x200}, 0, 0, 3},
		{1, 0, NULL, {0}, {ANON_AT + 0x2010, PROGRAM_AT + 0x200}, 0, 0, 3},
		{2, 0, NULL, {0}, {ANON_AT + 0x10, PROGRAM_AT + 0x200}, 0, 0, 5},
	};
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	struct snapshot *s = make_snapshot(f, T0, script, ARRAY_SIZE(script));
	cleanup(profile_freep) struct profile *p = NULL;

	write_text(f->dir.fd, "map-1", "7e0000000000 2000 of_parent\n");
	write_text(f->dir.fd, "map-2", "7e0000000000 100 of_child\n");
	write_jitdump(f, "dump", ANON_AT + 0x10, "dumped_function");
	s->processes[0].perf_map = open_jit(f, 1, "map-1");
	s->processes[0].jitdump = open_jit(f, 2, "dump");
	s->processes[0].jitdump->is_jitdump = true;
	s->processes[1].perf_map = open_jit(f, 3, "map-2");
	mappings_unref(s->processes[1].mappings);
	s->processes[1].mappings = mappings_ref(s->processes[0].mappings);

	write_quietly(w, s, T0 + 60);
	p = read_pprof(path_of(f, DAY_A "20261121T090000Z-60s.pb.gz"));
	assert_string_equal(leaf_name(p, 100, ANON_AT + 0x10), "dumped_function");
	assert_string_equal(leaf_name(p, 100, ANON_AT + 0x1010), "of_parent");
	assert_string_equal(leaf_name(p, 100, ANON_AT + 0x2010), "");
	assert_string_equal(leaf_name(p, 101, ANON_AT + 0x10), "of_child");
}

#define T(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

#define LONG_NAMES 2000u

/* Answers that do not fit in what the budget leaves are asked for in smaller pieces. */
static void test_pieces(void **state)
{
	struct fixture *f = *state;
	struct memory_budget budget = {.bytes = 1};
	const struct symbols_options options = {.max_bytes = (size_t)1 << 30,
						.budget = &budget,
						.deadline_ns = 60 * NS};
	cleanup(symbols_freep) struct symbols *s = NULL;
	cleanup(jit_file_unrefp) struct jit_file *file = NULL;
	const struct symbols_names *names = NULL;
	const struct symbols_frame *frames;
	uint64_t addresses[LONG_NAMES];
	FILE *map = fdopen(openat(f->dir.fd, "map", O_WRONLY | O_CREAT | O_CLOEXEC, 0600), "w");
	uint32_t n;

	assert_non_null(map);
	for (unsigned i = 0; i < LONG_NAMES; i++) {
		addresses[i] = 0x1000 + 16 * i;
		fprintf(map, "%x 10 %04000u\n", 0x1000 + 16 * i, i);
	}
	assert_int_equal(fclose(map), 0);
	assert_int_equal(symbols_new(&s, &options), 0);
	file = open_jit(f, 1, "map");
	assert_int_equal(symbols_prepare_jit(s, file, addresses, LONG_NAMES, &names), 0);
	for (unsigned i = 0; i < LONG_NAMES; i++) {
		assert_true(symbols_names_find(names, addresses[i], &frames, &n));
		assert_int_equal(n, 1);
	}
	assert_int_equal(stats_of(s).cut, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_it_is_read_when_it_changed),
		T(test_no_map),
		T(test_pieces),
		T(test_hostile),
		T(test_hostile_later),
		T(test_profile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

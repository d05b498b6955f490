/* SPDX-License-Identifier: MIT */
/* The .pb.gz of a service: locations, mappings, names, labels, units. */
#include "daemon/worker/elf/elf_image.h"
#include "tests/unit/output/fixture.h"

static const char build_id_1[] = "1111111111111111111111111111111111111111";

static int64_t sum_label(const struct profile *p, const char *key, const char *text)
{
	int64_t sum = 0;

	for (size_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		for (uint32_t j = 0; j < s->n_labels; j++) {
			const struct profile_label *l = &p->sample_labels[s->first_label + j];

			if (strcmp(profile_string(p, l->key), key) == 0 &&
			    strcmp(profile_string(p, l->str), text) == 0)
				sum += p->sample_values[i * p->n_sample_types];
		}
	}
	return sum;
}

static bool has_function(const struct profile *p, const char *name)
{
	for (size_t i = 0; i < p->n_functions; i++)
		if (strcmp(profile_string(p, p->functions[i].name), name) == 0)
			return true;
	return false;
}

static const struct profile_mapping *find_mapping(const struct profile *p, const char *path)
{
	const struct profile_mapping *found = NULL;

	for (size_t i = 0; i < p->n_mappings; i++) {
		if (strcmp(profile_string(p, p->mappings[i].path), path) != 0)
			continue;
		assert_null(found); /* an image has one mapping only */
		found = &p->mappings[i];
	}
	return found;
}

static bool has_comment(const struct profile *p, const char *text)
{
	for (size_t i = 0; i < p->n_comments; i++)
		if (strcmp(profile_string(p, p->comments[i]), text) == 0)
			return true;
	return false;
}

static void test_pprof(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	cleanup(profile_freep) struct profile *p = NULL;
	const struct profile_mapping *m;

	write_quietly(w, everything_at(f, T0), T0 + 60);
	p = read_pprof(path_of(f, DAY_A "20261121T090000Z-60s.pb.gz"));
	assert_int_equal(p->n_sample_types, 2);
	assert_string_equal(profile_string(p, p->sample_types[0].type), "samples");
	assert_string_equal(profile_string(p, p->sample_types[1].type), "cpu");
	assert_string_equal(profile_string(p, p->sample_types[1].unit), "nanoseconds");
	assert_int_equal(profile_total(p, 0), 66);
	assert_int_equal(profile_total(p, 1), 66 * INT64_C(10000000));
	assert_int_equal(p->period, 10000000);
	assert_int_equal(p->time_ns, T0 * NS);
	assert_int_equal(p->duration_ns, 60 * NS);

	m = &p->mappings[0];
	assert_string_equal(profile_string(p, m->path), "/usr/bin/worker");
	assert_string_equal(profile_string(p, m->build_id), build_id_1);
	assert_int_equal(m->start, PROGRAM_AT);
	assert_int_equal(m->limit, PROGRAM_AT + 0x3000);
	assert_int_equal(m->offset, 0x1000);
	assert_false(m->has_functions);
	m = find_mapping(p, "[kernel.kallsyms]");
	assert_non_null(m);
	assert_int_equal(m->start, STEXT);
	assert_int_equal(m->limit, ETEXT);
	assert_true(m->has_functions);
	assert_non_null(find_mapping(p, "[ext4]"));
	assert_non_null(find_mapping(p, "[anon]"));
	assert_non_null(find_mapping(p, "/lib/libx.so.1"));
	assert_true(has_function(p, "do_work"));
	assert_true(has_function(p, "ext4_read"));

	assert_int_equal(sum_label(p, "stack", "broken"), 4);
	assert_int_equal(sum_label(p, "stack", "guessed"), 6);
	assert_int_equal(sum_label(p, "reason", "unreadable"), 4);
	assert_int_equal(sum_label(p, "reason", "depth"), 2);
	assert_int_equal(sum_label(p, "reason", "frame_pointer"), 0); /* 0: of what is guessed */
	assert_int_equal(sum_label(p, "thread", "t2"), 5);
	assert_int_equal(sum_label(p, "comm", "work/er"), 19);
	assert_int_equal(sum_label(p, "service", "a.service"), 66);
	assert_true(has_comment(p, "# profd ledger: expected=10 seen=9 source=bpf"));
	assert_true(has_comment(p, "# profd event: cpu-clock"));
	assert_true(has_comment(p, "# profd frequency: 100 Hz"));
	assert_true(has_comment(p, "# profd host: host/1"));
}

/* Two processes, two layouts: the same code has the same address. */
static void test_one_layout(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	cleanup(profile_freep) struct profile *p = NULL;
	struct snapshot *s = everything_at(f, T0);
	int64_t at = 0;

	s->labels = 0;
	write_quietly(w, s, T0 + 60);
	p = read_pprof(path_of(f, DAY_A "20261121T090000Z-60s.pb.gz"));
	for (size_t i = 0; i < p->n_samples; i++) {
		const uint32_t *l = &p->sample_locations[p->samples[i].first_location];

		if (p->samples[i].n_locations == 2 &&
		    p->locations[l[0]].address == PROGRAM_AT + 0x100 &&
		    p->locations[l[1]].address == PROGRAM_AT + 0x200)
			at += p->sample_values[i * 2];
	}
	assert_int_equal(at, 20 + 5 + 11);
}

/* Nothing that was sampled is left out: addresses without a mapping stay as they are. */
static void test_no_address_lost(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	cleanup(profile_freep) struct profile *p = NULL;
	unsigned found = 0;

	write_quietly(w, everything_at(f, T0), T0 + 60);
	p = read_pprof(path_of(f, DAY_A "20261121T090000Z-60s.pb.gz"));
	for (size_t i = 0; i < p->n_locations; i++)
		if (p->locations[i].address == 0x1234 && p->locations[i].mapping == PROFILE_NONE)
			found++;
	profile_free(steal_ptr(&p));
	p = read_pprof(path_of(f, DAY_B "20261121T090000Z-60s.pb.gz"));
	for (size_t i = 0; i < p->n_locations; i++)
		if (p->locations[i].address == BPF_CODE)
			found++;
	assert_int_equal(found, 2);
	assert_true(has_function(p, "[unknown]")); /* the stack without any frame */
	assert_int_equal(profile_total(p, 0), 13);
	assert_string_equal(profile_string(p, p->mappings[0].path), "/usr/bin/ot her");
}

/* Several programs in one file: the one with the most samples, in all its processes, is first. */
static void test_main_mapping(void **state)
{
	static const struct script script[] = {
		{1, 0, NULL, {0}, {PROGRAM_AT + 0x100}, 0, 0, 5},
		{2, 0, NULL, {0}, {PROGRAM_2 + 0x100}, 0, 0, 4},
		{3, 0, NULL, {0}, {PROGRAM_AT + 0x300}, 0, 0, 6},
		{4, 0, NULL, {STEXT + 0x10}, {0}, 0, 0, 8},
	};
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	cleanup(profile_freep) struct profile *p = NULL;

	for (unsigned i = 0; i < 3; i++) {
		static const char *const first[] = {"/usr/bin/worker", "/usr/bin/ot her",
						    "[kernel.kallsyms]"};
		struct snapshot *s = make_snapshot(f, T0 + 60 * i, script + i, 4 - i);
		char name[100];

		s->session = 1;
		s->owner = geteuid();
		s->session_name = strdup("s1-x");
		if (i == 1) /* without the kernel thread */
			s->hide_kernel = true;
		if (i == 1)
			s->processes[3].kernel_thread = false;
		write_quietly(w, s, T0 + 60);
		snprintf(name, sizeof(name), "sessions/s1-x/20261121T090%u00Z-60s.pb.gz", i);
		p = read_pprof(path_of(f, name));
		assert_string_equal(profile_string(p, p->mappings[0].path), first[i]);
		profile_free(steal_ptr(&p));
	}
}

static void test_hide_kernel(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	cleanup(profile_freep) struct profile *p = NULL;
	struct snapshot *s = everything_at(f, T0);

	s->session = 7;
	s->session_name = strdup("s7-look");
	s->owner = geteuid();
	s->hide_kernel = true;
	write_quietly(w, s, T0 + 60);
	p = read_pprof(path_of(f, "sessions/s7-look/20261121T090000Z-60s.pb.gz"));
	assert_int_equal(profile_total(p, 0), EVERYTHING);
	assert_true(has_function(p, "[kernel]"));
	assert_false(has_function(p, "do_work"));
	assert_null(find_mapping(p, "[kernel.kallsyms]"));
	for (size_t i = 0; i < p->n_locations; i++)
		assert_true(p->locations[i].address < UINT64_C(1) << 63);
	assert_int_equal(mode_of(f, "sessions/s7-look"), 0700);
	assert_true(exists(f, "sessions/s7-look/20261121T090000Z-60s.worker-100.prof"));
	assert_int_equal(take_census(f).n_images, 0); /* the system session's only */
}

/* Names come from the image's open file: this very program's. */
static void test_symbols_of_file(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	cleanup(profile_freep) struct profile *p = NULL;
	struct script script = {1, 1, NULL, {0}, {0}, 0, 0, 3};
	struct image *self = f->program;
	uint64_t vaddr = 0, offset = 0;
	struct elf_summary elf;
	struct snapshot *s;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (fgets(line, sizeof(line), maps)) {
		unsigned long long start, end, at;
		uint64_t function = (uint64_t)(uintptr_t)test_symbols_of_file;

		if (sscanf(line, "%llx-%llx %*4s %llx", &start, &end, &at) == 3 &&
		    function >= start && function < end)
			offset = function - start + at;
	}
	fclose(maps);
	self->fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_summary_read(self->fd, &elf), 0);
	change_headers(self, &elf);
	assert_true(elf_summary_vaddr(&elf, offset, &vaddr));
	script.user[0] = 0x600000000000 + offset % 4096;

	s = make_snapshot(f, T0, &script, 1);
	map(&s->processes[0].mappings, self, 0x600000000000, offset - offset % 4096, 9);
	write_quietly(w, s, T0 + 60);
	p = read_pprof(path_of(f, DAY_A "20261121T090000Z-60s.pb.gz"));
	assert_int_equal(p->n_locations, 1);
	assert_true(p->mappings[p->locations[0].mapping].has_functions);
	assert_true(has_function(p, "test_symbols_of_file"));
}

/* A writer whose worker finds at an address what the last two bits say: see picky_worker.c. */
static struct writer *open_picky_writer(struct fixture *f)
{
	const struct writer_world world = {
		.host = "host/1",
		.proc_fd = f->proc_fd,
		.sys_fd = f->sys_fd,
		.worker_path = TEST_PROGRAMS "/picky_worker",
	};
	struct output_options options = default_options(f);
	struct writer *w = NULL;

	assert_int_equal(writer_new(&w, &options, &world, T0 * NS), 0);
	write_text(f->dir.fd, "picky", "picky:f");
	f->program->fd = openat(f->dir.fd, "picky", O_RDONLY | O_CLOEXEC);
	assert_true(f->program->fd >= 0);
	return w;
}

static struct profile *write_lines(struct fixture *f, struct writer *w, const struct script *script,
				   enum symbolize symbolize)
{
	struct snapshot *s = make_snapshot(f, T0, script, 1);
	struct output_result *r;
	struct profile *p;

	s->formats = FORMAT_PPROF;
	s->symbolize = symbolize;
	r = write_ok(w, s, T0 + 60);
	assert_int_equal(r->paths.n, 1);
	p = read_pprof(r->paths.all[0]);
	output_result_free(r);
	return p;
}

static const struct profile_location *location_at(const struct profile *p, uint64_t address)
{
	for (size_t i = 0; i < p->n_locations; i++)
		if (p->locations[i].address == address)
			return &p->locations[i];
	fail();
	return NULL;
}

static void check_line(const struct profile *p, const struct profile_location *l, unsigned i,
		       const char *name, const char *system_name, const char *file, int64_t line,
		       int64_t start_line)
{
	const struct profile_line *at = &p->lines[l->first_line + i];
	const struct profile_function *function = &p->functions[at->function];

	assert_string_equal(profile_string(p, function->name), name);
	assert_string_equal(profile_string(p, function->system_name), system_name);
	assert_string_equal(profile_string(p, function->filename), file);
	assert_int_equal(at->line, line);
	assert_int_equal(function->start_line, start_line);
}

/* Lines, inlined functions, and what the mapping says of all its locations. */
static void test_lines(void **state)
{
	static const struct script scripts[] = {
		{1, 0, NULL, {0}, {PROGRAM_AT + 0x101}, 0, 0, 1},
		{1, 0, NULL, {0}, {PROGRAM_AT + 0x101, PROGRAM_AT + 0x100}, 0, 0, 1},
		{1, 0, NULL, {0}, {PROGRAM_AT + 0x100, PROGRAM_AT + 0x102}, 0, 0, 1},
		{1, 0, NULL, {0}, {PROGRAM_AT + 0x101, PROGRAM_AT + 0x103}, 0, 0, 1},
	};
	static const bool wanted[][4] = {
		{true, true, true, false},
		{true, true, true, true},
		{true, false, false, true},
		{false, false, false, false},
	};
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_picky_writer(f);

	for (unsigned i = 0; i < ARRAY_SIZE(scripts); i++) {
		cleanup(profile_freep) struct profile *p = write_lines(f, w, &scripts[i],
								       SYMBOLIZE_LINES);
		const struct profile_mapping *m = &p->mappings[0];
		const struct profile_location *l;

		assert_int_equal(m->has_functions, wanted[i][0]);
		assert_int_equal(m->has_filenames, wanted[i][1]);
		assert_int_equal(m->has_line_numbers, wanted[i][2]);
		assert_int_equal(m->has_inline_frames, wanted[i][3]);
		if (i == 1) {
			l = location_at(p, PROGRAM_AT + 0x100);
			assert_int_equal(l->n_lines, 2);
			check_line(p, l, 0, "inlined()", "_Z7inlinedv", "/src/a.h", 12, 10);
			check_line(p, l, 1, "outer()", "_Z5outerv", "/src/a.c", 34, 30);
			assert_int_equal(location_at(p, PROGRAM_AT + 0x101)->n_lines, 1);
		} else if (i == 2) {
			l = location_at(p, PROGRAM_AT + 0x102);
			check_line(p, l, 0, "bare", "bare", "", 0, 0);
		} else if (i == 3) {
			assert_int_equal(location_at(p, PROGRAM_AT + 0x103)->n_lines, 0);
		}
	}
}

/* symbolize = none asks for nothing and names nothing, the kernel included. */
static void test_no_names(void **state)
{
	static const struct script script = {1, 0, NULL, {STEXT + 0x1010}, {PROGRAM_AT + 0x100},
					     0, 0, 1};
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_picky_writer(f);
	cleanup(profile_freep) struct profile *p = write_lines(f, w, &script, SYMBOLIZE_NONE);
	struct output_state now;

	assert_int_equal(p->n_functions, 0);
	for (size_t i = 0; i < p->n_mappings; i++)
		assert_false(p->mappings[i].has_functions);
	writer_get_state(w, &now);
	assert_int_equal(now.symbols.images_asked, 0);
}

/* Without a worker every sample is written, and the condition is told, until there is one. */
static void test_no_worker(void **state)
{
	struct fixture *f = *state;
	const struct writer_world world = {
		.host = "host/1",
		.proc_fd = f->proc_fd,
		.sys_fd = f->sys_fd,
		.worker_path = "/nonexistent/worker",
	};
	struct output_options options = default_options(f);
	cleanup(writer_freep) struct writer *w = NULL;

	write_text(f->dir.fd, "picky", "picky:f");
	f->program->fd = openat(f->dir.fd, "picky", O_RDONLY | O_CLOEXEC);
	assert_int_equal(writer_new(&w, &options, &world, T0 * NS), 0);
	write_quietly(w, everything_at(f, T0), T0 + 60);
	assert_int_equal(take_census(f).pprof, EVERYTHING);
	assert_true(writer_conditions(w) & WRITER_NO_WORKER);
	assert_non_null(strstr(writer_describe(w, WRITER_NO_WORKER), "profd-image-worker"));
}

static void test_cycles(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	cleanup(profile_freep) struct profile *p = NULL;
	struct snapshot *s = everything_at(f, T0);

	snprintf(s->event, sizeof(s->event), "cycles");
	s->is_clock = false;
	s->period = 0;
	write_quietly(w, s, T0 + 60);
	p = read_pprof(path_of(f, DAY_A "20261121T090000Z-60s.pb.gz"));
	assert_string_equal(profile_string(p, p->sample_types[1].type), "cpu");
	assert_int_equal(profile_total(p, 1), 66 * INT64_C(10000000)); /* 1/100 s each */
	profile_free(steal_ptr(&p));

	s = everything_at(f, T0 + 60);
	snprintf(s->event, sizeof(s->event), "page-faults");
	s->is_clock = false;
	s->frequency = 0;
	s->period = 10000000;
	write_quietly(w, s, T0 + 120);
	p = read_pprof(path_of(f, DAY_A "20261121T090100Z-60s.pb.gz"));
	assert_string_equal(profile_string(p, p->sample_types[1].type), "page-faults");
	assert_string_equal(profile_string(p, p->sample_types[1].unit), "count");
	assert_int_equal(profile_total(p, 1), 66 * INT64_C(10000000));
	assert_true(has_comment(p, "# profd period: 10000000"));
}

#define T(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_pprof),        T(test_one_layout),  T(test_no_address_lost),
		T(test_main_mapping), T(test_hide_kernel), T(test_symbols_of_file),
		T(test_lines),        T(test_no_names),    T(test_no_worker),
		T(test_cycles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

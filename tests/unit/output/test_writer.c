/* SPDX-License-Identifier: MIT */
#include "tests/unit/output/fixture.h"

#include "daemon/output/retention.h"

#define DAY_A    "services/a.service/20261121/"
#define DAY_B    "services/b%2Fx/20261121/"
#define DAY_K    "services/kernel/20261121/"
#define IMAGES_1 "images/2611210900/host%2F1/"

static const char build_id_1[] = "1111111111111111111111111111111111111111";

static const char build_id_2[] = "2222222222222222222222222222222222222222";
static const char build_id_3[] = "3333333333333333333333333333333333333333";

static char *path_of(const struct fixture *f, const char *name)
{
	static char path[PATH_MAX * 2];

	snprintf(path, sizeof(path), "%s/%s", f->store_path, name);
	return path;
}

static int64_t image_total(const struct fixture *f, const char *name)
{
	struct image_profile *p = read_image(path_of(f, name));
	int64_t total = (int64_t)p->total;

	image_profile_free(p);
	return total;
}

/* Every format has every sample it can have. */
static void test_totals(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	struct output_result *r = write_ok(w, everything_at(f, T0), T0 + 60);
	struct output_store_status status;
	struct census c;

	assert_int_equal(r->no_user_samples, EVERYTHING - EVERYTHING_USER);
	assert_int_equal(r->legacy_dropped, 0);
	c = take_census(f);
	assert_int_equal(c.pprof, EVERYTHING);
	assert_int_equal(c.images, EVERYTHING);
	assert_int_equal(c.legacy, EVERYTHING_USER);
	assert_int_equal(c.n_pprof, 3);
	assert_int_equal(c.n_legacy, 4); /* process 1 has two generations */
	assert_int_equal(c.n_temporary + c.n_other, 0);
	assert_int_equal(r->n_files, c.n_pprof + c.n_legacy + c.n_images);
	for (uint32_t i = 0; i < r->n_files; i++) {
		assert_int_equal(strncmp(r->paths[i], f->store_path, strlen(f->store_path)), 0);
		assert_int_equal(access(r->paths[i], R_OK), 0);
	}
	assert_null(r->paths[r->n_files]);
	output_result_free(r);

	writer_get_status(w, &status);
	assert_int_equal(status.n_files, c.n_pprof + c.n_legacy + c.n_images);
	assert_int_equal(status.bytes, c.blocks * 512);
	assert_int_equal(status.oldest_ns, T0 * NS);
	assert_string_equal(status.epoch, "2611210900");
	assert_false(status.full);
}

static void test_names_and_modes(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = NULL;
	mode_t before = umask(077);

	w = open_writer(f, NULL, NULL, T0);
	write_quietly(w, everything_at(f, T0), T0 + 60);
	umask(before);
	assert_true(exists(f, DAY_A "20261121T090000Z-60s.pb.gz"));
	assert_true(exists(f, DAY_A "20261121T090000Z-60s.worker-100.prof"));
	assert_true(exists(f, DAY_A "20261121T090000Z-60s.worker-100.prof.1"));
	assert_true(exists(f, DAY_A "20261121T090000Z-60s.work%2Fer-101.prof"));
	assert_true(exists(f, DAY_B "20261121T090000Z-60s.pb.gz"));
	assert_true(exists(f, DAY_K "20261121T090000Z-60s.pb.gz"));
	assert_int_equal(mode_of(f, "services"), 0750);
	assert_int_equal(mode_of(f, "images"), 0750);
	assert_int_equal(mode_of(f, "sessions"), 0711);
	assert_int_equal(mode_of(f, "services/a.service"), 0750);
	assert_int_equal(mode_of(f, DAY_A "20261121T090000Z-60s.pb.gz"), 0640);
	assert_int_equal(mode_of(f, "images/2611210900/host%2F1"), 0750);
	assert_int_equal(mode_of(f, IMAGES_1 "unknown@host%2F1.cpu-clock"), 0640);
}

static void test_images(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	cleanup(image_profile_freep) struct image_profile *p = NULL;
	char name[200];

	write_quietly(w, everything_at(f, T0), T0 + 60);
	/* An address without a mapping, no headers, BPF code, no frames. */
	assert_int_equal(image_total(f, IMAGES_1 "unknown@host%2F1.cpu-clock"), 2 + 2 + 1 + 1);
	assert_int_equal(image_total(f, IMAGES_1 "anon@host%2F1.cpu-clock"), 3);
	assert_int_equal(image_total(f, IMAGES_1 "ext4.ko."
						 "5555555555555555555555555555555555555555"
						 ".cpu-clock"),
			 8);
	/* Generation 0 has the library there, generation 1 the other program. */
	snprintf(name, sizeof(name), "%slibx.so.1.%s.cpu-clock", IMAGES_1, build_id_3);
	assert_int_equal(image_total(f, name), 4);
	snprintf(name, sizeof(name), "%sot%%20her.%s.cpu-clock", IMAGES_1, build_id_2);
	assert_int_equal(image_total(f, name), 6 + 9);
	p = read_image(path_of(f, IMAGES_1 "vmlinux."
					   "7777777777777777777777777777777777777777.cpu-clock"));
	assert_int_equal(p->total, 17);
	assert_int_equal(p->n_counts, 2);
	assert_int_equal(p->counts[0].offset, 0x1010);
	assert_int_equal(p->counts[0].count, 7);
	assert_int_equal(p->counts[1].offset, 0x2010);
	assert_int_equal(p->tstart, 0);
	assert_int_equal(p->tsize, ETEXT - STEXT);
	image_profile_free(p);

	snprintf(name, sizeof(name), "%sworker.%s.cpu-clock", IMAGES_1, build_id_1);
	p = read_image(path_of(f, name));
	/* Two layouts, one offset; tstart is the vaddr 0x1040, the address 0x1100. */
	assert_int_equal(p->n_counts, 1);
	assert_int_equal(p->counts[0].offset, 0x1100 - 0x1040);
	assert_int_equal(p->counts[0].count, 20 + 5 + 11);
	assert_int_equal(p->tstart, 0x1040);
	assert_int_equal(p->tsize, 0x2f00);
	assert_int_equal(p->period, 10000000);
	assert_int_equal(p->cpuspeed_mhz, 2400);
	assert_string_equal(p->image, build_id_1);
	assert_string_equal(p->epoch, "2611210900");
	assert_string_equal(p->platform, "host/1");
	assert_string_equal(p->event, "cpu-clock");
	assert_string_equal(p->path, "/usr/bin/worker");
	assert_string_equal(p->ledger, "expected=10 seen=9 source=bpf");

	image_profile_free(steal_ptr(&p));
	write_quietly(w, everything_at(f, T0 + 60), T0 + 120);
	p = read_image(path_of(f, name));
	assert_int_equal(p->total, 2 * 36);
	assert_string_equal(p->ledger, "expected=20 seen=18 source=bpf");
	assert_int_equal(take_census(f).images, 2 * EVERYTHING);
	assert_int_equal(take_census(f).pprof, 2 * EVERYTHING);
}

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
	assert_int_equal(sum_label(p, "reason", "unreadable"), 4);
	assert_int_equal(sum_label(p, "reason", "depth"), 2);
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

static void test_legacy_limit(void **state)
{
	struct fixture *f = *state;
	struct output_options o = default_options(f);
	cleanup(writer_freep) struct writer *w = NULL;
	struct output_result *r;

	o.legacy_max_processes = 1;
	w = open_writer(f, &o, NULL, T0);
	r = write_ok(w, everything_at(f, T0), T0 + 60);
	assert_int_equal(r->legacy_dropped, 11); /* process 2 of a.service */
	assert_int_equal(r->no_user_samples, EVERYTHING - EVERYTHING_USER);
	output_result_free(r);
	assert_false(exists(f, DAY_A "20261121T090000Z-60s.work%2Fer-101.prof"));
	assert_true(exists(f, DAY_A "20261121T090000Z-60s.worker-100.prof.1"));
	assert_int_equal(take_census(f).legacy, EVERYTHING_USER - 11);
}

static void test_legacy_text(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	cleanup(freep) char *data = NULL;
	size_t length;
	char *maps;

	write_quietly(w, everything_at(f, T0), T0 + 60);
	data = slurp(path_of(f, DAY_A "20261121T090000Z-60s.worker-100.prof"), &length);
	data[length] = '\0';
	maps = memmem(data, length, "555500001000-555500004000 r-xp 00001000 00:00 1 ", 48);
	assert_non_null(maps);
	assert_non_null(strstr(maps, "/usr/bin/worker\n"));
	assert_non_null(strstr(maps, "/lib/libx.so.1\n")); /* generation 0 */
	assert_null(strstr(maps, "/usr/bin/ot her"));
	assert_non_null(strstr(maps, " [anon]\n"));
	assert_non_null(strstr(maps, "# profd ledger: expected=10 seen=9 source=bpf\n"));
	assert_non_null(strstr(maps, "without_user_frames=0\n"));
	free(steal_ptr(&data));

	data = slurp(path_of(f, DAY_A "20261121T090000Z-60s.worker-100.prof.1"), &length);
	data[length] = '\0';
	maps = memmem(data, length, "555500001000-", 13);
	assert_non_null(maps);
	assert_null(strstr(maps, "/lib/libx.so.1\n"));
	assert_non_null(strstr(maps, "/usr/bin/ot her"));
}

/* A 32-bit program has slots of four bytes. */
static void test_legacy_32(void **state)
{
	static const struct script script[] = {{1, 0, NULL, {0}, {0x8049100, 0x8049200}, 0, 0, 3}};
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	cleanup(freep) uint8_t *data = NULL;
	uint32_t header[5];
	size_t length;

	f->program->elf.pointer_bytes = 4;
	write_quietly(w, make_snapshot(f, T0, script, 1), T0 + 60);
	data = slurp(path_of(f, DAY_A "20261121T090000Z-60s.worker-100.prof"), &length);
	assert_true(length > sizeof(header));
	memcpy(header, data, sizeof(header));
	assert_int_equal(header[1], 3);
	assert_int_equal(header[3], 10000);
	assert_int_equal(read_legacy(path_of(f, DAY_A "20261121T090000Z-60s.worker-100.prof")), 3);
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
	assert_int_equal(elf_summary_read(self->fd, &self->elf), 0);
	assert_true(elf_summary_vaddr(&self->elf, offset, &vaddr));
	script.user[0] = 0x600000000000 + offset % 4096;

	s = make_snapshot(f, T0, &script, 1);
	map(&s->processes[0].mappings, self, 0x600000000000, offset - offset % 4096, 9);
	write_quietly(w, s, T0 + 60);
	p = read_pprof(path_of(f, DAY_A "20261121T090000Z-60s.pb.gz"));
	assert_int_equal(p->n_locations, 1);
	assert_true(p->mappings[p->locations[0].mapping].has_functions);
	assert_true(has_function(p, "test_symbols_of_file"));
}

static void test_vdso(void **state)
{
	static const struct script script[] = {{1, 0, NULL, {0}, {VDSO_AT + 0x10}, 0, 0, 3}};
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);

	write_quietly(w, make_snapshot(f, T0, script, 1), T0 + 60);
	assert_int_equal(take_census(f).images, 3);
}

/* A name that is taken is left alone. */
static void test_never_overwrites(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);

	for (unsigned i = 0; i < 3; i++)
		write_quietly(w, everything_at(f, T0), T0 + 60);
	assert_true(exists(f, DAY_A "20261121T090000Z-60s.pb.gz"));
	assert_true(exists(f, DAY_A "20261121T090000Z-60s.pb.gz.1"));
	assert_true(exists(f, DAY_A "20261121T090000Z-60s.pb.gz.2"));
	assert_int_equal(take_census(f).pprof, 3 * EVERYTHING);
}

static void test_epoch_rules(void **state)
{
	struct fixture *f = *state;
	struct writer *w = open_writer(f, NULL, NULL, T0);
	struct output_result *r = calloc(1, sizeof(*r));
	struct snapshot *s;

	write_quietly(w, everything_at(f, T0), T0 + 60);
	write_quietly(w, everything_at(f, T0 + 60), T0 + 120);
	assert_false(exists(f, "images/2611210901"));

	/* Asked for: the same name within one minute. */
	writer_epoch(w, (T0 + 185) * NS, r);
	assert_string_equal(r->paths[0], "2611210903");
	output_result_free(r);
	r = calloc(1, sizeof(*r));
	writer_epoch(w, (T0 + 230) * NS, r);
	assert_string_equal(r->paths[0], "2611210903");
	output_result_free(r);
	write_quietly(w, everything_at(f, T0 + 180), T0 + 240);
	assert_true(exists(f, "images/2611210903"));

	/* Another period, within the minute: the next minute's name. */
	s = everything_at(f, T0 + 180);
	s->period = 5000000;
	write_quietly(w, s, T0 + 240);
	assert_true(exists(f, "images/2611210904"));
	/* Another event. */
	s = everything_at(f, T0 + 600);
	s->period = 5000000;
	snprintf(s->event, sizeof(s->event), "task-clock");
	write_quietly(w, s, T0 + 660);
	assert_true(exists(f, "images/2611210910"));

	/* A restart goes on with it, and knows event and period. */
	writer_free(w);
	w = open_writer(f, NULL, NULL, T0 + 700);
	s = everything_at(f, T0 + 720);
	s->period = 5000000;
	snprintf(s->event, sizeof(s->event), "task-clock");
	write_quietly(w, s, T0 + 780);
	assert_false(exists(f, "images/2611210912"));
	write_quietly(w, everything_at(f, T0 + 780), T0 + 840);
	assert_true(exists(f, "images/2611210913"));

	/* Midnight. */
	write_quietly(w, everything_at(f, T0 + 15 * 3600), T0 + 15 * 3600 + 60);
	assert_true(exists(f, "images/2611220000"));
	writer_free(w);

	/* Another boot. */
	write_text(f->proc_fd, "stat", "cpu 1\nbtime 1795310000\n"); /* 2026-11-22T01:13:20Z */
	w = open_writer(f, NULL, NULL, T0 + 17 * 3600);
	write_quietly(w, everything_at(f, T0 + 17 * 3600), T0 + 17 * 3600 + 60);
	assert_true(exists(f, "images/2611220200"));
	writer_free(w);
	assert_int_equal(take_census(f).images, take_census(f).pprof);
}

/* A file that cannot be merged stays as it is; a new epoch takes the window, all of it. */
static void test_damaged_image(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	const char *victim = IMAGES_1 "unknown@host%2F1.cpu-clock";

	write_quietly(w, everything_at(f, T0), T0 + 60);
	write_text(f->store_fd, victim, "version pdb-0.07\nnonsense");
	write_quietly(w, everything_at(f, T0 + 60), T0 + 120);
	assert_true(writer_conditions(w) & WRITER_NEW_EPOCH);
	assert_non_null(strstr(writer_describe(w, WRITER_NEW_EPOCH), "2611210901"));
	assert_int_equal(image_total(f, "images/2611210901/host%2F1/unknown@host%2F1.cpu-clock"),
			 6);
	assert_int_equal(unlinkat(f->store_fd, victim, 0), 0);
	assert_int_equal(take_census(f).images, 2 * EVERYTHING - 6);

	write_quietly(w, everything_at(f, T0 + 120), T0 + 180);
	assert_false(writer_conditions(w) & WRITER_NEW_EPOCH);
	assert_false(exists(f, "images/2611210902"));
}

static void test_overflow(void **state)
{
	struct image_profile_count full = {.offset = 0, .count = UINT32_MAX - 3};
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	cleanup(image_profile_freep) struct image_profile *p = NULL;
	const char *victim = IMAGES_1 "unknown@host%2F1.cpu-clock";
	cleanup(freep) uint8_t *data = NULL;
	size_t length;

	write_quietly(w, everything_at(f, T0), T0 + 60);
	p = read_image(path_of(f, victim));
	p->counts[0] = full;
	p->n_counts = 1;
	p->total = full.count;
	assert_int_equal(image_profile_write(p, &data, &length), 0);
	write_file(f->store_fd, victim, data, length);
	write_quietly(w, everything_at(f, T0 + 60), T0 + 120);
	assert_int_equal(image_total(f, victim), UINT32_MAX - 3);
	assert_int_equal(image_total(f, "images/2611210901/host%2F1/unknown@host%2F1.cpu-clock"),
			 6);
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

/* Without kallsyms nothing is lost, and the condition is told. */
static void test_no_kallsyms(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = NULL;
	struct census c;

	write_text(f->proc_fd, "kallsyms",
		   "0000000000000000 T _stext\n0000000000000000 T _etext\n");
	w = open_writer(f, NULL, NULL, T0);
	write_quietly(w, everything_at(f, T0), T0 + 60);
	assert_true(writer_conditions(w) & WRITER_NO_KALLSYMS);
	c = take_census(f);
	assert_int_equal(c.pprof, EVERYTHING);
	assert_int_equal(c.images, EVERYTHING);
}

static void test_list(void **state)
{
	struct fixture *f = *state;
	struct writer *w = open_writer(f, NULL, NULL, T0);
	struct output_result *r = calloc(1, sizeof(*r));

	for (unsigned i = 0; i < 3; i++)
		write_quietly(w, everything_at(f, T0 + 60 * i), T0 + 60 * i + 60);
	/* Again from the files, after a restart. */
	for (unsigned i = 0; i < 2; i++) {
		writer_list(w, NULL, 0, 0, r);
		assert_int_equal(r->error, 0);
		assert_int_equal(r->listing->n_rows, 3);
		assert_string_equal(r->listing->rows[0].service, "a.service");
		assert_string_equal(r->listing->rows[1].service, "b/x");
		assert_string_equal(r->listing->rows[2].service, "kernel");
		assert_int_equal(r->listing->rows[0].n_files, 12);
		assert_int_equal(r->listing->rows[0].start_ns, T0 * NS);
		assert_int_equal(r->listing->rows[0].end_ns, (T0 + 180) * NS);
		listing_free(steal_ptr(&r->listing));

		writer_list(w, "b/x", (T0 + 60) * NS, (T0 + 120) * NS, r);
		assert_int_equal(r->listing->n_rows, 2);
		assert_string_equal(r->listing->rows[0].file,
				    DAY_B "20261121T090100Z-60s.other-102.prof");
		assert_string_equal(r->listing->rows[0].format, "legacy");
		assert_int_equal(r->listing->rows[0].samples, 12);
		assert_string_equal(r->listing->rows[1].format, "pprof");
		assert_int_equal(r->listing->rows[1].samples, 13);
		assert_true(r->listing->rows[1].bytes > 0);
		listing_free(steal_ptr(&r->listing));

		writer_list(w, "nobody", 0, 0, r);
		assert_int_equal(r->listing->n_rows, 0);
		listing_free(steal_ptr(&r->listing));
		writer_free(w);
		w = open_writer(f, NULL, NULL, T0 + 300);
	}
	writer_free(w);
	output_result_free(r);
}

static void test_empty(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);

	write_quietly(w, make_snapshot(f, T0, NULL, 0), T0 + 60);
	assert_int_equal(take_census(f).blocks, 0);
	assert_false(exists(f, "services/a.service"));
}

#define T(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_totals),       T(test_names_and_modes),
		T(test_images),       T(test_pprof),
		T(test_one_layout),   T(test_no_address_lost),
		T(test_hide_kernel),  T(test_main_mapping),
		T(test_legacy_limit), T(test_legacy_text),
		T(test_legacy_32),    T(test_symbols_of_file),
		T(test_vdso),         T(test_never_overwrites),
		T(test_epoch_rules),  T(test_damaged_image),
		T(test_overflow),     T(test_cycles),
		T(test_no_kallsyms),  T(test_list),
		T(test_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

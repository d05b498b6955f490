/* SPDX-License-Identifier: MIT */
/*
 * A process that generates more code than anybody runs, with names to it: what a window keeps of it
 * is bounded, and all of its samples are counted.
 */
#include "daemon/output/pprof_spots.h"
#include "tests/unit/output/fixture.h"

#define TEXT_BYTES (8u << 20) /* of the default budget */
#define SPOTS_MAX  (TEXT_BYTES / BYTES_OF_GENERATED_SPOT)
#define SPOTS      (SPOTS_MAX + 5000u)
#define STEP       16u
#define FILE_A     DAY_A "20261121T090000Z-60s.pb.gz"
#define MORE       "[more generated code]"
#define MAX_FILE   (1 << 20)

static struct jit_file *write_map(const struct fixture *f)
{
	struct jit_file *file = calloc(1, sizeof(*file));
	uint64_t noise = 1;
	FILE *map;
	int fd;

	assert_non_null(file);
	file->n_references = 1;
	file->id = 7;
	file->path = strdup("/tmp/perf-100.map");
	file->fd = openat(f->dir.fd, "map", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	fd = dup(file->fd);
	map = fdopen(fd, "w");
	assert_non_null(map);
	/* Which no compression makes small. */
	for (uint64_t i = 0; i < SPOTS; i++) {
		fprintf(map, "%llx %x f%llu", (unsigned long long)(ANON_AT + i * STEP), STEP,
			(unsigned long long)i);
		for (unsigned j = 0; j < 12; j++) {
			noise = noise * UINT64_C(6364136223846793005) + 1442695040888963407u;
			fprintf(map, "%08llx", (unsigned long long)(noise >> 32));
		}
		fputc('\n', map);
	}
	assert_int_equal(fclose(map), 0);
	return file;
}

static struct snapshot *make_generator(const struct fixture *f, struct jit_file *file)
{
	struct snapshot *s = make_snapshot(f, T0, NULL, 0);
	const struct mapping all = {.start = ANON_AT,
				    .end = ANON_AT + SPOTS * STEP,
				    .image = f->anon};

	assert_int_equal(mappings_add(&s->processes[0].mappings, &all, 2, false), 0);
	s->processes[0].perf_map = jit_file_ref(file);
	for (uint64_t i = 0; i < SPOTS; i++) {
		uint64_t frame = ANON_AT + (i * 7919 % SPOTS) * STEP + 1;
		const struct aggregate_key key = {.process = 1,
						  .generation = 1,
						  .thread_name = "main",
						  .stack = {.frames = &frame, .n_frames = 1}};

		assert_int_equal(aggregate_add(s->aggregate, &key, 1, 10000000), 0);
	}
	return s;
}

static int64_t count_of(const struct profile *p, const char *name)
{
	int64_t n = 0;

	for (size_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		const struct profile_location *l =
			&p->locations[p->sample_locations[s->first_location]];
		const char *is =
			l->n_lines ? profile_string(
					     p, p->functions[p->lines[l->first_line].function].name)
				   : "";

		if (!name || strcmp(is, name) == 0)
			n += p->sample_values[i * p->n_sample_types];
	}
	return n;
}

static void test_generated_code(void **state)
{
	struct fixture *f = *state;
	cleanup(jit_file_unrefp) struct jit_file *file = write_map(f);
	struct output_options options = default_options(f);
	cleanup(writer_freep) struct writer *w = NULL;
	cleanup(profile_freep) struct profile *p = NULL;
	struct snapshot *s = make_generator(f, file);
	struct stat st;

	options.background_bytes = TEXT_BYTES;
	w = open_writer(f, &options, NULL, T0);
	s->formats = FORMAT_PPROF;
	write_quietly(w, s, T0 + 60);
	assert_int_equal(stat(path_of(f, FILE_A), &st), 0);
	print_message("%ld bytes\n", (long)st.st_size);
	assert_true(st.st_size < MAX_FILE);
	p = read_pprof(path_of(f, FILE_A));
	assert_int_equal(count_of(p, NULL), SPOTS);
	assert_int_equal(count_of(p, MORE), SPOTS - SPOTS_MAX);
	/* Some have names, as many as there is room for. */
	assert_in_range(p->n_functions, 2000, 8192 + 1);
	assert_true(count_of(p, "") > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_generated_code, fixture_setup,
						fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

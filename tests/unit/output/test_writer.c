/* SPDX-License-Identifier: MIT */
/* What a window becomes, whatever the format: which files, and that nothing is missing. */
#include "tests/unit/output/fixture.h"

#include <sys/xattr.h>

#include "daemon/output/batch.h"
#include "daemon/output/retention.h"

/* Every format has every sample it can have. */
static void test_totals(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	struct output_result *r = write_ok(w, everything_at(f, T0), T0 + 60);
	struct output_store_status status;
	struct census c;

	c = take_census(f);
	assert_int_equal(c.pprof, EVERYTHING);
	assert_int_equal(c.images, EVERYTHING);
	assert_int_equal(c.legacy, EVERYTHING_USER);
	assert_int_equal(c.n_pprof, 3);
	assert_int_equal(c.n_legacy, 3);
	assert_int_equal(c.n_temporary + c.n_other, 0);
	assert_int_equal(r->paths.n, c.n_pprof + c.n_legacy + c.n_images);
	for (uint32_t i = 0; i < r->paths.n; i++) {
		assert_int_equal(strncmp(r->paths.all[i], f->store_path, strlen(f->store_path)), 0);
		assert_int_equal(access(r->paths.all[i], R_OK), 0);
	}
	assert_null(r->paths.all[r->paths.n]);
	output_result_free(r);

	status = store_status(w);
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
	struct snapshot *open;
	uint64_t cpu_ns = 0;

	for (unsigned i = 0; i < 3; i++)
		write_quietly(w, everything_at(f, T0 + 60 * i), T0 + 60 * i + 60);
	/* Again from the files, after a restart. */
	for (unsigned i = 0; i < 2; i++) {
		writer_list(w, &(struct listing_options){0}, r);
		assert_int_equal(r->error, 0);
		assert_int_equal(r->listing->n_rows, 3);
		assert_string_equal(r->listing->rows[0]->service, "a.service");
		assert_string_equal(r->listing->rows[1]->service, "b/x");
		assert_string_equal(r->listing->rows[2]->service, "kernel");
		assert_int_equal(r->listing->rows[0]->n_files, 9);
		assert_int_equal(r->listing->rows[0]->start_ns, T0 * NS);
		assert_int_equal(r->listing->rows[0]->end_ns, (T0 + 180) * NS);
		/* Each sample once, however many formats have it. */
		assert_int_equal(r->listing->rows[1]->samples, 3 * 13);
		assert_int_equal(r->listing->rows[1]->cpu_ns,
				 cpu_ns ? cpu_ns : r->listing->rows[1]->cpu_ns);
		cpu_ns = r->listing->rows[1]->cpu_ns;
		assert_true(cpu_ns > 0);
		/* What is open comes with it, if it is in the range. */
		open = everything_at(f, T0 + 180);
		open->duration_ns = 30 * NS;
		assert_int_equal(listing_add_open(r->listing, open, 0, (T0 + 180) * NS), 0);
		assert_int_equal(r->listing->rows[1]->samples, 3 * 13);
		assert_int_equal(listing_add_open(r->listing, open, 0, 0), 0);
		assert_int_equal(r->listing->n_rows, 3);
		assert_int_equal(r->listing->rows[1]->samples, 4 * 13);
		assert_int_equal(r->listing->rows[1]->cpu_ns, cpu_ns + cpu_ns / 3);
		assert_int_equal(r->listing->rows[1]->end_ns, (T0 + 210) * NS);
		assert_int_equal(r->listing->rows[0]->n_files, 9);
		listing_free(steal_ptr(&r->listing));
		/* And is all there is, where nothing was written. */
		writer_list(w, &(struct listing_options){.since_ns = (T0 + 180) * NS}, r);
		assert_int_equal(r->listing->n_rows, 0);
		assert_int_equal(listing_add_open(r->listing, open, (T0 + 180) * NS, 0), 0);
		assert_int_equal(r->listing->n_rows, 3);
		assert_string_equal(r->listing->rows[0]->service, "a.service");
		assert_int_equal(r->listing->rows[0]->start_ns, (T0 + 180) * NS);
		snapshot_free(open);
		listing_free(steal_ptr(&r->listing));

		writer_list(w,
			    &(struct listing_options){.service = "b/x",
						      .since_ns = (T0 + 60) * NS,
						      .until_ns = (T0 + 120) * NS},
			    r);
		assert_int_equal(r->listing->n_rows, 2);
		assert_string_equal(r->listing->rows[0]->file,
				    DAY_B "20261121T090100Z-60s.other-102.prof");
		assert_string_equal(r->listing->rows[0]->format, "legacy");
		assert_int_equal(r->listing->rows[0]->samples, 12);
		assert_string_equal(r->listing->rows[1]->format, "pprof");
		assert_int_equal(r->listing->rows[1]->samples, 13);
		assert_true(r->listing->rows[1]->bytes > 0);
		listing_free(steal_ptr(&r->listing));

		writer_list(w, &(struct listing_options){.service = "nobody"}, r);
		assert_int_equal(r->listing->n_rows, 0);
		listing_free(steal_ptr(&r->listing));
		writer_free(w);
		w = open_writer(f, NULL, NULL, T0 + 300);
	}
	writer_free(w);
	output_result_free(r);
}

/* Where there are no extended attributes, files tell their samples; no memory goes into large ones.
 */
static void test_list_without_attributes(void **state)
{
	static const char *const large = DAY_B "20261121T090100Z-60s.pb.gz";
	struct fixture *f = *state;
	struct writer *w = open_writer(f, NULL, NULL, T0);
	cleanup(profile_freep) struct profile *p = NULL;
	cleanup(freep) char *text = malloc((40 << 20) + 1);
	cleanup(freep) uint8_t *data = NULL;
	struct output_result r = {0};
	const int64_t five = 5;
	size_t length;

	assert_non_null(text);
	write_quietly(w, everything_at(f, T0), T0 + 60);
	write_quietly(w, everything_at(f, T0 + 60), T0 + 120);
	writer_free(w);
	memset(text, 'x', 40 << 20);
	text[40 << 20] = '\0';
	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_comment(p, text), 0);
	assert_int_equal(profile_add_sample(p, NULL, 0, &five, NULL, 0), 0);
	assert_int_equal(pprof_write(p, 1, &data, &length), 0);
	assert_true(length < 1 << 20);
	write_file(f->store_fd, large, data, length);
	removexattr(path_of(f, large), STORE_COUNTS_ATTRIBUTE);
	removexattr(path_of(f, DAY_B "20261121T090000Z-60s.pb.gz"), STORE_COUNTS_ATTRIBUTE);

	w = open_writer(f, NULL, NULL, T0 + 300);
	writer_list(w, &(struct listing_options){.service = "b/x"}, &r);
	assert_int_equal(r.error, 0);
	assert_int_equal(r.listing->n_rows, 4);
	assert_string_equal(r.listing->rows[1]->file, DAY_B "20261121T090000Z-60s.pb.gz");
	assert_int_equal(r.listing->rows[1]->samples, 13);
	assert_string_equal(r.listing->rows[3]->file, large);
	assert_int_equal(r.listing->rows[3]->samples, 0);
	listing_free(r.listing);
	writer_free(w);
}

static struct batch_outcome commit_one(struct store *store, const struct batch_file *file)
{
	cleanup(batch_freep) struct batch *batch = NULL;

	assert_int_equal(batch_new(&batch, store), 0);
	assert_int_equal(batch_add(batch, file, (const uint8_t *)"", 0), 0);
	return batch_commit(batch);
}

/*
 * A file with a name of no known format is written, and is not listed. What should be in the index
 * and is not is found again.
 */
static void test_index_is_incomplete(void **state)
{
	static const struct batch_file no_window = {.dir = DAY_A ".",
						    .name = "20261121T090000Z-60s.otlp",
						    .owner = STORE_NOBODY};
	static const struct batch_file no_epoch = {.dir = "images/rubbish/host",
						   .name = "rubbish",
						   .owner = STORE_NOBODY,
						   .replace = true};
	cleanup(store_freep) struct store *store = NULL;
	struct batch_outcome outcome;
	struct fixture *f = *state;

	assert_int_equal(store_new(&store, f->store_fd, f->store_path, &file_ops_system), 0);
	assert_int_equal(store_rescan(store), 0);
	outcome = commit_one(store, &no_window);
	assert_true(outcome.is_final && !outcome.error);
	assert_false(store->is_stale);
	assert_int_equal(store->index.n_files, 0);
	outcome = commit_one(store, &no_epoch);
	assert_true(outcome.is_final && outcome.error);
	assert_true(store->is_stale);
}

/* What a dry run counts is what goes later, and nothing has gone by then. */
static void test_vacuum(void **state)
{
	struct output_request request = {.max_age_s = 60, .is_dry_run = true};
	struct fixture *f = *state;
	struct output_options options = default_options(f);
	const uint64_t later_ns = (T0 + 10 * 86400) * NS;
	cleanup(writer_freep) struct writer *w = NULL;
	struct output_result dry = {0}, wet = {0};
	struct census before, after;

	options.limits.max_age_s = 30 * 86400;
	w = open_writer(f, &options, NULL, T0);
	for (unsigned i = 0; i < 6; i++)
		write_quietly(w, everything_at(f, T0 + i * 60), T0 + 60 + i * 60);
	before = take_census(f);
	writer_vacuum(w, &request, later_ns, &dry);
	after = take_census(f);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(store_status(w).bytes, after.blocks * 512);
	request.is_dry_run = false;
	writer_vacuum(w, &request, later_ns, &wet);
	assert_int_equal(dry.error | wet.error, 0);
	assert_true(wet.freed_files > 0 && wet.freed_bytes > 0);
	assert_int_equal(dry.freed_files, wet.freed_files);
	assert_int_equal(dry.freed_bytes, wet.freed_bytes);
	after = take_census(f);
	assert_int_equal((before.blocks - after.blocks) * 512, wet.freed_bytes);
}

static void test_empty(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);

	write_quietly(w, make_snapshot(f, T0, NULL, 0), T0 + 60);
	assert_int_equal(take_census(f).blocks, 0);
	assert_false(exists(f, "services/a.service"));
}

#define T(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_totals),
		T(test_names_and_modes),
		T(test_never_overwrites),
		T(test_no_kallsyms),
		T(test_list),
		T(test_list_without_attributes),
		T(test_index_is_incomplete),
		T(test_vacuum),
		T(test_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Roll-up over a fake clock: what the minutes held the hour holds, whatever happens meanwhile. */
#include "tests/unit/output/fixture.h"

#include "common/profile/merge.h"
#include "common/profile/windows.h"
#include "daemon/output/listing.h"
#include "daemon/output/rollup.h"

#define HOUR      3600u
#define N_MINUTES 10
#define HOUR_FILE DAY_A "20261121T090000Z-3600s.pb.gz"

static struct output_options rolling(const struct fixture *f)
{
	struct output_options o = default_options(f);

	o.rollup_after_s = HOUR;
	o.background_bytes = 8 << 20;
	return o;
}

static unsigned roll(struct writer *w, uint64_t now_s)
{
	unsigned n = 0;

	while (writer_background(w, now_s * NS))
		n++;
	return n;
}

/* Windows of services a.service, b/x and kernel, from T0 on; their samples differ by their start.
 */
static void write_minutes(const struct fixture *f, struct writer *w, unsigned first, unsigned n)
{
	for (unsigned i = first; i < first + n; i++) {
		struct snapshot *s = everything_at(f, T0 + i * 60);

		s->formats = FORMAT_PPROF;
		write_quietly(w, s, T0 + i * 60 + 60);
	}
}

static char *minute_name(const char *folder, unsigned i)
{
	static char name[256];
	char start[NAMES_START_SIZE];

	names_start(T0 + i * 60, start);
	snprintf(name, sizeof(name), "%s%s-60s.pb.gz", folder, start);
	return name;
}

static void copy(const struct fixture *f, const char *from, const char *to)
{
	size_t length;
	cleanup(freep) void *data = slurp(path_of(f, from), &length);
	FILE *out = fopen(path_of(f, to), "w");

	assert_non_null(out);
	assert_int_equal(fwrite(data, 1, length, out), length);
	fclose(out);
}

/* Samples of service a in the windows that the listing names. */
static uint64_t listed(struct writer *w, const char *service, size_t *ret_n)
{
	struct output_result result = {0};
	uint64_t sum = 0;

	writer_list(w, service, 0, 0, &result);
	assert_int_equal(result.error, 0);
	for (size_t i = 0; i < result.listing->n_rows; i++)
		sum += result.listing->rows[i].samples;
	*ret_n = result.listing->n_rows;
	listing_free(result.listing);
	return sum;
}

static void test_an_hour(void **state)
{
	struct fixture *f = *state;
	const struct output_options o = rolling(f);
	cleanup(writer_freep) struct writer *w = open_writer(f, &o, NULL, T0);
	cleanup(profile_freep) struct profile *p = NULL;
	cleanup(profile_windows_deinit) struct profile_windows windows = {0};
	struct census before, after;
	size_t n_windows = 0, n_rows;
	uint64_t samples;

	write_minutes(f, w, 0, N_MINUTES);
	write_minutes(f, w, 60, 2); /* of the next hour */
	before = take_census(f);
	samples = listed(w, "a.service", &n_rows);
	assert_int_equal(n_rows, N_MINUTES + 2);
	assert_int_equal(roll(w, T0 + 2 * HOUR - 1), 0);
	assert_true(roll(w, T0 + 2 * HOUR) > N_MINUTES);
	after = take_census(f);
	assert_int_equal(after.pprof, before.pprof);
	assert_int_equal(after.n_pprof, 3 * 3);
	assert_int_equal(after.n_temporary + after.n_other, 0);
	assert_int_equal(listed(w, "a.service", &n_rows), samples);
	assert_int_equal(n_rows, 3);
	assert_int_equal(mode_of(f, HOUR_FILE), 0640);

	p = read_pprof(path_of(f, HOUR_FILE));
	assert_int_equal(p->time_ns, T0 * NS);
	assert_int_equal(p->duration_ns, N_MINUTES * 60 * NS);
	for (size_t i = 0; i < p->n_sample_labels; i++) {
		const struct profile_label *l = &p->sample_labels[i];

		if (strcmp(profile_string(p, l->key), "window") != 0)
			continue;
		assert_string_equal(profile_string(p, l->num_unit), "seconds");
		assert_true(l->num >= (int64_t)T0 && l->num % 60 == 0);
		n_windows++;
	}
	assert_int_equal(n_windows, p->n_samples);
	assert_int_equal(profile_windows_of(p, &windows), 0);
	assert_int_equal(windows.n, N_MINUTES);
	/* The hour after it, in its time. */
	assert_true(roll(w, T0 + 3 * HOUR) > 0);
	assert_int_equal(take_census(f).n_pprof, 2 * 3);
	assert_int_equal(take_census(f).pprof, before.pprof);
	assert_int_equal(roll(w, T0 + 9 * HOUR), 0);
}

static void test_off(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);

	write_minutes(f, w, 0, 2);
	assert_int_equal(roll(w, T0 + 100 * HOUR), 0);
}

/* Killed after the hour was there and before (some of) its minutes were gone. */
static void test_minutes_left_over(void **state)
{
	struct fixture *f = *state;
	const struct output_options o = rolling(f);
	struct writer *w = open_writer(f, &o, NULL, T0);
	struct census before;

	write_minutes(f, w, 0, N_MINUTES);
	before = take_census(f);
	for (unsigned i = 0; i < N_MINUTES; i += 3) {
		char to[64];

		snprintf(to, sizeof(to), "kept-%u", i);
		copy(f, minute_name(DAY_A, i), to);
	}
	roll(w, T0 + 2 * HOUR);
	assert_int_equal(take_census(f).pprof, before.pprof);
	writer_free(w);
	for (unsigned i = 0; i < N_MINUTES; i += 3) {
		char from[64];

		snprintf(from, sizeof(from), "kept-%u", i);
		copy(f, from, minute_name(DAY_A, i));
		unlinkat(f->store_fd, from, 0);
	}
	assert_true(take_census(f).pprof > before.pprof);
	w = open_writer(f, &o, NULL, T0 + 2 * HOUR);
	assert_int_equal(take_census(f).pprof, before.pprof);
	assert_int_equal(take_census(f).n_pprof, 3);

	/* What came later than the roll-up stays, and is rolled up once it has company. */
	write_minutes(f, w, 20, 1);
	writer_free(w);
	w = open_writer(f, &o, NULL, T0 + 2 * HOUR);
	assert_true(exists(f, minute_name(DAY_A, 20)));
	assert_int_equal(roll(w, T0 + 2 * HOUR), 0);
	write_minutes(f, w, 21, 2);
	roll(w, T0 + 2 * HOUR);
	assert_true(exists(f, HOUR_FILE ".1"));
	assert_int_equal(take_census(f).n_pprof, 2 * 3);
	assert_int_equal(take_census(f).pprof, before.pprof / N_MINUTES * (N_MINUTES + 3));
	writer_free(w);
}

static void test_damage(void **state)
{
	struct fixture *f = *state;
	const struct output_options o = rolling(f);
	cleanup(writer_freep) struct writer *w = open_writer(f, &o, NULL, T0);
	unsigned n_said = 0;
	size_t n_rows;

	write_minutes(f, w, 0, 5);
	write_text(f->store_fd, minute_name(DAY_A, 1), "rubbish");
	unlinkat(f->store_fd, minute_name(DAY_A, 2), 0);
	while (writer_background(w, (T0 + 2 * HOUR) * NS)) {
		if (!(writer_conditions(w) & WRITER_DAMAGED))
			continue;
		n_said++;
		assert_non_null(strstr(writer_describe(w, WRITER_DAMAGED),
				       "a.service/20261121/20261121T090100Z-60s.pb.gz"));
	}
	assert_int_equal(n_said, 1);
	assert_true(exists(f, minute_name(DAY_A, 1)));
	assert_true(exists(f, HOUR_FILE));
	assert_false(exists(f, minute_name(DAY_A, 0)));
	assert_false(exists(f, minute_name(DAY_A, 4)));
	assert_int_equal(roll(w, T0 + 5 * HOUR), 0);
	listed(w, "a.service", &n_rows);
}

/* Samples of two events have no sum: each event gets a file. */
static void test_two_events(void **state)
{
	struct fixture *f = *state;
	const struct output_options o = rolling(f);
	cleanup(writer_freep) struct writer *w = open_writer(f, &o, NULL, T0);
	struct census before;

	for (unsigned i = 0; i < 5; i++) {
		struct snapshot *s = everything_at(f, T0 + i * 60);

		s->formats = FORMAT_PPROF;
		if (i % 2) {
			snprintf(s->event, sizeof(s->event), "page-faults");
			s->is_clock = false;
		}
		write_quietly(w, s, T0 + i * 60 + 60);
	}
	before = take_census(f);
	assert_true(roll(w, T0 + 2 * HOUR) < 600);
	assert_int_equal(take_census(f).pprof, before.pprof);
	assert_true(exists(f, HOUR_FILE));
	assert_true(exists(f, HOUR_FILE ".1"));
	assert_int_equal(take_census(f).n_pprof, 2 * 3);
	/* One alone of its kind is not tried for ever. */
	write_minutes(f, w, 9, 1);
	assert_true(roll(w, T0 + 2 * HOUR) < 60);
	assert_int_equal(take_census(f).n_pprof, 3 * 3);
}

#define BIG_FOLDER "services/big.service/20261121/"

/* A window of @n_samples stacks, no two of which are equal, over functions @first up to @end. */
static struct profile *make_window(uint64_t start_s, uint32_t n_samples, uint32_t first,
				   uint32_t end)
{
	struct profile *p = NULL;
	uint32_t *locations = calloc(end - first, sizeof(*locations));

	assert_non_null(locations);
	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	for (uint32_t i = first; i < end; i++) {
		struct profile_function function = {0};
		struct profile_line line = {0};
		char name[64];

		snprintf(name, sizeof(name), "a_function_with_a_rather_long_name_%u", i);
		assert_int_equal(profile_add_text(p, name, &function.name), 0);
		assert_int_equal(profile_add_function(p, &function, &line.function), 0);
		assert_int_equal(profile_add_location(p, PROFILE_NONE, 0x1000 + i, &line, 1,
						      &locations[i - first]),
				 0);
	}
	for (uint32_t i = 0; i < n_samples; i++) {
		uint32_t chain[16], n = end - first, rest = i;
		const int64_t value = 1;

		for (unsigned j = 0; j < ARRAY_SIZE(chain); j++, rest /= n)
			chain[j] = locations[rest % n];
		assert_int_equal(profile_add_sample(p, chain, ARRAY_SIZE(chain), &value, NULL, 0),
				 0);
	}
	p->time_ns = (int64_t)(start_s * NS);
	p->duration_ns = (int64_t)(60 * NS);
	assert_int_equal(profile_add_comment(p, "# profd ledger: expected=7 seen=7"), 0);
	free(locations);
	return p;
}

/* As another profd left it. */
static void put_window(const struct fixture *f, uint64_t start_s, const struct profile *p)
{
	const struct names_window window = {.start_s = start_s, .seconds = 60, .tail = "pb.gz"};
	int services = folder_at(f->store_fd, "services");
	int service = folder_at(services, "big.service");
	int day = folder_at(service, "20261121");
	cleanup(freep) uint8_t *data = NULL;
	char name[64];
	size_t length;

	assert_true(names_window(&window, name, sizeof(name)));
	assert_int_equal(pprof_write(p, 6, &data, &length), 0);
	write_file(day, name, data, length);
	close(day);
	close(service);
	close(services);
}

/* However many samples there are, an hour becomes one file, and little memory is enough. */
static void test_many_samples(void **state)
{
	struct fixture *f = *state;
	cleanup(store_freep) struct store *store = NULL;
	cleanup(rollup_freep) struct rollup *r = NULL;
	size_t bytes = 0, more, window = 0;
	struct census census;
	int e;

	for (unsigned i = 0; i < 60; i++) {
		cleanup(profile_freep) struct profile *p = make_window(T0 + i * 60, 2000 + i, 100,
								       150);

		window = profile_bytes(p);
		put_window(f, T0 + i * 60, p);
	}
	assert_int_equal(store_new(&store, f->store_fd, f->store_path, &file_ops_system), 0);
	assert_int_equal(rollup_new(&r, store, 256 << 10), 0);
	do {
		e = rollup_step(r, T0 + 2 * HOUR, T0 + 3 * HOUR);
		assert_true(e >= 0 && e != ROLLUP_E_DAMAGED);
		more = rollup_bytes(r);
		bytes = more > bytes ? more : bytes;
	} while (e != ROLLUP_E_IDLE);
	census = take_census(f);
	assert_int_equal(census.n_pprof, 1);
	assert_int_equal(census.pprof, 60 * 2000 + 59 * 60 / 2);
	assert_int_equal(census.n_temporary, 0);
	/* A window on its way takes more than it did when its size was known. */
	assert_in_range(bytes, window / 2, 2 * window + (512 << 10));
}

/* An hour whose names do not fit into the memory is cut into files whose names do. */
static void test_many_names(void **state)
{
	struct fixture *f = *state;
	const struct output_options o = rolling(f);
	struct output_options little = o;
	struct census census;
	struct writer *w;

	little.background_bytes = 800 << 10;
	for (unsigned i = 0; i < 30; i++) {
		cleanup(profile_freep) struct profile *p = make_window(T0 + i * 60, 600, i * 500,
								       (i + 1) * 500);

		put_window(f, T0 + i * 60, p);
	}
	w = open_writer(f, &little, NULL, T0);
	roll(w, T0 + 2 * HOUR);
	assert_int_equal(writer_conditions(w), 0);
	writer_free(w);
	census = take_census(f);
	assert_int_equal(census.pprof, 30 * 600);
	assert_in_range(census.n_pprof, 2, 10);
	/* None of them is taken for what is left of a killed roll-up. */
	w = open_writer(f, &o, NULL, T0 + 2 * HOUR);
	writer_free(w);
	assert_int_equal(take_census(f).pprof, census.pprof);
	assert_int_equal(take_census(f).n_pprof, census.n_pprof);
}

/* The calls that are still done; then the process is dead, and none of its calls does anything. */
static unsigned calls_left;

static bool is_dead(void)
{
	errno = EIO;
	return calls_left == 0 || --calls_left == 0;
}

static int dying_open(int folder, const char *name, int flags, mode_t mode)
{
	return is_dead() ? -1 : file_ops_system.open(folder, name, flags, mode);
}

static ssize_t dying_write(int fd, const void *data, size_t length)
{
	return is_dead() ? -1 : file_ops_system.write(fd, data, length);
}

static int dying_sync_file(int fd)
{
	return is_dead() ? -1 : file_ops_system.sync_file(fd);
}

static int dying_rename(int folder, const char *from, const char *to, unsigned flags)
{
	return is_dead() ? -1 : file_ops_system.rename(folder, from, to, flags);
}

static int dying_sync_folder(int fd)
{
	return is_dead() ? -1 : file_ops_system.sync_folder(fd);
}

static int dying_unlink(int folder, const char *name, int flags)
{
	return is_dead() ? -1 : file_ops_system.unlink(folder, name, flags);
}

/* Killed before any of its calls that change the store, it leaves the minutes or the hour. */
static void test_killed(void **state)
{
	struct fixture *f = *state;
	const struct output_options o = rolling(f);
	struct file_ops ops = {.make_folder = file_ops_system.make_folder,
			       .open = dying_open,
			       .write = dying_write,
			       .sync = file_ops_system.sync,
			       .sync_file = dying_sync_file,
			       .rename = dying_rename,
			       .sync_folder = dying_sync_folder,
			       .unlink = dying_unlink};
	unsigned n_minutes = 0, n_hours = 0;
	bool died = true;

	for (unsigned n = 1; died; n++) {
		uint64_t at = T0 + n * HOUR;
		struct writer *w = open_writer(f, &o, &file_ops_system, at);
		struct census before, after;

		for (unsigned i = 0; i < 4; i++) {
			struct snapshot *s = everything_at(f, at + i * 60);

			s->formats = FORMAT_PPROF;
			write_quietly(w, s, at + i * 60 + 60);
		}
		writer_free(w);
		before = take_census(f);
		calls_left = UINT_MAX;
		w = open_writer(f, &o, &ops, at);
		calls_left = n;
		roll(w, at + 2 * HOUR);
		died = calls_left == 0;
		writer_free(w);
		calls_left = UINT_MAX;

		w = open_writer(f, &o, &file_ops_system, at);
		after = take_census(f);
		assert_int_equal(after.pprof, before.pprof);
		assert_int_equal(after.n_temporary, 0);
		assert_in_range(after.n_pprof, 3 * n, before.n_pprof);
		n_minutes += after.n_pprof == before.n_pprof;
		n_hours += after.n_pprof == 3 * n;
		roll(w, at + 2 * HOUR);
		assert_int_equal(take_census(f).n_pprof, 3 * n);
		assert_int_equal(take_census(f).pprof, before.pprof);
		writer_free(w);
	}
	assert_true(n_minutes >= 4 && n_hours >= 2);
}

/* Stopped after any number of steps, it leaves the minutes or the hour, and nothing else. */
static void test_reset(void **state)
{
	struct fixture *f = *state;
	cleanup(store_freep) struct store *store = NULL;
	cleanup(rollup_freep) struct rollup *r = NULL;
	int e = ROLLUP_E_OK;
	uint64_t blocks;

	for (unsigned i = 0; i < 130; i++) {
		cleanup(profile_freep) struct profile *p = make_window(T0 + i * 20,
								       i < 3 ? 2500 : 1, 0, 10);

		put_window(f, T0 + i * 20, p);
	}
	assert_int_equal(store_new(&store, f->store_fd, f->store_path, &file_ops_system), 0);
	assert_int_equal(rollup_new(&r, store, 1 << 20), 0);
	for (unsigned n = 1; e != ROLLUP_E_IDLE; n++) {
		struct census census;

		for (unsigned i = 0; i < n && e == ROLLUP_E_OK; i++)
			e = rollup_step(r, T0 + 2 * HOUR, T0 + 3 * HOUR);
		assert_true(e == ROLLUP_E_OK || e == ROLLUP_E_IDLE);
		/* The index is right at any time: it is what lists and collections go by. */
		blocks = store->index.n_files;
		assert_true(blocks == 130 || blocks == 1);
		if (n % 16 && blocks == 130)
			continue;
		rollup_reset(r);
		census = take_census(f);
		assert_int_equal(census.n_temporary, 0);
		assert_int_equal(census.n_pprof, blocks);
		assert_int_equal(census.pprof, 3 * 2500 + 127);
		assert_int_equal(store->index.n_files, blocks);
		assert_int_equal(store->index.blocks, census.blocks);
	}
	assert_int_equal(store->index.n_files, 1);
}

/* What retention deletes while an hour is in work does not come back with it. */
static void test_collected_meanwhile(void **state)
{
	struct fixture *f = *state;
	struct output_options o = rolling(f);
	cleanup(writer_freep) struct writer *w = open_writer(f, &o, NULL, T0);

	write_minutes(f, w, 0, 8);
	for (unsigned i = 0; i < 4; i++)
		assert_true(writer_background(w, (T0 + 2 * HOUR) * NS));
	o.max_age_s = HOUR;
	writer_configure(w, &o, (T0 + HOUR + 400) * NS);
	assert_int_equal(take_census(f).n_pprof, 3 * 3);
	roll(w, T0 + 2 * HOUR);
	assert_int_equal(take_census(f).n_pprof, 3);
	assert_int_equal(take_census(f).pprof, 3 * EVERYTHING);
}

/* A profd that was away for long has much to delete: not at once, and before it rolls up. */
static void test_much_to_delete(void **state)
{
	struct fixture *f = *state;
	const struct output_options o = rolling(f);
	struct output_options strict = o;
	struct writer *w;

	for (unsigned i = 0; i < 1200; i++) {
		cleanup(profile_freep) struct profile *p = make_window(T0 + i * 40, 1, 0, 1);

		put_window(f, T0 + i * 40, p);
	}
	strict.max_age_s = HOUR;
	w = open_writer(f, &strict, NULL, T0 + 1200 * 40 + 2 * HOUR);
	assert_int_equal(take_census(f).n_pprof, 200);
	assert_true(writer_background(w, (T0 + 1200 * 40 + 2 * HOUR) * NS));
	assert_int_equal(take_census(f).n_pprof, 3);
	roll(w, T0 + 1200 * 40 + 2 * HOUR);
	assert_int_equal(take_census(f).n_pprof, 1);
	assert_int_equal(take_census(f).pprof, 3);
	writer_free(w);
}

static int failing_sync(int fd)
{
	(void)fd;
	errno = EIO;
	return -1;
}

static void test_disk_error(void **state)
{
	struct fixture *f = *state;
	const struct output_options o = rolling(f);
	struct file_ops ops = file_ops_system;
	cleanup(writer_freep) struct writer *w = NULL;
	struct census before;

	w = open_writer(f, &o, &ops, T0);
	write_minutes(f, w, 0, 4);
	before = take_census(f);
	ops.sync_file = failing_sync;
	roll(w, T0 + 2 * HOUR);
	assert_true(writer_conditions(w) & WRITER_NOT_ROLLED_UP);
	assert_int_equal(take_census(f).n_pprof, before.n_pprof);
	assert_int_equal(take_census(f).n_temporary, 0);
	ops = file_ops_system;
	assert_int_equal(roll(w, T0 + 2 * HOUR + 1), 0); /* not at once */
	roll(w, T0 + 2 * HOUR + 601);
	assert_int_equal(take_census(f).n_pprof, 3);
	assert_int_equal(take_census(f).pprof, before.pprof);
	assert_false(writer_conditions(w) & WRITER_NOT_ROLLED_UP);
}

/* Nobody can write to the folders of a.service, if @is_refused; of the others everybody can. */
static bool is_refused;
static unsigned n_refused;

static int refusing_open(int folder, const char *name, int flags, mode_t mode)
{
	char link[64], path[PATH_MAX + 1] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
	assert_true(readlink(link, path, PATH_MAX) > 0);
	if (is_refused && strstr(path, "/services/a.service/")) {
		n_refused++;
		errno = EACCES;
		return -1;
	}
	return file_ops_system.open(folder, name, flags, mode);
}

/* Goes on till @until_s; *n_said: how often the log told that hours wait. */
static void roll_till(struct writer *w, uint64_t *now_s, uint64_t until_s, unsigned *n_said)
{
	for (; *now_s < until_s; *now_s += 60) {
		bool logged = writer_conditions(w) & WRITER_NOT_ROLLED_UP, more;

		do {
			more = writer_background(w, *now_s * NS);
			if (!logged && writer_conditions(w) & WRITER_NOT_ROLLED_UP) {
				++*n_said;
				assert_non_null(strstr(writer_describe(w, WRITER_NOT_ROLLED_UP),
						       HOUR_FILE ": "));
			}
			logged = writer_conditions(w) & WRITER_NOT_ROLLED_UP;
		} while (more);
	}
}

/* A service whose hours cannot be written keeps no other from being rolled up, nor the log busy. */
static void test_trouble_of_its_own(void **state)
{
	struct fixture *f = *state;
	const struct output_options o = rolling(f);
	struct file_ops ops = file_ops_system;
	cleanup(writer_freep) struct writer *w = open_writer(f, &o, &ops, T0);
	uint64_t now = T0 + 3 * HOUR;
	unsigned n_said = 0;
	struct census before;

	for (unsigned hour = 0; hour < 2; hour++)
		write_minutes(f, w, hour * 60, 4);
	before = take_census(f);
	assert_int_equal(before.n_pprof, 2 * 3 * 4);
	ops.open = refusing_open;
	is_refused = true;
	n_refused = 0;
	roll_till(w, &now, now + 1200, &n_said);
	assert_int_equal(take_census(f).n_pprof, 2 * 4 + 2 * 2);
	assert_true(exists(f, minute_name(DAY_A, 0)));
	assert_true(writer_conditions(w) & WRITER_NOT_ROLLED_UP);

	/* Every pause is longer than the one before it, up to six hours. */
	roll_till(w, &now, T0 + 27 * HOUR, &n_said);
	assert_in_range(n_refused, 2 * 6, 2 * 9);
	assert_int_equal(take_census(f).n_pprof, 2 * 4 + 2 * 2);
	assert_int_equal(n_said, 1);

	/* What comes later goes first. */
	is_refused = false;
	write_minutes(f, w, 26 * 60, 3);
	is_refused = true;
	roll_till(w, &now, T0 + 28 * HOUR, &n_said);
	assert_int_equal(take_census(f).n_pprof, 2 * 4 + 2 * 2 + 3 * 3);
	roll_till(w, &now, T0 + 28 * HOUR + 1200, &n_said);
	assert_int_equal(take_census(f).n_pprof, 2 * 4 + 2 * 2 + 3 + 2);
	assert_int_equal(n_said, 1);

	is_refused = false;
	roll_till(w, &now, now + 6 * HOUR + 1200, &n_said);
	assert_int_equal(take_census(f).n_pprof, 3 * 3);
	assert_int_equal(take_census(f).pprof, before.pprof / 8 * 11);
	assert_false(writer_conditions(w) & WRITER_NOT_ROLLED_UP);
	assert_int_equal(n_said, 1);
}

/* What waits for another try and is deleted meanwhile is waited for no more. */
static void test_failed_and_collected(void **state)
{
	struct fixture *f = *state;
	struct output_options o = rolling(f);
	struct file_ops ops = file_ops_system;
	cleanup(writer_freep) struct writer *w = open_writer(f, &o, &ops, T0);
	uint64_t now = T0 + 3 * HOUR;
	unsigned n_said = 0;

	write_minutes(f, w, 0, 8);
	ops.open = refusing_open;
	is_refused = true;
	roll_till(w, &now, now + 60, &n_said);
	assert_true(writer_conditions(w) & WRITER_NOT_ROLLED_UP);
	o.max_age_s = HOUR;
	o.keep_windows = 1;
	writer_configure(w, &o, now * NS);
	assert_false(exists(f, minute_name(DAY_A, 1)));
	n_refused = 0;
	roll_till(w, &now, now + 1200, &n_said);
	assert_int_equal(n_refused, 0);
	assert_false(writer_conditions(w) & WRITER_NOT_ROLLED_UP);
	is_refused = false;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_an_hour),
		TEST(test_off),
		TEST(test_minutes_left_over),
		TEST(test_damage),
		TEST(test_two_events),
		TEST(test_many_samples),
		TEST(test_many_names),
		TEST(test_killed),
		TEST(test_reset),
		TEST(test_collected_meanwhile),
		TEST(test_disk_error),
		TEST(test_trouble_of_its_own),
		TEST(test_failed_and_collected),
		TEST(test_much_to_delete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* What the minutes held is there still, whatever happens while they are rolled up. */
#include <sys/inotify.h>

#include "daemon/output/stored.h"
#include "tests/unit/output/rollup_fixture.h"

/* The calls that are still done; then the process is dead, and none of its calls does anything. */
static unsigned calls_left;

static bool is_dead(void)
{
	errno = EIO;
	return calls_left == 0 || --calls_left == 0;
}

static int dying_open(int dir, const char *name, int flags, mode_t mode)
{
	return is_dead() ? -1 : file_ops_system.open(dir, name, flags, mode);
}

static ssize_t dying_write(int fd, const void *data, size_t length)
{
	return is_dead() ? -1 : file_ops_system.write(fd, data, length);
}

static int dying_sync_file(int fd)
{
	return is_dead() ? -1 : file_ops_system.sync_file(fd);
}

static int dying_rename(int dir, const char *from, const char *to, unsigned flags)
{
	return is_dead() ? -1 : file_ops_system.rename(dir, from, to, flags);
}

static int dying_sync_dir(int fd)
{
	return is_dead() ? -1 : file_ops_system.sync_dir(fd);
}

static int dying_unlink(int dir, const char *name, int flags)
{
	return is_dead() ? -1 : file_ops_system.unlink(dir, name, flags);
}

/* Four windows of each service from @at on, half of them in the next hour if these become a day. */
static void write_four(const struct fixture *f, struct writer *w, uint64_t at, bool is_day)
{
	for (unsigned i = 0; i < 4; i++) {
		uint64_t start_s = at + i * 60 + (is_day && i > 1 ? HOUR : 0);
		struct snapshot *s = everything_at(f, start_s);

		s->formats = FORMAT_PPROF;
		write_quietly(w, s, start_s + 60);
	}
}

/* Killed before any of its calls that change the store, it leaves what was there or the roll-up. */
static void kill_rollup(const struct fixture *f, bool is_day)
{
	const struct output_options o = rolling(f);
	struct file_ops ops = {.make_dir = file_ops_system.make_dir,
			       .open = dying_open,
			       .write = dying_write,
			       .sync = file_ops_system.sync,
			       .sync_file = dying_sync_file,
			       .rename = dying_rename,
			       .sync_dir = dying_sync_dir,
			       .unlink = dying_unlink};
	unsigned n_before = 0, n_after = 0;
	bool died = true;

	for (unsigned n = 1; died; n++) {
		const uint64_t at = T0 + n * DAY, now = at + (is_day ? DAY : 2 * HOUR);
		struct writer *w = open_writer(f, &o, &file_ops_system, at);
		struct census before, after;

		write_four(f, w, at, is_day);
		if (is_day)
			roll(w, at + 3 * HOUR);
		writer_free(w);
		before = take_census(f);
		calls_left = UINT_MAX;
		w = open_writer(f, &o, &ops, at);
		calls_left = n;
		roll(w, now);
		died = calls_left == 0;
		writer_free(w);
		calls_left = UINT_MAX;

		w = open_writer(f, &o, &file_ops_system, at);
		after = take_census(f);
		assert_int_equal(after.pprof, before.pprof);
		assert_int_equal(after.n_temporary, 0);
		assert_in_range(after.n_pprof, 3 * n, before.n_pprof);
		n_before += after.n_pprof == before.n_pprof;
		n_after += after.n_pprof == 3 * n;
		roll(w, now);
		assert_int_equal(take_census(f).n_pprof, 3 * n);
		assert_int_equal(take_census(f).pprof, before.pprof);
		writer_free(w);
	}
	assert_true(n_before >= 4 && n_after >= 2);
}

static void test_killed(void **state)
{
	kill_rollup(*state, false);
}

static void test_killed_at_a_day(void **state)
{
	kill_rollup(*state, true);
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
	assert_int_equal(store_rescan(store), 0);
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

#define N_ARRANGED 4
#define N_LEAVES   50

/* Each of make_window()'s functions ends as many stacks as any other. */
static void expect_leaves(const char *path, int64_t each)
{
	cleanup(profile_freep) struct profile *p = read_pprof(path);
	int64_t sums[N_ARRANGED * N_LEAVES] = {0};

	for (size_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *sample = &p->samples[i];
		const struct profile_location *leaf =
			&p->locations[p->sample_locations[sample->first_location]];
		const struct profile_line *line = &p->lines[leaf->first_line];
		const char *name = profile_string(p, p->functions[line->function].name);
		unsigned number = (unsigned)strtoul(strrchr(name, '_') + 1, NULL, 10);

		assert_in_range(number, 0, ARRAY_SIZE(sums) - 1);
		assert_int_equal(leaf->address, 0x1000 + number);
		sums[number] += p->sample_values[i];
	}
	for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
		assert_int_equal(sums[i], each);
}

/* Stopped after each of its steps, while samples are put in order as well, it begins anew. */
static void test_stopped(void **state)
{
	const uint32_t n_samples = 40 * N_LEAVES;
	struct fixture *f = *state;
	int e = ROLLUP_E_OK;

	/* From the highest addresses down: what is read later is to be put in front. */
	for (uint32_t i = 0; i < N_ARRANGED; i++) {
		const uint32_t first = (N_ARRANGED - 1 - i) * N_LEAVES;
		cleanup(profile_freep) struct profile *p = make_window(T0 + i * 60, n_samples,
								       first, first + N_LEAVES);

		put_window(f, T0 + i * 60, p);
	}
	for (unsigned n_steps = 1; e != ROLLUP_E_IDLE; n_steps++) {
		cleanup(store_freep) struct store *store = NULL;
		cleanup(rollup_freep) struct rollup *r = NULL;
		struct census census;

		assert_int_equal(store_new(&store, f->store_fd, f->store_path, &file_ops_system),
				 0);
		assert_int_equal(store_rescan(store), 0);
		/* So little that an hour is put in order, and written, many times. */
		assert_int_equal(rollup_new(&r, store, 256 << 10), 0);
		for (unsigned i = 0; i < n_steps && e != ROLLUP_E_IDLE; i++) {
			e = rollup_step(r, T0 + 2 * HOUR, T0 + 3 * HOUR);
			assert_true(e >= 0 && e != ROLLUP_E_DAMAGED);
		}
		rollup_free(r);
		r = NULL;
		census = take_census(f);
		assert_int_equal(census.n_temporary, 0);
		assert_in_range(census.n_pprof, 1, N_ARRANGED + 1);
		if (census.n_pprof == N_ARRANGED)
			assert_int_equal(census.pprof, N_ARRANGED * n_samples);
	}
	assert_int_equal(take_census(f).n_pprof, 1);
	assert_int_equal(take_census(f).pprof, N_ARRANGED * n_samples);
	expect_leaves(path_of(f, "services/big.service/20261121/20261121T090000Z-3600s.pb.gz"),
		      n_samples / N_LEAVES);
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
	o.limits.max_age_s = HOUR;
	writer_configure(w, &o, (T0 + HOUR + 360) * NS);
	assert_int_equal(take_census(f).n_pprof, 3 * 3);
	roll(w, T0 + 2 * HOUR);
	assert_int_equal(take_census(f).n_pprof, 3);
	assert_int_equal(take_census(f).pprof, 3 * EVERYTHING);
}

/* A file whose samples add up to less than none is damaged. */
static void test_less_than_none(void **state)
{
	static const int64_t values[] = {1, -1, 0};
	struct fixture *f = *state;

	for (unsigned i = 0; i < ARRAY_SIZE(values); i++) {
		cleanup(profile_freep) struct profile *p = make_window(T0 + i * 60, 3, 0, 2);
		cleanup(store_freep) struct store *store = NULL;
		cleanup(stored_freep) struct stored *stored = NULL;
		struct index_counts counts = {0};

		for (size_t j = 0; j < p->n_samples; j++)
			p->sample_values[j] = values[i];
		put_window(f, T0 + i * 60, p);
		assert_int_equal(store_new(&store, f->store_fd, f->store_path, &file_ops_system),
				 0);
		assert_int_equal(stored_open(&stored, store,
					     minute_name("services/big.service/20261121/", i),
					     1 << 20),
				 STORED_E_OK);
		assert_int_equal(stored_count_samples(stored, &counts),
				 values[i] < 0 ? STORED_E_DAMAGED : STORED_E_DONE);
		assert_int_equal(counts.samples, values[i] > 0 ? 3 : 0);
	}
}

/* A profd that was away for long has much to delete: not at once, and before it rolls up. */
static void test_much_to_delete(void **state)
{
	struct fixture *f = *state;
	const struct output_options o = rolling(f);
	struct output_options strict = o;
	const uint64_t now_s = T0 + 1197 * 40 + 60 + HOUR;
	struct writer *w;

	for (unsigned i = 0; i < 1200; i++) {
		cleanup(profile_freep) struct profile *p = make_window(T0 + i * 40, 1, 0, 1);

		put_window(f, T0 + i * 40, p);
	}
	strict.limits.max_age_s = HOUR;
	w = open_writer(f, &strict, NULL, now_s);
	assert_int_equal(take_census(f).n_pprof, 200);
	assert_true(writer_background(w, now_s * NS));
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

/* Nobody can write to the directories of a.service, if @is_refused; of the others everybody can. */
static bool is_refused;
static unsigned n_refused;

static int refusing_open(int dir, const char *name, int flags, mode_t mode)
{
	char link[64], path[PATH_MAX + 1] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	assert_true(readlink(link, path, PATH_MAX) > 0);
	if (is_refused && strstr(path, "/services/a.service/")) {
		n_refused++;
		errno = EACCES;
		return -1;
	}
	return file_ops_system.open(dir, name, flags, mode);
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

	/* Every pause is longer than the one before it, up to six hours. The others' day is over.
	 */
	roll_till(w, &now, T0 + 27 * HOUR, &n_said);
	assert_in_range(n_refused, 2 * 6, 2 * 9);
	assert_int_equal(take_census(f).n_pprof, 2 * 4 + 2);
	assert_int_equal(n_said, 1);

	/* What comes later goes first. */
	is_refused = false;
	write_minutes(f, w, 26 * 60, 3);
	is_refused = true;
	roll_till(w, &now, T0 + 28 * HOUR, &n_said);
	assert_int_equal(take_census(f).n_pprof, 2 * 4 + 2 + 3 * 3);
	roll_till(w, &now, T0 + 28 * HOUR + 1200, &n_said);
	assert_int_equal(take_census(f).n_pprof, 2 * 4 + 2 + 3 + 2);
	assert_int_equal(n_said, 1);

	is_refused = false;
	roll_till(w, &now, now + 6 * HOUR + 1200, &n_said);
	assert_int_equal(take_census(f).n_pprof, 3 * 2);
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
	o.limits.max_age_s = HOUR;
	writer_configure(w, &o, now * NS);
	assert_false(exists(f, minute_name(DAY_A, 1)));
	n_refused = 0;
	roll_till(w, &now, now + 1200, &n_said);
	assert_int_equal(n_refused, 0);
	assert_false(writer_conditions(w) & WRITER_NOT_ROLLED_UP);
	is_refused = false;
}

static bool is_minute(const char *name)
{
	return strstr(name, "-60s.pb.gz") != NULL;
}

static int keeping_unlink(int dir, const char *name, int flags)
{
	errno = EACCES;
	return is_minute(name) ? -1 : file_ops_system.unlink(dir, name, flags);
}

/* An hour that is there did not fail, though its minutes, or its name's sync, did. */
static void test_trouble_afterwards(void **state)
{
	struct fixture *f = *state;
	struct file_ops ops = file_ops_system;
	cleanup(store_freep) struct store *store = NULL;
	cleanup(rollup_freep) struct rollup *r = NULL;

	for (unsigned i = 0; i < 4; i++) {
		cleanup(profile_freep) struct profile *p = make_window(T0 + i * 1800, 1, 0, 1);

		put_window(f, T0 + i * 1800, p);
	}
	assert_int_equal(store_new(&store, f->store_fd, f->store_path, &ops), 0);
	assert_int_equal(store_rescan(store), 0);
	assert_int_equal(rollup_new(&r, store, 1 << 20), 0);
	for (unsigned hour = 0; hour < 2; hour++) {
		int e = ROLLUP_E_OK;

		if (hour == 0)
			ops.unlink = keeping_unlink;
		else
			ops.sync_dir = failing_sync;
		while (e == ROLLUP_E_OK)
			e = rollup_step(r, T0 + 3 * HOUR, T0 + 3 * HOUR);
		assert_true(e < 0);
		assert_false(rollup_is_behind(r));
		ops = file_ops_system;
	}
	assert_int_equal(rollup_step(r, T0 + 3 * HOUR, T0 + 3 * HOUR), ROLLUP_E_IDLE);
	assert_int_equal(store->index.n_files, 2);
	assert_int_equal(take_census(f).n_pprof, 2 + 4);
	assert_int_equal(store_rescan(store), 0);
	assert_int_equal(rollup_recover(store, 1 << 20), 0);
	assert_int_equal(take_census(f).n_pprof, 2);
}

static char *kept_name(unsigned i)
{
	static char name[64];

	snprintf(name, sizeof(name), "kept-%u", i);
	return name;
}

/* What is to be recovered of one hour is no reason to read the files of those before it. */
static void test_recovery_reads_one_hour(void **state)
{
	struct fixture *f = *state;
	const struct output_options o = rolling(f);
	struct writer *w = open_writer(f, &o, NULL, T0);
	cleanup(closep) int notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	struct inotify_event event;

	for (unsigned hour = 0; hour < 4; hour++)
		write_minutes(f, w, hour * 60, N_MINUTES);
	for (unsigned i = 0; i < N_MINUTES; i++)
		copy(f, minute_name(DAY_A, 180 + i), kept_name(i));
	roll(w, T0 + 5 * HOUR);
	writer_free(w);
	for (unsigned i = 0; i < N_MINUTES; i++)
		copy(f, kept_name(i), minute_name(DAY_A, 180 + i));
	assert_true(inotify_add_watch(notify, path_of(f, HOUR_FILE), IN_OPEN) >= 0);
	w = open_writer(f, &o, NULL, T0 + 5 * HOUR);
	assert_false(exists(f, minute_name(DAY_A, 180)));
	assert_int_equal(read(notify, &event, sizeof(event)), -1);
	writer_free(w);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_killed),
		TEST(test_killed_at_a_day),
		TEST(test_reset),
		TEST(test_stopped),
		TEST(test_collected_meanwhile),
		TEST(test_less_than_none),
		TEST(test_disk_error),
		TEST(test_trouble_of_its_own),
		TEST(test_failed_and_collected),
		TEST(test_trouble_afterwards),
		TEST(test_recovery_reads_one_hour),
		TEST(test_much_to_delete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

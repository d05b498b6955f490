/* SPDX-License-Identifier: MIT */
/* Retention over a fake clock: files of known sizes, limits, and what is left. */
#include "tests/unit/output/fixture.h"

#include <sys/statvfs.h>

#include "daemon/output/batch.h"
#include "daemon/output/retention.h"

static struct store *open_store(struct fixture *f)
{
	struct store *store = NULL;

	assert_int_equal(store_new(&store, f->store_fd, f->store_path, &file_ops_system), 0);
	assert_int_equal(store_rescan(store), 0);
	return store;
}

/*
 * Puts a file of @kib KiB there: a window, if @tail is not NULL, else an image. @payer: whose share
 * it takes; STORE_NOBODY: nobody's.
 */
static void put_paid(struct store *store, const char *dir, uint64_t start_s, const char *tail,
		     unsigned kib, uid_t payer)
{
	const struct names_window window = {.start_s = start_s, .seconds = 60, .tail = tail};
	cleanup(batch_freep) struct batch *batch = NULL;
	cleanup(freep) uint8_t *data = calloc(1, kib * 1024u + 1);
	struct batch_file file = {
		.dir = dir, .owner = payer, .has_share = payer != STORE_NOBODY, .replace = !tail};
	char name[200] = "image";

	if (tail)
		assert_true(names_window(&window, name, sizeof(name)));
	file.name = name;
	assert_int_equal(batch_new(&batch, store), 0);
	assert_int_equal(batch_add(batch, &file, data, kib * 1024u), 0);
	assert_int_equal(batch_commit(batch).error, 0);
}

static void put_file(struct store *store, const char *dir, uint64_t start_s, const char *tail,
		     unsigned kib)
{
	put_paid(store, dir, start_s, tail, kib, STORE_NOBODY);
}

static void put_window(struct store *store, const char *service, uint64_t start_s, const char *tail)
{
	char dir[300], day[NAMES_DAY_SIZE];

	names_day(start_s, day);
	snprintf(dir, sizeof(dir), "services/%s/%s", service, day);
	put_file(store, dir, start_s, tail, 4);
}

static bool has(const struct fixture *f, const char *service, uint64_t start_s, const char *tail)
{
	const struct names_window window = {.start_s = start_s, .seconds = 60, .tail = tail};
	char path[512], name[200], day[NAMES_DAY_SIZE];

	names_day(start_s, day);
	assert_true(names_window(&window, name, sizeof(name)));
	snprintf(path, sizeof(path), "services/%s/%s/%s", service, day, name);
	return exists(f, path);
}

static uint64_t run(struct store *store, struct retention_limits limits, uint64_t now_s)
{
	uint64_t n;

	assert_int_equal(retention_run(store, &limits, now_s, 0, &n), 0);
	return n;
}

static void test_age(void **state)
{
	struct fixture *f = *state;
	cleanup(store_freep) struct store *store = open_store(f);
	const struct retention_limits limits = {.max_age_s = 7 * DAY, .keep_windows = 3};

	for (unsigned i = 0; i < 10; i++)
		put_window(store, "a", T0 + i * DAY, "pb.gz");
	put_window(store, "old", T0, "pb.gz");
	put_window(store, "old", T0 + 60, "pb.gz");
	assert_int_equal(run(store, limits, T0 + 7 * DAY + 60), 0); /* exactly max_age old */
	assert_int_equal(run(store, limits, T0 + 7 * DAY + 61), 2);
	assert_false(has(f, "a", T0, "pb.gz"));
	assert_false(exists(f, "services/a/20261121")); /* empty directories go */
	assert_true(exists(f, "services/a/20261122"));
	assert_false(has(f, "old", T0, "pb.gz")); /* the newest ones, too */
	assert_true(has(f, "old", T0 + 60, "pb.gz"));
	assert_int_equal(run(store, limits, T0 + 100 * DAY), 10);
	assert_int_equal(store->index.n_files, 0);
}

static void test_legacy(void **state)
{
	struct fixture *f = *state;
	cleanup(store_freep) struct store *store = open_store(f);
	struct retention_limits limits = {.legacy_keep_s = 3600,
					  .max_age_s = 7 * DAY,
					  .keep_windows = 2};

	for (unsigned i = 0; i < 4; i++) {
		put_window(store, "a", T0 + i * 60, "pb.gz");
		put_window(store, "a", T0 + i * 60, "x-1.prof");
		put_window(store, "a", T0 + i * 60, "y-2.prof");
		put_window(store, "only", T0 + i * 60, "x-1.prof");
		put_window(store, "only", T0 + i * 60, "y-2.prof");
	}
	assert_int_equal(run(store, limits, T0 + 3600 + 60), 0);
	assert_int_equal(run(store, limits, T0 + 3600 + 61), 4);
	assert_false(has(f, "a", T0, "x-1.prof"));
	assert_true(has(f, "a", T0, "pb.gz"));
	assert_false(has(f, "only", T0, "y-2.prof"));
	/* Where there is no .pb.gz, the newest windows are legacy ones, and are spared. */
	limits.min_free = UINT64_MAX / 2;
	run(store, limits, T0 + 3600 + 61);
	assert_false(has(f, "a", T0 + 180, "x-1.prof"));
	assert_true(has(f, "a", T0 + 120, "pb.gz"));
	assert_false(has(f, "only", T0 + 60, "y-2.prof"));
	assert_true(has(f, "only", T0 + 120, "x-1.prof"));
	assert_true(has(f, "only", T0 + 120, "y-2.prof"));
	limits.min_free = 0;
	put_file(store, "sessions/s1-x", T0, "x-1.prof", 4);
	run(store, limits, T0 + DAY);
	assert_false(exists(f, "services/only"));
	/* Who asked for a session's legacy files keeps them like its others. */
	assert_true(exists(f, "sessions/s1-x/20261121T090000Z-60s.x-1.prof"));
	run(store, limits, T0 + 8 * DAY);
	assert_false(exists(f, "sessions/s1-x"));
}

static bool has_session(const struct fixture *f, const char *session, uint64_t start_s)
{
	const struct names_window window = {.start_s = start_s, .seconds = 60, .tail = "pb.gz"};
	char path[512], name[200];

	assert_true(names_window(&window, name, sizeof(name)));
	snprintf(path, sizeof(path), "sessions/%s/%s", session, name);
	return exists(f, path);
}

/* A user's oldest windows go, of all of the user's sessions, and nobody else's; also when another
 * profd has read the store. */
static void test_shares(void **state)
{
	struct fixture *f = *state;
	struct store *store = open_store(f);
	const uid_t user = geteuid() + 1, other = geteuid() + 2;
	struct retention_limits limits = {.payer_bytes = 6 * RETENTION_FILE_BYTES};

	for (unsigned i = 0; i < 10; i++) {
		put_paid(store, i % 2 ? "sessions/s1-x" : "sessions/s2-y", T0 + i * 60, "pb.gz", 4,
			 user);
		put_paid(store, "sessions/s3-z", T0 + i * 60, "pb.gz", 4,
			 i < 6 ? other : STORE_NOBODY);
		put_file(store, "sessions/s4-root", T0 + i * 60, "pb.gz", 4);
		put_window(store, "a", T0 + i * 60, "pb.gz");
	}
	store_free(store);
	store = open_store(f);
	/* More files than one for each RETENTION_FILE_BYTES. */
	limits.max_deleted = 3;
	assert_int_equal(run(store, limits, T0), 3);
	assert_false(has_session(f, "s2-y", T0 + 120) && has_session(f, "s3-z", T0 + 120));
	limits.max_deleted = 0;
	assert_int_equal(run(store, limits, T0), 5);
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(has_session(f, i % 2 ? "s1-x" : "s2-y", T0 + i * 60), i >= 4);
		assert_int_equal(has_session(f, "s3-z", T0 + i * 60), i >= 4);
		assert_true(has_session(f, "s4-root", T0 + i * 60));
		assert_true(has(f, "a", T0 + i * 60, "pb.gz"));
	}
	assert_int_equal(run(store, limits, T0), 0);
	/* More bytes; the newest window stays, however large it is. */
	put_paid(store, "sessions/s1-x", T0 + 660, "pb.gz", 200, user);
	assert_int_equal(run(store, limits, T0), 6);
	assert_true(has_session(f, "s1-x", T0 + 660));
	assert_false(exists(f, "sessions/s2-y"));
	/* What has gone does not count. */
	assert_int_equal(run(store, (struct retention_limits){.max_age_s = 60}, T0 + DAY), 27);
	put_paid(store, "sessions/s5-x", T0 + 720, "pb.gz", 4, user);
	put_paid(store, "sessions/s5-x", T0 + 780, "pb.gz", 4, user);
	assert_int_equal(run(store, limits, T0), 0);
	store_free(store);
}

/* For room, those of the user with the most go first, down to a share; without need none goes. */
static void test_own_services_make_room_first(void **state)
{
	struct fixture *f = *state;
	struct store *store = open_store(f);
	struct retention_limits limits = {.keep_windows = 1};
	uint64_t each;

	for (unsigned i = 0; i < 10; i++) {
		put_window(store, "a", T0 + i * 60, "pb.gz");
		put_window(store, "user-70001", T0 + 3600 + i * 60, "pb.gz");
		put_window(store, "user@70001.service", T0 + 3600 + i * 60 + 30, "pb.gz");
		if (i < 3)
			put_window(store, "user@70002.service", T0 + i * 60, "pb.gz");
	}
	store_free(store);
	store = open_store(f);
	each = store->index.blocks * 512 / 33;
	limits.payer_bytes = each * 4;
	assert_int_equal(run(store, limits, T0), 0);
	limits.max_size = each * 20;
	assert_int_equal(run(store, limits, T0), 13);
	assert_false(has(f, "user-70001", T0 + 3600 + 5 * 60, "pb.gz"));
	assert_true(has(f, "user-70001", T0 + 3600 + 7 * 60, "pb.gz"));
	assert_true(has(f, "a", T0, "pb.gz"));
	/* What is left of it is a share: from then on it is as all others. */
	limits.max_size = each * 15;
	assert_int_equal(run(store, limits, T0), 5);
	assert_true(has(f, "user-70001", T0 + 3600 + 8 * 60, "pb.gz"));
	assert_false(has(f, "a", T0, "pb.gz"));
	store_free(store);
}

static void expect_share(const struct index_share *share, uid_t uid, uint64_t kib, uint64_t n_files)
{
	assert_int_equal(share->uid, uid);
	assert_true(share->bytes >= kib * 1024);
	assert_int_equal(share->n_files, n_files);
}

/* What each user has is shown, most first, of as many users as there is room for. */
static void test_shares_shown(void **state)
{
	struct fixture *f = *state;
	cleanup(store_freep) struct store *store = open_store(f);
	const struct retention_limits limits = {.payer_bytes = 6 * RETENTION_FILE_BYTES};
	struct index_share shares[4] = {{0}};

	put_paid(store, "sessions/s1-x", T0, "pb.gz", 8, 1001);
	put_paid(store, "sessions/s2-x", T0, "pb.gz", 64, 1002);
	put_paid(store, "sessions/s3-x", T0, "pb.gz", 16, 1003);
	put_paid(store, "sessions/s1-y", T0 + 60, "pb.gz", 24, 1001);
	put_paid(store, "sessions/s4-x", T0, "pb.gz", 128, STORE_NOBODY);
	assert_int_equal(index_shares(&store->index, shares, ARRAY_SIZE(shares)), 3);
	expect_share(&shares[0], 1002, 64, 1);
	expect_share(&shares[1], 1001, 32, 2);
	expect_share(&shares[2], 1003, 16, 1);
	assert_int_equal(index_shares(&store->index, shares, 2), 2);
	expect_share(&shares[0], 1002, 64, 1);
	expect_share(&shares[1], 1001, 32, 2);
	assert_int_equal(retention_share_max(&limits).bytes, 6 * RETENTION_FILE_BYTES);
	assert_int_equal(retention_share_max(&limits).n_files, 6);
	/* Who has nothing any more is left out. */
	assert_int_equal(run(store, (struct retention_limits){.max_age_s = 60}, T0 + DAY), 5);
	assert_int_equal(index_shares(&store->index, shares, ARRAY_SIZE(shares)), 0);
}

static void test_size(void **state)
{
	struct fixture *f = *state;
	cleanup(store_freep) struct store *store = open_store(f);
	struct retention_limits limits = {.keep_windows = 2};
	uint64_t each;

	for (unsigned i = 0; i < 10; i++) {
		put_window(store, "a", T0 + i * 120, "pb.gz");
		put_window(store, "b", T0 + i * 120 + 60, "pb.gz");
	}
	each = store->index.blocks * 512 / 20;
	limits.max_size = each * 15;
	assert_int_equal(run(store, limits, T0), 5);
	assert_true(store->index.blocks * 512 <= limits.max_size);
	/* The oldest of all, whatever service: a0 b0 a1 b1 a2. */
	assert_false(has(f, "a", T0 + 240, "pb.gz"));
	assert_true(has(f, "b", T0 + 240 + 60, "pb.gz"));
	/* The newest of each service go last, but they go. */
	limits.max_size = each * 4;
	assert_int_equal(run(store, limits, T0), 11);
	assert_true(has(f, "a", T0 + 8 * 120, "pb.gz"));
	assert_true(has(f, "b", T0 + 9 * 120 + 60, "pb.gz"));
	assert_int_equal(store->index.n_files, 4);
	limits.max_size = each * 3;
	assert_int_equal(run(store, limits, T0), 1);
	assert_false(has(f, "a", T0 + 8 * 120, "pb.gz"));
	assert_true(has(f, "b", T0 + 8 * 120 + 60, "pb.gz"));
	/* Then room for others is no reason any more. */
	limits.min_free = UINT64_MAX / 2;
	assert_int_equal(run(store, limits, T0), 0);
	assert_int_equal(store->index.n_files, 3);
}

/* A container that has ended keeps no room from what still runs. */
static void test_services_that_ended(void **state)
{
	struct fixture *f = *state;
	cleanup(store_freep) struct store *store = open_store(f);
	struct retention_limits limits = {.keep_windows = 2};
	const uint64_t last = T0 + 3 * DAY;

	for (unsigned i = 0; i < 3; i++) {
		put_window(store, "ended", T0 + 2 * DAY + i * 60, "pb.gz");
		put_window(store, "daily", T0 + i * DAY + 2 * DAY / 3, "pb.gz");
		put_window(store, "busy", last + i * 60, "pb.gz");
	}
	limits.max_size = store->index.blocks * 512 / 9 * 4;
	assert_int_equal(run(store, limits, T0 + 2 * DAY + 180 + 2 * DAY), 5);
	assert_false(exists(f, "services/ended"));
	assert_true(has(f, "daily", T0 + DAY + 2 * DAY / 3, "pb.gz"));
	assert_true(has(f, "busy", last + 60, "pb.gz"));
}

static void test_free_space(void **state)
{
	struct fixture *f = *state;
	cleanup(store_freep) struct store *store = open_store(f);
	const struct retention_limits limits = {.min_free = UINT64_MAX / 2, .keep_windows = 1};
	uint64_t n;

	for (unsigned i = 0; i < 5; i++)
		put_window(store, "a", T0 + i * 60, "pb.gz");
	/* No disk has that much: all goes that may. */
	assert_int_equal(run(store, limits, T0), 4);
	/* Bytes that a failed write needs are freed whatever statvfs says. */
	for (unsigned i = 5; i < 10; i++)
		put_window(store, "a", T0 + i * 60, "pb.gz");
	assert_int_equal(retention_run(store, &(struct retention_limits){.keep_windows = 1}, T0,
				       5000, &n),
			 0);
	assert_int_equal(n, 2);
}

static int keep_file(int dir, const char *name, int flags)
{
	(void)dir, (void)name, (void)flags;
	return 0;
}

/* Where nothing is deleted in truth, the file system has what would be deleted as free space. */
static void test_dry_run(void **state)
{
	struct fixture *f = *state;
	cleanup(store_freep) struct store *store = open_store(f);
	struct retention_limits limits = {.keep_windows = 1, .is_dry_run = true};
	struct file_ops ops = file_ops_system;
	char day[NAMES_DAY_SIZE], name[200], dir[64];
	struct statvfs st;

	ops.unlink = keep_file;
	store->ops = &ops;
	put_window(store, "a", T0, "pb.gz");
	names_day(T0, day);
	snprintf(dir, sizeof(dir), "services/a/%s", day);
	for (unsigned i = 1; i < 10; i++) {
		const struct names_window window = {.start_s = T0 + i * 60,
						    .seconds = 60,
						    .tail = "pb.gz"};

		assert_true(names_window(&window, name, sizeof(name)));
		assert_int_equal(index_add(&store->index, dir, name,
					   (UINT64_C(64) << 30) / INDEX_BLOCK,
					   (struct index_counts){.samples = 1}),
				 0);
	}
	assert_int_equal(fstatvfs(f->store_fd, &st), 0);
	limits.min_free = (uint64_t)st.f_bavail * st.f_frsize + (UINT64_C(160) << 30);
	/* Three of 64 GiB, for 160, and a small one that is older. */
	assert_int_equal(run(store, limits, T0), 4);
	assert_true(has(f, "a", T0, "pb.gz"));
}

static void test_epochs(void **state)
{
	struct fixture *f = *state;
	cleanup(store_freep) struct store *store = open_store(f);
	struct retention_limits limits = {.max_age_s = 7 * DAY, .keep_windows = 3};

	put_file(store, "images/2611010000/h", 0, NULL, 4);
	put_file(store, "images/2611020000/h", 0, NULL, 4);
	put_file(store, "images/2611020000/other", 0, NULL, 4);
	put_file(store, "images/2611200000/h", 0, NULL, 4);
	put_file(store, "images/2611200100/h", 0, NULL, 4);
	put_file(store, "images/2611210900/h", 0, NULL, 4);
	assert_int_equal(run(store, limits, T0), 2);
	assert_false(exists(f, "images/2611010000"));
	assert_false(exists(f, "images/2611020000"));
	assert_int_equal(run(store, limits, T0 + 100 * DAY), 0); /* the newest three */
	assert_int_equal(store->index.n_epochs, 3);
	put_file(store, "images/2611210901/h", 0, NULL, 4);
	limits.max_age_s = 0;
	limits.max_size = 1; /* size takes epochs, too */
	assert_int_equal(run(store, limits, T0), 1);
	assert_false(exists(f, "images/2611200000"));
	assert_int_equal(store->index.n_files, 3);
}

/* Windows that come late, and clocks that step back, keep the index in order. */
static void test_order(void **state)
{
	struct fixture *f = *state;
	cleanup(store_freep) struct store *store = open_store(f);
	const unsigned order[] = {3, 1, 4, 0, 2};
	struct index_shelf *shelf;
	uint64_t oldest, newest;

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		put_window(store, "a", T0 + order[i] * 60, "pb.gz");
	assert_int_equal(index_shelf(&store->index, "services/a", &shelf), 0);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		assert_int_equal(shelf->queues[CONTENTS_PPROF].files[i].start_s, T0 + i * 60);
	index_span(&store->index, &oldest, &newest);
	assert_int_equal(oldest, T0);
}

/* A directory tells its files in an order of its own: the index has theirs. */
static void test_order_after_a_start(void **state)
{
	struct fixture *f = *state;
	struct store *store = open_store(f);
	struct index_shelf *shelf;

	for (unsigned i = 0; i < 200; i++) {
		put_window(store, "a", T0 + i * 7 % 200 * 60, "pb.gz");
		put_window(store, "a", T0 + i * 7 % 200 * 60, "x-1.prof");
	}
	store_free(store);
	store = open_store(f);
	assert_int_equal(index_shelf(&store->index, "services/a", &shelf), 0);
	assert_int_equal(index_queue_length(&shelf->queues[CONTENTS_PPROF]), 200);
	assert_int_equal(index_queue_length(&shelf->queues[CONTENTS_LEGACY]), 200);
	for (size_t i = 0; i < 200; i++) {
		assert_int_equal(shelf->queues[CONTENTS_PPROF].files[i].start_s, T0 + i * 60);
		assert_int_equal(shelf->queues[CONTENTS_LEGACY].files[i].start_s, T0 + i * 60);
	}
	store_free(store);
}

/* A window in a directory of another day is none that profd has written. */
static void test_wrong_day(void **state)
{
	struct fixture *f = *state;
	struct store *store = open_store(f);
	uint64_t n;

	put_file(store, "services/a/20261122", T0, "pb.gz", 4);
	put_window(store, "a", T0 + DAY, "pb.gz");
	store_free(store);
	store = open_store(f);
	assert_int_equal(store->index.n_files, 1);
	assert_int_equal(retention_run(store, &(struct retention_limits){.max_size = 1},
				       T0 + 2 * DAY, 0, &n),
			 0);
	assert_int_equal(n, 1);
	assert_true(exists(f, "services/a/20261122/20261121T090000Z-60s.pb.gz"));
	store_free(store);
}

/* A file that somebody else removed is no error; one that cannot be removed is, once. */
static void test_removed_by_others(void **state)
{
	struct fixture *f = *state;
	cleanup(store_freep) struct store *store = open_store(f);

	for (unsigned i = 0; i < 3; i++)
		put_window(store, "a", T0 + i * 60, "pb.gz");
	assert_int_equal(unlinkat(f->store_fd, "services/a/20261121/20261121T090000Z-60s.pb.gz", 0),
			 0);
	assert_int_equal(run(store, (struct retention_limits){.max_age_s = 1}, T0 + DAY), 3);
	assert_int_equal(store->index.n_files, 0);
	assert_int_equal(store->index.blocks, 0);
	assert_false(exists(f, "services/a"));
}

/* A directory that became a link is not entered: what it leads to stays. */
static void test_link_on_the_way(void **state)
{
	struct fixture *f = *state;
	struct store *store = NULL;

	assert_int_equal(store_new(&store, f->store_fd, f->store_path, &file_ops_system), 0);
	write_text(f->dir.fd, "elsewhere/20261121/file", "x");
	assert_int_equal(symlinkat("../../elsewhere", f->store_fd, "services/a"), 0);
	assert_int_equal(store_unlink(store, "services/a/20261121/file", 0), -1);
	assert_int_equal(errno, ELOOP);
	store_prune(store, "services/a/20261121");
	assert_int_equal(store_unlink(store, "../elsewhere/20261121/file", 0), -1);
	assert_int_equal(faccessat(f->dir.fd, "elsewhere/20261121/file", F_OK, 0), 0);
	assert_int_equal(store_unlink(store, "services/a", 0), 0);
	assert_int_equal(faccessat(f->dir.fd, "elsewhere/20261121/file", F_OK, 0), 0);
	store_free(store);
}

/* As if "a" and what is called "stuck" were immutable (chattr(1)). */
static int refusing_unlink(int dir, const char *name, int flags)
{
	char path[256] = "", self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", dir);
	assert_true(readlink(self, path, sizeof(path) - 1) > 0);
	if (flags || (!strstr(path, "/services/a/") && strcmp(name, "stuck") != 0))
		return unlinkat(dir, name, flags);
	errno = EPERM;
	return -1;
}

/* What cannot be deleted keeps nothing else from being deleted, and is tried again. */
static void test_immutable(void **state)
{
	struct fixture *f = *state;
	struct file_ops ops = file_ops_system;
	struct retention_limits limits = {.max_age_s = 7 * DAY};
	struct store *store = NULL;
	uint64_t n;

	ops.unlink = refusing_unlink;
	assert_int_equal(store_new(&store, f->store_fd, f->store_path, &ops), 0);
	assert_int_equal(store_rescan(store), 0);
	for (unsigned i = 0; i < 3; i++) {
		put_window(store, "a", T0 + i * 60, "pb.gz");
		put_window(store, "a", T0 + i * 60, "x-1.prof");
		put_window(store, "b", T0 + i * 60, "pb.gz");
		put_window(store, "c", T0 + 8 * DAY + i * 60, "pb.gz");
	}
	put_file(store, "images/2611210900/h", 0, NULL, 4);
	assert_int_equal(renameat(f->store_fd, "images/2611210900/h/image", f->store_fd,
				  "images/2611210900/h/stuck"),
			 0);
	for (unsigned i = 0; i < 6; i++) {
		char dir[64];

		snprintf(dir, sizeof(dir), "images/26112%u0900/h", i + 2);
		put_file(store, dir, 0, NULL, 4);
	}
	assert_int_equal(retention_run(store, &limits, T0 + 8 * DAY, 0, &n), -EPERM);
	assert_int_equal(n, 3); /* those of b */
	assert_false(exists(f, "services/b"));
	assert_true(has(f, "a", T0, "pb.gz"));
	assert_int_equal(retention_run(store, &limits, T0 + 9 * DAY, 0, &n), -EPERM);
	assert_int_equal(n, 1);
	assert_true(exists(f, "images/2611210900/h/stuck"));
	assert_false(exists(f, "images/2611220900"));

	limits = (struct retention_limits){.max_size = 1};
	assert_int_equal(retention_run(store, &limits, T0 + 9 * DAY, 0, &n), -EPERM);
	assert_int_equal(n, 3 + 2);
	assert_false(exists(f, "services/c"));
	assert_int_equal(store->index.n_files, 6 + 1 + 3);

	ops.unlink = unlinkat;
	assert_int_equal(retention_run(store, &limits, T0 + 9 * DAY, 0, &n), 0);
	assert_int_equal(store->index.n_files, 3); /* of the epochs that stay always */
	store_free(store);
}

/* A day of 200 services by the minute: no tree walk, so it must be quick. */
static void test_many(void **state)
{
	struct fixture *f = *state;
	cleanup(store_freep) struct store *store = open_store(f);
	struct index_shelf *shelf;
	char dir[64], path[128], name[64];

	for (unsigned i = 0; i < 200; i++) {
		snprintf(dir, sizeof(dir), "services/s%u", i);
		assert_int_equal(index_shelf(&store->index, dir, &shelf), 0);
		for (unsigned j = 0; j < 1440; j++) {
			const struct names_window window = {.start_s = T0 + j * 60,
							    .seconds = 60,
							    .tail = "pb.gz"};

			assert_true(index_dir_path(shelf, window.start_s, path, sizeof(path)));
			assert_true(names_window(&window, name, sizeof(name)));
			assert_int_equal(index_add(&store->index, path, name, 8,
						   (struct index_counts){.samples = 1}),
					 0);
		}
	}
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(run(store,
				     (struct retention_limits){.max_age_s = 7 * DAY,
							       .legacy_keep_s = 3600,
							       .max_size = UINT64_C(8) << 30,
							       .min_free = 1,
							       .keep_windows = 3},
				     T0 + DAY),
				 0);
}

/* Nobody waits for all that is to be deleted: so much by one call, and in the end all of it. */
static void test_by_parts(void **state)
{
	struct fixture *f = *state;
	cleanup(store_freep) struct store *store = open_store(f);
	struct retention_limits limits = {
		.max_age_s = DAY, .legacy_keep_s = 3600, .keep_windows = 3, .max_deleted = 4};

	for (unsigned i = 0; i < 10; i++) {
		put_window(store, "a", T0 + i * 60, "pb.gz");
		put_window(store, "a", T0 + i * 60, "x-1.prof");
	}
	for (unsigned n = 20; n; n -= 4) {
		assert_int_equal(store->index.n_files, n);
		assert_int_equal(run(store, limits, T0 + 2 * DAY), 4);
	}
	assert_int_equal(run(store, limits, T0 + 2 * DAY), 0);
	for (unsigned i = 0; i < 10; i++)
		put_window(store, "a", T0 + i * 60, i < 7 ? "x-1.prof" : "pb.gz");
	/* Newer windows are not taken for want of older ones. */
	limits = (struct retention_limits){.max_size = 4096, .keep_windows = 1, .max_deleted = 4};
	assert_int_equal(run(store, limits, T0), 4);
	assert_int_equal(run(store, limits, T0), 4);
	assert_int_equal(run(store, limits, T0), 1);
	assert_int_equal(run(store, limits, T0), 0);
	assert_true(has(f, "a", T0 + 9 * 60, "pb.gz"));
}

/* A clock set forward by a year makes nothing old, until it has gone on like that for a day. */
static void test_doubtful_clock(void **state)
{
	struct fixture *f = *state;
	cleanup(store_freep) struct store *store = open_store(f);
	struct retention_limits limits = {.max_age_s = 7 * DAY,
					  .legacy_keep_s = 3600,
					  .keep_windows = 3,
					  .clock_is_doubtful = true};

	for (unsigned i = 0; i < 10; i++) {
		put_window(store, "a", T0 + i * 60, "pb.gz");
		put_window(store, "a", T0 + i * 60, "x-1.prof");
		put_file(store, i % 2 ? "images/2611210900/h" : "images/2611220000/h", 0, NULL, 4);
	}
	put_file(store, "images/2611230000/h", 0, NULL, 4);
	put_file(store, "images/2711210000/h", 0, NULL, 4);
	put_window(store, "a", T0 + 365 * DAY, "pb.gz");
	/* Legacy profiles are in the .pb.gz, too. */
	assert_int_equal(run(store, limits, T0 + 365 * DAY), 10);
	assert_true(has(f, "a", T0, "pb.gz"));
	assert_true(exists(f, "images/2611210900"));
	limits.clock_is_doubtful = false;
	assert_int_equal(run(store, limits, T0 + 365 * DAY), 10 + 1);
	assert_false(has(f, "a", T0, "pb.gz"));
	assert_false(exists(f, "images/2611210900"));
}

/* Set back again: what was written meanwhile is as old as that is long ago, at least. */
static void test_files_from_the_future(void **state)
{
	struct fixture *f = *state;
	cleanup(store_freep) struct store *store = open_store(f);
	struct retention_limits limits = {.max_age_s = 7 * DAY, .keep_windows = 3};

	for (unsigned i = 0; i < 4; i++) {
		put_window(store, "a", T0 + i * 60, "pb.gz");
		put_window(store, "a", T0 + 400 * DAY + i * 60, "pb.gz");
	}
	put_window(store, "only", T0 + 400 * DAY, "pb.gz");
	put_window(store, "a", 60, "pb.gz"); /* and one of a clock that had stopped */
	put_file(store, "images/2711260000/h", 0, NULL, 4);
	put_file(store, "images/2711270000/h", 0, NULL, 4);
	put_file(store, "images/2711280000/h", 0, NULL, 4);
	put_file(store, "images/2611210900/h", 0, NULL, 4);
	limits.steady_s = 7 * DAY;
	assert_int_equal(run(store, limits, T0 + 300), 1); /* that of 1970 */
	assert_true(has(f, "a", T0 + 400 * DAY, "pb.gz"));
	/* The epoch in use is not the oldest, even when room is needed. */
	limits.min_free = UINT64_MAX / 2;
	limits.keep_windows = 100;
	run(store, limits, T0 + 300);
	assert_true(exists(f, "images/2611210900"));
	limits.min_free = 0;
	limits.keep_windows = 3;
	limits.steady_s = 7 * DAY + 1;
	assert_int_equal(run(store, limits, T0 + 300), 5 + 3);
	for (unsigned i = 0; i < 4; i++) {
		assert_true(has(f, "a", T0 + i * 60, "pb.gz"));
		assert_false(has(f, "a", T0 + 400 * DAY + i * 60, "pb.gz"));
	}
	assert_false(exists(f, "services/only"));
	assert_false(exists(f, "images/2711260000"));
	assert_true(exists(f, "images/2611210900"));
}

#define T(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_age),
		T(test_legacy),
		T(test_doubtful_clock),
		T(test_files_from_the_future),
		T(test_shares),
		T(test_own_services_make_room_first),
		T(test_shares_shown),
		T(test_size),
		T(test_services_that_ended),
		T(test_free_space),
		T(test_dry_run),
		T(test_epochs),
		T(test_order),
		T(test_order_after_a_start),
		T(test_wrong_day),
		T(test_removed_by_others),
		T(test_immutable),
		T(test_link_on_the_way),
		T(test_many),
		T(test_by_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

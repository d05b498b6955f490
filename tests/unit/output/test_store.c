/* SPDX-License-Identifier: MIT */
/*
 * Batches: all or nothing, whatever fails and wherever profd dies. Every system call of a flush
 * fails once, and is once the last thing that the process does.
 */
#include "tests/unit/output/fixture.h"

#include <acl/libacl.h>
#include <sched.h>
#include <sys/acl.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "daemon/output/batch.h"

#define DAY_A "services/a.service/20261121/"

/* The n-th call fails with this errno, or ends the process (ERRNO_DIE). */
#define ERRNO_DIE (-1)

static struct {
	unsigned countdown; /* 0: none fails */
	int error;
	unsigned n_calls, n_syncs;
	bool keep_failing; /* that call's kind, from then on */
} fault;

static bool fails(void)
{
	fault.n_calls++;
	if (!fault.countdown || --fault.countdown)
		return false;
	if (fault.error == ERRNO_DIE)
		_exit(0);
	if (fault.keep_failing)
		fault.countdown = 1;
	errno = fault.error;
	return true;
}

static int fault_make_dir(int dir, const char *name, mode_t mode)
{
	return fails() ? -1 : file_ops_system.make_dir(dir, name, mode);
}

static int fault_open(int dir, const char *name, int flags, mode_t mode)
{
	return fails() ? -1 : file_ops_system.open(dir, name, flags, mode);
}

/* Writes half and then fails: what a full disk does. */
static ssize_t fault_write(int fd, const void *data, size_t length)
{
	size_t half = length > 1 ? length / 2 : length;

	return fails() ? -1 : file_ops_system.write(fd, data, half);
}

static int fault_sync(int fd)
{
	fault.n_syncs++;
	return fails() ? -1 : file_ops_system.sync(fd);
}

static int fault_sync_file(int fd)
{
	return fails() ? -1 : file_ops_system.sync_file(fd);
}

static int fault_rename(int dir, const char *from, const char *to, unsigned flags)
{
	return fails() ? -1 : file_ops_system.rename(dir, from, to, flags);
}

static int fault_sync_dir(int fd)
{
	return fails() ? -1 : file_ops_system.sync_dir(fd);
}

static const struct file_ops faulty = {
	.make_dir = fault_make_dir,
	.open = fault_open,
	.write = fault_write,
	.sync = fault_sync,
	.sync_file = fault_sync_file,
	.rename = fault_rename,
	.sync_dir = fault_sync_dir,
	.unlink = unlinkat,
};

static void set_fault(unsigned countdown, int error)
{
	memset(&fault, 0, sizeof(fault));
	fault.countdown = countdown;
	fault.error = error;
}

/* How many calls one flush makes, beginning with an existing store. */
static unsigned calls_of_a_flush(struct fixture *f)
{
	struct writer *w = open_writer(f, NULL, &faulty, T0);

	write_quietly(w, everything_at(f, T0), T0 + 60);
	set_fault(0, 0);
	write_quietly(w, everything_at(f, T0 + 60), T0 + 120);
	writer_free(w);
	assert_true(fault.n_calls > 30);
	assert_int_equal(fault.n_syncs, 1); /* one sync per flush, not per file */
	return fault.n_calls;
}

/* Any one call fails: either nothing has happened, or all of the new files are there. */
static void test_every_fault(void **state)
{
	struct fixture *f = *state;
	unsigned n = calls_of_a_flush(f);
	int64_t written = 2 * EVERYTHING;
	uint64_t start_s = T0 + 120;

	for (unsigned i = 1; i <= n + 5; i++, start_s += 60) {
		struct writer *w = open_writer(f, NULL, &faulty, start_s);
		struct output_result *r = calloc(1, sizeof(*r));
		struct census before = take_census(f), after;
		struct output_store_status status;

		set_fault(i, EIO);
		writer_write(w, everything_at(f, start_s), (start_s + 60) * NS, r);
		after = take_census(f);
		assert_int_equal(after.n_temporary + after.n_other, 0);
		status = store_status(w);
		assert_int_equal(status.bytes, after.blocks * 512);
		assert_int_equal(status.n_files, after.n_pprof + after.n_legacy + after.n_images);
		if (r->unwritten) {
			assert_int_equal(r->error, EIO);
			assert_int_equal(after.pprof, before.pprof);
			assert_int_equal(after.legacy, before.legacy);
			assert_int_equal(after.images, before.images);
			assert_true(writer_conditions(w) & WRITER_FAILED);
		} else {
			written += EVERYTHING;
			if (r->error)
				assert_true(writer_conditions(w) & WRITER_INCOMPLETE);
			else
				assert_int_equal(after.images - before.images, EVERYTHING);
		}
		assert_int_equal(take_census(f).pprof, written);
		output_result_free(r);
		writer_free(w);
		set_fault(0, 0);
	}
	assert_true(written >= 7 * EVERYTHING); /* the last five had no fault */
}

/* Killed at any call: no partial file, and the next start finds nothing half-done. */
static void test_every_death(void **state)
{
	struct fixture *f = *state;
	unsigned n = calls_of_a_flush(f), n_cleaned = 0;
	uint64_t start_s = T0 + 120;

	for (unsigned i = 1; i <= n; i++, start_s += 60) {
		struct census c;
		struct writer *w;
		int status;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			set_fault(i, ERRNO_DIE);
			w = open_writer(f, NULL, &faulty, start_s);
			write_quietly(w, everything_at(f, start_s), start_s + 60);
			_exit(1);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		n_cleaned += take_census(f).n_temporary;
		w = open_writer(f, NULL, NULL, start_s + 60);
		c = take_census(f); /* reads every file */
		assert_int_equal(c.n_temporary + c.n_other, 0);
		assert_true(c.images <= c.pprof);
		writer_free(w);
	}
	assert_true(n_cleaned > 0); /* the test has met half-done flushes */
}

/* No room: old windows go, the write is tried once more, and works. */
static void test_full_then_collected(void **state)
{
	struct fixture *f = *state;
	struct writer *w = open_writer(f, NULL, &faulty, T0);
	struct output_store_status status;

	for (unsigned i = 0; i < 8; i++)
		write_quietly(w, everything_at(f, T0 + 60 * i), T0 + 60 * i + 60);
	set_fault(6, ENOSPC);
	write_quietly(w, everything_at(f, T0 + 600), T0 + 660);
	assert_false(writer_conditions(w) & WRITER_FULL);
	assert_false(exists(f, DAY_A "20261121T090000Z-60s.pb.gz"));
	assert_true(exists(f, DAY_A "20261121T091000Z-60s.pb.gz"));
	status = store_status(w);
	assert_false(status.full);
	writer_free(w);
}

/* No room even so: the snapshot comes back, and can be written later. */
static void test_full_gives_back(void **state)
{
	struct fixture *f = *state;
	struct writer *w = open_writer(f, NULL, &faulty, T0);
	struct output_result *r = calloc(1, sizeof(*r));
	struct output_store_status status;
	struct snapshot *s;

	write_quietly(w, everything_at(f, T0), T0 + 60);
	s = everything_at(f, T0 + 60);
	set_fault(6, EDQUOT);
	fault.keep_failing = true;
	writer_write(w, s, (T0 + 120) * NS, r);
	assert_int_equal(r->error, EDQUOT);
	assert_ptr_equal(r->unwritten, s);
	assert_null(r->paths.all);
	assert_true(writer_conditions(w) & WRITER_FULL);
	status = store_status(w);
	assert_true(status.full);
	assert_int_equal(take_census(f).pprof, EVERYTHING); /* the newest three are kept */
	assert_int_equal(take_census(f).n_temporary, 0);

	set_fault(0, 0);
	r->unwritten = NULL;
	output_result_free(r);
	write_quietly(w, s, T0 + 180);
	assert_false(writer_conditions(w) & WRITER_FULL);
	assert_int_equal(take_census(f).pprof, 2 * EVERYTHING);
	assert_int_equal(take_census(f).images, 2 * EVERYTHING);
	writer_free(w);
}

/* "0 ID 1": root there is who we are here. */
static bool map_root(const char *name, unsigned id)
{
	cleanup(closep) int fd = open(name, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && dprintf(fd, "0 %u 1", id) > 0;
}

/* user_namespaces(7): without this an ordinary user may not map a group. */
static bool give_up_groups(void)
{
	cleanup(closep) int fd = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, "deny", 4) == 4;
}

/* In a user namespace of its own everyone is root, hence may mount a tmpfs. */
static bool mount_in_namespace(const char *path, const char *options)
{
	unsigned uid = geteuid(), gid = getegid();

	return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && give_up_groups() &&
	       map_root("/proc/self/uid_map", uid) && map_root("/proc/self/gid_map", gid) &&
	       mount("none", path, "tmpfs", 0, options) == 0;
}

/*
 * A file system of the fixture's store that only a child sees, and we through the child's root: so
 * we stay who we are, and it goes with the child. Until *ret_hold is closed, by us or our death.
 */
static pid_t mount_store(struct fixture *f, const char *options, int *ret_hold)
{
	char path[PATH_MAX], done = 0;
	int ready[2], hold[2];
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC) | pipe2(hold, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(hold[1]);
		done = mount_in_namespace(f->store_path, options);
		_exit(write(ready[1], &done, 1) != 1 || read(hold[0], &done, 1) != 0);
	}
	close(hold[0]);
	close(ready[1]);
	*ret_hold = hold[1];
	assert_int_equal(read(ready[0], &done, 1), 1);
	close(ready[0]);
	assert_true(done);
	snprintf(path, sizeof(path), "/proc/%d/root%s/store", pid, f->path);
	strcpy(f->store_path, path);
	close(f->store_fd);
	f->store_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->store_fd >= 0);
	return pid;
}

/* A real full disk: a tiny one. */
static void test_tiny_disk(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = NULL;
	cleanup(closep) int hold = -1;
	pid_t pid = mount_store(f, "size=400k", &hold);
	unsigned n_full = 0;

	w = open_writer(f, NULL, NULL, T0);
	for (unsigned i = 0; i < 40; i++) {
		struct output_result *r = calloc(1, sizeof(*r));
		uint64_t start_s = T0 + 60 * i;

		writer_write(w, everything_at(f, start_s), (start_s + 60) * NS, r);
		n_full += r->error != 0;
		assert_int_equal(take_census(f).n_temporary, 0);
		output_result_free(r);
	}
	assert_int_equal(n_full, 0); /* old windows made room for each */
	assert_true(exists(f, DAY_A "20261121T093900Z-60s.pb.gz"));
	assert_false(exists(f, DAY_A "20261121T090000Z-60s.pb.gz"));
	closep(&hold);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* A signal between open and rename leaves a temporary file; foreign things are left alone. */
static void test_startup_cleaning(void **state)
{
	struct fixture *f = *state;
	struct store *store = NULL;

	writer_free(open_writer(f, NULL, NULL, T0));
	assert_int_equal(mkdirat(f->store_fd, "services/a.service", 0750), 0);
	assert_int_equal(mkdirat(f->store_fd, "services/a.service/20261121", 0750), 0);
	assert_int_equal(mkdirat(f->store_fd, "services/empty", 0750), 0);
	assert_int_equal(mkdirat(f->store_fd, "services/empty/20261121", 0750), 0);
	assert_int_equal(mkdirat(f->store_fd, "sessions/s1-x", 0700), 0);
	assert_int_equal(mkdirat(f->store_fd, "images/2611210900", 0750), 0);
	assert_int_equal(mkdirat(f->store_fd, "images/2611210900/h", 0750), 0);
	write_text(f->store_fd, DAY_A ".tmp-0", "half");
	write_text(f->store_fd, "sessions/s1-x/.tmp-1", "half");
	write_text(f->store_fd, "images/2611210900/h/.tmp-2", "half");
	write_text(f->store_fd, DAY_A "notes.txt", "mine");
	write_text(f->store_fd, "services/readme", "mine");
	assert_int_equal(symlinkat("/etc", f->store_fd, "services/link"), 0);

	assert_int_equal(store_new(&store, f->store_fd, f->store_path, &file_ops_system), 0);
	assert_int_equal(store_rescan(store), 0);
	assert_int_equal(store->n_cleaned, 3);
	assert_int_equal(store->index.n_files, 0);
	assert_false(exists(f, DAY_A ".tmp-0"));
	assert_true(exists(f, DAY_A "notes.txt"));
	assert_true(exists(f, "services/readme"));
	assert_true(exists(f, "services/link"));
	assert_false(exists(f, "services/empty"));
	assert_false(exists(f, "sessions/s1-x"));
	assert_false(exists(f, "images/2611210900"));
	store_free(store);
}

/* What the index says after a restart is what it said before. */
static void test_reopen(void **state)
{
	struct fixture *f = *state;
	struct output_store_status before, after;
	struct writer *w = open_writer(f, NULL, NULL, T0);
	struct snapshot *s;

	for (unsigned i = 0; i < 5; i++)
		write_quietly(w, everything_at(f, T0 + 60 * i), T0 + 60 * i + 60);
	s = everything_at(f, T0);
	s->session = 1;
	s->owner = geteuid();
	s->session_name = strdup("s1-x y");
	write_quietly(w, s, T0 + 400);
	assert_true(exists(f, "sessions/s1-x%20y/20261121T090000Z-60s.pb.gz"));
	before = store_status(w);
	writer_free(w);
	w = open_writer(f, NULL, NULL, T0 + 400);
	after = store_status(w);
	writer_free(w);
	assert_int_equal(before.bytes, after.bytes);
	assert_int_equal(before.n_files, after.n_files);
	assert_int_equal(before.oldest_ns, after.oldest_ns);
	assert_string_equal(before.epoch, after.epoch);
	assert_int_equal(after.bytes, take_census(f).blocks * 512);
}

static acl_perm_t permissions_of(acl_entry_t entry)
{
	acl_permset_t set;
	acl_perm_t out = 0;

	assert_int_equal(acl_get_permset(entry, &set), 0);
	for (acl_perm_t p = ACL_EXECUTE; p <= ACL_READ; p <<= 1)
		out |= acl_get_perm(set, p) == 1 ? p : 0;
	return out;
}

/*
 * What the file's ACL allows @uid, who neither owns it nor is in its group: an entry of one's own
 * counts, within the mask, before that for all others (acl(5)). To be them would take root: who is
 * let in is seen by the live tests.
 */
static acl_perm_t allowed(const char *path, uid_t uid)
{
	acl_t acl = acl_get_file(path, ACL_TYPE_ACCESS);
	acl_perm_t own = 0, others = 0, mask = ACL_READ | ACL_WRITE | ACL_EXECUTE;
	bool is_named = false;
	acl_entry_t entry;

	assert_non_null(acl);
	for (int more = acl_get_entry(acl, ACL_FIRST_ENTRY, &entry); more == 1;
	     more = acl_get_entry(acl, ACL_NEXT_ENTRY, &entry)) {
		acl_tag_t tag;

		assert_int_equal(acl_get_tag_type(entry, &tag), 0);
		if (tag == ACL_MASK)
			mask = permissions_of(entry);
		if (tag == ACL_OTHER)
			others = permissions_of(entry);
		if (tag == ACL_USER) {
			uid_t *named = acl_get_qualifier(entry);

			assert_non_null(named);
			if (*named == uid) {
				is_named = true;
				own = permissions_of(entry);
			}
			acl_free(named);
		}
	}
	acl_free(acl);
	return is_named ? own & mask : others;
}

/* The owner of a session reads its files, other users do not. */
static void test_session_acl(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = NULL;
	struct output_result *r;
	struct snapshot *s;

	assert_int_equal(fchmod(f->store_fd, 0751), 0);
	w = open_writer(f, NULL, NULL, T0);
	s = everything_at(f, T0);
	s->session = 3;
	s->owner = 12345;
	s->session_name = strdup("s3-mine");
	r = write_ok(w, s, T0 + 60);
	assert_true(r->paths.n > 1);
	for (uint32_t i = 0; i < r->paths.n; i++) {
		assert_int_equal(allowed(r->paths.all[i], 12345), ACL_READ);
		assert_int_equal(allowed(r->paths.all[i], 12346), 0);
	}
	assert_int_equal(allowed(path_of(f, "sessions/s3-mine"), 12345), ACL_READ | ACL_EXECUTE);
	assert_int_equal(allowed(path_of(f, "sessions/s3-mine"), 12346), 0);
	assert_int_equal(allowed(path_of(f, "sessions"), 12345), ACL_EXECUTE);
	assert_int_equal(allowed(f->store_path, 12345) & ACL_EXECUTE, ACL_EXECUTE);
	assert_int_equal(mode_of(f, "sessions/s3-mine") & 0707, 0700);
	assert_false(writer_conditions(w) & WRITER_NO_ACL);
	output_result_free(r);
}

static void test_setgid_stays(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = NULL;

	assert_int_equal(fchmod(f->store_fd, 02751), 0);
	w = open_writer(f, NULL, NULL, T0);
	write_quietly(w, everything_at(f, T0), T0 + 60);
	assert_int_equal(mode_of(f, "services"), 02750);
	assert_int_equal(mode_of(f, "services/a.service/20261121"), 02750);
	assert_int_equal(mode_of(f, "sessions"), 02711);
}

#define T(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_every_fault),     T(test_every_death), T(test_full_then_collected),
		T(test_full_gives_back), T(test_tiny_disk),   T(test_startup_cleaning),
		T(test_reopen),          T(test_session_acl), T(test_setgid_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Which files that lie there to be found are believed to name a process's generated code. */
#include <sys/inotify.h>
#include <time.h>

#include "tests/unit/resolve/jit_files_fixture.h"

static void test_the_pid_inside_counts(void **state)
{
	struct fixture *f = *state;

	write_text(f->world.proc.fd, "7/root/tmp/perf-7.map", "of somebody else");
	assert_null(look(f));
	write_text(f->world.proc.fd, MAP, "own");
	says(look(f), "own");
	assert_false(f->p.jit->perf_map->is_jitdump);
	assert_string_equal(f->p.jit->perf_map->path, "/tmp/perf-3.map");
}

static void test_others_are_not_believed(void **state)
{
	struct fixture *f = *state;

	write_text(f->world.proc.fd, MAP, "a lie");
	if (getuid() == 0)
		assert_int_equal(fchownat(f->world.proc.fd, MAP, OTHER, OTHER, 0), 0);
	write_status(f, PID, ANOTHER);
	assert_null(look(f));
	write_status(f, PID, getuid() ? getuid() : OTHER);
	says(look(f), "a lie");
}

static void test_root_is_believed(void **state)
{
	struct fixture *f = *state;

	write_text(f->world.proc.fd, MAP, "own");
	write_status(f, PID, ANOTHER);
	/* Root's files can be made by root alone: to others, this one is a stranger's. */
	assert_int_equal(look(f) != NULL, getuid() == 0);
}

static void test_nobody_else_may_write(void **state)
{
	struct fixture *f = *state;

	write_text(f->world.proc.fd, MAP, "own");
	assert_int_equal(fchmodat(f->world.proc.fd, MAP, 0664, 0), 0);
	assert_null(look(f));
	assert_int_equal(fchmodat(f->world.proc.fd, MAP, 0646, 0), 0);
	assert_null(look(f));
	assert_int_equal(fchmodat(f->world.proc.fd, MAP, 0600, 0), 0);
	says(look(f), "own");
}

/* It may be a file that its other name's owner does not want to be read. */
static void test_one_name_only(void **state)
{
	struct fixture *f = *state;

	write_text(f->world.proc.fd, "7/root/secret", "secret");
	assert_int_equal(linkat(f->world.proc.fd, "7/root/secret", f->world.proc.fd, MAP, 0), 0);
	assert_null(look(f));
	assert_int_equal(unlinkat(f->world.proc.fd, "7/root/secret", 0), 0);
	says(look(f), "secret");
}

/* Opening what is no file can do things by itself: it is not even tried. */
static void test_regular_files_only(void **state)
{
	struct fixture *f = *state;
	int proc = f->world.proc.fd, watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	struct inotify_event event;
	char path[256];

	assert_int_equal(mkfifoat(proc, MAP, 0600), 0);
	snprintf(path, sizeof(path), "%s/" MAP, f->world.proc.path);
	assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
	assert_null(look(f));
	assert_int_equal(read(watch, &event, sizeof(event)), -1);
	assert_int_equal(errno, EAGAIN);
	close(watch);
	assert_int_equal(unlinkat(proc, MAP, 0), 0);
	assert_int_equal(mkdirat(proc, MAP, 0700), 0);
	assert_null(look(f));
	assert_int_equal(unlinkat(proc, MAP, AT_REMOVEDIR), 0);
	write_text(proc, "7/root/tmp/there", "linked");
	assert_int_equal(symlinkat("there", proc, MAP), 0);
	assert_null(look(f));
}

/* An absolute link below /proc/PID/root would lead to ours. */
static void test_tmp_is_the_process_s(void **state)
{
	struct fixture *f = *state;
	int proc = f->world.proc.fd;
	char outside[256], inside[512];

	snprintf(outside, sizeof(outside), "%s/outside", f->world.proc.path);
	snprintf(inside, sizeof(inside), "7/root%s/perf-3.map", outside);
	write_text(proc, "outside/perf-3.map", "the host's");
	assert_int_equal(unlinkat(proc, "7/root/tmp", AT_REMOVEDIR), 0);
	assert_int_equal(symlinkat(outside, proc, "7/root/tmp"), 0);
	assert_null(look(f));
	assert_int_equal(unlinkat(proc, "7/root/tmp", 0), 0);
	assert_int_equal(symlinkat("../../../elsewhere", proc, "7/root/tmp"), 0);
	write_text(proc, "7/root/elsewhere/perf-3.map", "own");
	says(look(f), "own");
}

static void test_fuse_is_left_alone(void **state)
{
	struct fixture *f = *state;

	write_text(f->world.proc.fd, MAP, "own");
	write_mounts(&f->world, PID, "fuse.evil", MINOR);
	assert_null(look(f));
	assert_int_equal(f->p.jit->root->tmp_fd, -1);
	/* A mount that is in no table may be anything. */
	f->world.mount++;
	write_mounts(&f->world, PID, "ext4", MINOR);
	assert_null(look(f));
	f->world.mount--;
	write_mounts(&f->world, PID, "ext4", MINOR);
	says(look(f), "own");
}

/* What is found and not taken counts, once a process. */
static void test_refused_files_count(void **state)
{
	struct fixture *f = *state;
	int proc = f->world.proc.fd;

	assert_null(look(f)); /* there is none */
	assert_int_equal(jit_files_refused(f->files), 0);
	assert_int_equal(symlinkat("next", proc, MAP), 0);
	assert_null(look(f));
	assert_int_equal(jit_files_refused(f->files), 1);
	assert_int_equal(unlinkat(proc, MAP, 0), 0);
	write_text(proc, MAP, "own");
	assert_int_equal(fchmodat(proc, MAP, 0666, 0), 0);
	assert_null(look(f));
	assert_int_equal(jit_files_refused(f->files), 1);
	assert_int_equal(fchmodat(proc, MAP, 0600, 0), 0);
	says(look(f), "own");
	assert_int_equal(jit_files_refused(f->files), 1);
	/* Another program. */
	jit_process_free(steal_ptr(&f->p.jit));
	assert_int_equal(unlinkat(proc, MAP, 0), 0);
	assert_int_equal(mkdirat(proc, MAP, 0700), 0);
	assert_null(look(f));
	assert_int_equal(jit_files_refused(f->files), 2);
}

/* Nobody knows what is in a directory that is not entered: it counts in the place of its files. */
static void test_refused_dirs_count(void **state)
{
	struct fixture *f = *state;
	int proc = f->world.proc.fd;

	/* Having none is no reason. */
	assert_int_equal(renameat(proc, "7/root/tmp", proc, "7/root/elsewhere"), 0);
	assert_null(look(f));
	assert_int_equal(jit_files_refused(f->files), 0);
	assert_int_equal(renameat(proc, "7/root/elsewhere", proc, "7/root/tmp"), 0);
	write_text(proc, MAP, "own");
	write_mounts(&f->world, PID, "fuse.evil", MINOR);
	assert_null(look(f));
	assert_null(look(f));
	assert_int_equal(jit_files_refused(f->files), 1);
	write_mounts(&f->world, PID, "ext4", MINOR);
	says(look(f), "own");
	assert_int_equal(jit_files_refused(f->files), 1);
}

static uint64_t clock_now(clockid_t clock)
{
	struct timespec ts;

	assert_int_equal(clock_gettime(clock, &ts), 0);
	return (uint64_t)ts.tv_sec * NS + (uint64_t)ts.tv_nsec;
}

/* Seconds from now. */
static void set_written(struct fixture *f, int seconds)
{
	struct timespec times[2];

	assert_int_equal(clock_gettime(CLOCK_REALTIME, &times[1]), 0);
	times[1].tv_sec += seconds;
	times[0] = times[1];
	assert_int_equal(utimensat(f->world.proc.fd, MAP, times, 0), 0);
}

/* Pids are used again, and maps stay. */
static int slept_s(void)
{
	int64_t slept_ns = (int64_t)(clock_now(CLOCK_BOOTTIME) - clock_now(CLOCK_MONOTONIC));

	return slept_ns > 0 ? (int)(slept_ns / NS) : 0;
}

static void test_of_an_earlier_process(void **state)
{
	struct fixture *f = *state;

	write_text(f->world.proc.fd, MAP, "own");
	f->p.born_ns = clock_now(CLOCK_MONOTONIC);
	/* What the machine slept may have been after the birth. */
	set_written(f, -60 - slept_s());
	assert_null(look(f));
	set_written(f, 0);
	says(look(f), "own");
}

static void test_of_a_later_process(void **state)
{
	struct fixture *f = *state;

	assert_null(look(f));
	assert_true(f->p.jit->root->tmp_fd >= 0);
	write_text(f->world.proc.fd, MAP, "own");
	f->p.born_ns = 1;
	f->p.died_ns = clock_now(CLOCK_MONOTONIC);
	/* What the machine slept may have been before the death: it counts as if it was after. */
	set_written(f, 60 + (int)((clock_now(CLOCK_BOOTTIME) - clock_now(CLOCK_MONOTONIC)) / NS));
	assert_null(look(f));
	set_written(f, -1);
	says(look(f), "own");
}

/* The year 2446 is what an ext4 can have; as nanoseconds it would be one long before 1970. */
static void test_of_no_time_at_all(void **state)
{
	const struct timespec late[] = {{.tv_sec = INT64_C(15032385535)},
					{.tv_sec = INT64_C(15032385535)}};
	struct fixture *f = *state;

	assert_null(look(f));
	write_text(f->world.proc.fd, MAP, "own");
	f->p.died_ns = clock_now(CLOCK_MONOTONIC);
	assert_int_equal(utimensat(f->world.proc.fd, MAP, late, 0), 0);
	assert_null(look(f));
	set_written(f, -1);
	says(look(f), "own");
}

static void test_a_process_that_has_ended(void **state)
{
	struct fixture *f = *state;

	assert_null(look(f));
	write_text(f->world.proc.fd, MAP, "own");
	f->p.born_ns = 1;
	f->p.died_ns = clock_now(CLOCK_MONOTONIC);
	assert_int_equal(renameat(f->world.proc.fd, "7", f->world.proc.fd, "gone"), 0);
	says(look(f), "own");
}

/* The pid is another process's by now: nothing of that one is ours. */
static void test_a_pid_that_is_used_again(void **state)
{
	struct fixture *f = *state;

	write_text(f->world.proc.fd, MAP, "not ours");
	f->p.start_ns = 5 * NS; /* and stat says that the process began after 1 s */
	assert_null(look(f));
	assert_int_equal(f->p.jit->inner_pid, 0);
	f->p.start_ns = 1 * NS;
	says(look(f), "not ours");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_pid_inside_counts),
		TEST(test_others_are_not_believed),
		TEST(test_root_is_believed),
		TEST(test_nobody_else_may_write),
		TEST(test_one_name_only),
		TEST(test_regular_files_only),
		TEST(test_tmp_is_the_process_s),
		TEST(test_fuse_is_left_alone),
		TEST(test_refused_files_count),
		TEST(test_refused_dirs_count),
		TEST(test_of_an_earlier_process),
		TEST(test_of_a_later_process),
		TEST(test_of_no_time_at_all),
		TEST(test_a_process_that_has_ended),
		TEST(test_a_pid_that_is_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

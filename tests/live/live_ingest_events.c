/* SPDX-License-Identifier: MIT */
/*
 * Whose ticks the sources let through, and what they tell of processes. Needs root (or the
 * capabilities that profd has) and a kernel with BTF. An argument is a pattern of test names.
 */
#include "tests/live/ingest.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- the filter --------------------------------------------------------------------------------
 */

/*
 * A process that forks a spinner when told, and then spins, too: it is in the filter before. The
 * pipes are numbered, as the child has no argument.
 */
enum { GO_READ = 200, GO_WRITE, ANSWER_READ, ANSWER_WRITE };

static void head_of_family(void)
{
	pid_t child;
	char byte;

	if (read(GO_READ, &byte, 1) != 1)
		_exit(1);
	child = start_child(-1, spin_outer_function);
	if (write(ANSWER_WRITE, &child, sizeof(child)) != sizeof(child))
		_exit(1);
	spin_outer_function();
}

static pid_t start_family(void)
{
	int pipes[4];

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(pipe2(pipes + 2, O_CLOEXEC), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(dup3(pipes[i], GO_READ + i, O_CLOEXEC), GO_READ + i);
		close(pipes[i]);
	}
	return start_child(-1, head_of_family);
}

static void stop_family(pid_t parent, pid_t child)
{
	kill(child, SIGKILL);
	stop_process(parent);
	for (int i = 0; i < 4; i++)
		close(GO_READ + i);
}

struct filter {
	source_maker make;
	bool with_children;
};

static bool measure_filter(const void *argument)
{
	const struct filter *filter = argument;
	bool with_children = filter->with_children, r;
	pid_t other = start_spinner(0), parent = start_family(), child;
	struct source_stats stats;
	struct rig rig;

	rig_open(&rig, filter->make, NULL);
	rig_sample(&rig, 499, false);
	assert_int_equal(source_add_pid(rig.source, rig.sampler, parent, with_children),
			 SOURCE_E_OK);
	assert_int_equal(write(GO_WRITE, "g", 1), 1);
	assert_int_equal(read(ANSWER_READ, &child, sizeof(child)), sizeof(child));
	rig.c.watched = child;
	rig_run_cpu(&rig, child, 300);
	rig_run_cpu(&rig, parent, 100);
	r = MET(with_children ? rig.c.n_watched > 50 : rig.c.n_watched == 0);
	for (unsigned i = 0; i < rig.c.n_pids; i++)
		assert_true(rig.c.pids[i] == parent || (with_children && rig.c.pids[i] == child));
	r &= MET(rig.c.n_pids == (with_children ? 2 : 1));
	/* All: the other one too. */
	rig.c.watched = other;
	assert_int_equal(source_set_all(rig.source, rig.sampler, true), SOURCE_E_OK);
	rig_run_cpu(&rig, other, 200);
	r &= MET(rig.c.n_watched > 20);
	/* And back. */
	assert_int_equal(source_set_all(rig.source, rig.sampler, false), SOURCE_E_OK);
	rig_run(&rig, 100);
	rig.c.n_watched = 0;
	assert_int_equal(source_remove_pid(rig.source, rig.sampler, parent), SOURCE_E_OK);
	rig_run(&rig, 300);
	assert_int_equal(rig.c.n_watched, 0);
	stats = rig_finish(&rig);
	assert_int_equal(stats.unfollowed, 0);
	stop_process(other);
	stop_family(parent, child);
	return r && MET(stats.excluded > 100);
}

static void test_bpf_filter_pid(void **state)
{
	(void)state;
	assert_measured(measure_filter, &(struct filter){source_bpf_new, false});
}

static void test_bpf_filter_children(void **state)
{
	(void)state;
	assert_measured(measure_filter, &(struct filter){source_bpf_new, true});
}

static void test_perf_filter_pid(void **state)
{
	(void)state;
	assert_measured(measure_filter, &(struct filter){source_perf_new, false});
}

static void test_perf_filter_children(void **state)
{
	(void)state;
	assert_measured(measure_filter, &(struct filter){source_perf_new, true});
}

static void check_gone(source_maker make)
{
	pid_t pid = start_spinner(0);
	struct rig rig;

	stop_process(pid);
	rig_open(&rig, make, NULL);
	rig_sample(&rig, 99, false);
	assert_int_equal(source_add_pid(rig.source, rig.sampler, pid, false), SOURCE_E_GONE);
	rig_finish(&rig);
}

static void test_gone(void **state)
{
	(void)state;
	check_gone(source_bpf_new);
	check_gone(source_perf_new);
}

struct self {
	source_maker make;
	bool exclude;
};

static bool measure_self(const void *argument)
{
	const struct self *self = argument;
	const struct source_options options = {.exclude_self = self->exclude, .drain_ms = 100};
	struct source_stats stats;
	struct rig rig;
	uint64_t end;

	rig_open(&rig, self->make, &options);
	rig.c.watched = getpid();
	rig_sample(&rig, 999, true);
	/* From here on: to load the programs takes as long on a slow machine. */
	end = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + 500000000;
	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < end) {
		burn_us(50000);
		rig_run(&rig, 1);
	}
	stats = rig_finish(&rig);
	if (!self->exclude) {
		assert_int_equal(stats.self, 0);
		return MET(rig.c.n_watched > 200);
	}
	assert_int_equal(rig.c.n_watched, 0);
	assert_true(stats.excluded >= stats.self);
	return MET(stats.self > 200);
}

static void test_exclude_self(void **state)
{
	(void)state;
	assert_measured(measure_self, &(struct self){source_bpf_new, true});
	assert_measured(measure_self, &(struct self){source_bpf_new, false});
	assert_measured(measure_self, &(struct self){source_perf_new, true});
	assert_measured(measure_self, &(struct self){source_perf_new, false});
}

/* --- process events ----------------------------------------------------------------------------
 */

static void fork_on_and_on(void)
{
	for (;;)
		run_true();
}

/* The sink dawdles, so that samples keep coming within one drain. */
static bool measure_event_order(const void *argument)
{
	const struct maker *maker = argument;
	pid_t pid = start_child(1, fork_on_and_on);
	struct rig rig;

	rig_open(&rig, maker->make, NULL);
	rig.c.dawdle = true;
	rig_sample(&rig, 1000, true);
	rig_run(&rig, 1000);
	print_message("%" PRIu64 " samples, %" PRIu64 " forks, events too late: %" PRIu64
		      ", unordered: %" PRIu64 "\n",
		      rig.c.n_samples, rig.c.n_events[PROCESS_EVENT_FORK], rig.c.n_event_too_late,
		      rig.c.n_event_unordered);
	rig.c.dawdle = false;
	rig_finish(&rig);
	stop_process(pid);
	return MET(rig.c.n_events[PROCESS_EVENT_FORK] > 20) &&
	       MET(rig.c.n_event_too_late <= LATE_ALLOWED) &&
	       MET(rig.c.n_event_unordered <= LATE_ALLOWED);
}

static bool measure_events(const void *argument)
{
	const struct maker *maker = argument;
	struct rig rig;
	pid_t pid;

	rig_open(&rig, maker->make, NULL);
	rig_sample(&rig, 4000, true);
	for (unsigned i = 0; i < 200; i++) {
		pid = fork();
		if (pid == 0) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		if (i == 100)
			rig.c.watched = pid;
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		if (i % 5 == 0)
			rig_run(&rig, 1);
	}
	rig_run(&rig, 100);
	print_message("story of a process: %s; %" PRIu64 " samples, events too late: %" PRIu64
		      ", unordered: %" PRIu64 "\n",
		      rig.c.story, rig.c.n_samples, rig.c.n_event_too_late,
		      rig.c.n_event_unordered);
	rig_finish(&rig);
	assert_true(rig.c.n_events[PROCESS_EVENT_FORK] >= 200);
	assert_true(rig.c.n_events[PROCESS_EVENT_EXEC] >= 200);
	assert_true(rig.c.n_events[PROCESS_EVENT_EXIT] >= 200);
	/* Born, executes, maps at least itself, its loader, the vdso and libc, and ends. */
	assert_int_equal(strncmp(rig.c.story, "FXMMM", 5), 0);
	assert_int_equal(rig.c.story[strlen(rig.c.story) - 1], 'E');
	return MET(rig.c.n_events[PROCESS_EVENT_LOST] == 0) &&
	       MET(rig.c.n_event_too_late <= LATE_ALLOWED) &&
	       MET(rig.c.n_event_unordered <= LATE_ALLOWED);
}

static void test_events(void **state)
{
	(void)state;
	assert_measured(measure_events, &by_bpf);
	assert_measured(measure_events, &by_perf);
}

static void *outlive(void *first)
{
	pthread_join(*(pthread_t *)first, NULL);
	raise(SIGSTOP);
	_exit(0);
}

static void end_first_thread(void)
{
	static pthread_t first, other;

	first = pthread_self();
	if (pthread_create(&other, NULL, outlive, &first))
		_exit(1);
	pthread_exit(NULL);
}

/* The end of the first thread is none, while another goes on; that of the last one is. */
static void test_bpf_tells_ends_of_processes(void **state)
{
	struct rig rig;
	int status;

	(void)state;
	rig_open(&rig, source_bpf_new, NULL);
	assert_true(source_tells_lives(rig.source));
	rig_sample(&rig, 99, true);
	rig.c.watched = start_child(-1, end_first_thread);
	assert_int_equal(waitpid(rig.c.watched, &status, WUNTRACED), rig.c.watched);
	assert_true(WIFSTOPPED(status));
	rig_run(&rig, 100);
	assert_null(strchr(rig.c.story, 'E'));
	stop_process(rig.c.watched);
	rig_run(&rig, 100);
	assert_int_equal(rig.c.story[strlen(rig.c.story) - 1], 'E');
	rig_finish(&rig);
}

enum { STRANGER = 65534 };

static void run_as_stranger(void)
{
	if (setresuid(STRANGER, STRANGER, STRANGER) == 0)
		execl("/bin/true", "true", NULL);
	_exit(1);
}

static void run_as_two_users(void)
{
	if (setresuid(STRANGER, 0, 0) == 0)
		execl("/bin/true", "true", NULL);
	_exit(1);
}

/* As a service with User= and AmbientCapabilities= does. */
static void run_with_capability(void)
{
	execl("/usr/bin/setpriv", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
	      "--inh-caps=+net_raw", "--ambient-caps=+net_raw", "/bin/true", NULL);
	_exit(1);
}

static struct process_event begun_by(void (*run)(void))
{
	struct rig rig;
	int status;

	rig_open(&rig, source_bpf_new, NULL);
	rig_sample(&rig, 99, true);
	rig.c.watched = start_child(-1, run);
	assert_int_equal(waitpid(rig.c.watched, &status, 0), rig.c.watched);
	assert_int_equal(status, 0);
	rig_run(&rig, 100);
	rig_finish(&rig);
	assert_int_equal(rig.c.begun.kind, PROCESS_EVENT_BEGUN);
	assert_true(rig.c.begun.owner_known);
	return rig.c.begun;
}

/* Of processes that are gone before anybody could ask /proc. */
static void test_bpf_tells_owners_of_programs(void **state)
{
	struct process_event alone = begun_by(run_as_stranger), both = begun_by(run_as_two_users),
			     capable = begun_by(run_with_capability);

	(void)state;
	assert_int_equal(alone.uid, STRANGER);
	assert_true(alone.only_uid);
	assert_int_equal(both.uid, STRANGER);
	assert_false(both.only_uid);
	assert_int_equal(capable.uid, STRANGER);
	assert_false(capable.only_uid);
}

/* A group of version 2 is numbered as its directory is. */
static void test_bpf_tells_groups_of_who_moves(void **state)
{
	const char *top = access("/sys/fs/cgroup/cgroup.procs", F_OK) ? "/sys/fs/cgroup/unified"
								      : "/sys/fs/cgroup";
	char directory[128], path[160];
	struct stat st;
	struct rig rig;
	FILE *procs;

	(void)state;
	snprintf(directory, sizeof(directory), "%s/profd-live-%d", top, getpid());
	snprintf(path, sizeof(path), "%s/cgroup.procs", directory);
	assert_int_equal(mkdir(directory, 0755), 0);
	assert_int_equal(stat(directory, &st), 0);
	rig_open(&rig, source_bpf_new, NULL);
	rig_sample(&rig, 99, true);
	rig.c.watched = start_spinner(0);
	procs = fopen(path, "w");
	assert_non_null(procs);
	fprintf(procs, "%d", rig.c.watched);
	assert_int_equal(fclose(procs), 0);
	rig_run(&rig, 100);
	stop_process(rig.c.watched);
	rig_finish(&rig);
	assert_int_equal(rmdir(directory), 0);
	assert_int_equal(rig.c.moved.kind, PROCESS_EVENT_MOVED);
	assert_int_equal(rig.c.moved.cgroup_id, st.st_ino);
}

static void test_event_order(void **state)
{
	(void)state;
	assert_measured(measure_event_order, &by_bpf);
	assert_measured(measure_event_order, &by_perf);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bpf_filter_pid),
		cmocka_unit_test(test_bpf_filter_children),
		cmocka_unit_test(test_perf_filter_pid),
		cmocka_unit_test(test_perf_filter_children),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_exclude_self),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_bpf_tells_ends_of_processes),
		cmocka_unit_test(test_bpf_tells_owners_of_programs),
		cmocka_unit_test(test_bpf_tells_groups_of_who_moves),
		cmocka_unit_test(test_event_order),
	};

	return RUN_TESTS(argc, argv, tests);
}

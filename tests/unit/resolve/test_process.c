/* SPDX-License-Identifier: MIT */
/* Lives of processes told by records only: no /proc. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "daemon/resolve/process.h"

static void apply(struct process_table *t, struct process_event event)
{
	assert_int_equal(process_table_apply(t, &event), 0);
}

static void fork_of(struct process_table *t, pid_t parent, pid_t pid, uint64_t time_ns)
{
	apply(t, (struct process_event){.kind = PROCESS_EVENT_FORK,
					.time_ns = time_ns,
					.pid = pid,
					.tid = pid,
					.parent = parent});
}

static void exec_of(struct process_table *t, pid_t pid, const char *comm, uint64_t time_ns)
{
	struct process_event event = {
		.kind = PROCESS_EVENT_EXEC, .time_ns = time_ns, .pid = pid, .tid = pid};

	snprintf(event.comm, sizeof(event.comm), "%s", comm);
	apply(t, event);
}

static void exit_of(struct process_table *t, pid_t pid, uint64_t time_ns)
{
	apply(t, (struct process_event){
			 .kind = PROCESS_EVENT_EXIT, .time_ns = time_ns, .pid = pid, .tid = pid});
}

static void map_of(struct process_table *t, pid_t pid, uint64_t start, const char *path,
		   uint64_t inode, uint64_t time_ns)
{
	struct process_event event = {
		.kind = PROCESS_EVENT_MMAP, .time_ns = time_ns, .pid = pid, .tid = pid};

	event.map.start = start;
	event.map.length = 0x10000;
	event.map.inode = inode;
	event.map.path = path;
	apply(t, event);
}

static struct process *find(struct process_table *t, pid_t pid, uint64_t start_ns, uint64_t time_ns)
{
	struct sample sample = {
		.pid = pid, .tid = pid, .start_ns = start_ns, .time_ns = time_ns, .comm = "c"};
	struct process *p = NULL;

	assert_int_equal(process_table_find(t, &sample, &p), 0);
	assert_non_null(p);
	return p;
}

static const char *path_at(const struct process *p, uint64_t address, uint64_t time_ns)
{
	const struct mapping *m = mappings_find(p->mappings,
						mappings_generation(p->mappings, time_ns), address);

	return m ? m->image->path : NULL;
}

static void test_fork_inherits_exec_begins_anew(void **state)
{
	cleanup(process_table_freep) struct process_table *t = NULL;
	struct process *shell, *child, *program;

	(void)state;
	assert_int_equal(process_table_new(&t, -1, 1 << 20), 0);
	exec_of(t, 10, "sh", 0);
	map_of(t, 10, 0x1000000, "/bin/sh", 7, 0);
	fork_of(t, 10, 11, 100);
	exec_of(t, 11, "ls", 200);
	map_of(t, 11, 0x1000000, "/bin/ls (deleted)", 8, 210);

	shell = find(t, 10, 1, 150);
	child = find(t, 11, 90, 150);
	program = find(t, 11, 90, 250);
	assert_string_equal(path_at(shell, 0x1000001, 150), "/bin/sh");
	assert_string_equal(path_at(child, 0x1000001, 150), "/bin/sh");
	assert_string_equal(path_at(program, 0x1000001, 250), "/bin/ls");
	assert_string_equal(program->program->path, "/bin/ls");
	assert_string_equal(program->comm, "ls");
	assert_ptr_not_equal(child, program);
	assert_int_equal(child->serial == program->serial, 0);
}

/* Samples come late, also after EXIT; a pid may be in use again by then. */
static void test_samples_after_exit_and_pid_reuse(void **state)
{
	cleanup(process_table_freep) struct process_table *t = NULL;
	struct process_table_stats stats;
	struct process *first, *second;

	(void)state;
	assert_int_equal(process_table_new(&t, -1, 1 << 20), 0);
	exec_of(t, 1, "init", 0);
	fork_of(t, 1, 20, 100);
	exec_of(t, 20, "a", 110);
	exit_of(t, 20, 200);
	assert_null(process_table_living(t, 20));
	fork_of(t, 1, 20, 300);
	exec_of(t, 20, "b", 310);

	first = find(t, 20, 95, 150);
	second = find(t, 20, 295, 350);
	assert_string_equal(first->comm, "a");
	assert_string_equal(second->comm, "b");
	/* By start time, even where the moment would say otherwise. */
	assert_ptr_equal(find(t, 20, 95, 320), first);
	process_table_get_stats(t, &stats);
	assert_int_equal(stats.unknown, 0);
}

static void test_the_dead_are_kept_while_somebody_counts_them(void **state)
{
	cleanup(process_table_freep) struct process_table *t = NULL;
	struct process *p;

	(void)state;
	assert_int_equal(process_table_new(&t, -1, 1 << 20), 0);
	exec_of(t, 1, "init", 0);
	fork_of(t, 1, 30, 100);
	p = process_ref(find(t, 30, 95, 150));
	exit_of(t, 30, 200);
	process_table_sweep(t, UINT64_C(100000000000));
	process_table_sweep(t, UINT64_C(103000000000));
	assert_ptr_equal(find(t, 30, 95, 150), p);
	process_unref(p);
	process_table_sweep(t, UINT64_C(103000000000));
	/* Gone: the next sample makes up a process of its own. */
	assert_int_equal(find(t, 30, 95, 150)->mappings_known, false);
}

/* Its samples may come later than it died by any time: they wait behind as many others. */
static void test_the_dead_of_a_late_drain(void **state)
{
	cleanup(process_table_freep) struct process_table *t = NULL;
	uint64_t serial;

	(void)state;
	assert_int_equal(process_table_new(&t, -1, 1 << 20), 0);
	exec_of(t, 1, "init", 0);
	fork_of(t, 1, 30, 100);
	exit_of(t, 30, 200);
	serial = find(t, 30, 95, 150)->serial;
	process_table_sweep(t, UINT64_C(100000000000));
	process_table_sweep(t, UINT64_C(101900000000));
	assert_int_equal(find(t, 30, 95, 150)->serial, serial);
	process_table_sweep(t, UINT64_C(102100000000));
	assert_int_not_equal(find(t, 30, 95, 150)->serial, serial);
}

/*
 * Of many, those go before their time of which no drain can have samples any more: not what is
 * counted, and never the last ones.
 */
static void test_the_dead_of_a_storm(void **state)
{
	enum { MANY = 5000, COUNTED = 100, FIRST = 101, LAST = 100 + MANY - 1 };
	cleanup(process_table_freep) struct process_table *t = NULL;
	uint64_t first, last;
	struct process *p;

	(void)state;
	assert_int_equal(process_table_new(&t, -1, 1 << 20), 0);
	exec_of(t, 1, "init", 0);
	for (pid_t pid = COUNTED; pid <= LAST; pid++) {
		fork_of(t, 1, pid, 100);
		if (pid == COUNTED)
			p = process_ref(find(t, COUNTED, 95, 150));
		exit_of(t, pid, 200);
	}
	first = find(t, FIRST, 95, 150)->serial;
	last = find(t, LAST, 95, 150)->serial;
	for (unsigned i = 0; i < 2; i++) {
		process_table_drained(t);
		assert_int_equal(find(t, FIRST, 95, 150)->serial, first);
	}
	process_table_drained(t);
	assert_ptr_equal(find(t, COUNTED, 95, 150), p);
	assert_int_equal(find(t, LAST, 95, 150)->serial, last);
	assert_int_not_equal(find(t, FIRST, 95, 150)->serial, first);
	process_unref(p);
	process_table_sweep(t, UINT64_C(100000000000));
	process_table_sweep(t, UINT64_C(103000000000));
	assert_int_not_equal(find(t, LAST, 95, 150)->serial, last);
}

static void begun_by(struct process_table *t, pid_t pid, uid_t uid, uint64_t time_ns)
{
	apply(t, (struct process_event){.kind = PROCESS_EVENT_BEGUN,
					.time_ns = time_ns,
					.pid = pid,
					.tid = pid,
					.owner_known = true,
					.uid = uid});
}

/* Who maps much leaves others room; and those who had none get it when there is some again. */
static void test_mappings_of_a_user_leave_room(void **state)
{
	cleanup(process_table_freep) struct process_table *t = NULL;
	struct process_table_stats stats;
	struct process *greedy, *late;
	uint64_t n = 0;

	(void)state;
	assert_int_equal(process_table_new(&t, -1, 1 << 16), 0);
	exec_of(t, 20, "greedy", 100);
	begun_by(t, 20, 1000, 101);
	greedy = find(t, 20, 95, 150);
	while (!greedy->mappings_refused && n < 4096)
		map_of(t, 20, 0x1000000 + 0x20000 * n++, "/lib/greedy", 7, 200);
	assert_true(greedy->mappings_refused);
	exec_of(t, 21, "late", 300);
	begun_by(t, 21, 1000, 301);
	map_of(t, 21, 0x1000000, "/bin/late", 8, 310);
	late = find(t, 21, 295, 320);
	assert_null(path_at(late, 0x1000001, 320));
	assert_true(late->mappings_refused);
	exec_of(t, 22, "service", 400);
	begun_by(t, 22, 0, 401);
	map_of(t, 22, 0x1000000, "/bin/service", 9, 410);
	exec_of(t, 23, "other", 400);
	begun_by(t, 23, 1001, 401);
	map_of(t, 23, 0x1000000, "/bin/other", 10, 410);
	assert_string_equal(path_at(find(t, 22, 395, 420), 0x1000001, 420), "/bin/service");
	assert_string_equal(path_at(find(t, 23, 395, 420), 0x1000001, 420), "/bin/other");
	process_table_get_stats(t, &stats);
	assert_int_equal(stats.refused_mappings, 2);

	process_table_sweep(t, UINT64_C(100000000000));
	assert_true(late->mappings_refused && late->mappings_known);
	exit_of(t, 20, 500);
	process_table_sweep(t, UINT64_C(101000000000));
	process_table_sweep(t, UINT64_C(104000000000));
	process_table_sweep(t, UINT64_C(105000000000));
	assert_false(late->mappings_refused || late->mappings_known || late->asked_ns);
}

static void test_an_unknown_process_is_made_up_once(void **state)
{
	cleanup(process_table_freep) struct process_table *t = NULL;
	struct process_table_stats stats;
	struct process *p;

	(void)state;
	assert_int_equal(process_table_new(&t, -1, 1 << 20), 0);
	p = find(t, 40, 5, 100);
	assert_string_equal(p->comm, "c");
	assert_string_equal(p->unit->service, "other");
	assert_ptr_equal(find(t, 40, 5, 110), p);
	process_table_get_stats(t, &stats);
	assert_int_equal(stats.unknown, 1);
}

struct seen {
	unsigned born, died;
};

static void count_born(void *userdata, struct process *p, struct process *parent)
{
	(void)p, (void)parent;
	((struct seen *)userdata)->born++;
}

static void count_died(void *userdata, struct process *p)
{
	(void)p;
	((struct seen *)userdata)->died++;
}

static void test_observers_hear_of_lives_not_of_execs(void **state)
{
	cleanup(process_table_freep) struct process_table *t = NULL;
	struct seen seen = {};

	(void)state;
	assert_int_equal(process_table_new(&t, -1, 1 << 20), 0);
	process_table_observe(t, &(struct process_observer){.born = count_born,
							    .died = count_died,
							    .userdata = &seen});
	exec_of(t, 1, "init", 0);
	fork_of(t, 1, 50, 100);
	exec_of(t, 50, "x", 110);
	assert_int_equal(seen.born, 3);
	assert_int_equal(seen.died, 0);
	exit_of(t, 50, 120);
	assert_int_equal(seen.died, 1);
	/* A thread's end is not its process's. */
	apply(t, (struct process_event){
			 .kind = PROCESS_EVENT_EXIT, .time_ns = 130, .pid = 1, .tid = 2});
	assert_int_equal(seen.died, 1);
}

/* Where EXIT is the end of a process, nobody looks whether /proc still has one of that number. */
static void test_ends_that_are_told(void **state)
{
	cleanup(process_table_freep) struct process_table *t = NULL;
	cleanup(closep) int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(process_table_new(&t, proc, 1 << 20), 0);
	exec_of(t, getpid(), "x", 0);
	exit_of(t, getpid(), 100);
	assert_non_null(process_table_living(t, getpid()));
	process_table_trust_lives(t);
	exit_of(t, getpid(), 110);
	assert_null(process_table_living(t, getpid()));
	/* One that comes late is of who had the number before. */
	fork_of(t, 1, getpid(), 200);
	exit_of(t, getpid(), 150);
	assert_non_null(process_table_living(t, getpid()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fork_inherits_exec_begins_anew),
		cmocka_unit_test(test_samples_after_exit_and_pid_reuse),
		cmocka_unit_test(test_the_dead_are_kept_while_somebody_counts_them),
		cmocka_unit_test(test_the_dead_of_a_late_drain),
		cmocka_unit_test(test_the_dead_of_a_storm),
		cmocka_unit_test(test_mappings_of_a_user_leave_room),
		cmocka_unit_test(test_an_unknown_process_is_made_up_once),
		cmocka_unit_test(test_observers_hear_of_lives_not_of_execs),
		cmocka_unit_test(test_ends_that_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

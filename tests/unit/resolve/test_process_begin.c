/* SPDX-License-Identifier: MIT */
/* Processes that no record announces, such as those with libprofd: told from the real /proc. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "daemon/resolve/proc.h"
#include "daemon/resolve/process.h"
#include "tests/support/child.h"

struct world {
	int proc_fd;
	struct process_table *table;
	struct source_sink sink;
	unsigned n[N_PROCESS_EVENTS];
	unsigned n_born;
	pid_t parent; /* of the last one that was born */
};

static void on_event(void *userdata, const struct process_event *event)
{
	struct world *w = userdata;

	w->n[event->kind]++;
	assert_int_equal(process_table_apply(w->table, event), 0);
}

static void on_born(void *userdata, struct process *p, struct process *parent)
{
	struct world *w = userdata;

	(void)p;
	w->n_born++;
	w->parent = parent ? parent->pid : 0;
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(w->proc_fd >= 0);
	assert_int_equal(process_table_new(&w->table, w->proc_fd, 1 << 20), 0);
	process_table_observe(w->table, &(struct process_observer){.born = on_born, .userdata = w});
	w->sink = (struct source_sink){.process_event = on_event, .userdata = w};
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	process_table_free(w->table);
	close(w->proc_fd);
	free(w);
	return 0;
}

static const struct mapping *mapping_now(const struct process *p, const void *address)
{
	return mappings_find(p->mappings, mappings_generation(p->mappings, UINT64_MAX),
			     (uint64_t)(uintptr_t)address);
}

static void test_ourselves(void **state)
{
	struct world *w = *state;
	const struct process *p;
	uint64_t start_ns;
	void *page;

	assert_int_equal(process_table_begin(w->table, getpid(), &w->sink, &start_ns), 0);
	p = process_table_living(w->table, getpid());
	assert_non_null(p);
	assert_int_equal(p->start_ns, start_ns);
	assert_true(proc_is_process(w->proc_fd, getpid(), start_ns));
	assert_true(p->uid_known && p->uid == getuid());
	assert_true(p->comm[0]);
	assert_int_equal(w->n[PROCESS_EVENT_FORK], 0);
	assert_int_equal(w->n[PROCESS_EVENT_EXEC], 1);
	assert_non_null(mapping_now(p, (const void *)(uintptr_t)test_ourselves));
	assert_non_null(p->program);
	/* What comes later is told when somebody looks. */
	page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	assert_null(mapping_now(p, page));
	assert_int_equal(
		process_table_look(w->table, getpid(), clock_ns(CLOCK_MONOTONIC), &w->sink), 0);
	assert_non_null(mapping_now(p, page));
	assert_int_equal(process_table_living(w->table, getpid())->serial, p->serial);
	munmap(page, 4096);
}

static void test_families(void **state)
{
	struct world *w = *state;
	pid_t pid = make_child();
	const struct process *p;
	uint64_t start_ns, serial;

	assert_int_equal(process_table_begin(w->table, getpid(), &w->sink, &start_ns), 0);
	assert_int_equal(process_table_begin(w->table, pid, &w->sink, &start_ns), 0);
	assert_int_equal(w->n[PROCESS_EVENT_FORK], 1);
	/* First as our child, then as the program that it runs. */
	assert_int_equal(w->n_born, 3);
	assert_int_equal(w->parent, pid);
	serial = process_table_living(w->table, pid)->serial;
	/* Another program of the same process. */
	assert_int_equal(process_table_begin(w->table, pid, &w->sink, &start_ns), 0);
	p = process_table_living(w->table, pid);
	assert_int_equal(w->n[PROCESS_EVENT_FORK], 1);
	assert_int_equal(w->parent, pid);
	assert_true(p->serial > serial);
	assert_int_equal(p->start_ns, start_ns);
	end_child(pid);
	assert_int_equal(process_table_begin(w->table, pid, &w->sink, &start_ns), PROCESS_E_GONE);
	assert_int_equal(process_table_look(w->table, pid, 1, &w->sink), 0);
	/* Its end is the source's to tell. */
	on_event(w, &(struct process_event){
			    .kind = PROCESS_EVENT_EXIT, .time_ns = 1, .pid = pid, .tid = pid});
	assert_null(process_table_living(w->table, pid));
}

/* Sources may know a start to the nanosecond, /proc to a hundredth of a second. */
static void test_exact_starts(void **state)
{
	struct sample sample = {.pid = getpid(), .tid = getpid(), .comm = "us"};
	struct world *w = *state;
	const struct process *p;
	struct process *before;
	struct proc_stat stat;

	assert_int_equal(proc_read_stat(w->proc_fd, getpid(), &stat), 0);
	sample.start_ns = proc_start_ns(&stat) + 1;
	assert_int_equal(process_table_find(w->table, &sample, &before), 0);
	assert_int_equal(process_table_begin(w->table, getpid(), &w->sink, &sample.start_ns), 0);
	p = process_table_living(w->table, getpid());
	assert_int_equal(w->parent, getpid());
	assert_int_equal(p->start_ns, proc_start_ns(&stat));
}

/* All but what waits for no lock. */
static int refuse(void *userdata, int dir_fd, pid_t id, const char *path, bool text, int *ret)
{
	(void)userdata;
	(void)id;
	if (!text || !strstr(path, "/status"))
		return PROC_E_GONE;
	*ret = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	return *ret < 0 ? PROC_E_GONE : PROC_E_OK;
}

static const struct process *scan_after_losses(struct world *w, pid_t pid)
{
	on_event(w, &(struct process_event){.kind = PROCESS_EVENT_LOST, .lost = 1});
	assert_int_equal(process_table_scan(w->table, &w->sink), 0);
	return process_table_living(w->table, pid);
}

/* A process that cannot be looked at has not ended for that. */
static void test_held_up(void **state)
{
	const struct proc_opener few = {.open = refuse};
	struct world *w = *state;
	pid_t pid = make_child();
	siginfo_t ended;
	uint64_t start_ns;

	assert_int_equal(process_table_begin(w->table, pid, &w->sink, &start_ns), 0);
	proc_open_by(&few);
	assert_non_null(scan_after_losses(w, pid));
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
	assert_null(scan_after_losses(w, pid));
	end_child(pid);
	proc_open_by(NULL);
}

/* One process at a time: what ended before is found out, what began since is not judged. */
static void test_scan_in_parts(void **state)
{
	struct world *w = *state;
	pid_t before = make_child(), since = make_child();
	unsigned n_parts = 0;
	uint64_t start_ns;
	int r;

	assert_int_equal(process_table_begin(w->table, before, &w->sink, &start_ns), 0);
	end_child(before);
	end_child(since);
	on_event(w, &(struct process_event){.kind = PROCESS_EVENT_LOST, .lost = 1});
	do {
		r = process_table_scan_part(w->table, &w->sink, 0);
		if (n_parts++ > 0)
			continue;
		on_event(w, &(struct process_event){.kind = PROCESS_EVENT_FORK,
						    .time_ns = clock_ns(CLOCK_MONOTONIC),
						    .pid = since,
						    .tid = since});
		assert_non_null(process_table_living(w->table, before));
	} while (r == PROCESS_E_MORE && process_table_wants_scan(w->table));
	assert_int_equal(r, 0);
	assert_false(process_table_wants_scan(w->table));
	assert_true(n_parts > 2);
	assert_null(process_table_living(w->table, before));
	assert_non_null(process_table_living(w->table, since));
	assert_non_null(process_table_living(w->table, getpid()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ourselves, setup, teardown),
		cmocka_unit_test_setup_teardown(test_families, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exact_starts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_held_up, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scan_in_parts, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Where processes belong, by a /proc that the test writes. */
#include "tests/support/temp_folder.h"

#include "daemon/resolve/proc.h"
#include "daemon/resolve/process.h"

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)
/* A sample of then comes after whatever the test did up to now, and soon. */
#define LATER   (9 * SECOND)
#define EXITING 4

struct world {
	struct temp_folder proc;
	struct process_table *table;
	unsigned changed;
};

static void count_changed(void *userdata, struct process *p)
{
	(void)p;
	((struct world *)userdata)->changed++;
}

static struct world begin(void)
{
	struct world w = {};

	temp_folder_make(&w.proc);
	assert_int_equal(process_table_new(&w.table, w.proc.fd, 1 << 20), 0);
	return w;
}

static void end(struct world *w)
{
	process_table_free(w->table);
	temp_folder_remove(&w->proc);
}

/* /proc says this of @pid; with NULL that it is gone. */
static void say(struct world *w, pid_t pid, const char *cgroup, unsigned uid, unsigned flags)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "%d/cgroup", pid);
	if (!cgroup) {
		assert_int_equal(unlinkat(w->proc.fd, path, 0), 0);
		return;
	}
	write_text(w->proc.fd, path, cgroup);
	snprintf(path, sizeof(path), "%d/status", pid);
	snprintf(text, sizeof(text), "Name:\tx\nUid:\t%u\t%u\t%u\t%u\n", uid, uid, uid, uid);
	write_text(w->proc.fd, path, text);
	snprintf(path, sizeof(path), "%d/stat", pid);
	snprintf(text, sizeof(text), "%d (x) S 1 1 1 0 -1 %u 0 0 0 0 0 0 0 0 0 0 1 0 1\n", pid,
		 flags);
	write_text(w->proc.fd, path, text);
	snprintf(path, sizeof(path), "%d/maps", pid);
	write_text(w->proc.fd, path, "");
}

static void happen(struct world *w, enum process_event_kind kind, pid_t pid, pid_t parent,
		   uint64_t time_ns)
{
	assert_int_equal(process_table_apply(w->table, &(struct process_event){.kind = kind,
									       .time_ns = time_ns,
									       .pid = pid,
									       .tid = pid,
									       .parent = parent}),
			 0);
}

static struct process *sampled(struct world *w, pid_t pid, uint64_t group, uint64_t time_ns)
{
	const struct sample sample = {.pid = pid,
				      .tid = pid,
				      .start_ns = 10 * MS,
				      .time_ns = time_ns,
				      .cgroup_id = group,
				      .comm = "c"};
	struct process *p = NULL;

	assert_int_equal(process_table_find(w->table, &sample, &p), 0);
	return p;
}

static void test_a_move_shows_in_the_next_samples(void **state)
{
	struct world w = begin();
	uint64_t now = proc_now_ns(), serial, stay;
	struct process *p;

	(void)state;
	say(&w, 10, "0::/system.slice/a.service\n", 0, 0);
	p = sampled(&w, 10, 7, now);
	assert_string_equal(p->unit->service, "a.service");
	serial = p->serial;
	stay = p->stay;

	/* Its group is the same, so nobody asks; for a while. */
	say(&w, 10, "0::/system.slice/b.service\n", 0, 0);
	assert_string_equal(sampled(&w, 10, 7, now + 5 * SECOND)->unit->service, "a.service");
	/* Another group: but it was asked for just now. */
	assert_string_equal(sampled(&w, 10, 8, now + 50 * MS)->unit->service, "a.service");
	p = sampled(&w, 10, 8, now + LATER);
	assert_string_equal(p->unit->service, "b.service");
	assert_string_equal(p->unit->cgroup, "/system.slice/b.service");
	/* The same program, counted apart. */
	assert_int_equal(p->serial, serial);
	assert_true(p->stay != stay);
	stay = p->stay;
	assert_int_equal(sampled(&w, 10, 8, now + LATER + MS)->stay, stay);
	end(&w);
}

static void test_a_move_without_ids_shows_later(void **state)
{
	struct world w = begin();
	uint64_t now = proc_now_ns();

	(void)state;
	say(&w, 10, "1:name=systemd:/a.service\n0::/\n", 0, 0);
	assert_string_equal(sampled(&w, 10, 1, now)->unit->service, "a.service");
	say(&w, 10, "1:name=systemd:/b.service\n0::/\n", 0, 0);
	assert_string_equal(sampled(&w, 10, 1, now + 5 * SECOND)->unit->service, "a.service");
	assert_string_equal(sampled(&w, 10, 1, now + 60 * SECOND)->unit->service, "b.service");
	end(&w);
}

/* Threads of one process in several groups: not a question for each sample, nor a new stay. */
static void test_threads_in_several_groups(void **state)
{
	struct world w = begin();
	uint64_t now = proc_now_ns(), stay;

	(void)state;
	say(&w, 10, "0::/a.service/leader\n", 0, 0);
	stay = sampled(&w, 10, 7, now)->stay;
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(sampled(&w, 10, 7 + i % 2, now + i * 50 * MS)->stay, stay);
	end(&w);
}

static void test_children_have_the_unit_of_a_parent_that_was_never_sampled(void **state)
{
	struct world w = begin();
	uint64_t now = proc_now_ns();

	(void)state;
	say(&w, 10, "0::/a.service\n", 33, 0);
	happen(&w, PROCESS_EVENT_EXEC, 10, 0, 0);
	happen(&w, PROCESS_EVENT_FORK, 11, 10, now);
	happen(&w, PROCESS_EVENT_EXEC, 11, 0, now + MS);
	happen(&w, PROCESS_EVENT_EXIT, 11, 0, now + 5 * MS);
	/* Both programs of the child, which is gone. */
	assert_string_equal(sampled(&w, 11, 0, now + MS / 2)->unit->service, "a.service");
	assert_string_equal(sampled(&w, 11, 0, now + 2 * MS)->unit->service, "a.service");
	assert_ptr_equal(sampled(&w, 11, 0, now + 2 * MS)->unit,
			 process_table_living(w.table, 10)->unit);
	end(&w);
}

static void test_who_is_gone_is_of_the_unit_of_its_group(void **state)
{
	struct world w = begin();
	uint64_t now = proc_now_ns();

	(void)state;
	say(&w, 10, "0::/system.slice/manager.service\n", 0, 0);
	say(&w, 20, "0::/system.slice/inside.service\n", 0, 0);
	sampled(&w, 10, 7, now);
	sampled(&w, 20, 8, now);
	happen(&w, PROCESS_EVENT_FORK, 11, 10, now + MS);
	/* Once is not enough: it may have moved before /proc was read. */
	assert_string_equal(sampled(&w, 11, 8, now + 2 * MS)->unit->service, "manager.service");
	sampled(&w, 20, 8, now + LATER);
	happen(&w, PROCESS_EVENT_FORK, 12, 10, now + LATER);
	assert_string_equal(sampled(&w, 12, 7, now + LATER)->unit->service, "manager.service");
	assert_string_equal(sampled(&w, 12, 8, now + LATER + 150 * MS)->unit->service,
			    "inside.service");
	/* Nobody knows that group. */
	happen(&w, PROCESS_EVENT_FORK, 13, 10, now + LATER);
	assert_string_equal(sampled(&w, 13, 9, now + LATER)->unit->service, "manager.service");
	end(&w);
}

/* What is not told by the group of version 2 alone is no other process's. */
static void test_what_a_group_does_not_tell(void **state)
{
	static const char *const texts[] = {
		"0::/plain\n",                              /* the user's */
		"1:name=systemd:/first.service\n0::/x/y\n", /* version 1's */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct world w = begin();
		uint64_t now = proc_now_ns();

		say(&w, 10, "0::/manager.service\n", 0, 0);
		say(&w, 20, texts[i], 1000, 0);
		sampled(&w, 10, 7, now);
		sampled(&w, 20, 8, now);
		sampled(&w, 20, 8, now + LATER);
		happen(&w, PROCESS_EVENT_FORK, 11, 10, now + LATER);
		assert_string_equal(sampled(&w, 11, 8, now + LATER)->unit->service,
				    "manager.service");
		end(&w);
	}
}

/* Groups of version 1 read as the root while a process exits. */
static void test_who_exits_stays_where_it_was(void **state)
{
	struct world w = begin();
	uint64_t now = proc_now_ns();
	struct process *p;

	(void)state;
	say(&w, 10, "1:name=systemd:/a.service\n", 1000, 0);
	sampled(&w, 10, 0, now);
	say(&w, 10, "1:name=systemd:/\n", 1001, EXITING);
	p = sampled(&w, 10, 0, now + 60 * SECOND);
	assert_string_equal(p->unit->service, "a.service");
	assert_int_equal(p->uid, 1001);
	/* Who is really there is. */
	say(&w, 11, "1:name=systemd:/\n", 1001, 0);
	assert_string_equal(sampled(&w, 11, 0, now)->unit->service, "user-1001");
	end(&w);
}

static void test_kernel_threads_and_what_they_start(void **state)
{
	struct world w = begin();
	struct sample sample = {.pid = 2,
				.tid = 2,
				.start_ns = 10 * MS,
				.time_ns = 1,
				.kernel_thread = true,
				.comm = "kthreadd"};
	struct process *p;

	(void)state;
	assert_int_equal(process_table_find(w.table, &sample, &p), 0);
	assert_string_equal(p->unit->service, "kernel");
	happen(&w, PROCESS_EVENT_FORK, 30, 2, 10);
	assert_string_equal(sampled(&w, 30, 0, 15)->unit->service, "kernel");
	happen(&w, PROCESS_EVENT_EXEC, 30, 0, 20);
	assert_string_equal(sampled(&w, 30, 0, 25)->unit->service, "other");
	/* One that was asked for before its samples told what it is. */
	say(&w, 40, "0::/\n", 0, 0);
	happen(&w, PROCESS_EVENT_EXEC, 40, 0, 5);
	happen(&w, PROCESS_EVENT_FORK, 41, 40, 6);
	assert_string_equal(process_table_living(w.table, 40)->unit->service, "other");
	sample.pid = sample.tid = 40;
	sample.time_ns = 30;
	assert_int_equal(process_table_find(w.table, &sample, &p), 0);
	assert_string_equal(p->unit->service, "kernel");
	end(&w);
}

static void test_observers_hear_of_changes_only(void **state)
{
	struct world w = begin();
	uint64_t now = proc_now_ns();

	(void)state;
	process_table_observe(w.table,
			      &(struct process_observer){.changed = count_changed, .userdata = &w});
	say(&w, 10, "0::/a.service\n", 0, 0);
	sampled(&w, 10, 7, now);
	assert_int_equal(w.changed, 1); /* its user was unknown */
	sampled(&w, 10, 7, now + 60 * SECOND);
	assert_int_equal(w.changed, 1);
	say(&w, 10, "0::/a.service\n", 5, 0);
	sampled(&w, 10, 7, now + 120 * SECOND);
	assert_int_equal(w.changed, 2);
	say(&w, 10, "0::/b.service\n", 5, 0);
	sampled(&w, 10, 8, now + 180 * SECOND);
	assert_int_equal(w.changed, 3);
	say(&w, 10, NULL, 0, 0);
	assert_string_equal(sampled(&w, 10, 9, now + 240 * SECOND)->unit->service, "b.service");
	assert_int_equal(w.changed, 3);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_move_shows_in_the_next_samples),
		cmocka_unit_test(test_a_move_without_ids_shows_later),
		cmocka_unit_test(test_threads_in_several_groups),
		cmocka_unit_test(test_children_have_the_unit_of_a_parent_that_was_never_sampled),
		cmocka_unit_test(test_who_is_gone_is_of_the_unit_of_its_group),
		cmocka_unit_test(test_what_a_group_does_not_tell),
		cmocka_unit_test(test_who_exits_stays_where_it_was),
		cmocka_unit_test(test_kernel_threads_and_what_they_start),
		cmocka_unit_test(test_observers_hear_of_changes_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Where processes belong, by a /proc that the test writes. */
#include "common/clock.h"
#include "tests/support/temp_dir.h"

#include "daemon/resolve/process.h"

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)
/* A sample of then comes after whatever the test did up to now, and soon. */
#define LATER   (9 * SECOND)
#define SOON    (5 * SECOND)
#define EXITING 4
/* Groups that are remembered; process_place.c. */
#define GROUPS_MAX 4096

struct world {
	struct temp_dir proc;
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

	temp_dir_make(&w.proc);
	assert_int_equal(process_table_new(&w.table, w.proc.fd, 1 << 20), 0);
	return w;
}

static void end(struct world *w)
{
	process_table_free(w->table);
	temp_dir_remove(&w->proc);
}

/* Its real and its effective user. */
static void say_users(struct world *w, pid_t pid, unsigned uid, unsigned euid)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "%d/status", pid);
	snprintf(text, sizeof(text),
		 "Name:\tx\nUid:\t%u\t%u\t%u\t%u\nGid:\t1\t1\t1\t1\nCapPrm:\t0\n", uid, euid, euid,
		 euid);
	write_text(w->proc.fd, path, text);
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
	say_users(w, pid, uid, uid);
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
	uint64_t now = clock_ns(CLOCK_MONOTONIC), serial, stay;
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
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

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
	uint64_t now = clock_ns(CLOCK_MONOTONIC), stay;

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
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

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
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

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
		uint64_t now = clock_ns(CLOCK_MONOTONIC);

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

/* @pid was forked by @parent and is gone: the service of its sample in @group. */
static const char *service_of_the_dead(struct world *w, pid_t pid, pid_t parent, uint64_t group)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	happen(w, PROCESS_EVENT_FORK, pid, parent, now);
	return sampled(w, pid, group, now)->unit->service;
}

/* A manager, and somebody else in group 8, who was sampled there often enough. */
static struct world begin_with_group_8(void)
{
	struct world w = begin();
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	say(&w, 10, "0::/manager.service\n", 0, 0);
	say(&w, 20, "0::/inside.service\n", 0, 0);
	sampled(&w, 10, 7, now);
	sampled(&w, 20, 8, now);
	sampled(&w, 20, 8, now + SOON);
	return w;
}

static void test_groups_of_who_moves_are_known_both(void **state)
{
	struct world w = begin_with_group_8();
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	(void)state;
	say(&w, 20, "0::/second.service\n", 0, 0);
	sampled(&w, 20, 9, now + SOON);
	sampled(&w, 20, 9, now + SOON + MS);
	assert_string_equal(service_of_the_dead(&w, 11, 10, 8), "inside.service");
	assert_string_equal(service_of_the_dead(&w, 12, 10, 9), "second.service");
	end(&w);
}

/* What was sampled before /proc was read may have been somewhere else. */
static void test_what_is_no_evidence_of_a_group(void **state)
{
	struct world w = begin();
	uint64_t now = clock_ns(CLOCK_MONOTONIC), asked;

	(void)state;
	say(&w, 10, "0::/manager.service\n", 0, 0);
	sampled(&w, 10, 7, now);
	say(&w, 20, "0::/inside.service\n", 0, 0);
	asked = sampled(&w, 20, 8, now)->asked_ns;
	sampled(&w, 20, 8, asked);
	assert_string_equal(service_of_the_dead(&w, 11, 10, 8), "manager.service");
	/* It had moved to another group before. */
	assert_int_equal(sampled(&w, 20, 9, asked + 50 * MS)->asked_ns, asked);
	assert_string_equal(service_of_the_dead(&w, 12, 10, 8), "manager.service");
	assert_string_equal(service_of_the_dead(&w, 13, 10, 9), "manager.service");
	/* Where samples tell no group, nothing is known of the groups of later ones either. */
	say(&w, 30, "0::/third.service\n", 0, 0);
	sampled(&w, 30, 0, now);
	sampled(&w, 30, 0, now + SOON);
	sampled(&w, 30, 6, now + SOON);
	sampled(&w, 30, 6, now + SOON + MS);
	assert_string_equal(service_of_the_dead(&w, 14, 10, 6), "third.service");
	end(&w);
}

/* Whoever /proc, or once its group, has told is not asked for by the group of each sample. */
static void test_who_was_told_does_not_go_by_groups(void **state)
{
	struct world w = begin_with_group_8();
	struct process *p = process_table_living(w.table, 10);
	uint64_t stay = p->stay, asked;

	(void)state;
	assert_int_equal(sampled(&w, 10, 8, p->asked_ns + 50 * MS)->stay, stay);
	assert_string_equal(p->unit->service, "manager.service");

	/* The manager's own group gets known; then one that is gone has samples of both. */
	sampled(&w, 10, 7, p->asked_ns + SECOND);
	happen(&w, PROCESS_EVENT_FORK, 11, 10, p->asked_ns);
	p = sampled(&w, 11, 8, p->asked_ns + MS);
	assert_string_equal(p->unit->service, "inside.service");
	stay = p->stay;
	asked = p->asked_ns;
	assert_int_equal(sampled(&w, 11, 7, asked + 50 * MS)->stay, stay);
	assert_string_equal(p->unit->service, "inside.service");
	/* Group 8 is where it is: another sample there is no reason to ask. */
	assert_int_equal(sampled(&w, 11, 8, asked + SOON)->asked_ns, asked);
	end(&w);
}

/* Counted apart for no reason, a process would have two rows where it has one. */
static void test_one_unit_is_one_stay(void **state)
{
	struct world w = begin();
	uint64_t now = clock_ns(CLOCK_MONOTONIC), stay;
	struct process *p;

	(void)state;
	/* Two who were asked for one by one; the second one's unit is what group 7 is known by. */
	say(&w, 10, "0::/a.service\n", 0, 0);
	say(&w, 20, "0::/a.service\n", 0, 0);
	sampled(&w, 10, 7, now);
	sampled(&w, 20, 7, now);
	sampled(&w, 20, 7, now + SOON);
	happen(&w, PROCESS_EVENT_FORK, 11, 10, now);
	stay = process_table_living(w.table, 11)->stay;
	p = sampled(&w, 11, 7, now);
	assert_int_equal(p->stay, stay);
	assert_ptr_equal(p->unit, process_table_living(w.table, 10)->unit);

	/* Group 9 has the same name, and is known by a child of the first one. */
	happen(&w, PROCESS_EVENT_FORK, 12, 10, now);
	say(&w, 12, "0::/a.service\n", 0, 0);
	sampled(&w, 12, 9, now);
	sampled(&w, 12, 9, now + SOON);
	happen(&w, PROCESS_EVENT_FORK, 13, 10, now);
	stay = process_table_living(w.table, 13)->stay;
	p = sampled(&w, 13, 9, now);
	assert_int_equal(p->stay, stay);
	assert_true(p->unit_told && p->cgroup_id == 9);
	end(&w);
}

/* It moves, and is sampled there often enough. Written anew, as cutting short waits for the disk.
 */
static void move(struct world *w, const char *service, uint64_t group)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	char text[64];

	snprintf(text, sizeof(text), "0::/%s\n", service);
	assert_int_equal(unlinkat(w->proc.fd, "20/cgroup", 0), 0);
	write_text(w->proc.fd, "20/cgroup", text);
	sampled(w, 20, group, now + SOON);
	sampled(w, 20, group, now + SOON + MS);
}

static void test_groups_have_an_end(void **state)
{
	struct world w = begin_with_group_8();
	char service[32];

	(void)state;
	/* However often the same ones are found, */
	for (uint64_t i = 0; i < GROUPS_MAX + 2; i++)
		move(&w, i % 2 ? "x.service" : "y.service", 100 + i % 2);
	assert_string_equal(service_of_the_dead(&w, 11, 10, 8), "inside.service");
	/* but not however many there are. */
	for (uint64_t i = 0; i < GROUPS_MAX; i++) {
		snprintf(service, sizeof(service), "n%u.service", (unsigned)i);
		move(&w, service, 200 + i);
	}
	assert_string_equal(service_of_the_dead(&w, 12, 10, 8), "manager.service");
	assert_string_equal(service_of_the_dead(&w, 13, 10, 200), "n0.service");
	end(&w);
}

/* /proc tells of the newest program of a pid. */
static void test_programs_before_the_newest_stay(void **state)
{
	struct world w = begin();
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct process *before;

	(void)state;
	say(&w, 10, "0::/a.service\n", 0, 0);
	happen(&w, PROCESS_EVENT_EXEC, 10, 0, 0);
	happen(&w, PROCESS_EVENT_FORK, 11, 10, now);
	before = process_table_living(w.table, 11);
	happen(&w, PROCESS_EVENT_EXEC, 11, 0, now + 2 * MS);
	say(&w, 11, "0::/b.service\n", 0, 0);
	assert_ptr_equal(sampled(&w, 11, 0, now + MS), before);
	assert_string_equal(before->unit->service, "a.service");
	assert_int_equal(process_table_confirm(w.table, before), 0);
	assert_string_equal(before->unit->service, "a.service");
	assert_string_equal(sampled(&w, 11, 0, now + 3 * MS)->unit->service, "b.service");
	end(&w);
}

/* A fork is no reason to ask for a parent that was asked for. */
static void test_parents_are_asked_for_once(void **state)
{
	struct world w = begin();

	(void)state;
	say(&w, 10, "0::/a.service\n", 0, 0);
	happen(&w, PROCESS_EVENT_EXEC, 10, 0, 0);
	happen(&w, PROCESS_EVENT_FORK, 11, 10, 1);
	say(&w, 10, "0::/b.service\n", 0, 0);
	happen(&w, PROCESS_EVENT_FORK, 12, 10, 2);
	assert_string_equal(process_table_living(w.table, 12)->unit->service, "a.service");
	end(&w);
}

/* Groups of version 1 read as the root while a process exits. */
static void test_who_exits_stays_where_it_was(void **state)
{
	struct world w = begin();
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct process *p;

	(void)state;
	say(&w, 10, "1:name=systemd:/a.service\n", 1000, 0);
	sampled(&w, 10, 0, now);
	say(&w, 10, "1:name=systemd:/\n", 1001, EXITING);
	p = sampled(&w, 10, 0, now + 60 * SECOND);
	assert_string_equal(p->unit->service, "a.service");
	assert_int_equal(p->uid, 1001);
	/* What it forks then is of the same unit. */
	happen(&w, PROCESS_EVENT_FORK, 12, 10, now);
	assert_string_equal(sampled(&w, 12, 0, now)->unit->service, "a.service");
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

/* Work that the kernel does on behalf of a group is the kernel's. */
static void test_kernel_threads_in_groups(void **state)
{
	struct world w = begin_with_group_8();
	struct sample sample = {.pid = 3,
				.tid = 3,
				.start_ns = 10 * MS,
				.time_ns = clock_ns(CLOCK_MONOTONIC),
				.cgroup_id = 8,
				.kernel_thread = true,
				.comm = "kworker"};
	struct process *p;

	(void)state;
	assert_int_equal(process_table_find(w.table, &sample, &p), 0);
	assert_string_equal(p->unit->service, "kernel");
	end(&w);
}

static void test_observers_hear_of_changes_only(void **state)
{
	struct world w = begin();
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

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

/*
 * Of users: who it is, and whether it runs as nobody else. The files of this /proc are whoever's
 * the test is, which is one more user.
 */
static void test_observers_hear_of_users(void **state)
{
	struct world w = begin();
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	unsigned me = getuid();

	(void)state;
	process_table_observe(w.table,
			      &(struct process_observer){.changed = count_changed, .userdata = &w});
	/* Like what a process begins with, but told. */
	say(&w, 10, "", 0, 0);
	say_users(&w, 10, 0, 1234);
	assert_false(sampled(&w, 10, 0, now)->only_uid);
	assert_int_equal(w.changed, 1);
	say_users(&w, 10, 33, 1234); /* of no other unit */
	assert_int_equal(sampled(&w, 10, 0, now + 60 * SECOND)->uid, 33);
	assert_int_equal(w.changed, 2);
	say_users(&w, 10, me, 1234);
	sampled(&w, 10, 0, now + 120 * SECOND);
	assert_int_equal(w.changed, 3);
	say_users(&w, 10, me, me);
	assert_true(sampled(&w, 10, 0, now + 180 * SECOND)->only_uid);
	assert_int_equal(w.changed, 4);
	sampled(&w, 10, 0, now + 240 * SECOND);
	assert_int_equal(w.changed, 4);
	end(&w);
}

/* --- where the source tells moves and users --- */

static struct process *sampled_of(struct world *w, pid_t pid, uid_t uid, bool only)
{
	const struct sample sample = {.pid = pid,
				      .tid = pid,
				      .start_ns = 10 * MS,
				      .time_ns = clock_ns(CLOCK_MONOTONIC) + SOON,
				      .owner_known = true,
				      .uid = uid,
				      .only_uid = only,
				      .cgroup_id = 7};
	struct process *p = NULL;

	assert_int_equal(process_table_find(w->table, &sample, &p), 0);
	return p;
}

static struct world begin_with_lives(void)
{
	struct world w = begin();

	process_table_trust_lives(w.table);
	say(&w, 10, "0::/manager.service\n", 0, 0);
	happen(&w, PROCESS_EVENT_EXEC, 10, 0, 0);
	return w;
}

/* Not even its first sample, or its first child, has /proc asked: it is where its parent was. */
static void test_a_family_is_asked_once(void **state)
{
	struct world w = begin_with_lives();
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	(void)state;
	happen(&w, PROCESS_EVENT_FORK, 11, 10, now);
	happen(&w, PROCESS_EVENT_EXEC, 11, 0, now + MS);
	say(&w, 11, "0::/elsewhere.service\n", 0, 0);
	assert_string_equal(sampled_of(&w, 11, 0, true)->unit->service, "manager.service");
	happen(&w, PROCESS_EVENT_FORK, 12, 11, now + 2 * MS);
	say(&w, 12, "0::/elsewhere.service\n", 0, 0);
	assert_string_equal(sampled_of(&w, 12, 0, true)->unit->service, "manager.service");
	/* It moves, and its children are where it is then. */
	happen(&w, PROCESS_EVENT_MOVED, 11, 0, now + 3 * MS);
	happen(&w, PROCESS_EVENT_FORK, 13, 11, now + 4 * MS);
	assert_string_equal(sampled_of(&w, 11, 0, true)->unit->service, "elsewhere.service");
	assert_string_equal(sampled_of(&w, 13, 0, true)->unit->service, "elsewhere.service");
	/* Who came and went is nobody's business. */
	happen(&w, PROCESS_EVENT_MOVED, 99, 0, now + 5 * MS);
	end(&w);
}

/* What may have changed without a record is asked of one of a family, not of each. */
static void test_a_family_is_asked_again_once(void **state)
{
	struct world w = begin_with_lives();
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct process *parent = process_table_living(w.table, 10);

	(void)state;
	happen(&w, PROCESS_EVENT_FORK, 11, 10, now);
	say(&w, 11, "0::/manager.service\n", 0, 0);
	say(&w, 12, "0::/elsewhere.service\n", 0, 0);
	/* As if that had been long ago. */
	parent->asked_ns = parent->unit->asked_ns = 1;
	process_table_living(w.table, 11)->asked_ns = 1;
	happen(&w, PROCESS_EVENT_FORK, 12, 10, now);
	sampled_of(&w, 11, 0, true);
	assert_string_equal(sampled_of(&w, 12, 0, true)->unit->service, "manager.service");
	parent->unit->asked_ns = 1;
	assert_string_equal(sampled_of(&w, 12, 0, true)->unit->service, "elsewhere.service");
	end(&w);
}

static void test_samples_tell_the_owner(void **state)
{
	struct world w = begin_with_lives();
	struct process_observer observer = {.changed = count_changed, .userdata = &w};
	struct process *p;

	(void)state;
	process_table_observe(w.table, &observer);
	p = sampled_of(&w, 10, 0, true);
	assert_true(p->uid_known && p->only_uid);
	assert_true(w.changed >= 1);
	w.changed = 0;
	/* /proc says otherwise, and is not asked. */
	say_users(&w, 10, 33, 0);
	assert_int_equal(sampled_of(&w, 10, 0, true)->uid, 0);
	assert_int_equal(w.changed, 0);
	/* He may not look into it any more: whatever /proc had said. */
	assert_false(sampled_of(&w, 10, 0, false)->only_uid);
	assert_int_equal(w.changed, 1);
	/* What has no unit is its user's. */
	say(&w, 10, "0::/\n", 1001, 0);
	assert_string_equal(sampled_of(&w, 10, 1001, true)->unit->service, "user-1001");
	/* A set-id program begins as nobody's. */
	happen(&w, PROCESS_EVENT_EXEC, 10, 0, clock_ns(CLOCK_MONOTONIC));
	assert_false(process_table_living(w.table, 10)->uid_known);
	assert_false(process_table_living(w.table, 10)->only_uid);
	end(&w);
}

static void begun(struct world *w, pid_t pid, uid_t uid, uint64_t time_ns)
{
	const struct process_event event = {.kind = PROCESS_EVENT_BEGUN,
					    .time_ns = time_ns,
					    .pid = pid,
					    .tid = pid,
					    .owner_known = true,
					    .only_uid = true,
					    .uid = uid};

	assert_int_equal(process_table_apply(w->table, &event), 0);
}

static void moved(struct world *w, pid_t pid, uint64_t group)
{
	const struct process_event event = {.kind = PROCESS_EVENT_MOVED,
					    .time_ns = clock_ns(CLOCK_MONOTONIC),
					    .pid = pid,
					    .tid = pid,
					    .cgroup_id = group};

	assert_int_equal(process_table_apply(w->table, &event), 0);
}

/* /proc says otherwise, and is not asked; but where the user may be the unit's name. */
static void test_records_tell_the_owner_of_a_program(void **state)
{
	struct world w = begin_with_lives();
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct process *p;

	(void)state;
	happen(&w, PROCESS_EVENT_FORK, 11, 10, now);
	say(&w, 11, "0::/elsewhere.service\n", 33, 0);
	happen(&w, PROCESS_EVENT_EXEC, 11, 0, now + 2 * MS);
	p = process_table_living(w.table, 11);
	begun(&w, 11, 44, now + MS); /* of the program before */
	assert_false(p->uid_known);
	begun(&w, 11, 0, now + 3 * MS);
	assert_true(p->uid_known && p->only_uid);
	assert_int_equal(p->uid, 0);
	assert_int_equal(process_table_confirm(w.table, p), 0);
	assert_int_equal(p->uid, 0);
	assert_string_equal(p->unit->service, "manager.service");
	begun(&w, 11, 44, now + 4 * MS);
	assert_int_equal(process_table_confirm(w.table, p), 0);
	assert_int_equal(p->uid, 44);
	assert_string_equal(p->unit->service, "elsewhere.service");
	begun(&w, 99, 0, now);
	end(&w);
}

/* The services of who moves into group 8, where another was, before and after a first sample. */
static void move_to_group_8(const char *others, const char *expected[2])
{
	struct world w = begin_with_lives();
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	char text[128];

	snprintf(text, sizeof(text), "0::/manager.service\n%s", others);
	say(&w, 10, text, 0, 0);
	snprintf(text, sizeof(text), "0::/inside.service\n%s", others);
	say(&w, 20, text, 0, 0);
	sampled(&w, 20, 8, now);
	sampled(&w, 20, 8, now + SOON);
	happen(&w, PROCESS_EVENT_FORK, 11, 10, now);
	say(&w, 11, "0::/elsewhere.service\n", 0, 0);
	process_table_living(w.table, 11)->root_id = 5;
	moved(&w, 11, 8);
	assert_string_equal(process_table_living(w.table, 11)->unit->service, expected[0]);
	assert_int_equal(process_table_living(w.table, 11)->root_id, 0);
	assert_string_equal(sampled_of(&w, 11, 0, true)->unit->service, expected[1]);
	moved(&w, 11, 9);
	assert_string_equal(sampled_of(&w, 11, 0, true)->unit->service, "elsewhere.service");
	end(&w);
}

static void test_who_moves_into_a_known_group_is_not_asked(void **state)
{
	(void)state;
	move_to_group_8("", (const char *[]){"inside.service", "inside.service"});
	move_to_group_8("1:cpu:/\n", (const char *[]){"manager.service", "elsewhere.service"});
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
		cmocka_unit_test(test_groups_of_who_moves_are_known_both),
		cmocka_unit_test(test_what_is_no_evidence_of_a_group),
		cmocka_unit_test(test_who_was_told_does_not_go_by_groups),
		cmocka_unit_test(test_one_unit_is_one_stay),
		cmocka_unit_test(test_groups_have_an_end),
		cmocka_unit_test(test_programs_before_the_newest_stay),
		cmocka_unit_test(test_parents_are_asked_for_once),
		cmocka_unit_test(test_who_exits_stays_where_it_was),
		cmocka_unit_test(test_kernel_threads_and_what_they_start),
		cmocka_unit_test(test_kernel_threads_in_groups),
		cmocka_unit_test(test_observers_hear_of_changes_only),
		cmocka_unit_test(test_observers_hear_of_users),
		cmocka_unit_test(test_a_family_is_asked_once),
		cmocka_unit_test(test_a_family_is_asked_again_once),
		cmocka_unit_test(test_samples_tell_the_owner),
		cmocka_unit_test(test_records_tell_the_owner_of_a_program),
		cmocka_unit_test(test_who_moves_into_a_known_group_is_not_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

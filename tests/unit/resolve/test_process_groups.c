/* SPDX-License-Identifier: MIT */
/* Where those belong that /proc says nothing of: by the group that samples were taken in. */
#include "daemon/resolve/group_paths.h"
#include "tests/unit/resolve/place_fixture.h"

/* Groups that are remembered; process_groups.c. */
#define GROUPS_MAX 4096

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

/* --- by their paths ----------------------------------------------------------------------------
 */

struct hierarchy {
	const char *paths[16]; /* by the group's id; NULL: there is no such group */
	bool is_late;
	unsigned asked;
};

static int path_of_group(void *userdata, uint64_t id, char *ret, size_t size)
{
	struct hierarchy *h = userdata;

	h->asked++;
	if (h->is_late)
		return GROUP_PATHS_E_LATER;
	if (!h->paths[id])
		return GROUP_PATHS_E_NONE;
	snprintf(ret, size, "%s", h->paths[id]);
	return GROUP_PATHS_E_OK;
}

/* A manager, of whom /proc says @others, too, and groups that have paths. */
static struct world begin_with_paths(struct hierarchy *h, const char *others)
{
	struct world w = begin();
	char text[128];

	process_table_name_groups(w.table, path_of_group, h);
	snprintf(text, sizeof(text), "0::/manager.service\n%s", others);
	say(&w, 10, text, 0, 0);
	sampled(&w, 10, 0, clock_ns(CLOCK_MONOTONIC));
	return w;
}

static void test_nobody_else_was_in_the_group_of_the_dead(void **state)
{
	struct hierarchy h = {.paths = {[8] = "/a.slice/inside.service",
					[9] = "/user.slice/user-1000.slice/session-2.scope",
					[10] = "/plain"}};
	struct world w = begin_with_paths(&h, "1:cpu:/\n");

	(void)state;
	assert_string_equal(service_of_the_dead(&w, 11, 10, 8), "inside.service");
	assert_string_equal(process_table_living(w.table, 11)->unit->cgroup,
			    "/a.slice/inside.service");
	assert_string_equal(service_of_the_dead(&w, 12, 10, 9), "user-1000");
	/* That may be anything in the other hierarchies. */
	assert_string_equal(service_of_the_dead(&w, 13, 10, 10), "manager.service");
	/* There is no such group. */
	assert_string_equal(service_of_the_dead(&w, 14, 10, 11), "manager.service");
	assert_int_equal(h.asked, 4);
	for (pid_t pid = 15; pid < 19; pid++)
		service_of_the_dead(&w, pid, 10, (uint64_t)pid - 7);
	assert_int_equal(h.asked, 4);
	end(&w);
}

static struct process *sampled_in(struct world *w, pid_t pid, uid_t uid, uint64_t group)
{
	const struct sample sample = {.pid = pid,
				      .tid = pid,
				      .start_ns = 10 * MS,
				      .time_ns = clock_ns(CLOCK_MONOTONIC) + SOON,
				      .owner_known = true,
				      .uid = uid,
				      .cgroup_id = group};
	struct process *p = NULL;

	assert_int_equal(process_table_find(w->table, &sample, &p), 0);
	return p;
}

static void moves(struct world *w, pid_t pid, uint64_t group)
{
	const struct process_event event = {.kind = PROCESS_EVENT_MOVED,
					    .time_ns = clock_ns(CLOCK_MONOTONIC),
					    .pid = pid,
					    .tid = pid,
					    .cgroup_id = group};

	assert_int_equal(process_table_apply(w->table, &event), 0);
}

/* Where moves are told, a child is known to be where its parent is, until it moves. */
static void test_who_moved_and_is_gone(void **state)
{
	struct hierarchy h = {.paths = {[8] = "/inside.service"}};
	struct world w = begin_with_paths(&h, "1:cpu:/\n");
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	(void)state;
	process_table_trust_lives(w.table);
	happen(&w, PROCESS_EVENT_FORK, 11, 10, now);
	moves(&w, 11, 8);
	happen(&w, PROCESS_EVENT_FORK, 12, 11, now);
	assert_string_equal(sampled_in(&w, 11, 0, 8)->unit->service, "inside.service");
	assert_string_equal(sampled_in(&w, 12, 0, 8)->unit->service, "inside.service");
	assert_int_equal(h.asked, 1);
	end(&w);
}

/* /proc says otherwise, and is not asked. */
static void test_where_groups_decide_no_process_is_asked(void **state)
{
	struct hierarchy h = {
		.paths = {[7] = "/manager.service", [8] = "/inside.service", [9] = "/plain"}};
	struct world w = begin_with_paths(&h, "");
	struct process *p = process_table_living(w.table, 10);
	uint64_t stay = p->stay;

	(void)state;
	process_table_trust_lives(w.table);
	for (pid_t pid = 20; pid < 24; pid++)
		say(&w, pid, "0::/elsewhere.service\n", 0, 0);
	p = sampled_in(&w, 20, 0, 8);
	assert_string_equal(p->unit->service, "inside.service");
	assert_ptr_equal(sampled_in(&w, 21, 0, 8)->unit, p->unit);
	assert_string_equal(sampled_in(&w, 22, 1001, 9)->unit->service, "user-1001");
	assert_string_equal(sampled_in(&w, 23, 1002, 9)->unit->service, "user-1002");
	/* A move is as good as a sample, */
	moves(&w, 23, 8);
	assert_ptr_equal(process_table_living(w.table, 23)->unit, p->unit);
	/* what /proc said before is the same unit, */
	p = process_table_living(w.table, 10);
	p->asked_ns = p->unit->asked_ns = 1;
	assert_int_equal(sampled_in(&w, 10, 0, 7)->stay, stay);
	assert_true(p->asked_ns > 1 && p->cgroup_id == 7);
	/* and a group that is not found is /proc's to tell. */
	say(&w, 24, "0::/elsewhere.service\n", 0, 0);
	assert_string_equal(sampled_in(&w, 24, 0, 11)->unit->service, "elsewhere.service");
	end(&w);
}

static void test_paths_that_are_late_are_asked_for_again(void **state)
{
	struct hierarchy h = {.paths = {[8] = "/inside.service"}, .is_late = true};
	struct world w = begin_with_paths(&h, "");

	(void)state;
	assert_string_equal(service_of_the_dead(&w, 11, 10, 8), "manager.service");
	h.is_late = false;
	assert_string_equal(service_of_the_dead(&w, 12, 10, 8), "inside.service");
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_is_gone_is_of_the_unit_of_its_group),
		cmocka_unit_test(test_what_a_group_does_not_tell),
		cmocka_unit_test(test_groups_of_who_moves_are_known_both),
		cmocka_unit_test(test_what_is_no_evidence_of_a_group),
		cmocka_unit_test(test_who_was_told_does_not_go_by_groups),
		cmocka_unit_test(test_one_unit_is_one_stay),
		cmocka_unit_test(test_groups_have_an_end),
		cmocka_unit_test(test_kernel_threads_in_groups),
		cmocka_unit_test(test_nobody_else_was_in_the_group_of_the_dead),
		cmocka_unit_test(test_who_moved_and_is_gone),
		cmocka_unit_test(test_where_groups_decide_no_process_is_asked),
		cmocka_unit_test(test_paths_that_are_late_are_asked_for_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

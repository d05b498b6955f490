/* SPDX-License-Identifier: MIT */
/* When containers are asked for their names, and who is counted under these. */
#include "daemon/resolve/containers.h"
#include "tests/unit/resolve/place_fixture.h"

#define ID    "4c9a5e8f0b1d2c3e4f5a6b7c8d9e0f1a2b3c4d5e6f708192a3b4c5d6e7f80910"
#define INNER "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* What the files say. */
struct files {
	const char *service;
	int answer;
	unsigned asked;
};

static int ask(void *userdata, const struct container_path *path, uint64_t now_ns,
	       struct container_names *ret)
{
	struct files *f = userdata;

	(void)now_ns;
	assert_true(path->id[0] || path->pod[0]);
	f->asked++;
	strcpy(ret->service, f->service);
	return f->answer;
}

static struct container *find(struct containers *c, const char *cgroup)
{
	struct container *container;

	assert_int_equal(containers_find(c, cgroup, &container), 0);
	return container;
}

static void test_one_each(void **state)
{
	cleanup(containers_freep) struct containers *c = NULL;
	struct container *a, *b, *inside;

	(void)state;
	assert_int_equal(containers_new(&c), 0);
	a = find(c, "/docker/" ID);
	b = find(c, "/docker/" INNER);
	inside = find(c, "/docker/" ID "/system.slice/x.service");
	assert_ptr_equal(a, inside);
	assert_ptr_not_equal(a, b);
	assert_null(find(c, "/system.slice/x.service"));
	assert_int_equal(containers_count(c), 2);
	container_unref(a);
	container_unref(b);
	assert_int_equal(containers_count(c), 1);
	container_unref(inside);
	assert_int_equal(containers_count(c), 0);
	container_unref(NULL);
}

static void test_a_container_outlives_the_others(void **state)
{
	struct containers *c;
	struct container *a;

	(void)state;
	assert_int_equal(containers_new(&c), 0);
	a = find(c, "/lxc.payload.web");
	containers_free(c);
	assert_string_equal(container_names(a)->service, "web");
	container_unref(a);
}

static void test_pauses(void **state)
{
	struct files files = {.service = "", .answer = CONTAINERS_E_PARTLY};
	cleanup(containers_freep) struct containers *c = NULL;
	struct container *a;
	unsigned asked;

	(void)state;
	assert_int_equal(containers_new(&c), 0);
	a = find(c, "/docker/" ID);
	assert_false(containers_look(c, SECOND));
	containers_ask_by(c, ask, &files);
	for (unsigned i = 1; i <= 10; i++)
		containers_look(c, i * SECOND);
	assert_int_equal(files.asked, 4); /* at 1, 2, 4 and 8 */
	files.answer = CONTAINERS_E_BUSY;
	for (unsigned i = 0; i < 5; i++)
		containers_look(c, 20 * SECOND);
	assert_int_equal(files.asked, 9);
	files.answer = CONTAINERS_E_PARTLY;
	for (unsigned i = 20; i < 2000; i++)
		containers_look(c, i * SECOND);
	asked = files.asked;
	containers_look(c, 100000 * SECOND);
	assert_int_equal(files.asked, asked);
	container_unref(a);
}

/* Neither does one that has all, nor one whose name is in its path. */
static void test_who_is_not_asked_again(void **state)
{
	struct files files = {.service = "web", .answer = CONTAINERS_E_ALL};
	cleanup(containers_freep) struct containers *c = NULL;
	struct container *all[3];

	(void)state;
	assert_int_equal(containers_new(&c), 0);
	all[0] = find(c, "/docker/" ID);
	all[1] = find(c, "/lxc.payload.a");
	all[2] = find(c, "/x/" ID);
	containers_ask_by(c, ask, &files);
	assert_true(containers_look(c, SECOND));
	assert_false(containers_look(c, 900 * SECOND));
	assert_int_equal(files.asked, 1);
	assert_string_equal(container_names(all[0])->service, "web");
	for (size_t i = 0; i < 3; i++)
		container_unref(all[i]);
}

static void test_what_is_slow_rests(void **state)
{
	struct files files = {.service = "", .answer = CONTAINERS_E_SLOW};
	cleanup(containers_freep) struct containers *c = NULL;
	struct container *a, *b;

	(void)state;
	assert_int_equal(containers_new(&c), 0);
	a = find(c, "/docker/" ID);
	b = find(c, "/docker/" INNER);
	containers_ask_by(c, ask, &files);
	for (unsigned i = 1; i <= 100; i++)
		containers_look(c, i * SECOND);
	assert_int_equal(files.asked, 4); /* at 1, 11, 31 and 71: one of the two each time */
	for (unsigned i = 0; i < 50; i++)
		containers_look(c, (1000 + 600 * i) * SECOND);
	assert_in_range(files.asked, 50, 54);
	files.answer = CONTAINERS_E_ALL;
	containers_look(c, 100000 * SECOND);
	assert_in_range(files.asked, 52, 56);
	container_unref(a);
	container_unref(b);
}

static void test_many_take_turns(void **state)
{
	struct files files = {.service = "", .answer = CONTAINERS_E_ALL};
	cleanup(containers_freep) struct containers *c = NULL;
	struct container *all[CONTAINERS_LOOK_MAX + 8];
	char path[128];

	(void)state;
	assert_int_equal(containers_new(&c), 0);
	containers_ask_by(c, ask, &files);
	for (unsigned i = 0; i < CONTAINERS_LOOK_MAX + 8; i++) {
		snprintf(path, sizeof(path), "/docker/%064x", i);
		all[i] = find(c, path);
	}
	containers_look(c, SECOND);
	assert_int_equal(files.asked, CONTAINERS_LOOK_MAX);
	containers_look(c, SECOND);
	assert_int_equal(files.asked, CONTAINERS_LOOK_MAX + 8);
	for (unsigned i = 0; i < CONTAINERS_LOOK_MAX + 8; i++)
		container_unref(all[i]);
}

/* --- processes -------------------------------------------------------------------------------- */

static const char *service_of(struct world *w, pid_t pid)
{
	return process_unit_service(process_table_living(w->table, pid)->unit);
}

static void test_processes_are_counted_as_their_container(void **state)
{
	const struct process_observer observer = {.changed = count_changed};
	struct files files = {.service = "web", .answer = CONTAINERS_E_ALL};
	struct world w = begin();
	uint64_t now = clock_ns(CLOCK_MONOTONIC), stay;
	struct process *p;

	(void)state;
	say(&w, 10, "0::/system.slice/docker-" ID ".scope\n", 0, 0);
	say(&w, 20, "0::/docker/" ID "\n", 1000, 0);
	say(&w, 30, "0::/system.slice/a.service\n", 0, 0);
	say(&w, 40, "0::/user.slice/user-1000.slice/user@1000.service/docker-" ID ".scope\n", 1000,
	    0);
	for (pid_t pid = 10; pid <= 40; pid += 10)
		p = sampled(&w, pid, 0, now);
	stay = process_table_living(w.table, 10)->stay;
	assert_string_equal(service_of(&w, 10), "docker-" ID ".scope");
	assert_string_equal(service_of(&w, 20), "user-1000");

	process_table_observe(w.table, &(struct process_observer){.changed = observer.changed,
								  .userdata = &w});
	process_table_name_containers(w.table, ask, &files);
	process_table_look_at_containers(w.table);
	assert_string_equal(service_of(&w, 10), "web");
	assert_string_equal(service_of(&w, 20), "web");
	assert_string_equal(service_of(&w, 30), "a.service");
	assert_string_equal(service_of(&w, 40), "user@1000.service");
	assert_int_equal(files.asked, 1);
	assert_int_equal(w.changed, 2);
	/* What was counted before is of that service, too. */
	assert_int_equal(process_table_living(w.table, 10)->stay, stay);
	(void)p;
	end(&w);
}

/* A unit's name holds as long as nothing else is known. */
static void test_no_name(void **state)
{
	struct files files = {.service = "", .answer = CONTAINERS_E_PARTLY};
	struct world w = begin();

	(void)state;
	say(&w, 10, "0::/system.slice/docker-" ID ".scope\n", 0, 0);
	sampled(&w, 10, 0, clock_ns(CLOCK_MONOTONIC));
	process_table_name_containers(w.table, ask, &files);
	process_table_look_at_containers(w.table);
	assert_int_equal(files.asked, 1);
	assert_string_equal(service_of(&w, 10), "docker-" ID ".scope");
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_each),
		cmocka_unit_test(test_a_container_outlives_the_others),
		cmocka_unit_test(test_pauses),
		cmocka_unit_test(test_who_is_not_asked_again),
		cmocka_unit_test(test_what_is_slow_rests),
		cmocka_unit_test(test_many_take_turns),
		cmocka_unit_test(test_processes_are_counted_as_their_container),
		cmocka_unit_test(test_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "daemon/output/usage.h"
#include "daemon/output/usage_events.h"
#include "tests/unit/output/rollup_fixture.h"

#define EVENT(kind) PROFD__CONTROL__USAGE_EVENT_KIND__##kind

static Profd__Control__UsageTable *ask(struct writer *w, uint64_t until_s, const char *text,
				       struct output_result *result)
{
	struct output_request request = {
		.task = OUTPUT_USAGE,
		.what.select = {.since_ns = T0 * NS, .until_ns = until_s * NS},
		.steps = 10,
		.limit = 60,
	};

	request.what.service = (char *)(uintptr_t)text;
	usage_free(steal_ptr(&result->usage));
	writer_usage(w, &request, until_s * NS, result);
	assert_int_equal(result->error, 0);
	return result->usage;
}

static struct snapshot *minute_at(const struct fixture *f, unsigned minute)
{
	struct snapshot *s = everything_at(f, T0 + minute * 60);

	s->formats = FORMAT_PPROF;
	return s;
}

static void write_minute(struct writer *w, struct snapshot *s)
{
	write_quietly(w, s, s->start_ns / NS + 60);
}

static void set_ledger(struct snapshot *s, const char *ledger)
{
	free(s->ledger);
	s->ledger = strdup(ledger);
}

/* Ticks that are a hundredth of all; of the minutes of a step, and of an hour, together. */
static void test_losses(void **state)
{
	struct fixture *f = *state;
	const struct output_options options = rolling(f);
	struct writer *w = open_writer(f, &options, NULL, T0);
	struct output_result r = {0};
	const Profd__Control__UsageTable *t;

	for (unsigned i = 0; i < 4; i++) {
		struct snapshot *s = minute_at(f, i);

		set_ledger(s,
			   i == 0 ? "expected=6000 seen=5941 lost.ring_full=59"
				  : "expected=6000 seen=5000 lost.skipped=900 lost.ring_full=100");
		write_minute(w, s);
	}
	t = ask(w, T0 + 600, NULL, &r);
	assert_int_equal(t->n_events, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(t->events[i]->kind, EVENT(TICKS_LOST));
		assert_int_equal(t->events[i]->at_ns, (T0 + 60 + i * 60) * NS);
		assert_int_equal(t->events[i]->lost, 1000);
		assert_int_equal(t->events[i]->ticks, 6000);
	}
	t = ask(w, T0 + 36000, NULL, &r);
	assert_int_equal(t->n_events, 1);
	assert_int_equal(t->events[0]->lost, 3000);
	assert_true(roll(w, T0 + 3 * HOUR) > 0);
	t = ask(w, T0 + 600, "kernel", &r);
	assert_int_equal(t->n_events, 1);
	assert_int_equal(t->events[0]->lost, 3000);
	usage_free(r.usage);
	writer_free(w);
}

/* Of an empty store, nothing is known to have gone before. */
static void test_starts(void **state)
{
	struct fixture *f = *state;
	struct writer *w = open_writer(f, NULL, NULL, T0);
	struct output_result r = {0};
	const Profd__Control__UsageTable *t;
	char stat[64];

	write_minute(w, minute_at(f, 0));
	assert_int_equal(ask(w, T0 + 600, NULL, &r)->n_events, 0);
	writer_free(w);
	w = open_writer(f, NULL, NULL, T0 + 120);
	write_minute(w, minute_at(f, 2));
	write_minute(w, minute_at(f, 3));
	writer_free(w);
	snprintf(stat, sizeof(stat), "cpu 1 2\nbtime %llu\n", (unsigned long long)T0 + 250);
	write_text(f->proc_fd, "stat", stat);
	w = open_writer(f, NULL, NULL, T0 + 300);
	write_minute(w, minute_at(f, 5));
	t = ask(w, T0 + 600, NULL, &r);
	assert_int_equal(t->n_events, 2);
	assert_int_equal(t->events[0]->kind, EVENT(PROFD_STARTED));
	assert_int_equal(t->events[0]->at_ns, (T0 + 120) * NS);
	assert_int_equal(t->events[1]->kind, EVENT(MACHINE_STARTED));
	assert_int_equal(t->events[1]->at_ns, (T0 + 300) * NS);
	usage_free(r.usage);
	writer_free(w);
}

/* Both hierarchies of control groups. */
static void restart_in(struct fixture *f, const char *hierarchy)
{
	struct writer *w = open_writer(f, NULL, NULL, T0);
	struct output_result r = {0};
	const Profd__Control__UsageTable *t;
	char group[128], other[160];

	snprintf(group, sizeof(group), "%s/system.slice/a.service", hierarchy);
	snprintf(other, sizeof(other), "%s.old", group);
	for (unsigned i = 0; i < 6; i++) {
		struct snapshot *s = minute_at(f, i);

		if (i == 2) /* is kept, so that the next one has another inode */
			renameat(f->sys_fd, group, f->sys_fd, other);
		if (i == 0 || i == 4)
			close(dir_at(f->sys_fd, group));
		s->processes[0].cgroup = strdup("/system.slice/a.service/part");
		write_minute(w, s);
	}
	t = ask(w, T0 + 600, NULL, &r);
	assert_int_equal(t->n_events, 1);
	assert_int_equal(t->events[0]->kind, EVENT(SERVICE_RESTARTED));
	assert_string_equal(t->events[0]->service, "a.service");
	assert_int_equal(t->events[0]->at_ns, (T0 + 240) * NS);
	/* It is of no service that is asked for. */
	assert_int_equal(ask(w, T0 + 600, "b/x", &r)->n_events, 0);
	assert_int_equal(ask(w, T0 + 600, "A.SERV", &r)->n_events, 1);
	usage_free(r.usage);
	writer_free(w);
}

static void make_hierarchy(const struct fixture *f, const char *name)
{
	char slice[128];

	close(dir_at(f->sys_fd, "fs"));
	close(dir_at(f->sys_fd, "fs/cgroup"));
	close(dir_at(f->sys_fd, name));
	snprintf(slice, sizeof(slice), "%s/system.slice", name);
	close(dir_at(f->sys_fd, slice));
}

static void test_restart(void **state)
{
	make_hierarchy(*state, "fs/cgroup");
	restart_in(*state, "fs/cgroup");
}

static void test_restart_v1(void **state)
{
	make_hierarchy(*state, "fs/cgroup/systemd");
	restart_in(*state, "fs/cgroup/systemd");
}

/* A minute in which a fourth process runs @program, started later than all before. */
static struct snapshot *minute_of(const struct fixture *f, unsigned minute, struct image *program)
{
	static const struct script once = {0, 0, NULL, {STEXT + 0x10}, {0}, 0, 0, 1};
	struct script script[] = {everything[0], once};
	struct snapshot *s;
	struct snapshot_process *p;

	script[1].process = 10 + minute;
	s = make_snapshot(f, T0 + minute * 60, script, 2);
	s->formats = FORMAT_PPROF;
	p = &s->processes[3];
	p->serial = 10 + minute;
	p->kernel_thread = false;
	free(p->service);
	p->service = strdup("a.service");
	p->program = image_ref(program);
	return s;
}

/* Another file at the same path; the old one, which goes on, and another program are none. */
static void test_builds(void **state)
{
	struct fixture *f = *state;
	const struct output_options options = rolling(f);
	struct writer *w = open_writer(f, &options, NULL, T0);
	struct image *program = make_image(9, IMAGE_FILE, "/usr/bin/worker", 0x99);
	struct output_result r = {0};
	const Profd__Control__UsageTable *t;

	write_minute(w, minute_of(f, 0, f->program));
	write_minute(w, minute_of(f, 1, f->other));
	write_minute(w, minute_of(f, 2, program));
	write_minute(w, minute_at(f, 3));
	write_minute(w, minute_of(f, 4, program));
	for (unsigned rolled = 0; rolled < 2; rolled++) {
		t = ask(w, T0 + 600, NULL, &r);
		assert_int_equal(t->n_events, 1);
		assert_int_equal(t->events[0]->kind, EVENT(NEW_BUILD));
		assert_string_equal(t->events[0]->service, "a.service");
		assert_string_equal(t->events[0]->text, "999999999999 /usr/bin/worker");
		assert_int_equal(t->events[0]->at_ns, (T0 + 120) * NS);
		roll(w, T0 + 3 * DAY);
	}
	assert_true(exists(f, HOUR_FILE) || exists(f, DAY_FILE));
	usage_free(r.usage);
	image_unref(program);
	writer_free(w);
}

#define T(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_losses), T(test_starts), T(test_restart), T(test_restart_v1), T(test_builds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

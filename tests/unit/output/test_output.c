/* SPDX-License-Identifier: MIT */
/* The thread and its queues, over a real store. */
#include "tests/unit/output/fixture.h"

#include <poll.h>

static struct output *open_output(struct fixture *f)
{
	const struct output_options o = default_options(f);
	struct output *output = NULL;

	assert_int_equal(output_new(&output, &o), 0);
	return output;
}

static struct output_result *wait_result(struct output *o)
{
	struct pollfd p = {.fd = output_fd(o), .events = POLLIN};
	struct output_result *r = output_take_result(o);

	while (!r) {
		assert_int_equal(poll(&p, 1, 10000), 1);
		r = output_take_result(o);
	}
	return r;
}

static int submit_snapshot(struct output *o, struct snapshot *s, void *cookie)
{
	return output_submit(
		o, &(struct output_request){.task = OUTPUT_WRITE, .snapshot = s, .cookie = cookie});
}

static int submit_epoch(struct output *o, void *cookie)
{
	return output_submit(o, &(struct output_request){.task = OUTPUT_EPOCH, .cookie = cookie});
}

static void test_order(void **state)
{
	struct fixture *f = *state;
	struct output *o = open_output(f);
	struct output_state now;
	struct output_result *r;
	int cookies[4];

	for (unsigned i = 0; i < 2; i++) {
		struct snapshot *s = everything_at(f, T0 + 60 * i);

		assert_int_equal(submit_snapshot(o, s, &cookies[i]), OUTPUT_E_OK);
	}
	assert_int_equal(output_submit(o, &(struct output_request){.task = OUTPUT_LIST,
								   .list.service = "a.service",
								   .cookie = &cookies[2]}),
			 OUTPUT_E_OK);
	assert_int_equal(submit_epoch(o, &cookies[3]), OUTPUT_E_OK);
	for (unsigned i = 0; i < 4; i++) {
		r = wait_result(o);
		assert_ptr_equal(r->request, &cookies[i]);
		assert_int_equal(r->error, 0);
		assert_true(r->started_ns > T0);
		assert_true(r->seconds >= 0);
		assert_true(r->used_ns > 0);
		if (i < 2)
			assert_true(r->paths.n > 3);
		if (i == 2)
			assert_int_equal(r->listing->n_rows, 6);
		if (i == 3)
			assert_int_equal(strlen(r->paths.all[0]), 10);
		output_result_free(r);
	}
	assert_null(output_take_result(o));
	assert_int_equal(poll(&(struct pollfd){.fd = output_fd(o), .events = POLLIN}, 1, 0), 0);
	output_get_state(o, &now);
	assert_true(now.store.n_files > 8);
	assert_int_equal(now.store.oldest_ns, T0 * NS);
	output_free(o);
}

/* All files of the sessions that are asked for, those of each by time. */
static void test_files_of_sessions(void **state)
{
	static const struct {
		uint64_t id, start_s;
		const char *name;
	} windows[] = {{1, T0 + 60, "s1-a"}, {1, T0, "s1-a"}, {12, T0, "s12-b"}, {3, T0, "s3-c"}};
	const uint64_t ids[] = {3, 1, 77};
	struct fixture *f = *state;
	struct output *o = open_output(f);
	struct output_result *r;
	const char *at, *last = "";
	char list[4096];
	unsigned n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(windows); i++) {
		struct snapshot *s = everything_at(f, windows[i].start_s);

		s->session = windows[i].id;
		s->session_name = strdup(windows[i].name);
		assert_int_equal(submit_snapshot(o, s, NULL), OUTPUT_E_OK);
		output_result_free(wait_result(o));
	}
	while (submit_epoch(o, NULL) == OUTPUT_E_OK)
		n++;
	assert_int_equal(output_submit(o, &(struct output_request){.task = OUTPUT_FILES,
								   .ids = ids,
								   .n_ids = 3}),
			 OUTPUT_E_OK); /* however much is asked for */
	while (n--)
		output_result_free(wait_result(o));
	r = wait_result(o);
	assert_int_equal(r->error, 0);
	assert_in_range(r->collected->bytes, 1, sizeof(list));
	assert_int_equal(pread(r->collected->fd, list, sizeof(list), 0), r->collected->bytes);
	assert_int_equal(list[r->collected->bytes - 1], 0);
	n = 0;
	for (at = list; at < list + r->collected->bytes; at += strlen(at) + 1, n++) {
		assert_int_equal(access(at, R_OK), 0);
		assert_null(strstr(at, "s12-"));
		if (strstr(at, "/sessions/s1-a/")) {
			assert_true(strncmp(last, at, strlen(f->store_path) + 30) <= 0);
			last = at;
		}
	}
	assert_int_equal(n % 3, 0); /* two windows, and one */
	assert_true(n >= 6);
	output_result_free(r);
	output_free(o);
}

/* As many as flushes make in a night. */
static void test_many_files(void **state)
{
	const unsigned n_files = 20000;
	const uint64_t id = 5;
	struct fixture *f = *state;
	struct output_result *r;
	char path[PATH_MAX + 64], last[sizeof(path)];
	struct output *o;
	FILE *list;

	snprintf(path, sizeof(path), "%s/sessions", f->store_path);
	mkdir(path, 0711);
	strcat(path, "/s5-many");
	assert_int_equal(mkdir(path, 0700), 0);
	for (unsigned i = 0; i < n_files; i++) {
		snprintf(path, sizeof(path), "%s/sessions/s5-many/20261121T%02u%02u%02uZ-1s.pb.gz",
			 f->store_path, i / 3600, i / 60 % 60, i % 60);
		assert_int_equal(mknod(path, S_IFREG | 0600, 0), 0);
	}
	strcpy(last, path);
	o = open_output(f);
	assert_int_equal(output_submit(o, &(struct output_request){.task = OUTPUT_FILES,
								   .ids = &id,
								   .n_ids = 1}),
			 OUTPUT_E_OK);
	r = wait_result(o);
	assert_int_equal(r->error, 0);
	assert_int_equal(r->collected->bytes, n_files * (strlen(path) + 1));
	list = fdopen(steal_fd(&r->collected->fd), "r");
	assert_int_equal(fseek(list, -(long)strlen(path) - 1, SEEK_END), 0);
	assert_int_equal(fread(path, 1, sizeof(path), list), strlen(last) + 1);
	assert_string_equal(path, last);
	fclose(list);
	output_result_free(r);
	output_free(o);
}

/* The queue is bounded, and frees with the answers that are taken. */
static void test_busy(void **state)
{
	struct fixture *f = *state;
	struct output *o = open_output(f);
	unsigned n = 0;

	while (submit_epoch(o, NULL) == OUTPUT_E_OK)
		assert_true(++n < 1000);
	assert_true(n >= 16);
	output_result_free(wait_result(o));
	assert_int_equal(submit_epoch(o, NULL), OUTPUT_E_OK);
	output_free(o);
}

/* What is queued when the end comes is written. */
static void test_finishes(void **state)
{
	struct fixture *f = *state;
	struct output *o = open_output(f);
	struct snapshot *s;

	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(submit_snapshot(o, everything_at(f, T0 + 60 * i), NULL),
				 OUTPUT_E_OK);
	/* One that is refused stays the caller's. */
	while (submit_epoch(o, NULL) == OUTPUT_E_OK)
		continue;
	s = everything_at(f, T0);
	assert_int_equal(output_submit(o, &(struct output_request){.task = OUTPUT_COLLECT,
								   .snapshot = s}),
			 OUTPUT_E_BUSY);
	snapshot_free(s);
	output_free(o);
	assert_int_equal(take_census(f).pprof % EVERYTHING, 0);
	assert_true(take_census(f).pprof >= 10 * EVERYTHING);
}

static void test_configure(void **state)
{
	struct fixture *f = *state;
	struct output_options options = default_options(f);
	struct output *o = open_output(f);

	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(submit_snapshot(o, everything_at(f, T0 + 60 * i), NULL),
				 OUTPUT_E_OK);
	options.limits.max_size = 1;
	for (unsigned i = 0; i < 5; i++)
		output_result_free(wait_result(o));
	assert_int_equal(take_census(f).n_pprof, 15);
	output_configure(o, &options);
	output_free(o);
	assert_int_equal(take_census(f).n_pprof, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {T(test_order),      T(test_files_of_sessions),
					   T(test_many_files), T(test_busy),
					   T(test_finishes),   T(test_configure)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

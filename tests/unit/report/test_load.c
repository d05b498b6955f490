/* SPDX-License-Identifier: MIT */
/* Files, directories and the store as one profile: which files, and that no sample counts twice. */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "client/report/load.h"
#include "client/report/sources.h"
#include "common/cleanup.h"
#include "common/profile/pprof.h"
#include "tests/support/temp_dir.h"

struct world {
	struct temp_dir dir;
	const char *profiles[2];
	struct report_inputs inputs;
	struct load_options options; /* of @inputs; no store */
	struct load *l;
	struct profile_message message;
	unsigned n_notes;
};

static const char *at(const struct world *w, const char *name)
{
	return temp_dir_at(&w->dir, name);
}

static void write_bytes(const struct world *w, const char *path, const void *data, size_t length)
{
	write_file(w->dir.fd, path, data, length);
}

static void add_stack(struct profile *p, unsigned i, int64_t value)
{
	struct profile_function function = {0};
	struct profile_line line = {0};
	char name[32];
	uint32_t location;

	snprintf(name, sizeof(name), "f%u", i);
	assert_int_equal(profile_add_text(p, name, &function.name), 0);
	assert_int_equal(profile_add_function(p, &function, &line.function), 0);
	assert_int_equal(profile_add_location(p, PROFILE_NONE, i, &line, 1, &location), 0);
	assert_int_equal(profile_add_sample(p, &location, 1, &value, NULL, 0), 0);
}

/* f<first> ..., each @value samples */
struct stacks {
	unsigned first, n;
	int64_t value;
};

static void write_profile(const struct world *w, const char *path, int64_t time_s,
			  struct stacks stacks)
{
	cleanup(profile_freep) struct profile *p = NULL;
	cleanup(freep) uint8_t *data = NULL;
	size_t length;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	p->time_ns = time_s * 1000000000;
	p->duration_ns = 60 * INT64_C(1000000000);
	for (unsigned i = 0; i < stacks.n; i++)
		add_stack(p, stacks.first + i, stacks.value);
	assert_int_equal(pprof_write(p, 1, &data, &length), 0);
	write_bytes(w, path, data, length);
}

static void add_input(struct world *w, const char *name)
{
	assert_true(w->inputs.n_profiles < ARRAY_SIZE(w->profiles));
	w->profiles[w->inputs.n_profiles++] = at(w, name);
}

static void note(void *context, const char *text)
{
	struct world *w = context;

	(void)text;
	w->n_notes++;
}

/* Instead of what was loaded before. */
static int load(struct world *w)
{
	load_free(steal_ptr(&w->l));
	return load_new(&w->l, &w->options, &w->message);
}

/* Once through all samples: how many, and the sum of their values. */
static int64_t total(struct world *w, size_t *ret_n)
{
	int64_t sum = 0;
	bool any = true;

	*ret_n = 0;
	while (any) {
		assert_int_equal(load_next(w->l, &any, &w->message), REPORT_E_OK);
		if (!any)
			break;
		*ret_n += load_profile(w->l)->n_samples;
		sum += profile_total(load_profile(w->l), 0);
	}
	return sum;
}

static void test_stream_again_and_again(void **state)
{
	struct world *w = *state;
	size_t n, n_locations;

	add_input(w, "one.pb.gz");
	write_profile(w, "one.pb.gz", 1000, (struct stacks){0, 200000, 2});
	assert_int_equal(load(w), REPORT_E_OK);
	assert_int_equal(load_profile(w->l)->n_samples, 0);
	assert_int_equal(total(w, &n), 400000);
	assert_int_equal(n, 200000);
	assert_true(load_profile(w->l)->duration_ns == 60 * INT64_C(1000000000));
	n_locations = load_profile(w->l)->n_locations;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(total(w, &n), 400000);
	assert_int_equal(load_profile(w->l)->n_locations, n_locations);
	assert_true(load_profile(w->l)->duration_ns == 60 * INT64_C(1000000000));
}

/* One program at two places stays at both, each time: nothing is merged with it. */
static void test_stream_of_two_places(void **state)
{
	struct world *w = *state;
	cleanup(profile_freep) struct profile *p = NULL;
	cleanup(freep) uint8_t *data = NULL;
	const int64_t value = 3;
	size_t length, n;

	add_input(w, "places.pb.gz");
	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	for (unsigned i = 0; i < 40000; i++) {
		uint64_t start = i % 2 ? 0x70000000 : 0x40000000;
		struct profile_mapping m = {.start = start, .limit = start + 0x1000000};
		uint32_t mapping, location;

		assert_int_equal(profile_add_text(p, "/usr/bin/p", &m.path), 0);
		assert_int_equal(profile_add_mapping(p, &m, &mapping), 0);
		assert_int_equal(
			profile_add_location(p, mapping, start + i / 2, NULL, 0, &location), 0);
		assert_int_equal(profile_add_sample(p, &location, 1, &value, NULL, 0), 0);
	}
	assert_int_equal(pprof_write(p, 1, &data, &length), 0);
	write_bytes(w, "places.pb.gz", data, length);
	assert_int_equal(load(w), REPORT_E_OK);
	assert_int_equal(load_profile(w->l)->n_samples, 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(total(w, &n), 120000);
		assert_int_equal(load_profile(w->l)->n_mappings, 2);
		assert_int_equal(load_profile(w->l)->n_locations, 40000);
	}
}

static void test_held_when_asked(void **state)
{
	struct world *w = *state;
	size_t n;

	add_input(w, "one.pb.gz");
	w->options.hold = true;
	write_profile(w, "one.pb.gz", 1000, (struct stacks){0, 1000, 2});
	assert_int_equal(load(w), REPORT_E_OK);
	assert_int_not_equal(load_profile(w->l)->n_samples, 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(total(w, &n), 2000);
}

static void test_several_and_a_dir(void **state)
{
	struct world *w = *state;
	size_t n;

	add_input(w, "a.pb.gz");
	add_input(w, "dir");
	w->options.listener.note = note;
	write_profile(w, "a.pb.gz", 1000, (struct stacks){0, 10, 1});
	write_profile(w, "dir/b.pb.gz", 2000, (struct stacks){5, 10, 1});
	write_bytes(w, "dir/sub/c.collapsed", "f3 7\n", 5);
	write_bytes(w, "dir/README", "not a profile", 13);
	write_bytes(w, "dir/.hidden", "f3 7\n", 5);
	assert_int_equal(load(w), REPORT_E_OK);
	assert_int_equal(load_n_files(w->l), 3);
	assert_int_equal(total(w, &n), 27);
	/* f3 of the text has no address: another location. */
	assert_int_equal(n, 16);
	assert_int_equal(w->n_notes, 1);
}

static void test_base(void **state)
{
	struct world *w = *state;
	const char *bases[] = {at(w, "base.pb.gz")};
	size_t n;

	add_input(w, "new.pb.gz");
	w->inputs.bases = bases;
	w->inputs.n_bases = 1;
	write_profile(w, "new.pb.gz", 1000, (struct stacks){0, 10, 3});
	write_profile(w, "base.pb.gz", 1000, (struct stacks){5, 10, 2});
	for (unsigned diff = 0; diff < 2; diff++) {
		w->inputs.is_diff = diff;
		assert_int_equal(load(w), REPORT_E_OK);
		assert_int_equal(total(w, &n), 10);
		/* A label keeps those of the base apart. */
		assert_int_equal(n, diff ? 20 : 15);
	}
}

static void test_store(void **state)
{
	struct world *w = *state;
	const int64_t hour = 1795251600; /* 2026-11-21T09:00:00Z */
	const uint64_t ns = UINT64_C(1000000000);
	size_t n;

	w->options.stored.store = at(w, "store");
	w->inputs.is_store = true;
	w->inputs.service = "a b.service";
	write_profile(w, "store/services/a%20b.service/20261121/20261121T090000Z-60s.pb.gz", hour,
		      (struct stacks){0, 1, 1});
	write_profile(w, "store/services/a%20b.service/20261121/20261121T090100Z-60s.pb.gz",
		      hour + 60, (struct stacks){0, 1, 10});
	write_profile(w, "store/services/a%20b.service/20261121/20261121T090200Z-60s.pb.gz",
		      hour + 120, (struct stacks){0, 1, 100});
	write_bytes(w, "store/services/a%20b.service/20261121/20261121T090100Z-60s.x-1.prof", "x",
		    1);
	w->options.stored.since_ns = (uint64_t)(hour + 60) * ns;
	w->options.stored.until_ns = (uint64_t)(hour + 120) * ns;
	assert_int_equal(load(w), REPORT_E_OK);
	assert_int_equal(total(w, &n), 10);
	w->options.stored.until_ns = 0;
	assert_int_equal(load(w), REPORT_E_OK);
	assert_int_equal(total(w, &n), 110);
	/* A day that began hours before the range may have some of it. */
	write_profile(w, "store/services/a%20b.service/20261121/20261121T000000Z-86400s.pb.gz",
		      hour + 300, (struct stacks){0, 1, 1000});
	w->options.stored.since_ns = (uint64_t)(hour + 240) * ns;
	w->options.stored.until_ns = (uint64_t)(hour + 3600) * ns;
	assert_int_equal(load(w), REPORT_E_OK);
	assert_int_equal(total(w, &n), 1000);
	w->options.stored.since_ns = (uint64_t)(hour + 2 * 86400) * ns;
	w->options.stored.until_ns = 0;
	assert_int_equal(load(w), REPORT_E_BAD);
	assert_non_null(strstr(w->message.text, "no windows"));
	w->inputs.service = "other.service";
	assert_int_equal(load(w), REPORT_E_BAD);
	assert_non_null(strstr(w->message.text, "nothing of a service"));
	w->options.stored.store = at(w, "nowhere");
	assert_int_equal(load(w), REPORT_E_BAD);
	assert_non_null(strstr(w->message.text, "there is no store"));
}

/* Several services, or all; and what is not written yet. */
static void test_services(void **state)
{
	static const struct {
		const char *service;
		int64_t total;
	} cases[] = {
		{"", 1111},          {"web-a,web-b", 11},         {"web-*", 11},
		{"w?b-b.serv*", 10}, {"*-b,docker-*.scope", 110}, {"web-a,nothing,other", 1001},
		{"*", 1111},
	};
	struct world *w = *state;
	const int64_t hour = 1795251600; /* 2026-11-21T09:00:00Z */
	size_t n;

	w->options.stored.store = at(w, "store");
	w->inputs.is_store = true;
#define WINDOW(service) "store/services/" service "/20261121/20261121T090000Z-60s.pb.gz"
	write_profile(w, WINDOW("web-a.service"), hour, (struct stacks){0, 1, 1});
	write_profile(w, WINDOW("web-b.service"), hour, (struct stacks){0, 1, 10});
	write_profile(w, WINDOW("docker-ab.scope"), hour, (struct stacks){0, 1, 100});
	write_profile(w, WINDOW("other"), hour, (struct stacks){0, 1, 1000});
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		w->inputs.service = cases[i].service;
		assert_int_equal(load(w), REPORT_E_OK);
		assert_int_equal(total(w, &n), cases[i].total);
	}
	w->inputs.service = "web-x,db-*";
	assert_int_equal(load(w), REPORT_E_BAD);
	w->inputs.service = "web_a";
	assert_int_equal(load(w), REPORT_E_BAD);
	assert_non_null(strstr(w->message.text, "did you mean web-a.service"));
	/* A window that profd wrote after it was asked for it, still open, counts once. */
	write_profile(w, "open.pb.gz", hour + 60, (struct stacks){0, 1, 5});
	write_profile(w, "store/services/web-a.service/20261121/20261121T090100Z-60s.pb.gz",
		      hour + 60, (struct stacks){0, 1, 7});
	w->inputs.service = "web-a";
	w->options.stored.open_s = (uint64_t)hour + 60;
	w->options.stored.open_fd = open(at(w, "open.pb.gz"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(load(w), REPORT_E_OK);
	assert_int_equal(total(w, &n), 6);
	/* Of a service that began just now it is all there is. */
	w->inputs.service = "new.service";
	w->options.stored.open_fd = open(at(w, "open.pb.gz"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(load(w), REPORT_E_OK);
	assert_int_equal(total(w, &n), 5);
}

/* nginx is nginx.service, as with systemctl. */
static void test_service_without_its_suffix(void **state)
{
	struct world *w = *state;
	const int64_t hour = 1795251600;
	size_t n;

	write_profile(w, "units/services/x.service/20261121/20261121T090000Z-60s.pb.gz", hour,
		      (struct stacks){0, 1, 1});
	w->inputs.is_store = true;
	w->inputs.service = "x";
	w->options.stored.store = at(w, "units");
	assert_int_equal(load(w), REPORT_E_OK);
	assert_int_equal(total(w, &n), 1);
	w->inputs.service = "x.socket";
	assert_int_equal(load(w), REPORT_E_BAD);
}

/* Of a directory of the store, windows count and not the same samples by process. */
static void test_dir_of_the_store(void **state)
{
	struct world *w = *state;
	cleanup(sources_deinit) struct sources s = {0};

	write_profile(w, "day/20261121T090000Z-60s.pb.gz", 1795251600, (struct stacks){0, 1, 1});
	write_bytes(w, "day/20261121T090000Z-60s.sh-12.prof", "x", 1);
	assert_int_equal(sources_add(&s, at(w, "day"), &w->message), REPORT_E_OK);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.n_double, 1);
}

/* What is left out is told. */
static void test_too_deep(void **state)
{
	struct world *w = *state;
	size_t n;

	add_input(w, "deep");
	w->options.listener.note = note;
	write_profile(w, "deep/1/2/3/4/5/6/7/8/in.pb.gz", 1000, (struct stacks){0, 3, 1});
	write_profile(w, "deep/1/2/3/4/5/6/7/8/9/out.pb.gz", 1000, (struct stacks){0, 3, 1});
	assert_int_equal(load(w), REPORT_E_OK);
	assert_int_equal(total(w, &n), 3);
	assert_int_equal(w->n_notes, 1);
}

static void test_too_long_a_path(void **state)
{
	enum { STEP = 251, N_STEPS = 16 };
	struct world *w = *state;
	cleanup(sources_deinit) struct sources s = {0};
	char path[PATH_MAX], name[NAME_MAX + 1] = "";
	cleanup(closep) int fd = -1;
	size_t length;

	length = (size_t)snprintf(path, sizeof(path), "%s", w->dir.path);
	assert_true(length + N_STEPS * STEP < sizeof(path));
	for (unsigned i = 0; i < N_STEPS; i++, length += STEP) {
		path[length] = '/';
		memset(path + length + 1, 'd', STEP - 1);
		path[length + STEP] = '\0';
		assert_int_equal(mkdir(path, 0755), 0);
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	memset(name, 'n', NAME_MAX);
	write_text(fd, name, "f 1\n");
	write_text(fd, "in", "f 1\n");
	assert_int_equal(sources_add(&s, path, &w->message), REPORT_E_OK);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.n_too_far, 1);
	assert_int_equal(unlinkat(fd, name, 0), 0);
}

static void test_what_is_not_there(void **state)
{
	struct world *w = *state;

	add_input(w, "nothing");
	assert_int_equal(load(w), REPORT_E_BAD);
	assert_non_null(strstr(w->message.text, "nothing: "));
	mkdir(at(w, "empty"), 0755);
	w->profiles[0] = at(w, "empty");
	assert_int_equal(load(w), REPORT_E_BAD);
	assert_non_null(strstr(w->message.text, "no files"));
	/* A bare word may be a service's. */
	w->inputs.profiles[0] = "no-such-file";
	assert_int_equal(load(w), REPORT_E_BAD);
	assert_non_null(strstr(w->message.text, "No such file or directory; a service is -s no-"));
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	temp_dir_make(&w->dir);
	report_inputs_init(&w->inputs);
	w->inputs.profiles = w->profiles;
	assert_true(symbolize_mode_parse("none", &w->inputs.mode));
	w->options = (struct load_options){.inputs = &w->inputs,
					   .stored = {.store = "", .open_fd = -1},
					   .listener.context = w};
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	load_free(w->l);
	temp_dir_remove(&w->dir);
	free(w);
	return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_stream_again_and_again),
		TEST(test_stream_of_two_places),
		TEST(test_held_when_asked),
		TEST(test_several_and_a_dir),
		TEST(test_base),
		TEST(test_store),
		TEST(test_services),
		TEST(test_service_without_its_suffix),
		TEST(test_dir_of_the_store),
		TEST(test_too_deep),
		TEST(test_too_long_a_path),
		TEST(test_what_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

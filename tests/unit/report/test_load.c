/* SPDX-License-Identifier: MIT */
/* Files, folders and the store as one profile: which files, and that no sample counts twice. */
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
#include "tests/support/temp_folder.h"

static struct temp_folder folder;

static const char *at(const char *name)
{
	static char path[8][512];
	static unsigned next;

	next = (next + 1) % 8;
	snprintf(path[next], sizeof(path[next]), "%s/%s", folder.path, name);
	return path[next];
}

static void write_bytes(const char *path, const void *data, size_t length)
{
	write_file(folder.fd, path, data, length);
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

/* A profile.proto of @n stacks f<first> ..., each @value samples. */
static void write_profile(const char *path, unsigned first, unsigned n, int64_t value,
			  int64_t time_s)
{
	cleanup(profile_freep) struct profile *p = NULL;
	cleanup(freep) uint8_t *data = NULL;
	size_t length;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	p->time_ns = time_s * 1000000000;
	p->duration_ns = 60 * INT64_C(1000000000);
	for (unsigned i = first; i < first + n; i++)
		add_stack(p, i, value);
	assert_int_equal(pprof_write(p, 1, &data, &length), 0);
	write_bytes(path, data, length);
}

static struct report_inputs inputs_of(const char **profiles, size_t n)
{
	return (struct report_inputs){.profiles = profiles,
				      .n_profiles = n,
				      .symbolize = "none",
				      .buildid = "",
				      .lib_prefix = "",
				      .tools = "",
				      .tls_cert = "",
				      .tls_key = "",
				      .tls_ca = "",
				      .service = "",
				      .since = "",
				      .until = "",
				      .store = ""};
}

static unsigned n_notes;

static void note(void *context, const char *text)
{
	(void)context;
	(void)text;
	n_notes++;
}

/* Once through all samples: how many, and the sum of their values. */
static int64_t total(struct load *l, size_t *ret_n)
{
	struct profile_message message;
	int64_t sum = 0;
	bool any = true;

	*ret_n = 0;
	while (any) {
		assert_int_equal(load_next(l, &any, &message), LOAD_E_OK);
		if (!any)
			break;
		*ret_n += load_profile(l)->n_samples;
		sum += profile_total(load_profile(l), 0);
	}
	return sum;
}

static void test_stream_again_and_again(void **state)
{
	const char *profiles[] = {at("one.pb.gz")};
	struct report_inputs inputs = inputs_of(profiles, 1);
	struct load_options options = {.inputs = &inputs, .store = ""};
	cleanup(load_freep) struct load *l = NULL;
	struct profile_message message;
	size_t n, n_locations;

	(void)state;
	write_profile("one.pb.gz", 0, 200000, 2, 1000);
	assert_int_equal(load_new(&l, &options, &message), LOAD_E_OK);
	assert_false(load_is_held(l));
	assert_int_equal(total(l, &n), 400000);
	assert_int_equal(n, 200000);
	assert_true(load_profile(l)->duration_ns == 60 * INT64_C(1000000000));
	n_locations = load_profile(l)->n_locations;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(total(l, &n), 400000);
	assert_int_equal(load_profile(l)->n_locations, n_locations);
	assert_true(load_profile(l)->duration_ns == 60 * INT64_C(1000000000));
}

/* One program at two places: addresses of both are those of one, and the same each time. */
static void test_stream_of_two_places(void **state)
{
	const char *profiles[] = {at("places.pb.gz")};
	struct report_inputs inputs = inputs_of(profiles, 1);
	struct load_options options = {.inputs = &inputs, .store = ""};
	cleanup(profile_freep) struct profile *p = NULL;
	cleanup(load_freep) struct load *l = NULL;
	cleanup(freep) uint8_t *data = NULL;
	struct profile_message message;
	const int64_t value = 3;
	size_t length, n;

	(void)state;
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
	write_bytes("places.pb.gz", data, length);
	assert_int_equal(load_new(&l, &options, &message), LOAD_E_OK);
	assert_false(load_is_held(l));
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(total(l, &n), 120000);
		assert_int_equal(load_profile(l)->n_mappings, 1);
		assert_int_equal(load_profile(l)->n_locations, 20000);
	}
}

static void test_held_when_asked(void **state)
{
	const char *profiles[] = {at("one.pb.gz")};
	struct report_inputs inputs = inputs_of(profiles, 1);
	struct load_options options = {.inputs = &inputs, .store = "", .hold = true};
	cleanup(load_freep) struct load *l = NULL;
	struct profile_message message;
	size_t n;

	(void)state;
	write_profile("one.pb.gz", 0, 1000, 2, 1000);
	assert_int_equal(load_new(&l, &options, &message), LOAD_E_OK);
	assert_true(load_is_held(l));
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(total(l, &n), 2000);
}

static void test_several_and_a_folder(void **state)
{
	const char *profiles[] = {at("a.pb.gz"), at("dir")};
	struct report_inputs inputs = inputs_of(profiles, 2);
	struct load_options options = {.inputs = &inputs, .store = "", .note = note};
	cleanup(load_freep) struct load *l = NULL;
	struct profile_message message;
	size_t n;

	(void)state;
	n_notes = 0;
	write_profile("a.pb.gz", 0, 10, 1, 1000);
	write_profile("dir/b.pb.gz", 5, 10, 1, 2000);
	write_bytes("dir/sub/c.collapsed", "f3 7\n", 5);
	write_bytes("dir/README", "not a profile", 13);
	write_bytes("dir/.hidden", "f3 7\n", 5);
	assert_int_equal(load_new(&l, &options, &message), LOAD_E_OK);
	assert_int_equal(load_n_files(l), 3);
	assert_int_equal(total(l, &n), 27);
	/* f3 of the text has no address: another location. */
	assert_int_equal(n, 16);
	assert_int_equal(n_notes, 1);
}

static void test_base(void **state)
{
	const char *profiles[] = {at("new.pb.gz")}, *bases[] = {at("base.pb.gz")};
	struct report_inputs inputs = inputs_of(profiles, 1);
	struct load_options options = {.inputs = &inputs, .store = ""};
	struct profile_message message;
	size_t n;

	(void)state;
	inputs.bases = bases;
	inputs.n_bases = 1;
	write_profile("new.pb.gz", 0, 10, 3, 1000);
	write_profile("base.pb.gz", 5, 10, 2, 1000);
	for (unsigned diff = 0; diff < 2; diff++) {
		cleanup(load_freep) struct load *l = NULL;

		inputs.is_diff = diff;
		assert_int_equal(load_new(&l, &options, &message), LOAD_E_OK);
		assert_int_equal(total(l, &n), 10);
		/* A label keeps those of the base apart. */
		assert_int_equal(n, diff ? 20 : 15);
	}
}

static void test_store(void **state)
{
	struct report_inputs inputs = inputs_of(NULL, 0);
	struct load_options options = {.inputs = &inputs};
	const int64_t hour = 1795251600; /* 2026-11-21T09:00:00Z */
	const uint64_t ns = UINT64_C(1000000000);
	cleanup(load_freep) struct load *l = NULL;
	struct profile_message message;
	size_t n;

	(void)state;
	options.store = at("store");
	inputs.service = "a b.service";
	write_profile("store/services/a%20b.service/20261121/20261121T090000Z-60s.pb.gz", 0, 1, 1,
		      hour);
	write_profile("store/services/a%20b.service/20261121/20261121T090100Z-60s.pb.gz", 0, 1, 10,
		      hour + 60);
	write_profile("store/services/a%20b.service/20261121/20261121T090200Z-60s.pb.gz", 0, 1, 100,
		      hour + 120);
	write_bytes("store/services/a%20b.service/20261121/20261121T090100Z-60s.x-1.prof", "x", 1);
	options.since_ns = (uint64_t)(hour + 60) * ns;
	options.until_ns = (uint64_t)(hour + 120) * ns;
	assert_int_equal(load_new(&l, &options, &message), LOAD_E_OK);
	assert_int_equal(total(l, &n), 10);
	load_free(l);
	l = NULL;
	options.until_ns = 0;
	assert_int_equal(load_new(&l, &options, &message), LOAD_E_OK);
	assert_int_equal(total(l, &n), 110);
	load_free(l);
	l = NULL;
	options.since_ns = (uint64_t)(hour + 3600) * ns;
	assert_int_equal(load_new(&l, &options, &message), LOAD_E_BAD);
	assert_non_null(strstr(message.text, "no windows"));
	inputs.service = "other.service";
	assert_int_equal(load_new(&l, &options, &message), LOAD_E_BAD);
	assert_non_null(strstr(message.text, "nothing of a service"));
	options.store = at("nowhere");
	assert_int_equal(load_new(&l, &options, &message), LOAD_E_BAD);
	assert_non_null(strstr(message.text, "there is no store"));
}

/* nginx is nginx.service, as with systemctl. */
static void test_service_without_its_suffix(void **state)
{
	struct report_inputs inputs = inputs_of(NULL, 0);
	struct load_options options = {.inputs = &inputs};
	const int64_t hour = 1795251600;
	cleanup(load_freep) struct load *l = NULL;
	struct profile_message message;
	size_t n;

	(void)state;
	write_profile("units/services/x.service/20261121/20261121T090000Z-60s.pb.gz", 0, 1, 1,
		      hour);
	inputs.service = "x";
	options.store = at("units");
	assert_int_equal(load_new(&l, &options, &message), LOAD_E_OK);
	assert_int_equal(total(l, &n), 1);
	load_free(l);
	l = NULL;
	inputs.service = "x.socket";
	assert_int_equal(load_new(&l, &options, &message), LOAD_E_BAD);
}

/* Of a folder of the store, windows count and not the same samples by process. */
static void test_folder_of_the_store(void **state)
{
	cleanup(sources_deinit) struct sources s = {0};
	struct profile_message message;

	(void)state;
	write_profile("day/20261121T090000Z-60s.pb.gz", 0, 1, 1, 1795251600);
	write_bytes("day/20261121T090000Z-60s.sh-12.prof", "x", 1);
	assert_int_equal(sources_add(&s, at("day"), &message), SOURCES_E_OK);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.n_double, 1);
}

/* What is left out is told. */
static void test_too_deep(void **state)
{
	const char *profiles[] = {at("deep")};
	struct report_inputs inputs = inputs_of(profiles, 1);
	struct load_options options = {.inputs = &inputs, .store = "", .note = note};
	cleanup(load_freep) struct load *l = NULL;
	struct profile_message message;
	size_t n;

	(void)state;
	n_notes = 0;
	write_profile("deep/1/2/3/4/5/6/7/8/in.pb.gz", 0, 3, 1, 1000);
	write_profile("deep/1/2/3/4/5/6/7/8/9/out.pb.gz", 0, 3, 1, 1000);
	assert_int_equal(load_new(&l, &options, &message), LOAD_E_OK);
	assert_int_equal(total(l, &n), 3);
	assert_int_equal(n_notes, 1);
}

static void test_too_long_a_path(void **state)
{
	enum { STEP = 251, N_STEPS = 16 };
	cleanup(sources_deinit) struct sources s = {0};
	char path[PATH_MAX], name[NAME_MAX + 1] = "";
	struct profile_message message;
	cleanup(closep) int fd = -1;
	size_t length;

	(void)state;
	length = (size_t)snprintf(path, sizeof(path), "%s", folder.path);
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
	assert_int_equal(sources_add(&s, path, &message), SOURCES_E_OK);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.n_too_far, 1);
	assert_int_equal(unlinkat(fd, name, 0), 0);
}

static void test_what_is_not_there(void **state)
{
	const char *profiles[] = {at("nothing")};
	struct report_inputs inputs = inputs_of(profiles, 1);
	struct load_options options = {.inputs = &inputs, .store = ""};
	struct profile_message message;
	struct load *l = NULL;

	(void)state;
	assert_int_equal(load_new(&l, &options, &message), LOAD_E_BAD);
	assert_non_null(strstr(message.text, "nothing: "));
	mkdir(at("empty"), 0755);
	profiles[0] = at("empty");
	assert_int_equal(load_new(&l, &options, &message), LOAD_E_BAD);
	assert_non_null(strstr(message.text, "no files"));
}

static int setup(void **state)
{
	(void)state;
	temp_folder_make(&folder);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	temp_folder_remove(&folder);
	return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_stream_again_and_again),
		TEST(test_stream_of_two_places),
		TEST(test_held_when_asked),
		TEST(test_several_and_a_folder),
		TEST(test_base),
		TEST(test_store),
		TEST(test_service_without_its_suffix),
		TEST(test_folder_of_the_store),
		TEST(test_too_deep),
		TEST(test_too_long_a_path),
		TEST(test_what_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

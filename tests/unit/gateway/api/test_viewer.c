/* SPDX-License-Identifier: MIT */
/* Viewers that are stuck, die, or send what they should not: programs of the test's own. */
#include "client/gateway/api/viewer.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/gateway/view/view_protocol.h"
#include "common/clock.h"
#include "common/helper/memory_file.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "tests/support/says.h"
#include "tests/support/temp_dir.h"

#define WAITING_MAX (VIEWERS_MAX + VIEWERS_WAITING_MAX)

struct fixture {
	struct temp_dir dir;
	sd_event *loop;
	struct viewers *viewers;
	int file;
	unsigned n_done;
	unsigned status;
	char text[400];
	size_t length;
};

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){0};
	temp_dir_make(&f.dir);
	assert_int_equal(sd_event_new(&f.loop), 0);
	f.file = memory_file_of("test", "x", 1);
	assert_true(f.file >= 0);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	viewers_free(f->viewers);
	sd_event_unref(f->loop);
	close(f->file);
	temp_dir_remove(&f->dir);
	return 0;
}

/* @script runs with the socket as 3. */
static void use_program(struct fixture *f, const char *script, uint64_t timeout_ms)
{
	char text[500];

	snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", script);
	write_file(f->dir.fd, "program", text, strlen(text));
	assert_int_equal(chmod(temp_dir_at(&f->dir, "program"), 0755), 0);
	assert_int_equal(
		viewers_new(&f->viewers,
			    &(struct viewers_options){.loop = f->loop,
						      .program = temp_dir_at(&f->dir, "program"),
						      .timeout_ms = timeout_ms}),
		0);
}

static void note(void *userdata, struct viewer_result *result)
{
	struct fixture *f = userdata;

	f->n_done++;
	f->status = result->status;
	f->length = result->length;
	snprintf(f->text, sizeof(f->text), "%.399s", result->body ? result->body : "");
}

static int ask_viewer(struct fixture *f, struct viewer **ret)
{
	static const struct view_request message;

	return viewer_new(ret, f->viewers,
			  &(struct viewer_request){.message = &message,
						   .files = &f->file,
						   .n_files = 1,
						   .done = note,
						   .userdata = f});
}

static void await(struct fixture *f, unsigned n_done)
{
	while (f->n_done < n_done)
		assert_true(sd_event_run(f->loop, UINT64_MAX) >= 0);
}

static void expect_failure(struct fixture *f, unsigned status, const char *says)
{
	struct viewer *v;

	/* And the next one has its place. */
	for (unsigned i = 1; i <= 2 * VIEWERS_MAX + 1; i++) {
		assert_int_equal(ask_viewer(f, &v), VIEWER_E_OK);
		await(f, i);
		viewer_free(v);
		assert_int_equal(f->status, status);
		assert_says(f->text, says);
	}
}

static void test_stuck(void **state)
{
	struct fixture *f = *state;

	use_program(f, "exec sleep 1000", 20);
	expect_failure(f, 504, "takes too long");
}

static void test_dead(void **state)
{
	struct fixture *f = *state;

	use_program(f, "kill -9 $$", 60000);
	expect_failure(f, 503, "cannot be viewed");
}

static void test_malformed(void **state)
{
	struct fixture *f = *state;

	use_program(f, "head -c 100 /dev/zero >&3; exec sleep 1000", 60000);
	expect_failure(f, 503, "malformed");
}

/* 1wiv, 200, and a length of more than 1 MiB. */
static void test_endless(void **state)
{
	struct fixture *f = *state;

	use_program(
		f,
		"printf '1wiv\\310\\0\\0\\0\\1\\0\\20\\0\\0\\0\\0\\0' >&3; exec cat /dev/zero >&3",
		60000);
	expect_failure(f, 503, "malformed");
}

/* A body that ends early. */
static void test_short(void **state)
{
	struct fixture *f = *state;

	use_program(f, "printf '1wiv\\310\\0\\0\\0\\5\\0\\0\\0\\0\\0\\0\\0abc' >&3", 60000);
	expect_failure(f, 503, "cannot be viewed");
}

static void test_missing(void **state)
{
	struct fixture *f = *state;

	use_program(f, "", 60000);
	assert_int_equal(unlink(temp_dir_at(&f->dir, "program")), 0);
	expect_failure(f, 503, "no viewer can be started");
}

static void test_answer(void **state)
{
	struct fixture *f = *state;
	struct viewer *v;

	use_program(f, "printf '1wiv\\310\\0\\0\\0\\2\\0\\0\\0\\0\\0\\0\\0{}' >&3", 60000);
	assert_int_equal(ask_viewer(f, &v), VIEWER_E_OK);
	await(f, 1);
	viewer_free(v);
	assert_int_equal(f->status, 200);
	assert_string_equal(f->text, "{}");
}

/* --- the real one ----------------------------------------------------------------------------- */

static void use_gateway(struct fixture *f)
{
	assert_int_equal(viewers_new(&f->viewers,
				     &(struct viewers_options){
					     .loop = f->loop,
					     .program = TEST_PROGRAMS "/../bin/profd-gateway",
					     .timeout_ms = 60000,
				     }),
			 0);
}

static void use_profile(struct fixture *f, const struct profile *p)
{
	uint8_t *data;
	size_t length;

	close(f->file);
	assert_int_equal(pprof_write(p, 1, &data, &length), 0);
	f->file = memory_file_of("test", data, length);
	free(data);
}

/* @n stacks of @depth frames each, of some thousand functions. */
static struct profile *make_profile(unsigned n, unsigned depth)
{
	const int64_t values[2] = {1, 10000000};
	uint32_t frames[64], label[2];
	struct profile *p;
	char name[32];

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	assert_int_equal(profile_add_text(p, "comm", &label[0]), 0);
	for (unsigned i = 0; i < n; i++) {
		struct profile_label comm = {.key = label[0]};
		uint64_t x = i * UINT64_C(0x9e3779b97f4a7c15) | 1;

		snprintf(name, sizeof(name), "program%u", i % 20);
		assert_int_equal(profile_add_text(p, name, &comm.str), 0);
		for (unsigned k = 0; k < depth; k++) {
			/* Few ways at the root, all different at the leaf. */
			unsigned function = k < depth / 2 ? k * 8 + (i >> (k / 4)) % 8
							  : (unsigned)(x >> 40) % 5000;
			struct profile_function f = {0};
			struct profile_line line = {.line = 1};

			x *= UINT64_C(6364136223846793005);
			snprintf(name, sizeof(name), "function_%u", function);
			assert_int_equal(profile_add_text(p, name, &f.name), 0);
			assert_int_equal(profile_add_function(p, &f, &line.function), 0);
			assert_int_equal(profile_add_location(p, PROFILE_NONE, function + 1, &line,
							      1, &frames[depth - 1 - k]),
					 0);
		}
		assert_int_equal(profile_add_sample(p, frames, depth, values, &comm, 1), 0);
	}
	return p;
}

static void test_real(void **state)
{
	struct fixture *f = *state;
	struct profile *p = make_profile(10, 5);
	struct viewer *v;

	use_gateway(f);
	/* "x" is no profile; the next one is. */
	assert_int_equal(ask_viewer(f, &v), VIEWER_E_OK);
	await(f, 1);
	viewer_free(v);
	assert_int_equal(f->status, 503);
	use_profile(f, p);
	assert_int_equal(ask_viewer(f, &v), VIEWER_E_OK);
	await(f, 2);
	viewer_free(v);
	assert_int_equal(f->status, 200);
	assert_non_null(strstr(f->text, "\"total\":100000000,"));
	profile_free(p);
}

/* Unpacked, more than a viewer may have; and more than it has memory for. */
static void test_bombs(void **state)
{
	struct fixture *f = *state;
	struct viewer *v;
	char *text = malloc((130 << 20) + 1);
	struct profile *p;

	use_gateway(f);
	memset(text, 'a', 130 << 20);
	text[130 << 20] = '\0';
	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_comment(p, text), 0);
	free(text);
	use_profile(f, p);
	profile_free(p);
	assert_int_equal(ask_viewer(f, &v), VIEWER_E_OK);
	await(f, 1);
	viewer_free(v);
	assert_int_equal(f->status, 503);
}

static uint64_t now_ms(void)
{
	return clock_ns(CLOCK_MONOTONIC) / NS_PER_MS;
}

/* How long that takes is printed, and asserted nowhere. */
static void test_large(void **state)
{
	static const char *const names[] = {"flame", "top", "sandwich", "source", "labels"};
	struct fixture *f = *state;
	struct profile *p = make_profile(100000, 30);
	struct viewer *v;

	use_gateway(f);
	use_profile(f, p);
	profile_free(p);
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct view_request message = {.question = {.view = i, .limit = 500}};
		uint64_t begin_ms = now_ms();

		memcpy(message.question.texts + 1, "function_0", sizeof("function_0"));
		message.question.function = 1;
		assert_int_equal(viewer_new(&v, f->viewers,
					    &(struct viewer_request){.message = &message,
								     .files = &f->file,
								     .n_files = 1,
								     .done = note,
								     .userdata = f}),
				 VIEWER_E_OK);
		await(f, i + 1);
		viewer_free(v);
		assert_int_equal(f->status, 200);
		assert_in_range(f->length, 100, VIEW_ANSWER_MAX);
		print_message("%s of 100000 stacks: %llu ms, %zu bytes\n", names[i],
			      (unsigned long long)(now_ms() - begin_ms), f->length);
	}
}

/* Those that wait are started when others have ended. */
static void test_waiting(void **state)
{
	struct viewer *all[WAITING_MAX];
	struct fixture *f = *state;

	use_program(f, "exit 1", 60000);
	for (unsigned i = 0; i < WAITING_MAX; i++)
		assert_int_equal(ask_viewer(f, &all[i]), VIEWER_E_OK);
	await(f, WAITING_MAX);
	for (unsigned i = 0; i < WAITING_MAX; i++)
		viewer_free(all[i]);
}

static void test_queue(void **state)
{
	struct viewer *all[WAITING_MAX], *more;
	struct fixture *f = *state;

	use_program(f, "exec sleep 1000", 60000);
	for (unsigned i = 0; i < WAITING_MAX; i++)
		assert_int_equal(ask_viewer(f, &all[i]), VIEWER_E_OK);
	assert_int_equal(ask_viewer(f, &more), VIEWER_E_BUSY);
	/* Clients that go: those that wait, and those that run. */
	viewer_free(all[WAITING_MAX - 1]);
	assert_int_equal(ask_viewer(f, &all[WAITING_MAX - 1]), VIEWER_E_OK);
	for (unsigned i = 0; i < WAITING_MAX; i++)
		viewer_free(all[i]);
	assert_int_equal(f->n_done, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_stuck, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dead, setup, teardown),
		cmocka_unit_test_setup_teardown(test_malformed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_endless, setup, teardown),
		cmocka_unit_test_setup_teardown(test_short, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_waiting, setup, teardown),
		cmocka_unit_test_setup_teardown(test_queue, setup, teardown),
		cmocka_unit_test_setup_teardown(test_real, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bombs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_large, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

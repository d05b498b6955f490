/* SPDX-License-Identifier: MIT */
/* Windows for profile servers, by the real viewer, with what it may do and have. */
#include <unistd.h>

#include "client/gateway/api/viewer.h"
#include "client/gateway/view/pieces.h"
#include "client/gateway/view/view_protocol.h"
#include "common/helper/memory_file.h"
#include "tests/support/says.h"
#include "tests/unit/export/window_fixture.h"

struct fixture {
	sd_event *loop;
	struct viewers *viewers;
	struct viewer_result result;
	bool is_done;
};

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){0};
	assert_int_equal(sd_event_new(&f.loop), 0);
	assert_int_equal(viewers_new(&f.viewers,
				     &(struct viewers_options){
					     .loop = f.loop,
					     .program = TEST_PROGRAMS "/../bin/profd-gateway",
					     .timeout_ms = 60000,
				     }),
			 0);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	viewers_free(f->viewers);
	sd_event_unref(f->loop);
	free(f->result.body);
	return 0;
}

static void note(void *userdata, struct viewer_result *result)
{
	struct fixture *f = userdata;

	f->result = *result;
	result->body = NULL;
	f->is_done = true;
}

static void ask(struct fixture *f, const char *kind, const void *data, size_t length)
{
	cleanup(viewer_freep) struct viewer *v = NULL;
	struct view_request message = {.task = VIEW_EXPORT, .export = {.service = "s"}};
	int file = memory_file_of("window", data, length);

	assert_true(file >= 0);
	snprintf(message.export.kind, sizeof(message.export.kind), "%s", kind);
	assert_int_equal(viewer_new(&v, f->viewers,
				    &(struct viewer_request){.message = &message,
							     .files = &file,
							     .n_files = 1,
							     .done = note,
							     .userdata = f}),
			 VIEWER_E_OK);
	close(file);
	while (!f->is_done)
		assert_true(sd_event_run(f->loop, UINT64_MAX) >= 0);
}

/* More than other answers may have. */
static void check_kind(struct fixture *f, const char *kind)
{
	cleanup(profile_freep) struct profile *p = window_random(6000, 3000, 3000, 1);
	cleanup(export_bodies_deinit) struct export_bodies bodies = {0};
	cleanup(freep) uint8_t *data = NULL;
	cleanup(sent_deinit) struct sent s = {0};
	size_t length, at = sizeof(uint64_t);
	const uint8_t *body;

	assert_int_equal(pprof_write(p, 6, &data, &length), 0);
	ask(f, kind, data, length);
	assert_int_equal(f->result.status, 200);
	while (pieces_next((const uint8_t *)f->result.body, f->result.length, &at, &body,
			   &length)) {
		uint8_t *copy = malloc(length);

		memcpy(copy, body, length);
		assert_int_equal(export_bodies_add(&bodies, copy, length), 0);
	}
	assert_memory_equal(f->result.body, &(const uint64_t){bodies.n}, sizeof(uint64_t));
	sent_read(export_find_target(kind), &bodies, &s);
	assert_int_equal(sent_total(&s, 0), profile_total(p, 0));
	assert_int_equal(sent_total(&s, 1), profile_total(p, 1));
}

static void test_pyroscope(void **state)
{
	check_kind(*state, "pyroscope");
}

static void test_parca(void **state)
{
	check_kind(*state, "parca");
}

static void test_unusable(void **state)
{
	struct fixture *f = *state;

	ask(f, "pyroscope", "x", 1);
	assert_int_equal(f->result.status, 422);
	assert_says(f->result.body, "not a usable window");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pyroscope, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parca, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unusable, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* What a viewer makes of a stored window for a profile server. */
#include "client/gateway/view/exported.h"

#include <sys/mman.h>
#include <unistd.h>

#include "client/gateway/view/answer.h"
#include "client/gateway/view/pieces.h"
#include "client/gateway/view/view_protocol.h"
#include "common/memory_text.h"
#include "tests/support/says.h"
#include "tests/unit/export/window_fixture.h"

static const struct view_export pyroscope = {
	.kind = "pyroscope", .service = "s", .labels = "env=test", .keep = "thread"};

static int file_of(const void *data, size_t length)
{
	int fd = memfd_create("window", MFD_CLOEXEC);

	assert_int_equal(write(fd, data, length), (ssize_t)length);
	return fd;
}

static int window_file(void)
{
	static const struct use uses[] = {
		{{"leaf", "main"}, "b", 1, 3},
		{{"leaf", "main"}, "a", 2, 4},
		{{"other", "main"}, "b", 2, 5},
	};
	cleanup(profile_freep) struct profile *p = window_of(uses, ARRAY_SIZE(uses));
	cleanup(freep) uint8_t *data = NULL;
	size_t length;

	assert_int_equal(profile_add_comment(p, "# profd host: h"), 0);
	assert_int_equal(pprof_write(p, 6, &data, &length), 0);
	return file_of(data, length);
}

static int export(const struct view_export *request, int fd, struct memory_text *ret,
		  struct answer_message *message)
{
	int r;

	assert_int_equal(memory_text_open(ret), 0);
	r = exported_write(request, fd, ret->out, message);
	assert_int_equal(memory_text_close(ret), 0);
	close(fd);
	return r;
}

static void test_bodies(void **state)
{
	cleanup(export_bodies_deinit) struct export_bodies bodies = {0};
	cleanup(memory_text_deinit) struct memory_text text = {0};
	cleanup(sent_deinit) struct sent s = {0};
	struct answer_message message;
	size_t at = sizeof(uint64_t), length;
	const uint8_t *body;
	uint64_t n;

	(void)state;
	assert_int_equal(export(&pyroscope, window_file(), &text, &message), 0);
	memcpy(&n, text.text, sizeof(n));
	assert_int_equal(n, 2);
	while (pieces_next((const uint8_t *)text.text, text.length, &at, &body, &length)) {
		uint8_t *copy = malloc(length);

		memcpy(copy, body, length);
		assert_int_equal(export_bodies_add(&bodies, copy, length), 0);
	}
	assert_int_equal(at, text.length);
	assert_int_equal(bodies.n, n);
	sent_read(export_find_target("pyroscope"), &bodies, &s);
	assert_int_equal(sent_flat(&s, "leaf"), 7);
	assert_label(&s.all[0], "thread", "b");
	assert_label(&s.all[1], "thread", "a");
	assert_label(&s.all[1], "env", "test");
	assert_label(&s.all[1], "hostname", "h");
}

static void test_refused(void **state)
{
	cleanup(memory_text_deinit) struct memory_text unread = {0}, unknown = {0};
	struct view_export other = pyroscope;
	struct answer_message message;

	(void)state;
	assert_int_equal(export(&pyroscope, file_of("x", 1), &unread, &message), 422);
	assert_says(message.text, "not a usable window: ");
	strcpy(other.kind, "other");
	assert_int_equal(export(&other, window_file(), &unknown, &message), 503);
	assert_says(message.text, "no such kind of server");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

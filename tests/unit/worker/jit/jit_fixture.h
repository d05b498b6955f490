/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_JIT_FIXTURE_H
#define PROFD_TESTS_JIT_FIXTURE_H

/* Files to look addresses up in. After cmocka.h. */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/worker/jit/jit_input.h"
#include "daemon/worker/jit/jit_names.h"

static inline int jit_fixture_file(const void *data, size_t length)
{
	int fd = memfd_create("jit", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, length), length);
	return fd;
}

/* The answer for one address, the same whether the file is read at once or in small pieces. */
static inline void jit_fixture_expect(int fd, bool is_jitdump, uint64_t address,
				      const struct frame_name *expected, uint64_t *ret_start,
				      uint64_t *ret_size)
{
	for (size_t piece = 0; piece <= JIT_INPUT_MIN; piece += JIT_INPUT_MIN) {
		const struct jit_question question = {is_jitdump, &address, 1, piece};
		cleanup(jit_names_freep) struct jit_names *j = NULL;
		struct frame_name frame = {0};

		assert_int_equal(jit_names_new(&j, fd, &question), WORKER_DONE);
		assert_int_equal(jit_names_get(j, 0, &frame, ret_start, ret_size),
				 !!expected->system_name);
		assert_true(*ret_start <= address && address - *ret_start < *ret_size);
		if (!expected->system_name)
			continue;
		assert_string_equal(frame.system_name, expected->system_name);
		assert_int_equal(!!frame.file, !!expected->file);
		if (expected->file)
			assert_string_equal(frame.file, expected->file);
		assert_int_equal(frame.line, expected->line);
		assert_int_equal(frame.start_line, 0);
	}
}

#endif

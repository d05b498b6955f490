/* SPDX-License-Identifier: MIT */
/*
 * Whatever is in a profile, or in a viewer's answer: counters of functions do not fall, and are as
 * few as may be; what viewers write is read.
 */
#undef NDEBUG /* the assertions are what this program is for */
#include <assert.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/gateway/function_cpu.h"
#include "client/gateway/view/answer.h"
#include "client/gateway/view/flat.h"
#include "common/clamped.h"
#include "common/memory_text.h"
#include "common/utf8.h"

#define FUNCTIONS_MAX 4u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In all, of those that are kept. */
static uint64_t check_all(const struct function_cpu *f)
{
	const struct function_cpu_entry *e = NULL;
	uint64_t sum = 0;
	size_t n = 0;

	while ((e = function_cpu_next(f, e))) {
		assert(strlen(function_cpu_name(e)) <= FLAT_NAME_MAX);
		assert(strlen(function_cpu_service(e)) <= FLAT_NAME_MAX);
		assert(utf8_is_valid(function_cpu_name(e)));
		sum = clamped_add_unsigned(sum, function_cpu_ns(e));
		n++;
	}
	assert(n <= FUNCTIONS_MAX);
	return sum;
}

/* What a viewer makes of it, or the bytes themselves. */
static bool write_lines(const uint8_t *data, size_t size, FILE *out)
{
	int fd = memfd_create("profile", MFD_CLOEXEC);
	struct answer_message message;
	bool is_profile;

	assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	is_profile = !flat_write(fd, out, &message);
	if (!is_profile)
		fwrite(data, 1, size, out);
	close(fd);
	return is_profile;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	cleanup(function_cpu_freep) struct function_cpu *f = NULL;
	uint64_t sum, last = 0;
	bool is_profile;

	if (memory_text_open(&text))
		return 0;
	is_profile = write_lines(data, size, text.out);
	if (memory_text_close(&text) || function_cpu_new(&f, FUNCTIONS_MAX))
		return 0;
	for (int i = 0; i < 3; i++) {
		cleanup(freep) char *copy = strdup(text.text);
		char *lines = copy;
		int r;

		assert(copy);
		if (is_profile)
			strsep(&lines, "\n");
		r = function_cpu_add(f, lines);
		assert(!r || !is_profile);
		sum = check_all(f);
		assert(sum >= last);
		last = sum;
	}
	return 0;
}

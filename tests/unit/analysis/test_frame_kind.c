/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/analysis/frame.h"
#include "client/analysis/frame_kind.h"
#include "common/cleanup.h"
#include "common/profile/profile.h"

static void test_modules_of_the_kernel(void **state)
{
	static const struct {
		const char *module;
		bool is_kernel;
	} modules[] = {
		{"[kernel.kallsyms]", true},
		{"[guest.kernel.kallsyms]", true},
		{"[kernel]", true},
		{"[nf_tables]", true},
		{"/lib/modules/6.1.0/kernel/net/nf_tables.ko", true},
		{"", false},
		{"[", false},
		{"[]", false},
		{"[vdso]", false},
		{"[anon]", false},
		{"[anon:jit]", false},
		{"[stack]", false},
		{"[vdso", false},
		{"[JIT] tid 7", false},
		{"/usr/bin/kernel", false},
		{"/usr/lib/libc.so.6", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(modules); i++)
		if (frame_module_is_kernel(modules[i].module) != modules[i].is_kernel)
			fail_msg("%s", modules[i].module);
}

static void test_kinds_of_frames(void **state)
{
	static const struct {
		const char *file, *module, *kind;
	} frames[] = {
		{"/usr/lib/python3.11/json/encoder.py", "", "python"},
		/* The first one of a group has its interpreter's mapping. */
		{"<string>", "/usr/bin/python3.11", "python"},
		{"<frozen importlib._bootstrap>", "", "python"},
		{"node:internal/process", "", "javascript"},
		{"/srv/shop/index.mjs", "", "javascript"},
		{"/srv/shop/List.java", "", "java"},
		{"/srv/shop/list.rb", "", "ruby"},
		{"fs/read_write.c", "[kernel.kallsyms]", "kernel"},
		{"", "[nf_tables]", "kernel"},
		{"src/copy.c", "/usr/bin/cp", ""},
		{"", "", ""},
		{"service", "", ""},                /* a label */
		{"[eval]", "[anon]", "javascript"}, /* node -e */
		{"[eval", "", ""},
		{"<", "", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		cleanup(profile_freep) struct profile *p = NULL;
		struct frame frame = {0};

		assert_int_equal(profile_new(&p), 0);
		assert_int_equal(profile_add_text(p, frames[i].file, &frame.filename), 0);
		assert_int_equal(profile_add_text(p, frames[i].module, &frame.object), 0);
		assert_string_equal(frame_kind(p, &frame), frames[i].kind);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modules_of_the_kernel),
		cmocka_unit_test(test_kinds_of_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

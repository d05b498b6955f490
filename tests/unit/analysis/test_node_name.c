/* SPDX-License-Identifier: MIT */
/* Names as boxes have them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/analysis/node_name.h"
#include "tests/unit/report/fixture.h"

static void test_short_names(void **state)
{
	static const struct {
		const char *name, *lines;
	} cases[] = {
		{"github.com/a-b/c/v2/pkg.(*T).Method", "pkg\n(*T)\nMethod"},
		{"github.com/a/b/v2.F", "b\nF"},
		{"github.com/a/b", "github\ncom/a/b"}, /* no function of a package */
		{"x.org/a.b/c", "a\nb/c"},
		{"runtime.main.func1", "runtime\nmain\nfunc1"},
		{"a/v1/b.F", "b\nF"},
		{"slices.Sort[...]", "slices\nSort[...]"},
		{"java.util.concurrent.ThreadPool$Worker.run", "ThreadPool$Worker\nrun"},
		{"com.a.Thing.<init>(Ljava/lang/String;)V", "Thing\n<init>"},
		{"com.a.Thing.run(int, char)", "Thing\nrun"},
		{"space::other::Class::method(int)", "Class\nmethod"},
		{"space::Class::~Class()", "Class\n~Class"},
		{"space::_Impl::get<std::less<int>>(x)", "_Impl\nget<std\nless<int>>"},
		{"(anonymous namespace)::Class::go", "Class\ngo"},
		{"std::sort", "std\nsort"},
		{"operator new(unsigned long)", "operator new(unsigned long)"},
		{"::", "\n"},
		{"/", "/"},
		{"a::", "a\n"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct frame frame = {.name = fixture_text(f, cases[i].name)};
		cleanup(freep) char *lines = NULL;

		assert_int_equal(node_name_lines(f->p, &frame, &lines), 0);
		assert_string_equal(lines, cases[i].lines);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_short_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

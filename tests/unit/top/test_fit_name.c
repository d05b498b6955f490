/* SPDX-License-Identifier: MIT */
/* Names that do not fit keep what tells most. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/top/characters.h"

static void test_names(void **state)
{
	static const struct {
		const char *name;
		size_t columns;
		const char *fitting;
	} cases[] = {
		{"std::vector<int>::push_back(int&&)", 34, "std::vector<int>::push_back(int&&)"},
		{"std::vector<int>::push_back(int&&)", 33, "std::vector<>::push_back(int&&)"},
		{"std::vector<int>::push_back(int&&)", 30, "std::vector<>::push_back()"},
		{"std::vector<int>::push_back(int&&)", 25, "vector<>::push_back()"},
		{"std::vector<int>::push_back(int&&)", 20, "push_back()"},
		{"std::vector<int>::push_back(int&&)", 3, "push_back()"},
		{"std::map<K, std::less<K> >::at(K<int> const&)", 30, "std::map<>::at(K<> const&)"},
		{"(anonymous namespace)::run(int)", 30, "(anonymous namespace)::run()"},
		{"(anonymous namespace)::run(int)", 9, "run()"},
		{"a::b<int>::operator<(c const&)", 20, "a::b<>::operator<()"},
		{"a::b<int>::operator<<(c<d> const&)", 21, "a::b<>::operator<<()"},
		{"a::b<int>::operator()(int) const", 26, "a::b<>::operator()() const"},
		{"my_operator<int>(int)", 15, "my_operator<>()"},
		{"<alloc::vec::Vec<T> as core::ops::Drop>::drop", 50,
		 "<alloc::vec::Vec<T> as core::ops::Drop>::drop"},
		{"<alloc::vec::Vec<T> as core::ops::Drop>::drop", 20, "drop"},
		{"core::iter::Map<fn(u8)->u8,F>::next", 25, "core::iter::Map<>::next"},
		{"void f<int>(int)", 12, "void f<>()"},
		{"broken<int(", 5, "broken<int("},
		{"broken>::x", 5, "x"},
		{"a::", 1, "a::"},
		{"::", 1, "::"},
		{"<", 0, "<"},
		{"", 0, ""},
		{"gr\xc3\xb6\xc3\x9f"
		 "e::f",
		 8,
		 "gr\xc3\xb6\xc3\x9f"
		 "e::f"},
		/* Seven columns. */
		{"x::\xe6\xbc\xa2\xe6\xbc\xa2\xcc\x81", 7, "x::\xe6\xbc\xa2\xe6\xbc\xa2\xcc\x81"},
		{"x::\xe6\xbc\xa2\xe6\xbc\xa2\xcc\x81", 6, "\xe6\xbc\xa2\xe6\xbc\xa2\xcc\x81"},
		{"ngx_http_process_request_line", 10, "ngx_http_process_request_line"},
	};

	(void)state;
	characters_begin();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *fitting = fit_name(cases[i].name, cases[i].columns);

		assert_non_null(fitting);
		assert_string_equal(fitting, cases[i].fitting);
		free(fitting);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_names)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

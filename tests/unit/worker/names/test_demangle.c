/* SPDX-License-Identifier: MIT */

/* Names of each language, what is none, and names that stand for more than anybody has room for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/worker/protocol.h"
#include "daemon/worker/names/demangle.h"

static void test_names(void **state)
{
	static const char *const names[][2] = {
		{"main", "main"},
		{"", ""},
		{"_", "_"},
		{"_start", "_start"},
		{"_Z", "_Z"},
		{"_D", "_D"},
		{"_R", "_R"},
		{"@", "@"},
		{"_@", "_@"},
		{"_Z3foov", "foo()"},
		{"_ZNSs6appendEPKc", "std::string::append(char const*)"},
		{"_ZN1AIiE1fIdEEvT_", "void A<int>::f<double>(double)"},
		{"_Z3foov.part.0", "foo() [clone .part.0]"},
		{"_Z3foov.constprop.0.isra.1", "foo() [clone .constprop.0] [clone .isra.1]"},
		{"_Z3foov.llvm.123", "foo() [clone .llvm.123]"},
		{"_Z3foov@plt", "foo()@plt"},
		{"_Z3foov@@GLIBCXX_3.4", "foo()@@GLIBCXX_3.4"},
		{"_Z3foov.cold@plt", "foo() [clone .cold]@plt"},
		{"memcpy@plt", "memcpy@plt"},
		{"_init@plt", "_init@plt"},
		{"_ZN4core3fmt17h0123456789abcdefE", "core::fmt"},
		{"_ZN4core3fmt17h0123456789abcdefE.llvm.99", "core::fmt"},
		{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
		{"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>"},
		{"_D8demangle4testFS8demangle1SZv", "demangle.test(demangle.S)"},
		{"_D3std5stdio4File6__ctorMFNcNfAyaxAaZv",
		 "std.stdio.File.this(immutable(char)[], const(char[]))"},
		/* A type that refers back. */
		{"_D8demangle4testFAiQcZv", "demangle.test(int[], int[])"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		cleanup(freep) char *name = demangle_name(names[i][0], DEMANGLE_WHOLE);

		assert_non_null(name);
		assert_string_equal(name, names[i][1]);
	}
}

/* As google/pprof's head prints them with --symbolize=demangle=full and =templates. */
static void test_styles(void **state)
{
	static const struct {
		const char *raw, *full, *templates;
	} names[] = {
		{"main", "main", "main"},
		{"", "", ""},
		{"_Z", "_Z", "_Z"},
		{"_Z3foov", "foo()", "foo"},
		{"_Z3foov.part.0", "foo()", "foo"},
		{"_Z3foov.constprop.0.isra.1", "foo()", "foo"},
		{"_ZN1AIiE1fIdEEvT_", "void A<int>::f<double>(double)", "A<int>::f<double>"},
		{"_ZNK3foo3barEv", "foo::bar() const", "foo::bar"},
		{"_ZZNK3foo3barEvE1x", "foo::bar() const::x", "foo::bar() const::x"},
		{"_ZZNK1A1fEiENKUlvE_clEv", "A::f(int) const::{lambda()#1}::operator()() const",
		 "A::f() const::{lambda()#1}::operator()"},
		{"_ZZN12_GLOBAL__N_11fEPFviEE1x", "(anonymous namespace)::f(void (*)(int))::x",
		 "(anonymous namespace)::f()::x"},
		{"_ZTV3foo", "vtable for foo", "vtable for foo"},
		{"__ZN1a1bEv", "a::b()", "a::b"}, /* of macOS */
		{"__Z", "__Z", "__Z"},
		{"_ZN4core3fmt17h0123456789abcdefE.llvm.99", "core::fmt", "core::fmt"},
		{"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>",
		 "std::mem::align_of::<f64>"},
		{"std::f(g(int))::{lambda()}", "std::f(g(int))::{lambda()}", "std::f::{lambda}"},
		{"a::b)(", "a::b)(", "a::b)("},
		{"a::b(", "a::b(", "a::b("},
		{"operator<(int)", "operator<(int)", "operator<"},
		{"java.<init>(x)", "java.<init>(x)", "java.<init>(x)"},
		{"pkg.(*T[...]).M", "pkg.(*T[...]).M", "pkg.(*T[...]).M"},
		{"f(int)", "f(int)", "f(int)"},
		/* pprof's own has no notion of these. */
		{"_Z3foov.cold@plt", "foo()@plt", "foo@plt"},
		{"_D8demangle4testFS8demangle1SZv", "demangle.test(demangle.S)",
		 "demangle.test(demangle.S)"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		cleanup(freep) char *full = demangle_name(names[i].raw, DEMANGLE_NO_CLONES);
		cleanup(freep) char *templates = demangle_name(names[i].raw,
							       DEMANGLE_NO_PARAMETERS);

		assert_non_null(full);
		assert_non_null(templates);
		assert_string_equal(full, names[i].full);
		assert_string_equal(templates, names[i].templates);
	}
}

static void expect_itself(const char *name)
{
	cleanup(freep) char *result = demangle_name(name, DEMANGLE_WHOLE);

	assert_non_null(result);
	assert_string_equal(result, name);
}

static void test_length(void **state)
{
	char name[DEMANGLE_INPUT_MAX + 16];
	size_t n;

	(void)state;
	memset(name, 'x', sizeof(name));
	n = (size_t)sprintf(name, "_Z3foov@");
	name[n] = 'x';
	name[DEMANGLE_INPUT_MAX] = '\0';
	{
		cleanup(freep) char *result = demangle_name(name, DEMANGLE_WHOLE);

		assert_memory_equal(result, "foo()@xxx", 9);
	}
	name[DEMANGLE_INPUT_MAX] = 'x';
	name[DEMANGLE_INPUT_MAX + 1] = '\0';
	expect_itself(name);
}

/* f(A<int, int>, A<A<int, int>, A<int, int>>, ...): each twice as long as the one before it. */
static size_t put_doubling_cpp(char *name, int n)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t at = (size_t)sprintf(name, "_Z1f1AIiiE");

	for (int i = 1; i <= n; i++)
		at += (size_t)sprintf(name + at, "S_IS%c_S%c_E", digits[i - 1], digits[i - 1]);
	return at;
}

/* The number to the base of 62 that refers to the letter @to of a Rust name. */
static size_t put_rust_reference(char *name, size_t to)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	if (to > 62)
		return (size_t)sprintf(name, "B%c%c_", digits[(to - 1) / 62],
				       digits[(to - 1) % 62]);
	return (size_t)sprintf(name, "B%c_", digits[to - 1]);
}

static size_t put_doubling_rust(char *name, int n)
{
	size_t at = (size_t)sprintf(name, "_RINvC1a1fTmmE"), last = 8;

	for (int i = 0; i < n; i++) {
		size_t here = at - 2;

		at += (size_t)sprintf(name + at, "T");
		at += put_rust_reference(name + at, last);
		at += put_rust_reference(name + at, last);
		at += (size_t)sprintf(name + at, "E");
		last = here;
	}
	return at + (size_t)sprintf(name + at, "E");
}

/* Maps from a type to itself. */
static size_t put_doubling_d(char *name, int n)
{
	size_t at = (size_t)sprintf(name, "_D1fFAi"), last = at - 2;

	for (int i = 0; i < n; i++) {
		size_t here = at;

		at += (size_t)sprintf(name + at, "H");
		at += (size_t)sprintf(name + at, "Q%c", (char)('a' + at - last));
		at += (size_t)sprintf(name + at, "Q%c", (char)('a' + at - last));
		last = here;
	}
	return at + (size_t)sprintf(name + at, "Zv");
}

/* Short ones are written out, so that it is the length that keeps the long ones. */
static void test_doubling(void **state)
{
	static size_t (*const put[])(char *, int) = {put_doubling_cpp, put_doubling_rust,
						     put_doubling_d};
	char name[1024];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(put); i++) {
		cleanup(freep) char *result = NULL;
		size_t length = put[i](name, 8);

		result = demangle_name(name, DEMANGLE_WHOLE);
		assert_non_null(result);
		assert_true(strlen(result) > 10 * length);
		assert_true(strlen(result) <= WORKER_TEXT_MAX);
		put[i](name, 32);
		expect_itself(name);
	}
}

/* The deepest that D's demangler is asked for; C++ and Rust have bounds of their own. */
static void test_deep(void **state)
{
	static const char *const starts[] = {"_Z1f", "_RINvC1a1f", "_D1fF"};
	static const char letters[] = "PRP";
	char name[DEMANGLE_INPUT_MAX + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		for (size_t length = 64; length < sizeof(name); length *= 2) {
			cleanup(freep) char *result = NULL;

			memset(name, letters[i], sizeof(name));
			memcpy(name, starts[i], strlen(starts[i]));
			strcpy(name + length - 4, i == 2 ? "iZv" : "i");
			result = demangle_name(name, DEMANGLE_WHOLE);
			assert_non_null(result);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),  cmocka_unit_test(test_styles),
		cmocka_unit_test(test_length), cmocka_unit_test(test_doubling),
		cmocka_unit_test(test_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

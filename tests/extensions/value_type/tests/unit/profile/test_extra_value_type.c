/* SPDX-License-Identifier: MIT */
/* A type of values that was added is what profiles of its event have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/profile/value_types.h"

static void test_another_type(void **state)
{
	cleanup(profile_freep) struct profile *p = NULL;

	(void)state;
	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(value_types_add(p, "page-faults:u"), 0);
	assert_string_equal(profile_string(p, p->sample_types[1].type), "faults");
	assert_string_equal(profile_string(p, p->sample_types[1].unit), "pages");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_another_type)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

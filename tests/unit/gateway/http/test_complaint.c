/* SPDX-License-Identifier: MIT */
#include "client/gateway/http/complaint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define LINE(status)                                              \
	"Error processing request (HTTP response code is " status \
	" ('<html></html>')). Closing connection."

static void test_status(void **state)
{
	(void)state;
	assert_int_equal(http_complaint_status(LINE("431")), 431);
	assert_int_equal(http_complaint_status(LINE("400")), 400);
	assert_int_equal(http_complaint_status(LINE("0")), 0);
	assert_int_equal(http_complaint_status(LINE("600")), 0);
	assert_int_equal(http_complaint_status(LINE("4000")), 0);
	assert_int_equal(http_complaint_status(LINE("-1")), 0);
	assert_int_equal(http_complaint_status("Closing connection (out of memory)."), 0);
	assert_int_equal(http_complaint_status(""), 0);
}

static void test_too_large(void **state)
{
	(void)state;
	assert_true(http_status_is_too_large(413));
	assert_true(http_status_is_too_large(414));
	assert_true(http_status_is_too_large(431));
	assert_false(http_status_is_too_large(400));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

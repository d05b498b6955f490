/* SPDX-License-Identifier: MIT */
/* What the gateway reports is had for a minute; what no gateway reports is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/config/config.h"
#include "daemon/exports_report.h"

static int report(struct exports_report *r, const char *name, size_t n, uint64_t now_ns)
{
	Profd__Control__Exports message = PROFD__CONTROL__EXPORTS__INIT;
	Profd__Control__Export one = PROFD__CONTROL__EXPORT__INIT;
	Profd__Control__Export *all[CONFIG_EXPORTS_MAX + 1];

	one.name = (char *)name;
	one.sent_windows = n;
	for (size_t i = 0; i < n; i++)
		all[i] = &one;
	message.n_exports = n;
	message.exports = all;
	return exports_report_set(r, &message, now_ns);
}

static size_t count(const struct exports_report *r, uint64_t now_ns)
{
	Profd__Control__Exports *got;
	size_t n;

	assert_int_equal(exports_report_get(r, now_ns, &got), 0);
	n = got ? got->n_exports : 0;
	if (n)
		assert_int_equal(got->exports[0]->sent_windows, n);
	profd__control__exports__free_unpacked(got, NULL);
	return n;
}

static void test_report(void **state)
{
	struct exports_report r = {0};

	(void)state;
	assert_int_equal(count(&r, 5), 0);
	assert_int_equal(report(&r, "pyro", 2, 5), EXPORTS_REPORT_E_OK);
	assert_int_equal(count(&r, 5 + 60 * NS_PER_S), 2);
	assert_int_equal(count(&r, 6 + 60 * NS_PER_S), 0);
	assert_int_equal(report(&r, "pyro", 0, 9), EXPORTS_REPORT_E_OK);
	assert_int_equal(count(&r, 9), 0);
	exports_report_deinit(&r);
}

/* They leave what there is. */
static void test_refused(void **state)
{
	static const char *const names[] = {"", "a b", "\x1b[2J", "Upper",
					    "0123456789012345678901234567890123"};
	struct exports_report r = {0};

	(void)state;
	assert_int_equal(report(&r, "parca", CONFIG_EXPORTS_MAX, 5), EXPORTS_REPORT_E_OK);
	assert_int_equal(report(&r, "parca", CONFIG_EXPORTS_MAX + 1, 5), EXPORTS_REPORT_E_BAD);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_int_equal(report(&r, names[i], 1, 5), EXPORTS_REPORT_E_BAD);
	assert_int_equal(count(&r, 6), CONFIG_EXPORTS_MAX);
	exports_report_deinit(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

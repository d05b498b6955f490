/* SPDX-License-Identifier: MIT */
/* How often /proc is looked at anew, while records are lost again and again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/clock.h"
#include "daemon/rescan.h"

#define BEGAN_NS (1000 * NS_PER_S)
#define PART_NS  (5 * NS_PER_MS)

static void test_at_most_a_fifth(void **state)
{
	static const unsigned parts[] = {1, 3, 200, 10000};

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct daemon_rescan r = {0};
		uint64_t now = BEGAN_NS, spent = 0;

		for (unsigned round = 0; round < 10; round++) {
			assert_true(rescan_begin(&r, now));
			for (unsigned part = 1; part <= parts[i]; part++) {
				uint64_t began = now;

				/* It is under way: no other begins, also between two of its parts.
				 */
				assert_false(rescan_begin(&r, now));
				now += PART_NS;
				assert_true(rescan_part_done(&r, began, now, part < parts[i]) ==
					    (part < parts[i]));
				spent += PART_NS;
				now += part < parts[i] ? NS_PER_MS : 0; /* others' turn */
			}
			/* The next one, as soon as it may be. */
			while (!rescan_begin(&r, now))
				now += PART_NS;
			r.is_on = false;
			assert_true(spent * 5 <= now - BEGAN_NS);
		}
	}
}

/* However short it was. */
static void test_a_gap(void **state)
{
	struct daemon_rescan r = {0};

	(void)state;
	assert_true(rescan_begin(&r, BEGAN_NS));
	assert_false(rescan_part_done(&r, BEGAN_NS, BEGAN_NS + 1, false));
	assert_false(rescan_begin(&r, BEGAN_NS + NS_PER_S));
	assert_true(rescan_begin(&r, BEGAN_NS + 3 * NS_PER_S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_at_most_a_fifth),
		cmocka_unit_test(test_a_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Linked behind a test's own code, and before the product's: where that begins. */
#include "tests/support/allocation/counted.h"

void allocation_tests_end(void)
{
}

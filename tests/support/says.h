/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_SAYS_H
#define PROFD_TESTS_SAYS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A message for people: it says @part, in one line. */
static inline void assert_says(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" does not say \"%s\"", text, part);
	assert_null(strchr(text, '\n'));
}

#endif

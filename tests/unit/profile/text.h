/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_PROFILE_TEXT_H
#define PROFD_TESTS_UNIT_PROFILE_TEXT_H

/* Texts of profiles that tests make up. Include after cmocka.h. */
#include "common/profile/profile.h"

static inline uint32_t text(struct profile *p, const char *t)
{
	uint32_t ret;

	assert_int_equal(profile_add_text(p, t, &ret), 0);
	return ret;
}

#endif

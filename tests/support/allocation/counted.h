/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_ALLOCATION_COUNTED_H
#define PROFD_TESTS_ALLOCATION_COUNTED_H

/* What replaces a function that allocates, in the product's libraries: the file `calls`. */
#include <errno.h>
#include <stdbool.h>

/* Counts an allocation of who has @frame, __builtin_frame_address(0). Whether it is to fail. */
bool allocation_fails(void *const *frame);

/* The end of a test's code (tests_end.c). */
void allocation_tests_end(void);

/* counted_NAME is NAME, but for the call that fails, which is FAILED. */
#define COUNTED(type, name, parameters, arguments, failed)          \
	type counted_##name parameters;                             \
	type counted_##name parameters                              \
	{                                                           \
		if (allocation_fails(__builtin_frame_address(0))) { \
			errno = ENOMEM;                             \
			return failed;                              \
		}                                                   \
		return name arguments;                              \
	}

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_CLEANUP_H
#define PROFD_COMMON_CLEANUP_H

/*
 * Ownership in local variables: a variable marked cleanup(fn) is released when it leaves its
 * scope, unless it was handed on with steal_ptr() or steal_fd().
 */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define cleanup(fn) __attribute__((cleanup(fn)))

/* Moves a pointer out of *pp and leaves NULL behind. */
#define steal_ptr(pp)                                      \
	__extension__({                                    \
		__typeof__(*(pp)) steal_ptr_value = *(pp); \
		*(pp) = NULL;                              \
		steal_ptr_value;                           \
	})

/* Moves a file descriptor out of *fd and leaves -1 behind. */
static inline int steal_fd(int *fd)
{
	int value = *fd;

	*fd = -1;
	return value;
}

/* Defines type_freep() for use with cleanup(); the destructor itself takes NULL. */
#define DEFINE_CLEANUP(type, destructor)          \
	static inline void destructor##p(type *p) \
	{                                         \
		destructor(*p);                   \
	}

/* Defines type_ref(), which takes NULL: one more of the atomic n_references. */
#define DEFINE_REF(type)                                       \
	struct type *type##_ref(struct type *p)                \
	{                                                      \
		if (p)                                         \
			atomic_fetch_add(&p->n_references, 1); \
		return p;                                      \
	}

static inline void freep(void *p)
{
	free(*(void **)p);
}

static inline void closep(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
}

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_ORDER_H
#define PROFD_COMMON_ORDER_H

/*
 * For qsort(3): below 0, 0 or above 0, as @a is below @b, equal to it or above it. What is in order
 * by several things is so by order_of(first) ?: order_of(second).
 */
#define order_of(a, b) (((a) > (b)) - ((a) < (b)))

/* Defines a comparison for qsort(3) by @expression, which is of two of @type: *x and *y. */
#define DEFINE_ORDER(name, type, expression)          \
	static int name(const void *a, const void *b) \
	{                                             \
		const type *x = a, *y = b;            \
                                                      \
		return expression;                    \
	}

#endif

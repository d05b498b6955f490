/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_ORDER_H
#define PROFD_COMMON_ORDER_H

/*
 * For qsort(3): below 0, 0 or above 0, as @a is below @b, equal to it or above it. What is in order
 * by several things is so by order_of(first) ?: order_of(second).
 */
#define order_of(a, b) (((a) > (b)) - ((a) < (b)))

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PARTITION_POINT_H
#define PROFD_COMMON_PARTITION_POINT_H

/*
 * Binary search by a condition that holds for the first elements of an array and for none of the
 * rest: how many it holds for, which is the index of the first that it does not hold for.
 * @condition is an expression of the index @i, of which the macro makes a variable:
 *
 *   n = partition_point(n_ranges, i, ranges[i].start <= address);
 *
 * Where the condition is out of order, the result is any number from 0 to @count.
 */
#include <stddef.h>

#define partition_point(count, i, condition)                                             \
	__extension__({                                                                  \
		size_t partition_low = 0, partition_high = (count);                      \
                                                                                         \
		while (partition_low < partition_high) {                                 \
			size_t i = partition_low + (partition_high - partition_low) / 2; \
                                                                                         \
			if (condition)                                                   \
				partition_low = i + 1;                                   \
			else                                                             \
				partition_high = i;                                      \
		}                                                                        \
		partition_low;                                                           \
	})

#endif

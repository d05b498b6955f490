/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_WAIT_TICKS_BPF_H
#define PROFD_BPF_WAIT_TICKS_BPF_H

/*
 * When a thread's clock of wall time ticks: once in each cell, at a place that a hash of the thread
 * and the number of the cell says. Nothing can run in step with it, and no state is needed to know
 * how many ticks there are between two times.
 */
#include "bpf/kernel_types.h"

/* Where in cell @cell the tick of the thread with this @seed is: 0 .. @cell_ns - 1. */
static __always_inline __u64 wait_tick_place(__u64 seed, __u64 cell, __u64 cell_ns)
{
	__u64 x = seed ^ (cell * 0x9e3779b97f4a7c15ull);

	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
	return (x >> 32) * cell_ns >> 32;
}

/* Ticks up to and with @t. */
static __always_inline __u64 wait_ticks_until(__u64 seed, __u64 t, __u64 cell_ns)
{
	__u64 cell = t / cell_ns;

	return cell + (wait_tick_place(seed, cell, cell_ns) <= t - cell * cell_ns);
}

/* Ticks in (@from, @until]. */
static __always_inline __u64 wait_ticks(__u64 seed, __u64 from, __u64 until, __u64 cell_ns)
{
	__u64 cell, begin, place;

	if (from >= until)
		return 0;
	cell = until / cell_ns;
	begin = cell * cell_ns;
	place = wait_tick_place(seed, cell, cell_ns) + begin;
	/* Most are of one cell, which takes one division. */
	if (from >= begin)
		return place <= until && place > from;
	return cell + (place <= until) - wait_ticks_until(seed, from, cell_ns);
}

#endif

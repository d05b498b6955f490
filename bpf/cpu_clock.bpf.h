/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_CPU_CLOCK_BPF_H
#define PROFD_BPF_CPU_CLOCK_BPF_H

/*
 * The clock of a CPU, as the one that waiting threads have (bpf/wait_ticks.bpf.h): it ticks once in
 * every cell of its time, at a random place. Nothing can run in step with it, all samples have one
 * weight, and as many come as there are cells.
 *
 * It is made of a perf event whose period is shorter than a cell, and which profd changes at random
 * (ticker_vary() in daemon/ingest/ticker.h): a tick of the clock is a sample at the event's next
 * tick. Two of one tick are samples of this and the next one, which they can be at the ends of
 * cells alone: so where cells end is changed as well. The clock's time is what the event's ticks
 * are of. So ticks of the event that never came are missing, and not made up for by those behind
 * them.
 */
#include "bpf/abi.h"

/* The event's period on a CPU by now; 0: still its first. By CPU, then sampler; profd writes. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ABI_SAMPLERS_MAX);
	__type(key, __u32);
	__type(value, __u64);
} tick_periods SEC(".maps");

/*
 * What a tick of the event is of: a period, and at the first one after a change also what had gone
 * by of the period before, as the kernel begins anew. @varied: by profd, 0: nothing, as it opened
 * the event or opens it again; then the period is @first. Ticks that are late are where they were
 * due, so that their lateness does not add up. (profd says what it changes before it does. A tick
 * of the old period in between, some microseconds long, counts as the first one of the new.)
 */
static __always_inline __u64 cpu_clock_covered(struct abi_cpu_clock *clock, __u64 varied,
					       __u64 first, __u64 now)
{
	__u64 period = varied ? varied : first, before = clock->tick_period, n, cut;
	__u64 since = now > clock->tick_ns ? now - clock->tick_ns : 0;

	clock->tick_period = period;
	if (before == period) {
		n = since / period;
		clock->tick_ns += (n ? n : 1) * period;
		return period;
	}
	clock->moves = 1;
	cut = since > period && varied ? since - period : 0;
	if (!varied || cut > before + before / 2) {
		clock->tick_ns = now;
		return period + cut % before;
	}
	cut = cut < before ? cut : before;
	clock->tick_ns += period + cut;
	return period + cut;
}

/* Below @limit, which is below 2^32. */
static __always_inline __u64 cpu_clock_random(__u64 limit)
{
	return bpf_get_prandom_u32() * limit >> 32;
}

/* Behind the one that ends at clock->end. One that moves the next ones is of up to two cells. */
static __always_inline void cpu_clock_begin_cell(struct abi_cpu_clock *clock, __u64 cell_ns)
{
	__u64 length = cell_ns;

	if (clock->moves) {
		length -= clock->moved;
		clock->moved = cpu_clock_random(cell_ns);
		length += clock->moved;
		clock->moves = 0;
	}
	clock->next = clock->end + cpu_clock_random(length);
	clock->end += length;
}

/* Ticks from clock->next up to @until: a few, as the event's ticks are of two cells at most. */
static __always_inline __u64 cpu_clock_ticks(struct abi_cpu_clock *clock, __u64 until,
					     __u64 cell_ns)
{
	__u64 n = 0;

	for (int i = 0; i < 4 && clock->next <= until; i++, n++)
		cpu_clock_begin_cell(clock, cell_ns);
	return n;
}

/* The weight of the sample that is due at the event's tick, or 0. @first: its first period. */
static __always_inline __u64 cpu_clock_advance(struct abi_counters *c, __u32 sampler, __u64 first,
					       __u64 cell_ns)
{
	__u32 key = bpf_get_smp_processor_id() * ABI_SAMPLERS_MAX + sampler;
	const volatile __u64 *varied = bpf_map_lookup_elem(&tick_periods, &key);

	if (!cell_ns) {
		c->period_sum += first;
		return first;
	}
	c->period_sum += cpu_clock_covered(&c->clock, varied ? *varied : 0, first,
					   bpf_ktime_get_ns());
	c->clock.pending += cpu_clock_ticks(&c->clock, c->period_sum, cell_ns);
	if (!c->clock.pending)
		return 0;
	c->clock.pending--;
	return cell_ns;
}

#endif

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_REST_BPF_H
#define PROFD_BPF_REST_BPF_H

/*
 * What profd needs to finish a walk, put behind the frames of the record: the registers of the
 * frame where the walk stopped, and a copy of the stack from there upwards. How much of the stack
 * depends on how full the ring is: a ring full of copies would lose samples.
 *
 * Copied page by page, as a failed read copies nothing. In the first thread of a program the stack
 * ends at mm->start_stack, where the arguments begin; other stacks end at some page that cannot be
 * read, or their copy does.
 */
#include "bpf/abi.h"
#include "bpf/unwind.bpf.h"

#define REST_PAGE 4096u
/* Beyond start_stack: the count of arguments, and enough for code that looks at a word too much. */
#define REST_BEYOND    64u
#define REST_MAIN_SIZE (8u << 20) /* RLIMIT_STACK as it comes */
#define REST_PAGES     (ABI_COPY_MAX / REST_PAGE + 1)
/* How often a process that profd should know about wakes it; one whose table is being made. */
#define REST_WAKE_NS       10000000u
#define REST_WAKE_TABLE_NS 100000000u
#define REST_WAKE_BITS     12

/* CLOCK_MONOTONIC of when a process with these low bits of its pid woke profd last. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << REST_WAKE_BITS);
	__type(key, __u32);
	__type(value, __u64);
} woken SEC(".maps");

static long rest_copy_page(__u32 i, struct unwind_context *context)
{
	struct scratch *s = context->scratch;
	__u64 address = s->copy_address, at = s->copy_at;
	__u64 n = REST_PAGE - (address & (REST_PAGE - 1));

	(void)i;
	if (address >= s->copy_end)
		return 1;
	if (n > s->copy_end - address)
		n = s->copy_end - address;
	__asm__ volatile("" : "+r"(n));
	__asm__ volatile("" : "+r"(at));
	if (n > REST_PAGE || at > BODY_BYTES - REST_PAGE)
		return 1;
	if (bpf_probe_read_user((char *)s->body + at, n, (const void *)address))
		return 1;
	s->copy_address = address + n;
	s->copy_at = at + n;
	return 0;
}

/*
 * Bytes of stack that the ring of @ring_bytes, in which @used wait, has room for. The last quarter
 * is for records without.
 */
static __always_inline __u32 rest_room(__u64 ring_bytes, __u64 used)
{
	__u64 left = used < ring_bytes ? ring_bytes - used : 0;

	if (left > ring_bytes / 2 && left > 2 * ABI_COPY_MAX)
		return ABI_COPY_MAX;
	if (left > ring_bytes / 8 * 3 && left > 32768)
		return 16384;
	return left > ring_bytes / 4 && left > 16384 ? 4096 : 0;
}

/* Puts u->r and up to @room bytes of stack behind the frames. Returns how much there is in all. */
static __always_inline __u64 rest_take(struct scratch *s, __u8 flags, __u32 room)
{
	struct unwind_context context = {.scratch = s};
	struct unwind *u = &s->unwind;
	__u64 start = u->r.sp, limit, index = u->first + u->n;

	__asm__ volatile("" : "+r"(index));
	if (index > ABI_FRAMES_MAX)
		return 0;
	__builtin_memcpy(&s->body[index], &u->r, sizeof(u->r));
	if (!u->r.is_return && start > REGISTER_RED_ZONE)
		start -= REGISTER_RED_ZONE;
	start &= ~7ull;
	limit = start + room;
	if (u->r.sp < u->start_stack && u->start_stack - u->r.sp < REST_MAIN_SIZE &&
	    limit > u->start_stack + REST_BEYOND)
		limit = (u->start_stack + REST_BEYOND) & ~7ull;
	s->copy_address = start;
	s->copy_end = limit;
	s->copy_at = index * 8 + sizeof(struct unwind_registers);
	if (room)
		bpf_loop(REST_PAGES, rest_copy_page, &context, 0);
	if (room && s->copy_address == start && start < (u->r.sp & ~7ull)) {
		/* The page below was never touched: nobody uses the red zone. */
		start = u->r.sp & ~7ull;
		s->copy_address = start;
		bpf_loop(REST_PAGES, rest_copy_page, &context, 0);
	}
	s->record.rest |= ABI_REST | flags | (u->pushed ? ABI_PUSHED : 0);
	s->record.start_stack = u->start_stack;
	s->record.start_code = u->start_code;
	s->record.end_code = u->end_code;
	s->record.copy_address = start;
	s->record.copy_bytes = s->copy_address - start;
	return sizeof(struct unwind_registers) + s->record.copy_bytes;
}

/*
 * Whether profd is to be told at once: what it makes known now, the next ticks of the process will
 * not have to copy.
 */
static __always_inline bool rest_wakes(const struct unwind *u, __u32 pid, __u64 now)
{
	__u32 key = pid & ((1 << REST_WAKE_BITS) - 1);
	__u64 interval, *last;

	if (u->reason == BROKEN_UNMAPPED)
		interval = REST_WAKE_NS;
	else if (u->reason == BROKEN_NO_TABLE)
		interval = REST_WAKE_TABLE_NS;
	else
		return false;
	last = bpf_map_lookup_elem(&woken, &key);
	if (!last || now - *last < interval)
		return false;
	*last = now;
	return true;
}

#endif

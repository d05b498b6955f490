/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_INGEST_BPF_STUBS_H
#define PROFD_TESTS_UNIT_INGEST_BPF_STUBS_H

/*
 * Parts of the BPF programs built as an ordinary program: the helpers are functions here, maps are
 * arrays, user memory is one array, the task is a struct of ours. Include it once, instead of the
 * files below bpf/; cmocka's headers come before. A program that walks a real process sets
 * stub_read_user and stub_on_code, and may define WORDS and SLOTS.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define __TARGET_ARCH_x86     1
#define preserve_access_index unused /* CO-RE: the structs here are the ones that are read */

#include "bpf/kernel_types.h"

#define SEC(name)          __attribute__((unused))
#define __uint(name, n)    int(*name)[n]
#define __type(name, type) type *name
#define __array(name, val) val *name
#define __noinline         __attribute__((noinline))
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define bpf_core_field_exists(...)                 1
#define BPF_CORE_READ_BITFIELD_PROBED(task, field) ((task)->field)

struct runtime;
struct unwind_context;
struct unwind_guess;
struct unwind_view;
struct unwind_memory;
struct unwind_registers;

static long bpf_probe_read_user(void *to, __u32 length, const void *from);
static long bpf_probe_read_kernel(void *to, __u32 length, const void *from);
static long bpf_task_pt_regs(struct task_struct *task);
static struct task_struct *bpf_get_current_task_btf(void);
static long bpf_loop_over(__u32 n, long (*step)(__u32, void *), void *context);
/* Callbacks have contexts of several types. */
#define bpf_loop(n, step, context, flags) \
	bpf_loop_over(n, (long (*)(__u32, void *))(void (*)(void))(step), context)
static __u64 bpf_ktime_get_ns(void);
static void *bpf_map_lookup_elem(void *map, const void *key);
static long bpf_map_update_elem(void *map, const void *key, const void *value, __u64 flags);
static __u64 bpf_ringbuf_query(void *ring, __u64 flags);
static long bpf_ringbuf_output(void *ring, void *data, __u64 length, __u64 flags);
static long bpf_map_delete_elem(void *map, const void *key);

/* Global functions, for the verifier's sake. */
__u32 tables_find_mapping(__u32 first, __u32 n, __u64 address);
__u64 tables_search(__u32 slot, __u32 offset, __u32 now_s);
int unwind_apply(struct unwind_registers *r, __u64 rule, struct unwind_memory *memory);
int unwind_apply_fp(struct unwind_registers *r, struct unwind_memory *memory);
int unwind_refill(struct unwind_memory *memory, __u64 address);
int unwind_is_return_at(struct unwind_view *view, struct unwind_guess *guess, uint64_t address);
int unwind_guess_pointer(struct unwind_view *view, struct unwind_guess *guess, uint64_t at);
int unwind_guess_try(struct unwind_view *view, struct unwind_guess *guess, uint64_t at);
int unwind_guess_end(struct unwind_view *view, struct unwind_guess *guess,
		     struct unwind_registers *r);
int runtime_send_code(struct runtime *r);
int runtime_meet(struct runtime *r, __u64 code, __u64 slot);
int runtime_end_group(struct runtime *r, __u64 anchor);
int runtime_read_window(struct runtime *r, __u64 frame);
int runtime_find_library(struct runtime *r, __u64 debug);
int runtime_find_mapped(struct runtime *r, __u32 mapping);
int runtime_walk(struct runtime *r, __u64 thread);
int runtime_read_slot(struct runtime *r, __u64 thread);
int runtime_is_name(struct runtime *r, __u64 at);
int runtime_name_thread(struct runtime *r);
int v8_add_frame(struct runtime *r, __u64 fp, __u32 at, __u32 in_image);
int v8_follow(struct runtime *r, __u64 fp);
int v8_line(struct runtime *r, __u64 script, __u32 position);
int v8_read_text(struct runtime *r, __u64 string, __u32 max);
int v8_take_lines(struct runtime *r, __u64 script, __u64 positions);
int v8_tell(struct runtime *r, __u64 id, __u64 shared, __u64 positions);

#include "bpf/pids.bpf.h"
#include "bpf/rest.bpf.h"
#include "bpf/roots.bpf.h"
#include "bpf/tables.bpf.h"
#include "bpf/unwind.bpf.h"

/* User memory: the stack, and a page of code. */
#define STACK_BASE  0x7ffd00000000ull
#define STACK_BYTES 65536ull
#define CODE_BASE   0x10000000ull
#define CODE_BYTES  4096ull

static union {
	__u64 wide[STACK_BYTES / 8];
	__u32 narrow[STACK_BYTES / 4];
	__u8 bytes[STACK_BYTES];
} stack;

static __u8 code[CODE_BYTES];

/* A long text: these bytes, again and again. */
#define LONG_BASE 0x20000000ull
#define LONG_END  0x30000000ull
static const char *long_text;
static __u32 long_bytes;

/* What the maps hold. */
#ifndef WORDS
#define WORDS 65536u
#define SLOTS 16u
#endif
#define MAPPINGS 1024u
#define ROOTS    4u

static struct {
	__u64 words[WORDS];
	struct table_slot slots[SLOTS];
	struct unwind_mapping mappings[MAPPINGS];
	__u32 pids[ROOTS]; /* 0: free */
	struct abi_root roots[ROOTS];
	__u64 changed[1 << ABI_CHANGED_BITS];
	__u64 woken[1 << REST_WAKE_BITS];
	__u32 ended_key, ended;             /* room for one; key 0: free */
	struct abi_runtime_key runtime_key; /* of the only file of an interpreter */
	struct runtime_row runtime;
	struct abi_told codes_told[1 << ABI_TOLD_BITS];
} maps;

static __u64 now_ns, step_ns; /* each look at the clock takes that long */
static unsigned n_reads;      /* of a user's memory */
static unsigned n_faults;     /* of them, of what is not there */
static struct pt_regs entry_regs;
static struct task_struct *current_task;
static struct scratch scratch;
/* Reads all of it, in place of what is here; NULL. */
static bool (*stub_read_user)(void *to, __u32 length, __u64 from);
static void (*stub_on_code)(const struct abi_code *code);
/* For maps that are not here: as the helpers, by the first four bytes of keys; NULL. */
static void *(*stub_lookup)(void *map, __u32 key);
static long (*stub_update)(void *map, __u32 key, const void *value);
static long (*stub_delete)(void *map, __u32 key);

static bool copy_out(void *to, __u32 length, __u64 from, __u64 base, const __u8 *bytes, __u64 size)
{
	if (from < base || from - base + length > size)
		return false;
	memcpy(to, bytes + (from - base), length);
	return true;
}

static bool copy_long(__u8 *to, __u32 length, __u64 from)
{
	if (!long_bytes || from < LONG_BASE || from + length > LONG_END)
		return false;
	for (__u32 i = 0; i < length; i++)
		to[i] = (__u8)long_text[(from - LONG_BASE + i) % long_bytes];
	return true;
}

/* A 32-bit program's stack is at 0x1000. */
static long bpf_probe_read_user(void *to, __u32 length, const void *from)
{
	__u64 at = (uintptr_t)from;

	n_reads++;
	if (stub_read_user)
		return stub_read_user(to, length, at) ? 0 : -14;
	if (copy_out(to, length, at, STACK_BASE, stack.bytes, STACK_BYTES) ||
	    copy_out(to, length, at, 0x1000, stack.bytes, STACK_BYTES) ||
	    copy_out(to, length, at, CODE_BASE, code, CODE_BYTES) || copy_long(to, length, at))
		return 0;
	n_faults++;
	return -14;
}

static long bpf_probe_read_kernel(void *to, __u32 length, const void *from)
{
	memcpy(to, from, length);
	return 0;
}

static inline struct task_struct *bpf_get_current_task_btf(void)
{
	return current_task;
}

static long bpf_task_pt_regs(struct task_struct *task)
{
	(void)task;
	return (long)&entry_regs;
}

static long bpf_loop_over(__u32 n, long (*step)(__u32, void *), void *context)
{
	__u32 i;

	for (i = 0; i < n; i++)
		if (step(i, context))
			return i + 1;
	return i;
}

static __u64 bpf_ktime_get_ns(void)
{
	return now_ns += step_ns;
}

static struct abi_root *find_root(__u32 pid)
{
	for (unsigned i = 0; i < ROOTS; i++)
		if (maps.pids[i] == pid)
			return &maps.roots[i];
	return NULL;
}

/* What was told on a ring, the last one. */
static struct abi_code told;
static unsigned n_told;

static __u64 bpf_ringbuf_query(void *ring, __u64 flags)
{
	(void)ring, (void)flags;
	return 0;
}

static long bpf_ringbuf_output(void *ring, void *data, __u64 length, __u64 flags)
{
	(void)ring, (void)flags;
	memcpy(&told, data, length);
	n_told++;
	if (stub_on_code)
		stub_on_code(&told);
	return 0;
}

static void *bpf_map_lookup_elem(void *map, const void *key)
{
	__u32 i;

	memcpy(&i, key, sizeof(i));
	if (map == &roots)
		return i ? find_root(i) : NULL;
	if (map == &ended)
		return i && i == maps.ended_key ? &maps.ended : NULL;
	if (map == &words)
		return i < WORDS ? &maps.words[i] : NULL;
	if (map == &slots)
		return i < SLOTS ? &maps.slots[i] : NULL;
	if (map == &mappings)
		return i < MAPPINGS ? &maps.mappings[i] : NULL;
	if (map == &changed)
		return i < 1 << ABI_CHANGED_BITS ? &maps.changed[i] : NULL;
	if (map == &woken)
		return i < 1 << REST_WAKE_BITS ? &maps.woken[i] : NULL;
	if (map == &runtimes)
		return memcmp(key, &maps.runtime_key, sizeof(maps.runtime_key)) ? NULL
										: &maps.runtime;
	if (map == &codes_told)
		return i < 1 << ABI_TOLD_BITS ? &maps.codes_told[i] : NULL;
	return stub_lookup ? stub_lookup(map, i) : NULL;
}

static long bpf_map_update_elem(void *map, const void *key, const void *value, __u64 flags)
{
	struct abi_root *root;
	__u32 pid;

	(void)flags;
	memcpy(&pid, key, sizeof(pid));
	if (map == &ended) {
		if (maps.ended_key)
			return -7;
		maps.ended_key = pid;
		memcpy(&maps.ended, value, sizeof(maps.ended));
		return 0;
	}
	if (map != &roots && stub_update)
		return stub_update(map, pid, value);
	root = map == &roots ? find_root(pid) : NULL;
	if (!root)
		root = find_root(0);
	if (!root)
		return -7; /* -E2BIG */
	memcpy(root, value, sizeof(*root));
	maps.pids[root - maps.roots] = pid;
	return 0;
}

static long bpf_map_delete_elem(void *map, const void *key)
{
	struct abi_root *root = bpf_map_lookup_elem(map, key);
	__u32 pid;

	if (!root)
		return -2;
	memcpy(&pid, key, sizeof(pid));
	if (map != &roots && map != &ended && stub_delete)
		return stub_delete(map, pid);
	if (map == &ended) {
		maps.ended_key = 0;
		return 0;
	}
	maps.pids[root - maps.roots] = 0;
	return 0;
}

/* An address space of mappings[0 .. n), as profd publishes it. */
static inline void publish(__u32 pid, __u32 n, __u64 until_ns)
{
	const struct abi_root root = {
		.root = {.until_ns = until_ns, .first = 0, .n = n, .pid = pid, .version = 1}};

	bpf_map_update_elem(&roots, &pid, &root, 0);
}

static inline void stubs_reset(void)
{
	memset(&stack, 0, sizeof(stack));
	memset(code, 0xcc, sizeof(code));
	memset(&maps, 0, sizeof(maps));
	memset(&scratch, 0xff, sizeof(scratch));
	memset(scratch.cache, 0, sizeof(scratch.cache));
	now_ns = 1000000000;
	step_ns = 0;
	n_reads = n_faults = 0;
	long_bytes = 0;
	fork_misses = stale_roots = runtime_broken = codes_lost = codes_forgotten = 0;
	n_told = 0;
}

#endif

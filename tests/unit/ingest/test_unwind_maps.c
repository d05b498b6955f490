/* SPDX-License-Identifier: MIT */
/*
 * What surrounds the walk of the BPF programs, built as an ordinary program: whose mappings count
 * (bpf/roots.bpf.h), the searches (bpf/tables.bpf.h), what goes along where it could not be
 * finished (bpf/rest.bpf.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/unwind/table.h"
#include "tests/unit/ingest/bpf_stubs.h"

static struct task_struct parent, child;

static int setup(void **state)
{
	(void)state;
	stubs_reset();
	parent = (struct task_struct){.pid = 10, .tgid = 10, .start_boottime = 111};
	child = (struct task_struct){.pid = 20, .tgid = 20, .start_boottime = 222};
	srand(4711);
	return 0;
}

static bool holds(__u32 pid)
{
	struct unwind_root root;

	return roots_find(pid, &root);
}

static void fork_at(__u64 at)
{
	now_ns = at;
	if (pids_first(&child))
		roots_fork(pids_process(&parent), pids_first(&child), child.start_boottime);
}

static void exec_at(struct task_struct *task, __u64 at)
{
	now_ns = at;
	roots_exec(pids_process(task));
}

static void free_task(struct task_struct *task)
{
	roots_free(task, pids_freed(task));
}

static void test_root_holds(void **state)
{
	(void)state;
	assert_false(holds(10));
	publish(10, 3, 500);
	assert_true(holds(10));
	/* What happened up to there is in it, what happened later is not. */
	maps.changed[10] = 500;
	assert_true(holds(10));
	maps.changed[10] = 501;
	assert_false(holds(10));
	publish(10, 3, 501);
	assert_true(holds(10));
	/* Pids share the time of the last change by their low bits. */
	publish(10 + (1 << ABI_CHANGED_BITS), 3, 500);
	assert_false(holds(10 + (1 << ABI_CHANGED_BITS)));
	/* An element that is being used for another process. */
	find_root(10)->root.pid = 11;
	assert_false(holds(10));
}

static void test_fork(void **state)
{
	struct unwind_root root;

	(void)state;
	publish(10, 3, 500);
	fork_at(1000);
	assert_true(roots_find(20, &root));
	assert_int_equal(root.n, 3);
	assert_int_equal(root.until_ns, 1000);
	assert_int_equal(root.pid, 20);
	/* A thread is no process. */
	child.pid = 21;
	maps.changed[20] = 0;
	fork_at(2000);
	assert_int_equal(maps.changed[20], 0);
	child.pid = 20;
	/* The parent executed something that profd does not know yet: nor does the child. */
	exec_at(&parent, 3000);
	assert_false(holds(10));
	fork_at(4000);
	assert_false(holds(20));
	assert_null(find_root(20));
	assert_int_equal(maps.changed[20], 4000);
	/* A grandchild of one that profd has never heard of. */
	publish(10, 3, 3000);
	fork_at(5000);
	parent.pid = parent.tgid = 20;
	child.pid = child.tgid = 30;
	fork_at(6000);
	assert_true(holds(30));
	exec_at(&child, 7000);
	assert_false(holds(30));
	assert_true(holds(20));
}

static void test_fork_without_room(void **state)
{
	(void)state;
	publish(10, 3, 500);
	for (__u32 pid = 1; pid < ROOTS; pid++)
		publish(pid, 1, 500);
	assert_null(find_root(0));
	fork_at(1000);
	assert_false(holds(20));
	assert_int_equal(fork_misses, 1);
	/* What is left of an earlier process of that pid does not count. */
	publish(2, 1, 500);
	child.pid = child.tgid = 2;
	maps.pids[3] = 99; /* the parent's is not found any more */
	maps.pids[0] = maps.pids[0] == 10 ? 98 : maps.pids[0];
	fork_at(2000);
	assert_false(holds(2));
}

static void test_task_freed(void **state)
{
	(void)state;
	publish(10, 3, 500);
	fork_at(1000);
	/* Not with a thread, not with an earlier process of the same pid. */
	child.pid = 21;
	free_task(&child);
	assert_true(holds(20));
	child.pid = 20;
	child.start_boottime = 221;
	free_task(&child);
	assert_true(holds(20));
	child.start_boottime = 222;
	free_task(&child);
	assert_null(find_root(20));
	free_task(&parent);
	assert_null(find_root(10));
	free_task(&parent);
	assert_int_equal(stale_roots, 0);
}

static __u32 find_linear(__u32 first, __u32 n, __u64 address)
{
	__u32 found = TABLES_NO_MAPPING;

	for (__u32 i = first; i < first + n; i++)
		if (maps.mappings[i].start <= address)
			found = i;
	return found;
}

static void test_mappings(void **state)
{
	(void)state;
	assert_int_equal(tables_find_mapping(5, 0, 1000), TABLES_NO_MAPPING);
	for (__u32 n = 1; n < 200; n++) {
		__u64 at = 0;

		for (__u32 i = 0; i < n; i++) {
			maps.mappings[7 + i].start = at += 1 + (unsigned)rand() % 20;
			maps.mappings[7 + i].end = at += (unsigned)rand() % 20;
		}
		for (unsigned i = 0; i < 50; i++) {
			__u64 address = (unsigned)rand() % (at + 3);

			assert_int_equal(tables_find_mapping(7, n, address),
					 find_linear(7, n, address));
		}
	}
	/* A root that lies: nothing outside is read. */
	assert_int_equal(tables_find_mapping(0xfffffff0, 65535, 1000), TABLES_NO_MAPPING);
	assert_int_equal(tables_find_mapping(MAPPINGS - 1, 65535, ~0ull), TABLES_NO_MAPPING);
}

/* Rows of @n functions, @spread bytes apart at most, with @n_rules different rules. */
static struct cfi_rows make_rows(size_t n, unsigned spread, size_t n_rules)
{
	struct cfi_rows rows = {.rows = calloc(n, sizeof(*rows.rows)),
				.n_rows = n,
				.rules = calloc(n_rules, sizeof(*rows.rules)),
				.n_rules = n_rules};
	uint32_t at = (unsigned)rand() % 100000;

	assert_non_null(rows.rows);
	assert_non_null(rows.rules);
	for (size_t i = 0; i < n_rules; i++)
		rows.rules[i] = RULE_CFA | i << 8;
	for (size_t i = 0; i < n; i++) {
		rows.rows[i] = (struct cfi_row){at, (uint32_t)((unsigned)rand() % n_rules)};
		at += 1 + (unsigned)rand() % spread;
	}
	return rows;
}

static void check_table(size_t n, unsigned spread, size_t n_rules)
{
	struct cfi_rows rows = make_rows(n, spread, n_rules);
	uint32_t last = rows.rows[n - 1].offset;
	struct table_slot slot;
	uint64_t *packed;
	size_t n_words;

	assert_int_equal(table_pack(&rows, WORDS - 1000, &slot, &packed, &n_words), TABLE_E_OK);
	slot.first = (unsigned)rand() % 1000;
	slot.version = 3;
	maps.slots[1] = slot;
	memcpy(maps.words + slot.first, packed, n_words * sizeof(*packed));
	for (unsigned i = 0; i < 2000; i++) {
		uint32_t at = (unsigned)rand() % (last + 3000);

		if (i < n)
			at = rows.rows[i].offset - (i & 1);
		assert_int_equal(tables_search(1, at, 5),
				 table_search((const uint64_t *)maps.words, WORDS, &slot, at));
	}
	assert_int_equal(tables_search(1, UINT32_MAX, 5), RULE_WORD(RULE_UNKNOWN));
	assert_int_equal(maps.slots[1].used_s, 5);
	free(packed);
	free(rows.rows);
	free(rows.rules);
}

static void test_tables(void **state)
{
	(void)state;
	check_table(1, 1, 1);
	check_table(2, 5000, 2);
	check_table(3000, 1, 7); /* a row for each byte */
	check_table(3000, 40, 100);
	check_table(1000, 3000, 1000);
}

static void test_table_states(void **state)
{
	(void)state;
	assert_int_equal(tables_search(SLOTS, 0, 5), TABLES_ABSENT);
	assert_int_equal(tables_search(2, 0, 5), TABLES_ABSENT);
	maps.slots[2].state = TABLE_NO_CFI;
	assert_int_equal(tables_search(2, 0, 5), TABLES_NO_CFI);
	maps.slots[2].state = TABLE_REFUSED;
	assert_int_equal(tables_search(2, 0, 5), TABLES_REFUSED);
	assert_int_equal(maps.slots[2].used_s, 0);
	/* A slot of nonsense: nothing outside is read, and the search ends. */
	memset(&maps.slots[2], 0xff, sizeof(maps.slots[2]));
	maps.slots[2].state = TABLE_LOADED;
	maps.slots[2].first_chunk = 0;
	assert_int_equal(tables_search(2, 12345, 5), RULE_WORD(RULE_UNKNOWN));
}

static void begin(__u64 sp, __u64 start_stack)
{
	struct unwind *u = &scratch.unwind;

	memset(u, 0, sizeof(*u));
	u->first = 2;
	u->n = 3;
	u->r = (struct unwind_registers){.pc = 0x401000, .sp = sp, .is_return = 1};
	u->start_stack = start_stack;
	for (unsigned i = 0; i < STACK_BYTES; i++)
		stack.bytes[i] = (__u8)(i * 7 + i / 256);
}

/* What is in the record must be the stack's bytes. */
static void check_copy(__u64 address, __u64 length, __u64 taken)
{
	const __u8 *body = (const __u8 *)scratch.body + 5 * 8;

	assert_int_equal(scratch.record.copy_address, address);
	assert_int_equal(scratch.record.copy_bytes, length);
	assert_int_equal(taken, sizeof(struct unwind_registers) + length);
	assert_memory_equal(body, &scratch.unwind.r, sizeof(struct unwind_registers));
	body += sizeof(struct unwind_registers);
	if (length)
		assert_memory_equal(body, stack.bytes + (address - STACK_BASE), length);
	assert_int_equal(scratch.record.rest & ABI_REST, ABI_REST);
}

static void test_copy(void **state)
{
	const __u64 end = STACK_BASE + STACK_BYTES, sp = STACK_BASE + 1000;

	(void)state;
	begin(sp, 0);
	check_copy(sp, ABI_COPY_MAX, rest_take(&scratch, 0, ABI_COPY_MAX));
	check_copy(sp, 4096, rest_take(&scratch, 0, 4096));
	check_copy(sp, 0, rest_take(&scratch, 0, 0));
	/* To the last page that can be read. */
	begin(end - 5000, 0);
	check_copy(end - 5000, 5000, rest_take(&scratch, 0, ABI_COPY_MAX));
	begin(end, 0);
	check_copy(end, 0, rest_take(&scratch, 0, ABI_COPY_MAX));
	/* A leaf may have put something below; and stack pointers can be odd. */
	begin(sp + 3, 0);
	scratch.unwind.r.is_return = 0;
	check_copy(sp - 128, 16384, rest_take(&scratch, 0, 16384));
	/* Where a program's stack ends, unless this is another stack. */
	begin(sp, sp + 2000);
	check_copy(sp, 2064, rest_take(&scratch, 0, ABI_COPY_MAX));
	begin(sp, sp + (9 << 20));
	check_copy(sp, ABI_COPY_MAX, rest_take(&scratch, 0, ABI_COPY_MAX));
	begin(sp, sp - 2000);
	check_copy(sp, ABI_COPY_MAX, rest_take(&scratch, 0, ABI_COPY_MAX));
}

static void test_copy_flags(void **state)
{
	(void)state;
	begin(STACK_BASE, 4711);
	scratch.unwind.start_code = 4712;
	scratch.unwind.end_code = 4713;
	scratch.record.rest = ABI_KERNEL_THREAD; /* what is there already stays */
	rest_take(&scratch, 0, 4096);
	assert_int_equal(scratch.record.rest, ABI_REST | ABI_KERNEL_THREAD);
	assert_int_equal(scratch.record.start_stack, 4711);
	assert_int_equal(scratch.record.start_code, 4712);
	assert_int_equal(scratch.record.end_code, 4713);
	scratch.unwind.pushed = 1;
	rest_take(&scratch, ABI_WITNESS, 4096);
	assert_int_equal(scratch.record.rest,
			 ABI_REST | ABI_PUSHED | ABI_WITNESS | ABI_KERNEL_THREAD);
	/* As many frames as there can be. */
	scratch.unwind.n = ABI_FRAMES_MAX - 2;
	assert_int_equal(rest_take(&scratch, 0, ABI_COPY_MAX),
			 sizeof(struct unwind_registers) + ABI_COPY_MAX);
	assert_true(8 * ABI_FRAMES_MAX + sizeof(struct unwind_registers) + ABI_COPY_MAX <=
		    BODY_BYTES);
}

static void test_room(void **state)
{
	const __u64 ring = 1 << 20;

	(void)state;
	assert_int_equal(rest_room(ring, 0), ABI_COPY_MAX);
	assert_int_equal(rest_room(ring, ring / 2), 16384);
	assert_int_equal(rest_room(ring, ring - ring / 8 * 3), 4096);
	assert_int_equal(rest_room(ring, ring - ring / 4), 0);
	assert_int_equal(rest_room(ring, ring + 5), 0);
	/* Small ones: never more than there is. */
	for (__u64 size = 4096; size < ring; size *= 2)
		for (__u64 used = 0; used <= size; used += 1024)
			assert_true(rest_room(size, used) + 10240 <= size - used ||
				    rest_room(size, used) == 0);
}

static void test_wakes(void **state)
{
	struct unwind *u = &scratch.unwind;

	(void)state;
	u->reason = BROKEN_UNMAPPED;
	assert_true(rest_wakes(u, 10, 1000000000));
	assert_false(rest_wakes(u, 10, 1009000000));
	assert_true(rest_wakes(u, 11, 1009000000));
	assert_true(rest_wakes(u, 10, 1010000000));
	u->reason = BROKEN_NO_TABLE;
	assert_true(rest_wakes(u, 12, 1010000000));
	assert_false(rest_wakes(u, 12, 1109000000));
	assert_true(rest_wakes(u, 12, 1110000000));
	u->reason = BROKEN_UNREADABLE; /* that profd can read it is no use to later ticks */
	assert_false(rest_wakes(u, 13, 1010000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_root_holds, setup),
		cmocka_unit_test_setup(test_fork, setup),
		cmocka_unit_test_setup(test_fork_without_room, setup),
		cmocka_unit_test_setup(test_task_freed, setup),
		cmocka_unit_test_setup(test_mappings, setup),
		cmocka_unit_test_setup(test_tables, setup),
		cmocka_unit_test_setup(test_table_states, setup),
		cmocka_unit_test_setup(test_copy, setup),
		cmocka_unit_test_setup(test_copy_flags, setup),
		cmocka_unit_test_setup(test_room, setup),
		cmocka_unit_test_setup(test_wakes, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

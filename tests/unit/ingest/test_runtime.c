/* SPDX-License-Identifier: MIT */
/* An interpreter's frames: the walk of bpf/runtime.bpf.h, and their places in the native stack. */
#include "tests/unit/ingest/runtime_fixture.h"

static void test_groups(void **state)
{
	(void)state;
	walk(true, 1024);
	assert_end(6, STACK_COMPLETE, 0);
	assert_int_equal(scratch.runtime.n, 5);
	assert_entry(0, ABI_RUNTIME_CODE, 20);
	assert_entry(1, ABI_RUNTIME_CODE, 20);
	assert_entry(2, ABI_RUNTIME_LOOP, 1);
	assert_entry(3, ABI_RUNTIME_CODE, 20);
	assert_entry(4, ABI_RUNTIME_LOOP, 3);
	/* Each is told of once, with all that it has. */
	assert_int_equal(n_told, 3);
	assert_int_equal(told.id, scratch.runtime.entries[3].value);
	assert_int_equal(told.pid, PID);
	assert_int_equal(told.first_line, 102);
	assert_int_equal(told.name_bytes, 4);
	assert_memory_equal(told.name, "name", 4);
	assert_int_equal(told.table_bytes, 3);
	assert_memory_equal(told.table, "\x80\x01\x02", 3);
	again();
	walk(true, 1024);
	assert_int_equal(n_told, 3);
}

/* Each frame is an entry of the loop, whose code or whose struct CFrame is on the way. */
static void test_frame_objects(void **state)
{
	static const __u32 versions[] = {0x0308, 0x0309, 0x030a};

	for (unsigned i = 0; i < ARRAY_SIZE(versions); i++) {
		setup_python(state);
		assert_true(python_row(versions[i], &row));
		row.state = STATE;
		row.loop = (__s32)(LOOP - START_CODE - STATE);
		row.loop_bytes = 0x100;
		maps.runtime = row;
		maps.mappings[1] = (struct unwind_mapping){.start = LOOP - 0x1000,
							   .end = LOOP + 0x1000,
							   .slot = SLOT_NONE};
		put_half(START_CODE + STATE + row.key, KEY);
		poke_word(TSTATE + row.thread_id, THREAD);
		poke_word(TSTATE + row.thread_at, versions[i] < 0x030a ? frame_at(0) : CFRAME(1));
		poke_word(TSTATE + 24, frame_at(0));
		poke_word(CFRAME(1) + 8, CFRAME(3));
		poke_word(CFRAME(3) + 8, 0);
		/* Native frames 1 and 3 are in it, 2 is just behind it. */
		stack.wide[3] = LOOP + 1;
		stack.wide[7] = LOOP + 0x101;
		stack.wide[11] = LOOP + 0x100;
		for (unsigned k = 0; k < 3; k++) {
			put_frame(k, k < 2 ? frame_at(k + 1) : 0, false);
			put_half(frame_at(k) + row.frame_instruction, k ? 6 : 0xffffffff);
		}
		/* A walk of V8 was there. */
		memset(scratch.runtime.code_words, 0x20, sizeof(scratch.runtime.code_words));
		walk(true, 1024);
		assert_end(6, STACK_COMPLETE, 0);
		assert_int_equal(scratch.runtime.n, 6);
		assert_entry(0, ABI_RUNTIME_CODE, RUNTIME_AT_UNKNOWN);
		assert_entry(1, ABI_RUNTIME_LOOP, 1);
		assert_entry(2, ABI_RUNTIME_CODE, versions[i] < 0x030a ? 6 : 12);
		assert_entry(3, ABI_RUNTIME_LOOP, 3);
		if (versions[i] != 0x030a) {
			assert_entry(5, ABI_RUNTIME_COUNTED, 0x100);
			assert_true(scratch.runtime.entries[5].value == LOOP);
			continue;
		}
		again();
		/* It waits for what the one before does with an exception. */
		poke_word(frame_at(1) + row.frame_generator, OTHER);
		put_half(frame_at(1) + row.frame_depth, 1);
		walk(true, 1024);
		assert_int_equal(scratch.runtime.n, 5);
		assert_entry(4, ABI_RUNTIME_LOOP, 3);
		/* It is being entered. */
		again();
		put_half(frame_at(1) + row.frame_state, (__u32)-1);
		walk(true, 1024);
		assert_int_equal(scratch.runtime.n, 6);
	}
}

/* A subinterpreter's state is not the one that the key has. */
static void test_current(void **state)
{
	const __u64 vector = OTHER + 0x100, block = OTHER + 0x180;

	(void)state;
	poke_word(OTHER + row.thread_id, THREAD);
	poke_word(OTHER + row.thread_at, CFRAME(3));
	poke_word(START_CODE + STATE + row.current, OTHER);
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 2);
	/* Of another thread, which has the GIL. */
	again();
	poke_word(OTHER + row.thread_id, THREAD + 1);
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 5);
	/* Thread-local, a program's and a library's. */
	again();
	poke_word(OTHER + row.thread_id, THREAD);
	poke_word(THREAD - 16, OTHER);
	maps.runtime.current = 0;
	maps.runtime.tls_at = -16;
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 2);
	again();
	maps.runtime.tls_at = 0;
	maps.runtime.tls_index = 8;
	poke_word(START_CODE + STATE + 8, 2);
	poke_word(START_CODE + STATE + 16, 24);
	poke_word(THREAD + 8, vector);
	poke_word(vector + 32, block);
	poke_word(block + 24, OTHER);
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 2);
	again();
	poke_word(block + 24, 0);
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 5);
}

/* musl's values are elsewhere, one after the other, and so are the entries of its vector. */
static void test_musl(void **state)
{
	const __u64 values = OTHER + 0x1c0, vector = OTHER + 0x100, block = OTHER + 0x180;

	(void)state;
	maps.runtime.libc = RUNTIME_MUSL;
	poke_word(THREAD + 0x310 + 16 * KEY + 8, OTHER);
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 0);
	again();
	poke_word(THREAD + 0x80, values);
	poke_word(values + 8 * KEY, TSTATE);
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 5);
	/* A library's, of another interpreter. */
	again();
	maps.runtime.current = 0;
	maps.runtime.tls_index = 8;
	poke_word(START_CODE + STATE + 8, 2);
	poke_word(START_CODE + STATE + 16, 24);
	poke_word(THREAD + 8, vector);
	poke_word(vector + 16, block);
	poke_word(block + 24, OTHER);
	poke_word(OTHER + row.thread_id, THREAD);
	poke_word(OTHER + row.thread_at, CFRAME(3));
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 2);
	again();
	poke_word(block + 24, 0);
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 5);
}

/* Not begun yet, so that no traceback shows it; the group is still one. */
static void test_hidden(void **state)
{
	(void)state;
	poke_word(frame_at(1) + row.frame_instruction, code_at(1) + row.code_instructions + 2);
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 4);
	assert_entry(1, ABI_RUNTIME_LOOP, 1);
	again();
	poke_word(frame_at(0) + row.frame_instruction, 0);
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 2);
	assert_entry(1, ABI_RUNTIME_LOOP, 3);
	/* A generator's is shown wherever it is. */
	again();
	put_half(frame_at(0) + row.frame_mark, PYTHON_OWNED_BY_GENERATOR << 8);
	walk(true, 1024);
	assert_entry(0, ABI_RUNTIME_CODE, RUNTIME_AT_UNKNOWN);
}

/* Generators that wait for what another one does with an exception have no native frame. */
static void test_delegating(void **state)
{
	(void)state;
	put_frame(3, frame_at(2), true);
	poke_word(frame_at(1) + row.frame_previous, frame_at(3));
	put_frame(0, frame_at(1), true);
	poke_word(CFRAME(3) + row.cframe_frame, frame_at(1));
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 6);
	assert_entry(1, ABI_RUNTIME_LOOP, 1);
	assert_entry(4, ABI_RUNTIME_CODE, 20);
	assert_entry(5, ABI_RUNTIME_LOOP, 3);
	/* The other one has not begun, or is no Python code. */
	again();
	poke_word(TSTATE + row.thread_at, CFRAME(3));
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 4);
	assert_entry(3, ABI_RUNTIME_LOOP, 3);
}

/* What is next to the leaf of a chain that is too long, where it belongs. */
static void test_deep(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		__u64 frame = DEEP + 40 * i; /* they share what is not looked at */

		poke_word(frame + row.frame_code, code_at(0));
		poke_word(frame + row.frame_previous, i < 299 ? frame + 40 : frame_at(2));
		poke_word(frame + row.frame_instruction, code_at(0) + row.code_instructions + 20);
		put_half(frame + row.frame_mark, i == 299);
	}
	poke_word(CFRAME(1) + row.cframe_frame, DEEP);
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, ABI_CODES_MAX + 1);
	assert_entry(ABI_CODES_MAX - 1, ABI_RUNTIME_CODE, 20);
	assert_entry(ABI_CODES_MAX, ABI_RUNTIME_LOOP, 1);
	assert_true(runtime_broken > 0);
	assert_true(scratch.runtime.is_cut);
	again();
	poke_word(CFRAME(1) + row.cframe_frame, frame_at(0));
	walk(true, 1024);
	assert_false(scratch.runtime.is_cut);
}

/* Where the native walk does not come to, profd places them. */
static void test_unplaced(void **state)
{
	(void)state;
	walk(true, 3);
	assert_entry(2, ABI_RUNTIME_LOOP, 1);
	assert_entry(4, ABI_RUNTIME_GROUP, ABI_UNPLACED);
	assert_int_equal(scratch.runtime.entries[4].value, CFRAME(3));
}

/* One that no file and no list leads to, but a mapping. */
static void test_mapped(void **state)
{
	struct unwind_root root = {.until_ns = 500, .n = 2, .pid = PID, .version = 1};

	(void)state;
	maps.runtime_key = (struct abi_runtime_key){.size = IMAGE, .device = ABI_RUNTIME_IMAGE};
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 0);
	again();
	maps.mappings[1].start = START_CODE + IMAGE_OFFSET;
	root.runtime = 2;
	bpf_map_update_elem(&roots, &root.pid, &(struct abi_root){.root = root}, 0);
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 5);
	again();
	/* Another program may have the pid by now. */
	roots_exec(PID);
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 0);
}

/* What is no interpreter's has nothing, nor what only looks like one. */
static void test_others(void **state)
{
	(void)state;
	program.i_ino++;
	walk(true, 1024);
	program.i_ino--;
	assert_int_equal(scratch.runtime.n, 0);
	again();
	poke_word(TSTATE + row.thread_id, THREAD + 8);
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 0);
	again();
	put_half(START_CODE + STATE + row.key, 0xffffffff);
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 0);
	assert_end(6, STACK_COMPLETE, 0);
}

/* Of a chain that is known, with @n frames of one code, of which callers are below. */
static unsigned count_reads(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		put_frame(i, i ? frame_at(i - 1) : CODE_BASE, false);
		poke_word(frame_at(i) + row.frame_code, code_at(2));
		poke_word(frame_at(i) + row.frame_instruction, code_at(2) + 400);
	}
	memcpy(code, stack.bytes + (frame_at(0) - STACK_BASE), row.frame_bytes);
	memset(code + row.frame_previous, 0, 8);
	code[row.frame_mark] = 1;
	poke_word(CFRAME(1) + row.cframe_frame, frame_at(n - 1));
	again();
	n_reads = n_faults = 0;
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, n + 2);
	return n_reads;
}

/* Frames that lie one after the other are read together, but nothing of another page. */
static void test_windows(void **state)
{
	unsigned reads, faults;

	(void)state;
	count_reads(1);
	reads = count_reads(1);
	faults = n_faults; /* of the native walk: it looks for restorers */
	assert_int_equal(count_reads(8), reads);
	assert_int_equal(count_reads(20), reads + 2);
	assert_int_equal(n_faults, faults);
	assert_int_equal(runtime_broken, 0);
	/* One that begins in a page and ends in the next one; one that is at an odd address. */
	poke_word(frame_at(0) + row.frame_previous, CODES - 40);
	memcpy(stack.bytes + (CODES - 40 - STACK_BASE), code, row.frame_bytes);
	again();
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 22);
	assert_int_equal(runtime_broken, 0);
	poke_word(frame_at(0) + row.frame_previous, CODES - 44);
	again();
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 21);
	assert_int_equal(runtime_broken, 1);
}

/* A library is looked for in what the process has loaded, once, if it stays what it is. */
static void test_library(void **state)
{
	enum { DEBUG = 0x5c00, MAP = 0x5c40, CHECK = 0x200 };
	unsigned known;

	(void)state;
	maps.runtime_key = (struct abi_runtime_key){.size = 0x300};
	maps.runtime.check = CHECK;
	maps.runtime.check_value = 0x030b02f0;
	poke_word(STACK_BASE + DEBUG, STACK_BASE + DEBUG + 16);
	poke_word(STACK_BASE + DEBUG + 16 + R_DEBUG_MAP, STACK_BASE + MAP);
	poke_word(STACK_BASE + MAP, START_CODE);
	poke_word(STACK_BASE + MAP + 16, START_CODE + 0x300);
	put_half(START_CODE + CHECK, 0x030b02f0);
	scratch.runtime.seed = 7;
	assert_true(runtime_find_library(&scratch.runtime, STACK_BASE + DEBUG));
	n_reads = 0;
	scratch.runtime.base = 0;
	assert_true(runtime_find_library(&scratch.runtime, STACK_BASE + DEBUG));
	assert_int_equal(scratch.runtime.base, START_CODE);
	assert_int_equal(scratch.runtime.row.state, STATE);
	assert_int_equal(n_reads, 1);
	/* Another process; another version; one that is gone. */
	known = n_reads;
	scratch.runtime.seed = 8;
	assert_true(runtime_find_library(&scratch.runtime, STACK_BASE + DEBUG));
	assert_true(n_reads > known + 1);
	put_half(START_CODE + CHECK, 0x030c02f0);
	assert_false(runtime_find_library(&scratch.runtime, STACK_BASE + DEBUG));
	put_half(START_CODE + CHECK, 0x030b02f0);
	poke_word(STACK_BASE + MAP + 16, 0);
	assert_false(runtime_find_library(&scratch.runtime, STACK_BASE + DEBUG));
}

/* Circles end, pointers to nowhere do, and so do texts that say that they are long. */
static void test_hostile(void **state)
{
	(void)state;
	poke_word(frame_at(2) + row.frame_previous, frame_at(0));
	walk(true, 1024);
	assert_true(scratch.runtime.n <= ABI_RUNTIME_MAX && scratch.runtime.n > 100);
	assert_int_equal(n_told, 3);
	assert_true(scratch.runtime.n_ends <= ABI_GROUPS_MAX);
	assert_int_equal(runtime_broken, 1);
	again();
	for (unsigned i = 0; i < 3; i++) /* none is shown */
		poke_word(frame_at(i) + row.frame_instruction, code_at(i));
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 0);
	assert_int_equal(runtime_broken, 2);
	for (unsigned i = 0; i < 3; i++)
		put_frame(i, frame_at((i + 1) % 3), i > 0);
	again();
	poke_word(frame_at(1) + row.frame_code, 8);
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 2);
	assert_entry(0, ABI_RUNTIME_CODE, 20);
	assert_entry(1, ABI_RUNTIME_GROUP, ABI_UNPLACED);
	assert_int_equal(runtime_broken, 3);
	again();
	poke_word(TEXT + 16, ~0ull);
	long_text = "\xff\xff\xff\xff\xff\xff\xff\xff";
	long_bytes = 8;
	poke_word(code_at(0) + row.code_table, LONG_BASE);
	walk(true, 1024);
	assert_int_equal(told.name_bytes, ABI_CODE_NAME);
	assert_int_equal(told.table_bytes, ABI_CODE_TABLE);
	again();
	poke_word(TSTATE + row.thread_at, 0x100000000000);
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_groups, setup_python),
		cmocka_unit_test_setup(test_frame_objects, setup_python),
		cmocka_unit_test_setup(test_current, setup_python),
		cmocka_unit_test_setup(test_musl, setup_python),
		cmocka_unit_test_setup(test_hidden, setup_python),
		cmocka_unit_test_setup(test_delegating, setup_python),
		cmocka_unit_test_setup(test_deep, setup_python),
		cmocka_unit_test_setup(test_unplaced, setup_python),
		cmocka_unit_test_setup(test_mapped, setup_python),
		cmocka_unit_test_setup(test_others, setup_python),
		cmocka_unit_test_setup(test_windows, setup_python),
		cmocka_unit_test_setup(test_library, setup_python),
		cmocka_unit_test_setup(test_hostile, setup_python),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

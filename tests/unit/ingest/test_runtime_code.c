/* SPDX-License-Identifier: MIT */
/* An interpreter's code objects: when one is another (bpf/runtime_code.bpf.h), and is sent. */
#include "tests/unit/ingest/runtime_fixture.h"

/* Another code at the same place is another one, whatever it is that is not the same. */
static void test_content(void **state)
{
	const __u8 texts[] = {row.code_name, row.code_file, row.code_table};
	__u64 ids[ARRAY_SIZE(texts) + 2];
	size_t n = 0;

	(void)state;
	memcpy(stack.bytes + (TEXT + 256 - STACK_BASE), stack.bytes + (TEXT - STACK_BASE), 256);
	walk(true, 1024);
	ids[n++] = scratch.runtime.entries[3].value;
	put_half(code_at(2) + row.code_line, 500);
	again();
	walk(true, 1024);
	assert_int_equal(told.first_line, 500);
	ids[n++] = scratch.runtime.entries[3].value;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		poke_word(code_at(2) + texts[i], TEXT + 256);
		again();
		walk(true, 1024);
		ids[n++] = scratch.runtime.entries[3].value;
	}
	assert_int_equal(n_told, 2 + n);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			assert_true(ids[i] != ids[k]);
}

/* All of it may be at the same places again: since 3.12 each has a number. */
static void test_version(void **state)
{
	static const __u32 versions[] = {0x030c, 0x030d, 0x030e};

	for (unsigned i = 0; i < ARRAY_SIZE(versions); i++) {
		struct runtime_content a, b;

		setup_python(state);
		assert_true(python_row(versions[i], &scratch.runtime.row));
		memset(scratch.runtime.code_words, 0, sizeof(scratch.runtime.code_words));
		runtime_take_content(&scratch.runtime, &a);
		scratch.runtime.code_words[92 / 8] = 1ull << 32;
		runtime_take_content(&scratch.runtime, &b);
		assert_false(runtime_is_same(&a, &b));
	}
	setup_python(state);
	maps.runtime.code_version = 92;
	for (unsigned i = 1; i <= 3; i++) {
		put_half(code_at(2) + 92, i);
		again();
		walk(true, 1024);
		assert_int_equal(n_told, 2 + i);
	}
}

/* Before, the name itself is compared: often while the code is new, and now and then later. */
static void test_names(void **state)
{
	unsigned n;

	(void)state;
	walk(true, 1024);
	assert_int_equal(n_told, 3);
	poke_word(TEXT + 24, 1); /* its hash */
	again();
	walk(true, 1024);
	assert_int_equal(n_told, 6);
	poke_word(TEXT + 48, 'g'); /* its characters */
	again();
	walk(true, 1024);
	assert_int_equal(n_told, 9);
	for (unsigned i = 0; i < RUNTIME_NAMES_FIRST || scratch.runtime.n_walks % 16; i++) {
		again();
		walk(true, 1024);
	}
	assert_int_equal(n_told, 9);
	poke_word(TEXT + 24, 2);
	for (n = 0; n_told == 9 && n < 100; n++) {
		again();
		walk(true, 1024);
	}
	assert_int_equal(n, 16);
	assert_int_equal(n_told, 12);
}

/* Ids that have the same place are sent once each, and again when profd wants them. */
static void test_told(void **state)
{
	struct abi_told *place;
	__u64 id;

	(void)state;
	walk(true, 1024);
	assert_int_equal(n_told, 3);
	id = scratch.runtime.entries[0].value;
	place = &maps.codes_told[id >> (64 - ABI_TOLD_BITS)];
	place->ids[ABI_TOLD_WAYS - 1] = id;
	place->ids[0] = id + 1;
	codes_forgotten++;
	again();
	walk(true, 1024);
	assert_int_equal(n_told, 3);
	place->ids[ABI_TOLD_WAYS - 1] = 0;
	again();
	walk(true, 1024);
	assert_int_equal(n_told, 3);
	codes_forgotten++;
	again();
	walk(true, 1024);
	assert_int_equal(n_told, 4);
	assert_int_equal(place->ids[0], id);
	assert_int_equal(place->ids[1], id + 1);
}

/* A tick sends fewer that have long tables; the next ones have the others. */
static void test_told_long(void **state)
{
	const unsigned n = 32, each = 1 + ABI_CODE_TABLE / RUNTIME_TOLD_BYTES;

	(void)state;
	long_text = "\xff\xff\xff\xff\xff\xff\xff\xff";
	long_bytes = 8;
	for (unsigned i = 0; i < n; i++) {
		put_frame(i, i + 1 < n ? frame_at(i + 1) : 0, i + 1 == n);
		poke_word(code_at(i) + row.code_table, LONG_BASE);
	}
	for (unsigned i = 1; i <= 3; i++) {
		unsigned most = i * ((RUNTIME_TOLD_MAX + each - 1) / each);

		again();
		walk(true, 1024);
		assert_int_equal(n_told, most < n ? most : n);
		assert_int_equal(told.table_bytes, ABI_CODE_TABLE);
	}
}

/* One whose name cannot be read yet is sent when it can be. */
static void test_told_late(void **state)
{
	(void)state;
	poke_word(TEXT + 16, 0);
	walk(true, 1024);
	assert_int_equal(n_told, 0);
	assert_int_equal(scratch.runtime.n, 5);
	poke_word(TEXT + 16, 4);
	again();
	walk(true, 1024);
	assert_int_equal(n_told, 3);
}

/* How many reads a walk of the chain needs, now. */
static unsigned read_again(void)
{
	again();
	n_reads = 0;
	walk(true, 1024);
	return n_reads;
}

enum { INTERPRETER = 0x5c00, COUNT = 16, CHECK_AT = 8, NEWEST_AT = 0x18 };

/* An interpreter that counts as @kind does, in the state. */
static void put_count(enum runtime_count kind, __u64 count)
{
	maps.runtime.count = COUNT;
	maps.runtime.count_kind = kind;
	maps.runtime.code_version = 92; /* as all have that count */
	maps.runtime.state_bytes = 0x2000;
	maps.runtime.thread_interpreter = 16;
	maps.runtime.interpreters = NEWEST_AT;
	poke_word(TSTATE + 16, STACK_BASE + INTERPRETER);
	poke_word(kind == RUNTIME_COUNT_STATIC ? START_CODE + STATE + COUNT
					       : STACK_BASE + INTERPRETER + COUNT,
		  count);
}

/* Code that is known is read again if it may be another. */
static void test_known(void **state)
{
	enum { CHECK = 1234 };
	unsigned all, known;

	(void)state;
	put_count(RUNTIME_COUNT_NEXT, 7);
	maps.runtime.count_check = CHECK;
	maps.runtime.count_check_at = CHECK_AT;
	poke_word(START_CODE + STATE + CHECK_AT, CHECK);
	walk(true, 1024);
	known = read_again();
	assert_int_equal(n_told, 3);
	put_half(code_at(2) + row.code_line, 500);
	assert_int_equal(read_again(), known);
	assert_int_equal(n_told, 3);
	/* Another one was made: also the check is read again. */
	put_count(RUNTIME_COUNT_NEXT, 8);
	assert_int_equal(read_again(), known + 3 + 1 + 7);
	assert_int_equal(told.first_line, 500);
	assert_int_equal(read_again(), known);
	/* Another program, another process. */
	task.self_exec_id++;
	read_again();
	assert_int_equal(n_told, 7);
	scratch.record.pid++;
	read_again();
	assert_int_equal(n_told, 10);
	known = read_again(); /* its native walk is another */
	/* Where numbers have run out, or are elsewhere, it is read each time; of a recursion, once.
	 */
	put_count(RUNTIME_COUNT_NEXT, 0);
	read_again();
	all = read_again();
	assert_int_equal(all, known + 3);
	put_count(RUNTIME_COUNT_NEXT, 9);
	poke_word(START_CODE + STATE + CHECK_AT, CHECK + 1);
	assert_int_equal(read_again(), all + 1);
	assert_int_equal(read_again(), all + 1);
	poke_word(frame_at(1) + row.frame_code, code_at(0));
	assert_int_equal(read_again(), all);
}

/* An interpreter that began to count anew, or that does not count alone. */
static void test_counts(void **state)
{
	unsigned known;

	(void)state;
	put_count(RUNTIME_COUNT_ENDED, 0);
	read_again();
	known = read_again();
	put_count(RUNTIME_COUNT_ENDED, 1ull << 32);
	assert_int_equal(read_again(), known + 3);
	assert_int_equal(read_again(), known);
	poke_word(THREAD + 0x310 + 16 * KEY, 3);
	assert_int_equal(read_again(), known + 3);
	assert_int_equal(read_again(), known);
	/* The key has something else; the state is the current one. */
	maps.runtime.current = 0x30;
	poke_word(START_CODE + STATE + 0x30, TSTATE);
	read_again();
	assert_int_equal(read_again(), known);
	poke_word(THREAD + 0x310 + 16 * KEY + 8, OTHER);
	read_again();
	assert_int_equal(read_again(), known + 3 - 1);
	poke_word(THREAD + 0x310 + 16 * KEY + 8, TSTATE);
	maps.runtime.current = row.current;
	/* One that is not the main one may be where another was. Its count is not read. */
	maps.runtime.state_bytes = 0x100;
	read_again();
	assert_int_equal(read_again(), known + 3 - 1);
	/* A counter of all of them, while there is but the main one. */
	put_count(RUNTIME_COUNT_STATIC, 7);
	poke_word(START_CODE + STATE + NEWEST_AT, STACK_BASE + INTERPRETER);
	read_again();
	assert_int_equal(read_again(), known + 1);
	poke_word(START_CODE + STATE + NEWEST_AT, STACK_BASE + INTERPRETER + 8);
	read_again();
	assert_int_equal(read_again(), known + 3);
	maps.runtime.count = 0;
	assert_int_equal(read_again(), known + 3 - 1);
}

/* musl's keys do not say that the interpreter is another one. */
static void test_counts_musl(void **state)
{
	unsigned known;

	(void)state;
	maps.runtime.libc = RUNTIME_MUSL;
	poke_word(THREAD + 0x80, OTHER);
	poke_word(OTHER + 8 * KEY, TSTATE);
	put_count(RUNTIME_COUNT_STATIC, 7);
	poke_word(START_CODE + STATE + NEWEST_AT, STACK_BASE + INTERPRETER);
	read_again();
	known = read_again();
	put_count(RUNTIME_COUNT_ENDED, 7);
	read_again();
	assert_int_equal(read_again(), known + 3 - 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_content, setup_python),
		cmocka_unit_test_setup(test_version, setup_python),
		cmocka_unit_test_setup(test_names, setup_python),
		cmocka_unit_test_setup(test_told, setup_python),
		cmocka_unit_test_setup(test_told_long, setup_python),
		cmocka_unit_test_setup(test_told_late, setup_python),
		cmocka_unit_test_setup(test_known, setup_python),
		cmocka_unit_test_setup(test_counts, setup_python),
		cmocka_unit_test_setup(test_counts_musl, setup_python),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* The name that Python has for a thread (bpf/runtime_thread.bpf.h), in each shape of objects. */
#include "tests/unit/ingest/runtime_fixture.h"

#define OBJECT (STACK_BASE + 0xa000)
#define CLASS  (STACK_BASE + 0xa400)
#define KEYS   (STACK_BASE + 0xa800)
#define VALUES (STACK_BASE + 0xac00)
#define DICT   (STACK_BASE + 0xae00)
#define TEXTS  (STACK_BASE + 0xb000)

enum { OUTER = 2, MAIN = 1000, OTHER_THREAD, INDEX = 32 };

static struct task_struct first;

/* An ASCII str in a place of its own. */
static __u64 put_text(unsigned place, const char *text)
{
	__u64 at = TEXTS + 0x80 * place;

	memset(stack.bytes + (at - STACK_BASE), 0, 0x80);
	poke_word(at + 16, strlen(text));
	poke_word(at + 32, 1 << 2 | 32 | 64);
	memcpy(stack.bytes + (at + maps.runtime.text_ascii - STACK_BASE), text, strlen(text));
	return at;
}

/* Keys with @n others before `_name`, as 3.10 has them (@is_3_10) or later; with @value beside it.
 */
static void put_keys(unsigned n, bool is_3_10, __u64 value)
{
	__u64 at = KEYS + (is_3_10 ? 40 : 32) + INDEX, size = is_3_10 ? 24 : 16;

	poke_word(KEYS + 8, is_3_10 ? INDEX : 5 << 8 | 1 << 16);
	at += size - 16;
	for (unsigned i = 0; i < n; i++) {
		poke_word(at + i * size, put_text(3, "_names"));
		poke_word(at + i * size + 8, TEXT);
		poke_word(VALUES + 8 * i, TEXT);
	}
	poke_word(at + n * size, put_text(4, "_name"));
	poke_word(at + n * size + 8, value);
	poke_word(VALUES + 8 * n, put_text(5, "a-worker"));
}

static void put_shape(enum runtime_attributes shape)
{
	maps.runtime.attributes = shape;
	maps.runtime.type_keys = 0x60;
	maps.runtime.frame_locals = 72;
	memset(stack.bytes + (OBJECT - 32 - STACK_BASE), 0, 0x100);
	poke_word(OBJECT + 8, CLASS);
	poke_word(CLASS + 0x60, KEYS);
	poke_word(DICT + 32, KEYS);
	poke_word(DICT + 40, VALUES);
	poke_word(frame_at(OUTER) + 72, OBJECT);
	put_keys(1, shape == RUNTIME_ATTRIBUTES_DICT, 0);
	if (shape == RUNTIME_ATTRIBUTES_DICT)
		poke_word(OBJECT + 16, DICT);
	if (shape == RUNTIME_ATTRIBUTES_BEFORE)
		poke_word(OBJECT - 32, VALUES);
	if (shape == RUNTIME_ATTRIBUTES_TAGGED)
		poke_word(OBJECT - 24, VALUES - 1);
	if (shape == RUNTIME_ATTRIBUTES_INLINE) {
		poke_word(OBJECT + 16, 0x1010c1d);
		poke_word(OBJECT + 32, put_text(5, "a-worker"));
	}
}

static int setup_thread(void **state)
{
	setup_python(state);
	first = task;
	strcpy(task.comm, "python3");
	strcpy(first.comm, "python3");
	task.group_leader = &first;
	scratch.record.pid = MAIN;
	scratch.record.tid = OTHER_THREAD;
	poke_word(code_at(OUTER) + row.code_name, put_text(0, "Thread._bootstrap"));
	put_shape(RUNTIME_ATTRIBUTES_BEFORE);
	return 0;
}

/* What the thread is called in the record of a tick, of a process that is the same again or not. */
static const char *name_again(void)
{
	again();
	memset(scratch.record.comm, 0, sizeof(scratch.record.comm));
	strcpy(scratch.record.comm, task.comm);
	walk(true, 1024);
	return scratch.record.comm;
}

static const char *name_thread(void)
{
	task.self_exec_id++;
	return name_again();
}

static void test_shapes(void **state)
{
	(void)state;
	for (int shape = RUNTIME_ATTRIBUTES_DICT; shape <= RUNTIME_ATTRIBUTES_INLINE; shape++) {
		put_shape(shape);
		assert_string_equal(name_thread(), "a-worker");
		/* Another class has other attributes before. */
		if (shape != RUNTIME_ATTRIBUTES_INLINE) {
			put_keys(3, shape == RUNTIME_ATTRIBUTES_DICT, 0);
			assert_string_equal(name_thread(), "a-worker");
		}
		/* A dict instead of the values, which may be shared as they were, or not. */
		put_shape(shape);
		memset(stack.bytes + (OBJECT - 32 - STACK_BASE), 0, 32);
		poke_word(OBJECT + 16, 0);
		poke_word(OBJECT + (shape == RUNTIME_ATTRIBUTES_DICT ? 16 : -24), DICT);
		assert_string_equal(name_thread(), "a-worker");
		poke_word(DICT + 40, 0);
		put_keys(2, shape == RUNTIME_ATTRIBUTES_DICT, put_text(6, "alone"));
		assert_string_equal(name_thread(), "alone");
	}
}

/* What keeps the name that the system has. */
static void test_others(void **state)
{
	(void)state;
	assert_string_equal(name_thread(), "a-worker");
	task.comm[0] = 'P';
	assert_string_equal(name_thread(), "Python3");
	task.comm[0] = 'p';
	scratch.record.tid = MAIN;
	assert_string_equal(name_thread(), "python3");
	scratch.record.tid = OTHER_THREAD;
	/* A thread of C that calls Python. */
	put_text(0, "Thread._bootstrip");
	assert_string_equal(name_thread(), "python3");
	put_text(0, "Thread._bootstrap_inner");
	assert_string_equal(name_thread(), "python3");
	/* As it is called up to 3.10. */
	put_text(0, "_bootstrap");
	assert_string_equal(name_thread(), "a-worker");
	/* Since 3.14 the system has it. */
	maps.runtime.attributes = RUNTIME_ATTRIBUTES_UNKNOWN;
	assert_string_equal(name_thread(), "python3");
}

/* The texts that lead to the name are compared once. */
static void test_known(void **state)
{
	unsigned n;

	(void)state;
	assert_string_equal(name_thread(), "a-worker");
	n_reads = 0;
	assert_string_equal(name_again(), "a-worker");
	n = n_reads;
	scratch.runtime.thread_seed++;
	n_reads = 0;
	assert_string_equal(name_again(), "a-worker");
	assert_int_equal(n_reads, n + 5);
	put_text(5, "other");
	assert_string_equal(name_again(), "other");
}

/* Names of any length, and what is none. */
static void test_names(void **state)
{
	(void)state;
	put_text(5, "ThreadPoolExecutor-0_0");
	assert_string_equal(name_thread(), "ThreadPoolExecu");
	put_text(5, "caf\xe9");
	assert_string_equal(name_thread(), "python3");
	put_text(5, "");
	assert_string_equal(name_thread(), "python3");
	poke_word(put_text(5, "wide") + 32, 2 << 2 | 32);
	assert_string_equal(name_thread(), "python3");
	put_text(5, "again");
	assert_string_equal(name_thread(), "again");
	put_keys(20, false, 0);
	assert_string_equal(name_thread(), "python3");
}

/* Pointers to nowhere, and tables that are none. */
static void test_hostile(void **state)
{
	const __u64 places[] = {frame_at(OUTER) + 72,  OBJECT - 32, OBJECT + 8,
				CLASS + 0x60,          VALUES + 8,  KEYS + 8,
				KEYS + 32 + INDEX + 16};
	const __u64 values[] = {0, 8, ~0ull, 0x100000000000, DICT, TEXT};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		for (size_t k = 0; k < ARRAY_SIZE(values); k++) {
			put_shape(RUNTIME_ATTRIBUTES_BEFORE);
			poke_word(places[i], values[k]);
			if (places[i] != VALUES + 8 || values[k] != TEXT)
				assert_string_equal(name_thread(), "python3");
			else /* another str */
				assert_string_equal(name_thread(), "name");
		}
	/* A chain without an end has no outermost frame. */
	put_shape(RUNTIME_ATTRIBUTES_BEFORE);
	poke_word(frame_at(OUTER) + row.frame_previous, 0x100000000000);
	assert_string_equal(name_thread(), "python3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_shapes, setup_thread),
		cmocka_unit_test_setup(test_others, setup_thread),
		cmocka_unit_test_setup(test_known, setup_thread),
		cmocka_unit_test_setup(test_names, setup_thread),
		cmocka_unit_test_setup(test_hostile, setup_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* JavaScript's frames in the native walk: bpf/v8.bpf.h. */
#include "tests/unit/ingest/unwind_fixture.h"

#include "common/cleanup.h"

#define TYPE_SHARED 262
#define TYPE_SCRIPT 167
#define TYPE_SCOPE  261
#define TYPE_OTHER  131
#define TYPE_BYTES  40 /* a sequential string, one byte a character */
#define TYPE_WORDS  32
#define TYPE_CONS   41
#define TYPE_THIN   45
#define TYPE_SLICED 43

#define MAPS     (STACK_BASE + 0x8000) /* 16 bytes a type */
#define FUNCTION (STACK_BASE + 0x2000)
#define SHARED   (STACK_BASE + 0x2100)
#define SCOPE    (STACK_BASE + 0x2200)
#define SCRIPT   (STACK_BASE + 0x2300)
#define NAME     (STACK_BASE + 0x2400)
#define PATH     (STACK_BASE + 0x2500)
#define SOURCE   (STACK_BASE + 0x3000)
#define OTHER    (STACK_BASE + 0x7000)
#define ENDS     (STACK_BASE + 0x7100)
#define TAGGED   1ull

/* SCOPE's fields behind its locals, of which it has two. */
#define SCOPE_FUNCTION (SCOPE + 32 + 8 * 4)
#define SCOPE_FLAGS    (3u << 12 | 1u << 14)

static void poke_word(__u64 address, __u64 value)
{
	stack.wide[(address - STACK_BASE) / 8] = value;
}

static void put_smi(__u64 address, __u32 value)
{
	poke_word(address, (__u64)value << 32);
}

static void put_object(__u64 address, __u16 type)
{
	__u64 map = MAPS + 16 * type;

	stack.narrow[(map + V8_MAP_TYPE - STACK_BASE) / 4] = type;
	poke_word(address, map | TAGGED);
}

static void put_string(__u64 address, __u16 type, const void *text, __u32 n_bytes, __u32 length)
{
	put_object(address, type);
	put_smi(address + 8, length);
	memcpy(stack.bytes + (address + 16 - STACK_BASE), text, n_bytes);
}

static void put_text(__u64 address, const char *text)
{
	put_string(address, TYPE_BYTES, text, (__u32)strlen(text), (__u32)strlen(text));
}

static __u64 fp_at(unsigned i)
{
	return STACK_BASE + 0x100 + 0x80 * i;
}

/* Native frame @i runs @function, or is one of V8's own, with a number as its context. */
static void put_frame(unsigned i, __u64 function, bool is_interpreted)
{
	poke_word(fp_at(i) - 8, function ? OTHER | TAGGED : 26);
	poke_word(fp_at(i) - 16, function | TAGGED);
	poke_word(fp_at(i) - 32, OTHER | TAGGED);
	if (is_interpreted)
		put_smi(fp_at(i) - 40, 60);
	else
		poke_word(fp_at(i) - 40, OTHER | TAGGED);
}

/* A function at "file.js", in its third line; native frame 0 interprets it, 2 has it compiled. */
static int setup_v8(void **state)
{
	setup(state);
	maps.runtime_key = (struct abi_runtime_key){.inode = 2, .size = 3, .device = 1};
	maps.runtime = (struct runtime_row){.kind = RUNTIME_V8,
					    .version = RUNTIME_V8_VERSION | 0x0b03,
					    .v8 = {.shared = TYPE_SHARED,
						   .script = TYPE_SCRIPT,
						   .scope = TYPE_SCOPE,
						   .function_shared = 24}};
	mm.start_code = 0x1000;
	task.group_leader = &task;
	ctx.regs.bp = fp_at(0);
	for (unsigned i = 0; i < 4; i++) {
		poke_word(fp_at(i), i == 3 ? 0 : fp_at(i + 1));
		poke_word(fp_at(i) + 8, 0x500000 + i * 0x100);
		put_frame(i, i % 2 ? 0 : FUNCTION, i == 0);
	}
	put_object(OTHER, TYPE_OTHER);
	poke_word(FUNCTION + 24, SHARED | TAGGED);
	put_object(SHARED, TYPE_SHARED);
	poke_word(SHARED + V8_SHARED_NAME, SCOPE | TAGGED);
	poke_word(SHARED + V8_SHARED_SCRIPT, SCRIPT | TAGGED);
	put_smi(SHARED + 48, 5);
	put_object(SCOPE, TYPE_SCOPE);
	put_smi(SCOPE + 8, SCOPE_FLAGS);
	put_smi(SCOPE + 24, 2);
	poke_word(SCOPE_FUNCTION, NAME | TAGGED);
	poke_word(SCOPE_FUNCTION + 16, OTHER | TAGGED);
	put_smi(SCOPE_FUNCTION + 24, 7);
	put_object(SCRIPT, TYPE_SCRIPT);
	poke_word(SCRIPT + V8_SCRIPT_SOURCE, SOURCE | TAGGED);
	poke_word(SCRIPT + V8_SCRIPT_NAME, PATH | TAGGED);
	poke_word(SCRIPT + V8_SCRIPT_ENDS, OTHER | TAGGED);
	poke_word(OTHER + 8, 0x7ff8000000000000); /* undefined, as a number */
	put_smi(SCRIPT + 64, 81);
	put_text(NAME, "name");
	put_text(PATH, "file.js");
	put_text(SOURCE, "a\nbc\n  function");
	return 0;
}

static void walk_anew(void)
{
	memset(maps.codes_told, 0, sizeof(maps.codes_told));
	memset(&told, 0, sizeof(told));
	scratch.body[2 + scratch.unwind.n] = UINT64_MAX;
	walk(true, 1024);
}

static void assert_entry(unsigned i, __u32 kind, __u32 at, __u32 within)
{
	assert_true(i < scratch.runtime.n);
	assert_int_equal(scratch.runtime.entries[i].kind, kind | within << ABI_RUNTIME_KIND_BITS);
	assert_int_equal(scratch.runtime.entries[i].at, at);
}

static void assert_told(const char *name, const char *script, __u32 line)
{
	assert_int_equal(told.name_bytes, strlen(name));
	assert_memory_equal(told.name, name, strlen(name));
	assert_int_equal(told.file_bytes, strlen(script));
	assert_memory_equal(told.file, script, strlen(script));
	assert_int_equal(told.first_line, line);
}

static void test_functions(void **state)
{
	(void)state;
	walk(true, 1024);
	assert_int_equal(scratch.unwind.n, 5);
	assert_int_equal(scratch.runtime.n, 2);
	assert_entry(0, ABI_RUNTIME_OWN, 0, 60);
	assert_entry(1, ABI_RUNTIME_OWN, 2, RUNTIME_AT_UNKNOWN);
	assert_int_equal(n_told, 1);
	assert_told("name", "file.js", 3);
	assert_int_equal(told.id, scratch.runtime.entries[0].value);
	assert_int_equal(told.id, scratch.runtime.entries[1].value);
	assert_int_equal(told.version, RUNTIME_V8_VERSION | 0x0b03);
	/* Moved, it is the same; another of the script is not. */
	memcpy(stack.bytes + 0x6000, stack.bytes + (SHARED - STACK_BASE), 64);
	poke_word(FUNCTION + 24, (STACK_BASE + 0x6000) | TAGGED);
	walk(true, 1024);
	assert_int_equal(n_told, 1);
	put_smi(STACK_BASE + 0x6000 + 48, 6);
	walk(true, 1024);
	assert_int_equal(n_told, 2);
	/* So is a script of another name: numbers are those of one thread. */
	put_smi(PATH + 8, 6);
	walk(true, 1024);
	assert_int_equal(n_told, 3);
	assert_told("name", "file.j", 3);
}

static void test_others(void **state)
{
	(void)state;
	put_smi(SHARED + 48, 0xffffffff); /* a builtin */
	walk_anew();
	assert_int_equal(scratch.runtime.n, 0);
	put_smi(SHARED + 48, 5);
	put_object(SHARED, TYPE_OTHER);
	walk_anew();
	assert_int_equal(scratch.runtime.n, 0);
	put_object(SHARED, TYPE_SHARED);
	put_object(SCRIPT, TYPE_OTHER);
	walk_anew();
	assert_int_equal(scratch.runtime.n, 0);
	put_object(SCRIPT, TYPE_SCRIPT);
	program.i_ino++;
	walk_anew();
	program.i_ino--;
	assert_int_equal(scratch.runtime.n, 0);
	assert_int_equal(n_told, 0);
}

/* V8's code without a frame, above a function that is compiled. */
static void test_behind(void **state)
{
	(void)state;
	ctx.regs.ip = image_address(AT_NOTHING);
	put_frame(0, FUNCTION, false);
	walk(true, 1024);
	assert_entry(0, ABI_RUNTIME_BEHIND, 1, RUNTIME_AT_UNKNOWN);
	put_frame(0, FUNCTION, true);
	walk_anew();
	assert_entry(0, ABI_RUNTIME_OWN, 0, 60);
}

/* Where the walk gives up, what is known goes on: each once. */
static void test_unfinished(void **state)
{
	(void)state;
	publish(PID, 0, 500);
	walk(true, 1024);
	assert_true(scratch.unwind.unfinished);
	assert_int_equal(scratch.runtime.n, 4);
	assert_int_equal(scratch.runtime.entries[0].kind, ABI_RUNTIME_CODE);
	assert_int_equal(scratch.runtime.entries[0].at, 60);
	assert_int_equal(scratch.runtime.entries[1].value, fp_at(0));
	assert_int_equal(scratch.runtime.entries[1].kind, ABI_RUNTIME_GROUP);
	assert_int_equal(scratch.runtime.entries[1].at, ABI_UNPLACED);
	assert_int_equal(scratch.runtime.entries[3].value, fp_at(2));
	/* Behind a frame pointer that led nowhere, which was looked at. */
	publish(PID, 2, 500);
	scratch.body[2 + scratch.unwind.n] = UINT64_MAX;
	poke_word(fp_at(0) + 8, PLAIN_END + 0x10000000);
	walk(true, 1024);
	assert_true(scratch.unwind.unfinished);
	assert_int_equal(scratch.runtime.n, 3);
	assert_entry(0, ABI_RUNTIME_OWN, 0, 60);
	assert_int_equal(scratch.runtime.entries[2].value, fp_at(2));
	/* A circle. */
	poke_word(fp_at(2), fp_at(0));
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 3);
}

static void test_names(void **state)
{
	(void)state;
	/* Of what it is assigned to; none at all; the name itself in place of the scope. */
	poke_word(SCOPE_FUNCTION, 0);
	poke_word(SCOPE_FUNCTION + 16, PATH | TAGGED);
	walk_anew();
	assert_told("file.js", "file.js", 3);
	put_smi(SCOPE + 8, 0);
	put_smi(SCOPE_FUNCTION, 2);
	walk_anew();
	assert_told("", "file.js", 2);
	poke_word(SHARED + V8_SHARED_NAME, NAME | TAGGED);
	walk_anew();
	assert_told("name", "file.js", 0);
	/* In pieces: a slice, behind a pointer to another string. */
	put_object(OTHER + 0x40, TYPE_SLICED);
	put_smi(OTHER + 0x48, 3);
	poke_word(OTHER + 0x50, PATH | TAGGED);
	put_smi(OTHER + 0x58, 2);
	put_object(OTHER + 0x60, TYPE_THIN);
	poke_word(OTHER + 0x70, NAME | TAGGED);
	put_object(OTHER + 0x80, TYPE_CONS);
	poke_word(OTHER + 0x90, (OTHER + 0x40) | TAGGED);
	poke_word(OTHER + 0x98, (OTHER + 0x60) | TAGGED);
	poke_word(SHARED + V8_SHARED_NAME, (OTHER + 0x80) | TAGGED);
	walk_anew();
	assert_told("le.name", "file.js", 0);
	put_string(NAME, TYPE_WORDS, "\x2d\x4e\x41\0", 4, 2);
	poke_word(SHARED + V8_SHARED_NAME, NAME | TAGGED);
	walk_anew();
	assert_int_equal(told.name_bytes, 4);
	assert_int_equal(told.name_width, 2);
}

static void test_lines(void **state)
{
	static char source[8192];
	static __u16 wide[4096];

	(void)state;
	memset(source, 'x', sizeof(source));
	for (unsigned i = 99; i < sizeof(source); i += 100)
		source[i] = '\n';
	put_string(SOURCE, TYPE_BYTES, source, sizeof(source), sizeof(source));
	for (unsigned position = 0; position < sizeof(source); position += 37) {
		put_smi(SCOPE_FUNCTION + 24, position);
		walk_anew();
		assert_int_equal(told.first_line, position / 100 + 1);
	}
	put_smi(SCOPE_FUNCTION + 24, sizeof(source) + 1);
	walk_anew();
	assert_int_equal(told.first_line, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(wide); i++)
		wide[i] = i % 100 == 99 ? '\n' : 0x0a0a;
	put_string(SOURCE, TYPE_WORDS, wide, sizeof(wide), ARRAY_SIZE(wide));
	put_smi(SCOPE_FUNCTION + 24, 1234);
	walk_anew();
	assert_int_equal(told.first_line, 13);
	/* The table goes first. */
	put_object(ENDS, TYPE_OTHER);
	put_smi(ENDS + 8, 3);
	for (unsigned i = 0; i < 3; i++)
		put_smi(ENDS + 16 + 8 * i, 1000 + i * 234);
	poke_word(SCRIPT + V8_SCRIPT_ENDS, ENDS | TAGGED);
	walk_anew();
	assert_int_equal(told.first_line, 2);
	put_smi(SCRIPT + V8_SCRIPT_LINE, 10);
	walk_anew();
	assert_int_equal(told.first_line, 12);
}

/* Circles end, and what says that it is long is cut. */
static void test_hostile(void **state)
{
	(void)state;
	put_smi(NAME + 8, 0xffffffff);
	put_smi(PATH + 8, 0x7fffffff);
	put_smi(SCRIPT + V8_SCRIPT_LINE, 0xffffffff);
	walk_anew();
	assert_int_equal(told.name_bytes, ABI_CODE_NAME);
	assert_int_equal(told.file_bytes, ABI_CODE_FILE);
	put_object(NAME, TYPE_CONS);
	poke_word(NAME + 16, NAME | TAGGED);
	poke_word(NAME + 24, NAME | TAGGED);
	walk_anew();
	assert_int_equal(told.name_bytes, 0);
	put_object(NAME, TYPE_THIN);
	put_object(SOURCE, TYPE_THIN);
	poke_word(SOURCE + 16, SOURCE | TAGGED);
	put_smi(SCOPE + 24, 0xffffffff);
	walk_anew();
	assert_int_equal(told.name_bytes, 0);
	assert_int_equal(told.first_line, 0);
	poke_word(FUNCTION + 24, ~0ull);
	walk_anew();
	assert_int_equal(scratch.runtime.n, 0);
	for (unsigned i = 0; i < 4; i++)
		poke_word(fp_at(i) - 16, (STACK_BASE + STACK_BYTES) | TAGGED);
	walk_anew();
	assert_int_equal(scratch.runtime.n, 0);
	assert_int_equal(scratch.unwind.n, 5);
}

/* Many frames that all lead to what is not there. */
static void test_strange(void **state)
{
	unsigned n = 200;

	(void)state;
	for (unsigned i = 0; i < n; i++) {
		poke_word(fp_at(i), i == n - 1 ? 0 : fp_at(i + 1));
		poke_word(fp_at(i) + 8, 0x500000);
		put_frame(i, 0x7000, false);
		poke_word(fp_at(i) - 8, OTHER | TAGGED);
	}
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, 0);
	assert_int_equal(scratch.unwind.n, n + 1);
	assert_true(n_faults <= 3 * V8_STRANGE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_functions, setup_v8),
		cmocka_unit_test_setup(test_others, setup_v8),
		cmocka_unit_test_setup(test_behind, setup_v8),
		cmocka_unit_test_setup(test_unfinished, setup_v8),
		cmocka_unit_test_setup(test_names, setup_v8),
		cmocka_unit_test_setup(test_lines, setup_v8),
		cmocka_unit_test_setup(test_hostile, setup_v8),
		cmocka_unit_test_setup(test_strange, setup_v8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

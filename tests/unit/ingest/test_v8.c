/* SPDX-License-Identifier: MIT */
/* JavaScript's frames in the native walk: bpf/v8.bpf.h. */
#include "tests/unit/ingest/unwind_fixture.h"

#include "common/cleanup.h"

#define TYPE_SHARED   262
#define TYPE_SCRIPT   167
#define TYPE_SCOPE    261
#define TYPE_OTHER    131
#define TYPE_BYTES    40 /* a sequential string, one byte a character */
#define TYPE_WORDS    32
#define TYPE_CONS     41
#define TYPE_THIN     45
#define TYPE_SLICED   43
#define TYPE_EXTERNAL 42

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
#define BYTES    (STACK_BASE + 0x7200) /* bytecodes */
#define TABLE    (STACK_BASE + 0x7280) /* their positions */
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
	return STACK_BASE + 0xa000 + 0x40 * i;
}

/* Native frame @i runs @function, or is one of V8's own, with a number as its context. */
static void put_frame(unsigned i, __u64 function, bool is_interpreted)
{
	poke_word(fp_at(i) - 8, function ? OTHER | TAGGED : 26);
	poke_word(fp_at(i) - 16, function | TAGGED);
	poke_word(fp_at(i) - 32, BYTES | TAGGED);
	if (is_interpreted)
		put_smi(fp_at(i) - 40, 60);
	else
		poke_word(fp_at(i) - 40, OTHER | TAGGED);
}

/* A function at "file.js", in its third line; native frame 0 interprets it, 2 has it compiled. */
static int setup_v8(void **state)
{
	setup(state);
	memset(scratch.runtime.marks, 0, sizeof(scratch.runtime.marks));
	maps.runtime_key = (struct abi_runtime_key){.inode = 2, .size = 3, .device = 1};
	maps.runtime = (struct runtime_row){.kind = RUNTIME_V8,
					    .version = RUNTIME_V8_VERSION | 0x0b03,
					    .v8 = {.shared = TYPE_SHARED,
						   .script = TYPE_SCRIPT,
						   .scope = TYPE_SCOPE,
						   .function_shared = 24,
						   .positions = 32,
						   .bytecodes = 53}};
	mm.start_code = 0x1000;
	task.group_leader = &task;
	ctx.regs.bp = fp_at(0);
	for (unsigned i = 0; i < 4; i++) {
		poke_word(fp_at(i), i == 3 ? 0 : fp_at(i + 1));
		poke_word(fp_at(i) + 8, 0x500000 + i * 0x100);
		put_frame(i, i % 2 ? 0 : FUNCTION, i == 0);
	}
	put_object(OTHER, TYPE_OTHER);
	put_object(BYTES, TYPE_OTHER);
	poke_word(BYTES + 32, OTHER | TAGGED);
	put_object(TABLE, TYPE_OTHER);
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
	put_smi(SCOPE_FUNCTION + 32, 15);
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
	assert_int_equal(scratch.unwind.r.has_pointers, 1);
	assert_int_equal(scratch.runtime.n, 2);
	assert_entry(0, ABI_RUNTIME_OWN, 0, RUNTIME_AT_UNKNOWN);
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
	/* Neither V8's code nor what it interprets. */
	ctx.regs.ip = image_address(AT_NOTHING);
	poke_word(fp_at(0) - 40, OTHER | TAGGED);
	poke_word(fp_at(2) - 16, 0);
	put_smi(SHARED + 48, 5);
	put_object(SHARED, TYPE_OTHER);
	walk_anew();
	assert_int_equal(scratch.runtime.n, 0);
	put_object(SHARED, TYPE_SHARED);
	put_object(SCRIPT, TYPE_OTHER);
	walk_anew();
	assert_int_equal(scratch.runtime.n, 0);
	assert_int_equal(runtime_broken, 0);
	put_object(SCRIPT, TYPE_SCRIPT);
	program.i_ino++;
	walk_anew();
	program.i_ino--;
	assert_int_equal(scratch.runtime.n, 0);
	assert_int_equal(n_told, 0);
}

static void assert_unknown(unsigned i, __u32 at)
{
	assert_entry(i, ABI_RUNTIME_OWN, at, RUNTIME_AT_UNKNOWN);
	assert_int_equal(scratch.runtime.entries[i].value, 0);
}

/* Frames that are functions' for certain stay, also where those cannot be read. */
static void test_unreadable(void **state)
{
	(void)state;
	put_object(SHARED, TYPE_OTHER);
	walk_anew();
	assert_int_equal(scratch.runtime.n, 2);
	assert_unknown(0, 0);
	assert_unknown(1, 2);
	assert_int_equal(runtime_broken, 1);
	put_object(SHARED, TYPE_SHARED);
	poke_word(SHARED + V8_SHARED_SCRIPT, (STACK_BASE + STACK_BYTES) | TAGGED);
	walk_anew();
	assert_int_equal(scratch.runtime.n, 2);
	assert_unknown(1, 2);
	assert_int_equal(runtime_broken, 2);
	/* A number, such as a regular expression has there. */
	put_frame(0, 0x7000, true);
	put_frame(2, 0x7000, false);
	walk_anew();
	assert_int_equal(scratch.runtime.n, 0);
	assert_int_equal(runtime_broken, 2);
	assert_int_equal(n_told, 0);
}

/* More functions than a tick tells. */
static void test_many(void **state)
{
	const unsigned n = RUNTIME_TOLD_MAX + 10;

	(void)state;
	for (unsigned i = 0; i < n; i++) {
		__u64 function = STACK_BASE + 0xd400 + 64 * i, shared = function + 0x1400;

		poke_word(fp_at(i), i == n - 1 ? 0 : fp_at(i + 1));
		poke_word(fp_at(i) + 8, 0x500000);
		memcpy(stack.bytes + (shared - STACK_BASE), stack.bytes + (SHARED - STACK_BASE),
		       64);
		put_smi(shared + 48, i);
		poke_word(function + 24, shared | TAGGED);
		put_frame(i, function, false);
	}
	walk(true, 1024);
	assert_int_equal(n_told, RUNTIME_TOLD_MAX);
	assert_int_equal(scratch.runtime.n, n);
	assert_int_not_equal(scratch.runtime.entries[n - 1].value, 0);
	assert_int_equal(runtime_broken, 0);
	walk(true, 1024);
	assert_int_equal(n_told, n);
	assert_int_equal(told.id, scratch.runtime.entries[n - 1].value);
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
	assert_entry(0, ABI_RUNTIME_OWN, 0, RUNTIME_AT_UNKNOWN);
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
	assert_int_equal(scratch.runtime.entries[0].at, RUNTIME_AT_UNKNOWN);
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
	assert_entry(0, ABI_RUNTIME_OWN, 0, RUNTIME_AT_UNKNOWN);
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

/* A long script is counted in several ticks; what begins before the last mark is known at once. */
static void test_long_script(void **state)
{
	static char source[0x3000];
	const unsigned length = 400 * 1024;

	(void)state;
	put_frame(2, 0, false);
	/* Of as many characters as there is memory: one line feed in 64. */
	memset(source, 'x', sizeof(source));
	for (unsigned i = 63; i < sizeof(source); i += 64)
		source[i] = '\n';
	put_object(SOURCE, TYPE_EXTERNAL);
	put_smi(SOURCE + 8, length);
	poke_word(SOURCE + 24, LONG_BASE);
	long_text = source;
	long_bytes = sizeof(source);
	now_ns += V8_SCRIPT_NS;
	put_smi(SCOPE_FUNCTION + 24, 300 * 1024 + 100);
	for (unsigned i = 1; i <= 3; i++) {
		walk(true, 1024);
		assert_int_equal(n_told, i);
		assert_int_equal(told.first_line, i < 3 ? 0 : 300 * 16 + 2);
		assert_int_equal(scratch.runtime.n, 1);
	}
	walk(true, 1024);
	assert_int_equal(n_told, 3);
	/* Another function. */
	put_smi(SHARED + 48, 6);
	put_smi(SCOPE_FUNCTION + 24, 299 * 1024);
	walk(true, 1024);
	assert_int_equal(n_told, 4);
	assert_int_equal(told.first_line, 299 * 16 + 1);
	assert_true(scratch.runtime.n_chunks <= V8_MARK_STEP / V8_CHUNK);
	/* What is not there is not waited for. */
	put_smi(SHARED + 48, 7);
	put_smi(SCOPE_FUNCTION + 24, length);
	long_bytes = 0;
	walk(true, 1024);
	walk(true, 1024);
	assert_int_equal(n_told, 5);
	assert_int_equal(told.first_line, 0);
}

/* What others have left nothing for in a tick is told in the next one. */
static void test_later(void **state)
{
	const __u64 function = STACK_BASE + 0x6100, shared = STACK_BASE + 0x6000;

	(void)state;
	put_object(SOURCE, TYPE_EXTERNAL - V8_STRING_BYTES);
	put_smi(SOURCE + 8, 65000);
	poke_word(SOURCE + 24, LONG_BASE);
	put_smi(SCOPE_FUNCTION + 24, 65000);
	long_text = "\n\0";
	long_bytes = 2;
	memcpy(stack.bytes + (shared - STACK_BASE), stack.bytes + (SHARED - STACK_BASE), 64);
	put_smi(shared + 48, 6);
	poke_word(function + 24, shared | TAGGED);
	put_frame(2, function, false);
	walk(true, 1024);
	assert_int_equal(n_told, 2);
	assert_int_equal(told.id, scratch.runtime.entries[1].value);
	assert_int_equal(told.first_line, 0);
	walk(true, 1024);
	assert_int_equal(n_told, 3);
	assert_int_equal(told.id, scratch.runtime.entries[1].value);
	assert_int_equal(told.first_line, 65001);
	walk(true, 1024);
	assert_int_equal(n_told, 3);
}

/* Where another script has the place, and is in use, what is far behind has no line. */
static void test_scripts(void **state)
{
	(void)state;
	put_frame(2, 0, false);
	for (unsigned i = 0; i < V8_SCRIPTS; i++) {
		scratch.runtime.marks[i].script = 1;
		scratch.runtime.marks[i].used_ns = now_ns;
	}
	put_object(SOURCE, TYPE_EXTERNAL);
	put_smi(SOURCE + 8, 400 * 1024);
	poke_word(SOURCE + 24, LONG_BASE);
	long_text = "";
	long_bytes = 1;
	put_smi(SCOPE_FUNCTION + 24, 300 * 1024);
	walk(true, 1024);
	walk(true, 1024);
	assert_int_equal(n_told, 1);
	assert_int_equal(told.first_line, 0);
}

/* One that is interpreted, and whose bytecodes have positions: @n of them. */
static void put_positions(unsigned n)
{
	poke_word(BYTES + 32, TABLE | TAGGED);
	put_smi(TABLE + 8, n);
	for (unsigned i = 0; i < n; i++)
		stack.bytes[TABLE + 16 + i - STACK_BASE] = (__u8)(i * 7);
}

static void test_positions(void **state)
{
	struct runtime_v8_lines head;
	const __u8 *map = told.table + sizeof(head) + 5;

	(void)state;
	walk(true, 1024);
	assert_int_equal(told.table_bytes, 0);
	put_text(SOURCE, "a\nbc\n (\n\n12345678\n}....");
	put_smi(SCOPE_FUNCTION + 32, 20);
	put_positions(5);
	walk(true, 1024);
	assert_entry(0, ABI_RUNTIME_OWN, 0, 60 - 53);
	assert_entry(1, ABI_RUNTIME_OWN, 2, RUNTIME_AT_UNKNOWN);
	assert_int_not_equal(scratch.runtime.entries[0].value, scratch.runtime.entries[1].value);
	assert_int_equal(n_told, 2);
	assert_int_equal(told.id, scratch.runtime.entries[0].value);
	assert_told("name", "file.js", 3);
	memcpy(&head, told.table, sizeof(head));
	assert_int_equal(head.start, 7);
	assert_int_equal(head.n_positions, 5);
	assert_int_equal(head.width, 1);
	assert_int_equal(head.is_cut, 0);
	assert_memory_equal(told.table + sizeof(head), stack.bytes + (TABLE + 16 - STACK_BASE), 5);
	assert_int_equal(told.table_bytes, sizeof(head) + 5 + V8_CHUNK_WORDS);
	assert_int_equal(map[0], 1 << 0 | 1 << 1);
	assert_int_equal(map[1], 1 << 2);
	assert_int_equal(map[2], 0);
	put_string(SOURCE, TYPE_WORDS, "\n\0\n\0\n\n\n\0\0\n\n\0", 12, 6);
	put_smi(SCOPE_FUNCTION + 24, 1);
	put_smi(SCOPE_FUNCTION + 32, 6);
	walk_anew();
	assert_int_equal(told.first_line, 2);
	assert_int_equal(((struct runtime_v8_lines *)told.table)->width, 2);
	assert_int_equal(map[0], 1 << 0 | 1 << 2);
	assert_int_equal(map[1], 1 << 0);
}

/* A long function, positions without a source, offsets that cannot be. */
static void test_positions_end(void **state)
{
	static char source[V8_MAP_CHUNKS * V8_CHUNK + 100];
	struct runtime_v8_lines head;

	(void)state;
	put_frame(2, 0, false);
	memset(source, '\n', sizeof(source));
	put_string(SOURCE, TYPE_BYTES, source, sizeof(source), sizeof(source));
	put_smi(SCOPE_FUNCTION + 32, sizeof(source));
	poke_word(BYTES + 32, (STACK_BASE + 0x8000) | TAGGED);
	put_smi(STACK_BASE + 0x8008, V8_POSITIONS_MAX + 1);
	walk_anew();
	memcpy(&head, told.table, sizeof(head));
	assert_int_equal(head.n_positions, V8_POSITIONS_MAX);
	assert_true(head.is_cut);
	assert_int_equal(told.table_bytes,
			 sizeof(head) + V8_POSITIONS_MAX + V8_MAP_CHUNKS * V8_CHUNK_WORDS);
	assert_int_equal(told.table[told.table_bytes - 1], 0xff);
	put_smi(fp_at(0) - 40, 52);
	put_smi(SCOPE_FUNCTION + 32, 3);
	walk_anew();
	assert_entry(0, ABI_RUNTIME_OWN, 0, RUNTIME_AT_UNKNOWN);
	assert_int_equal(told.table_bytes, 0);
	put_smi(SCOPE_FUNCTION + 24, sizeof(source) - 5);
	put_smi(SCOPE_FUNCTION + 32, sizeof(source) + 1);
	walk_anew();
	assert_int_equal(told.table_bytes, 0);
	put_smi(STACK_BASE + 0x8008, 0x7ff80000);
	put_frame(0, FUNCTION, true);
	walk_anew();
	assert_entry(0, ABI_RUNTIME_OWN, 0, RUNTIME_AT_UNKNOWN);
	assert_int_equal(told.table_bytes, 0);
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
	assert_int_equal(scratch.runtime.n, 2);
	assert_unknown(0, 0);
	for (unsigned i = 0; i < 4; i++)
		poke_word(fp_at(i) - 16, (STACK_BASE + STACK_BYTES) | TAGGED);
	walk_anew();
	assert_int_equal(scratch.runtime.n, 2);
	assert_unknown(1, 2);
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
		put_frame(i, 0x70000, false);
	}
	walk(true, 1024);
	assert_int_equal(scratch.runtime.n, V8_STRANGE_MAX);
	assert_int_equal(runtime_broken, 1);
	assert_int_equal(scratch.unwind.n, n + 1);
	assert_true(n_faults <= 3 * V8_STRANGE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_functions, setup_v8),
		cmocka_unit_test_setup(test_others, setup_v8),
		cmocka_unit_test_setup(test_unreadable, setup_v8),
		cmocka_unit_test_setup(test_many, setup_v8),
		cmocka_unit_test_setup(test_behind, setup_v8),
		cmocka_unit_test_setup(test_unfinished, setup_v8),
		cmocka_unit_test_setup(test_names, setup_v8),
		cmocka_unit_test_setup(test_lines, setup_v8),
		cmocka_unit_test_setup(test_long_script, setup_v8),
		cmocka_unit_test_setup(test_later, setup_v8),
		cmocka_unit_test_setup(test_scripts, setup_v8),
		cmocka_unit_test_setup(test_positions, setup_v8),
		cmocka_unit_test_setup(test_positions_end, setup_v8),
		cmocka_unit_test_setup(test_hostile, setup_v8),
		cmocka_unit_test_setup(test_strange, setup_v8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

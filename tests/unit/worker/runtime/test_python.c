/* SPDX-License-Identifier: MIT */
/* Which files are an interpreter that can be walked, and where its walk begins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/worker/runtime/python.h"
#include "tests/support/hostile_elf_builder.h"

struct interpreter {
	uint64_t version, free_threaded; /* version 0: it is not exported */
	const char *third;               /* symbols more, or NULL */
	uint16_t machine;
	const char *code; /* of the last one, which returns the thread state; or NULL */
	size_t code_bytes;
	const char *needed;  /* a library, or NULL */
	const char *section; /* of the data, in a program that exports nothing; or NULL */
};

/* A dynamic section that needs @library. */
static void put_dynamic(struct builder *b, const char *library)
{
	const Elf64_Dyn entries[] = {{.d_tag = DT_NEEDED, .d_un.d_val = 1}, {.d_tag = DT_NULL}};
	char names[32] = "";

	strcpy(names + 1, library);
	builder_section(b, ".dynamic",
			&(Elf64_Shdr){.sh_type = SHT_DYNAMIC,
				      .sh_flags = SHF_ALLOC,
				      .sh_link = b->header.e_shnum + 1u,
				      .sh_entsize = sizeof(*entries),
				      .sh_addralign = 8},
			entries, sizeof(entries));
	builder_section(b, ".dynstr", &(Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_addralign = 1},
			names, sizeof(names));
}

/* The data of it, by which it is known. */
static struct worker_runtime recognize(const struct interpreter *python)
{
	cleanup(elf_image_deinit) struct elf_image image = {0};
	uint64_t data[] = {python->version, 0, 0, python->free_threaded, 176};
	struct builder_symbol symbols[] = {
		{.name = "_PyRuntime", .size = 32},
		{.name = python->version ? "Py_Version" : "PyCode_Type"},
		{.name = python->third ? python->third : "PyRun_Main"},
		{.name = "_PyEval_EvalFrameDefault", .size = 48},
		{.name = "PyThreadState_GetUnchecked", .size = python->code_bytes},
	};
	cleanup(builder_deinit) struct builder b;
	struct worker_runtime runtime;
	unsigned i;

	memcpy(&data[1], "xdebugpy", 8);
	builder_init(&b);
	if (python->machine)
		b.header.e_machine = python->machine;
	builder_text(&b, 64);
	if (python->code)
		memcpy(builder_at(&b, 1), python->code, python->code_bytes);
	i = builder_section(&b, python->section ? python->section : ".data",
			    &(Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC}, data,
			    sizeof(data));
	builder_segment(&b, PT_LOAD, PF_R, b.sections[i].sh_offset, sizeof(data));
	for (unsigned k = 0; k < ARRAY_SIZE(symbols); k++)
		symbols[k].section = (uint16_t)i;
	symbols[0].value = b.sections[i].sh_addr + 8;
	symbols[1].value = b.sections[i].sh_addr;
	symbols[2].value = b.sections[i].sh_addr + 16;
	symbols[3].value = symbols[4].value = b.sections[1].sh_addr;
	if (python->section)
		builder_symbols(&b, ".dynsym", SHT_DYNSYM, NULL, 0);
	builder_symbols(&b, python->section ? ".symtab" : ".dynsym",
			python->section ? SHT_SYMTAB : SHT_DYNSYM, symbols,
			python->code ? ARRAY_SIZE(symbols) : ARRAY_SIZE(symbols) - 1);
	if (python->needed)
		put_dynamic(&b, python->needed);
	builder_finish(&b);
	assert_int_equal(elf_image_open_memory(&image, b.data, b.n, 0), WORKER_DONE);
	memset(&runtime, 0x55, sizeof(runtime));
	python_recognize(&image, &runtime);
	if (!runtime.version) {
		assert_int_equal(runtime.state, 0);
		return runtime;
	}
	assert_true(runtime.state == symbols[0].value && runtime.loop == symbols[3].value);
	assert_int_equal(runtime.state_bytes, 32);
	assert_true(runtime.text == b.sections[1].sh_addr && runtime.loop_bytes == 48);
	if (python->version)
		assert_true(runtime.check == symbols[1].value &&
			    runtime.check_value == python->version);
	else
		assert_true(runtime.check == symbols[1].value + 32 && runtime.check_value == 176);
	if (runtime.tls_index)
		runtime.tls_index -= runtime.text;
	return runtime;
}

static void test_recognize(void **state)
{
	struct interpreter python = {.version = 0x030b02f0};

	(void)state;
	assert_int_equal(recognize(&python).version, 0x030b);
	python.third = "_Py_RefTotal";
	assert_int_equal(recognize(&python).version, 0);
	assert_int_equal(recognize(&python).refusal, WORKER_RUNTIME_DEBUG);
	python = (struct interpreter){.version = 0x030d00f0};
	assert_int_equal(recognize(&python).version, 0x030d);
	assert_int_equal(recognize(&python).refusal, WORKER_RUNTIME_TAKEN);
	python.free_threaded = 1;
	assert_int_equal(recognize(&python).version, 0);
	assert_int_equal(recognize(&python).refusal, WORKER_RUNTIME_FREE_THREADED);
	python = (struct interpreter){.version = 0x030b02f0, .machine = EM_AARCH64};
	assert_int_equal(recognize(&python).version, 0);
	/* Before there was Py_Version, by what is new. */
	python = (struct interpreter){.third = "PyIter_Send"};
	assert_int_equal(recognize(&python).version, 0x030a);
	python.third = "PyFrame_GetBack";
	assert_int_equal(recognize(&python).version, 0x0309);
	python.third = "PyCode_NewWithPosOnlyArgs";
	assert_int_equal(recognize(&python).version, 0x0308);
	python.third = NULL;
	assert_int_equal(recognize(&python).version, 0);
}

/* By what is needed; what needs nothing has it in itself. */
static void test_libc(void **state)
{
	static const struct {
		const char *needed, *third;
		uint32_t libc;
	} programs[] = {
		{"libc.so.6", NULL, RUNTIME_GLIBC},
		{"libc.so", NULL, RUNTIME_MUSL},
		{"libc.musl-x86_64.so.1", NULL, RUNTIME_MUSL},
		{"libc.so", "_IO_2_1_stderr_", RUNTIME_MUSL},
		{NULL, "_IO_2_1_stderr_", RUNTIME_GLIBC},
		{NULL, NULL, RUNTIME_MUSL},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(programs); i++) {
		struct interpreter python = {.version = 0x030b02f0,
					     .needed = programs[i].needed,
					     .third = programs[i].third};

		assert_int_equal(recognize(&python).version, 0x030b);
		assert_int_equal(recognize(&python).libc, programs[i].libc);
	}
}

/* Its other symbols are read only where a section is as an interpreter's. */
static void test_static(void **state)
{
	struct interpreter python = {.version = 0x030b02f0, .section = ".PyRuntime"};

	(void)state;
	assert_int_equal(recognize(&python).version, 0x030b);
	python.section = ".data";
	assert_int_equal(recognize(&python).version, 0);
}

/* endbr64; mov %fs:-24, %rax; ret */
#define CODE_PROGRAM "\xf3\x0f\x1e\xfa\x64\x48\x8b\x04\x25\xe8\xff\xff\xff\xc3"
/* push %rax; lea 0x1000(%rip), %rdi; call; mov ..(%rax), %rax; pop %rcx; ret */
#define CODE_LIBRARY(load) "\x50\x48\x8d\x3d\x00\x10\0\0\xe8\1\2\3\4" load "\x59\xc3"

static void test_thread(void **state)
{
	static const struct {
		const char *code;
		size_t n;
		uint64_t index;
		int32_t at;
	} getters[] = {
		{CODE_PROGRAM, sizeof(CODE_PROGRAM) - 1, 0, -24},
		{CODE_LIBRARY("\x48\x8b\x80\x08\0\0\0"), 22, 0x1008, 8},
		{CODE_LIBRARY("\x48\x8b\x40\xf8"), 19, 0x1008, -8},
		{CODE_LIBRARY("\x48\x8b\x00"), 18, 0x1008, 0},
		{CODE_PROGRAM, 12, 0, 0},
		{CODE_LIBRARY("\x48\x8b\x01"), 18, 0, 0},
		{CODE_LIBRARY("\x48\x8b\x00"), 10, 0, 0},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(getters); i++) {
		struct interpreter python = {.version = 0x030c00f0,
					     .code = getters[i].code,
					     .code_bytes = getters[i].n};
		struct worker_runtime runtime = recognize(&python);

		assert_int_equal(runtime.version, 0x030c);
		assert_int_equal(runtime.tls_index, getters[i].index);
		assert_int_equal(runtime.tls_at, getters[i].at);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recognize),
		cmocka_unit_test(test_libc),
		cmocka_unit_test(test_static),
		cmocka_unit_test(test_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

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
	uint64_t version, free_threaded;
	const char *third; /* one symbol more, or NULL */
	uint16_t machine;
};

static struct worker_runtime recognize(const struct interpreter *python)
{
	cleanup(elf_image_deinit) struct elf_image image = {0};
	uint64_t data[] = {python->version, 0, 0, python->free_threaded};
	struct builder_symbol symbols[3] = {{.name = "_PyRuntime"}, {.name = "Py_Version"}};
	cleanup(builder_deinit) struct builder b;
	struct worker_runtime runtime;
	unsigned i;

	memcpy(&data[1], "xdebugpy", 8);
	builder_init(&b);
	if (python->machine)
		b.header.e_machine = python->machine;
	builder_text(&b, 64);
	i = builder_section(&b, ".data",
			    &(Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC}, data,
			    sizeof(data));
	builder_segment(&b, PT_LOAD, PF_R, b.sections[i].sh_offset, sizeof(data));
	symbols[0].value = b.sections[i].sh_addr + 8;
	symbols[1].value = b.sections[i].sh_addr;
	symbols[2].name = python->third ?: "PyRun_Main";
	for (unsigned k = 0; k < 3; k++)
		symbols[k].section = (uint16_t)i;
	builder_symbols(&b, ".dynsym", SHT_DYNSYM, symbols, 3);
	builder_finish(&b);
	assert_int_equal(elf_image_open_memory(&image, b.data, b.n, 0), WORKER_DONE);
	memset(&runtime, 0x55, sizeof(runtime));
	python_recognize(&image, &runtime);
	if (runtime.version)
		assert_true(runtime.state == symbols[0].value &&
			    runtime.check == symbols[1].value &&
			    runtime.text == b.sections[1].sh_addr);
	else
		assert_int_equal(runtime.state, 0);
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
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_recognize)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

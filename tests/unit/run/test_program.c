/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/run/program.h"

struct head {
	Elf64_Ehdr elf;
	Elf64_Phdr segments[2];
	char loader[32];
};

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

static struct head make(const char *loader)
{
	struct head head = {
		.elf = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
			.e_machine = MACHINE,
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2,
			.e_phoff = offsetof(struct head, segments)},
		.segments = {{.p_type = PT_LOAD}, {.p_type = PT_INTERP}},
	};

	head.segments[1].p_offset = offsetof(struct head, loader);
	head.segments[1].p_filesz = strlen(loader) + 1;
	snprintf(head.loader, sizeof(head.loader), "%s", loader);
	return head;
}

static enum program_kind look(const void *data, size_t size)
{
	char interpreter[PROGRAM_PATH_SIZE];

	return program_classify(data, size, interpreter);
}

static void test_elf(void **state)
{
	struct head head = make("/lib64/ld-linux-x86-64.so.2");

	(void)state;
	assert_int_equal(look(&head, sizeof(head)), PROGRAM_GOOD);
	head = make("/lib/ld-musl-x86_64.so.1");
	assert_int_equal(look(&head, sizeof(head)), PROGRAM_OTHER_LIBC);
	head.segments[1].p_type = PT_NOTE;
	assert_int_equal(look(&head, sizeof(head)), PROGRAM_STATIC);
	head.elf.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(look(&head, sizeof(head)), PROGRAM_OTHER_MACHINE);
	head = make("/lib/ld-musl-x86_64.so.1");
	head.elf.e_machine = EM_RISCV;
	assert_int_equal(look(&head, sizeof(head)), PROGRAM_OTHER_MACHINE);
}

/* Nothing is read that is not there, and nothing is said of it. */
static void test_cut(void **state)
{
	struct head head = make("/lib/ld-musl-x86_64.so.1");

	(void)state;
	for (size_t n = 0; n < offsetof(struct head, loader) + strlen(head.loader); n++)
		assert_int_equal(look(&head, n), PROGRAM_GOOD);
	head.segments[1].p_offset = UINT64_MAX;
	assert_int_equal(look(&head, sizeof(head)), PROGRAM_GOOD);
	head = make("/lib/ld-musl-x86_64.so.1");
	head.segments[1].p_filesz = UINT64_MAX;
	assert_int_equal(look(&head, sizeof(head)), PROGRAM_GOOD);
	head = make("/lib/ld-musl-x86_64.so.1");
	head.elf.e_phoff = UINT64_MAX - 8;
	assert_int_equal(look(&head, sizeof(head)), PROGRAM_GOOD);
}

static void test_script(void **state)
{
	static const struct {
		const char *head, *interpreter;
	} cases[] = {
		{"#!/bin/sh\necho", "/bin/sh"},  {"#! \t/usr/bin/env python3\n", "/usr/bin/env"},
		{"#!/bin/sh", "/bin/sh"},        {"#!", ""},
		{"#!/bin/sh -e\r\n", "/bin/sh"},
	};
	char interpreter[PROGRAM_PATH_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(program_classify((const uint8_t *)cases[i].head,
						  strlen(cases[i].head), interpreter),
				 PROGRAM_SCRIPT);
		assert_string_equal(interpreter, cases[i].interpreter);
	}
	assert_int_equal(look("echo", 4), PROGRAM_GOOD);
}

static void put(const char *dir, const char *name, const void *data, size_t size, mode_t mode)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

static void test_find(void **state)
{
	struct head head = make("/lib/ld-musl-x86_64.so.1");
	char dir[] = "/tmp/test-program-XXXXXX", search[128], text[128];
	static const char *const names[] = {"musl", "script", "loop", "plain"};

	(void)state;
	assert_non_null(mkdtemp(dir));
	put(dir, "musl", &head, sizeof(head), 0755);
	snprintf(text, sizeof(text), "#!%s/musl\n", dir);
	put(dir, "script", text, strlen(text), 0755);
	snprintf(text, sizeof(text), "#!%s/loop\n", dir);
	put(dir, "loop", text, strlen(text), 0755);
	put(dir, "plain", &head, sizeof(head), 0644);
	snprintf(search, sizeof(search), "/nonexistent:%s:/bin", dir);
	assert_int_equal(program_find("musl", search), PROGRAM_OTHER_LIBC);
	assert_int_equal(program_find("script", search), PROGRAM_OTHER_LIBC);
	assert_int_equal(program_find("loop", search), PROGRAM_GOOD);
	/* It is not what would be executed. */
	assert_int_equal(program_find("plain", search), PROGRAM_GOOD);
	assert_int_equal(program_find("no-such-program", search), PROGRAM_GOOD);
	assert_int_equal(program_find("musl", "/bin"), PROGRAM_GOOD);
	assert_int_equal(program_find("sh", NULL), PROGRAM_GOOD);
	snprintf(text, sizeof(text), "%s/musl", dir);
	assert_int_equal(program_find(text, NULL), PROGRAM_OTHER_LIBC);
	if (geteuid() == 0) {
		put(dir, "musl", "#!/bin/true\n", 12, 0755);
		assert_int_equal(program_find(text, NULL), PROGRAM_GOOD);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(text, sizeof(text), "%s/%s", dir, names[i]);
		unlink(text);
	}
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_elf),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_script),
		cmocka_unit_test(test_find),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

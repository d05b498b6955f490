/* SPDX-License-Identifier: MIT */
/*
 * Real images at the real worker: this program, its vdso, and what strangers may put in their
 * place.
 */
#include "tests/unit/resolve/table_loader_fixture.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/auxv.h>

#include "common/unwind/table.h"

static struct image *self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return image_of(fd, IMAGE_FILE);
}

static struct table_result *load(struct image *image, size_t max_words)
{
	cleanup(table_loader_freep) struct table_loader *l = NULL;
	struct table_result *result;

	assert_int_equal(table_loader_new(&l, max_words, NULL), 0);
	assert_int_equal(table_loader_request(l, image), 0);
	result = wait_result(l);
	assert_ptr_equal(result->image, image);
	assert_int_equal(result->slot.state == TABLE_LOADED, result->words != NULL);
	return result;
}

static enum table_state state_of(struct image *image, size_t max_words)
{
	cleanup(table_result_freep) struct table_result *result = load(image, max_words);

	return result->slot.state;
}

/* The rule at a function's first instruction: its return address is on top of the stack. */
static void test_this_program(void **state)
{
	cleanup(image_unrefp) struct image *image = self();
	cleanup(table_result_freep) struct table_result *result = load(image, MAX_WORDS);
	uint64_t address = (uint64_t)(uintptr_t)&test_this_program, base, offset, word;
	const struct elf_summary *elf = image_elf(image);

	(void)state;
	assert_int_equal(result->slot.state, TABLE_LOADED);
	assert_true(result->counters.fdes > 10);
	assert_non_null(elf);
	assert_int_equal(elf->pointer_bytes, 8);
	/* From the program headers, as the kernel mapped them, to the file's offset. */
	base = getauxval(AT_PHDR) - sizeof(Elf64_Ehdr);
	if (elf->type == ET_EXEC)
		base = 0;
	for (uint32_t i = 0; i < elf->n_segments; i++) {
		const struct elf_segment *s = &elf->segments[i];

		if (s->executable && address - base - s->vaddr < s->memory_size) {
			offset = address - base - s->vaddr + s->offset;
			word = table_search(result->words, result->n_words, &result->slot,
					    (uint32_t)offset);
			assert_int_equal(RULE_KIND(word), RULE_CFA);
#if defined(__x86_64__)
			assert_int_equal(RULE_CFA_OFFSET(word), 8);
			assert_int_equal(RULE_RA_OFFSET(word), -8);
#endif
			return;
		}
	}
	fail();
}

/* Its headers are not those of the 32-bit processes' vdso, which is the same image. */
static void test_the_vdso(void **state)
{
	cleanup(image_unrefp) struct image *image = image_of(-1, IMAGE_VDSO);
	enum table_state got = state_of(image, MAX_WORDS);

	(void)state;
	/* Emulators and some containers have none. */
	assert_int_equal(got, getauxval(AT_SYSINFO_EHDR) ? TABLE_LOADED : TABLE_NO_CFI);
	assert_false(image_has_headers(image));
}

static void test_limits(void **state)
{
	cleanup(image_unrefp) struct image *image = self();

	(void)state;
	assert_int_equal(state_of(image, 16), TABLE_REFUSED);
	assert_int_equal(state_of(image, 0), TABLE_REFUSED);
	assert_false(image->is_bad);
}

static void test_no_file_no_elf(void **state)
{
	cleanup(image_unrefp) struct image *unopened = image_of(-1, IMAGE_FILE),
					   *text = image_with("#!/bin/sh\n"),
					   *anonymous = image_of(-1, IMAGE_ANON);

	(void)state;
	assert_int_equal(state_of(unopened, MAX_WORDS), TABLE_REFUSED);
	assert_int_equal(state_of(text, MAX_WORDS), TABLE_NO_CFI);
	assert_true(image_has_headers(text));
	assert_null(image_elf(text));
	assert_int_equal(state_of(anonymous, MAX_WORDS), TABLE_NO_CFI);
	assert_false(image_has_headers(anonymous));
}

/* A file that is cut behind its headers. */
static void test_a_cut_file(void **state)
{
	cleanup(image_unrefp) struct image *whole = self(), *cut = NULL;
	int fd = memfd_create("t", MFD_CLOEXEC);
	static uint8_t bytes[4096];

	(void)state;
	assert_int_equal(pread(whole->fd, bytes, sizeof(bytes), 0), sizeof(bytes));
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	cut = image_of(fd, IMAGE_FILE);
	assert_int_equal(state_of(cut, MAX_WORDS), TABLE_REFUSED);
	assert_false(cut->is_bad);
}

static void test_32_bit_programs(void **state)
{
	const Elf32_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32,
					       ELFDATA2LSB, EV_CURRENT},
				   .e_type = ET_EXEC,
				   .e_machine = EM_386,
				   .e_version = EV_CURRENT,
				   .e_ehsize = sizeof(header)};
	cleanup(image_unrefp) struct image *image = NULL;
	int fd = memfd_create("t", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(write(fd, &header, sizeof(header)), sizeof(header));
	image = image_of(fd, IMAGE_FILE);
	assert_int_equal(state_of(image, MAX_WORDS), TABLE_NO_CFI);
	assert_non_null(image_elf(image));
	assert_int_equal(image_elf(image)->pointer_bytes, 4);
	/* The second time that is known. */
	assert_int_equal(state_of(image, MAX_WORDS), TABLE_NO_CFI);
}

/* Each is answered as often as it was asked for. */
static void test_many_requests(void **state)
{
	cleanup(table_loader_freep) struct table_loader *l = NULL;
	cleanup(image_unrefp) struct image *a = self(), *b = image_of(-1, IMAGE_FILE);
	struct table_result *none;
	unsigned n_a = 0, n_b = 0;

	(void)state;
	assert_int_equal(table_loader_new(&l, MAX_WORDS, NULL), 0);
	assert_int_equal(table_loader_receive(l, &none), 0);
	assert_null(none);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(table_loader_request(l, a), 0);
		assert_int_equal(table_loader_request(l, b), 0);
	}
	for (unsigned i = 0; i < 6; i++) {
		cleanup(table_result_freep) struct table_result *result = wait_result(l);

		assert_int_equal(result->slot.state,
				 result->image == a ? TABLE_LOADED : TABLE_REFUSED);
		n_a += result->image == a;
		n_b += result->image == b;
	}
	assert_int_equal(n_a, 3);
	assert_int_equal(n_b, 3);
	assert_int_equal(table_loader_receive(l, &none), 0);
	assert_null(none);
	assert_int_equal(a->n_references, 1);
	assert_int_equal(b->n_references, 1);
}

/* What is asked for and never fetched goes with the loader. */
static void test_an_early_end(void **state)
{
	cleanup(image_unrefp) struct image *image = self();

	(void)state;
	for (unsigned n = 0; n < 6; n++) {
		struct table_loader *l;

		assert_int_equal(table_loader_new(&l, MAX_WORDS, NULL), 0);
		for (unsigned i = 0; i < n; i++)
			assert_int_equal(table_loader_request(l, image), 0);
		if (n % 2) /* another one is at the worker then */
			table_result_free(wait_result(l));
		table_loader_free(l);
		assert_int_equal(image->n_references, 1);
	}
	table_loader_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_this_program),  cmocka_unit_test(test_the_vdso),
		cmocka_unit_test(test_limits),        cmocka_unit_test(test_no_file_no_elf),
		cmocka_unit_test(test_a_cut_file),    cmocka_unit_test(test_32_bit_programs),
		cmocka_unit_test(test_many_requests), cmocka_unit_test(test_an_early_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

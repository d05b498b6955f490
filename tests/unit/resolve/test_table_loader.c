/* SPDX-License-Identifier: MIT */
/* Real images: this program, its vdso, and what strangers may put in their place. */
#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/image/elf.h"
#include "common/unwind/table.h"
#include "daemon/resolve/table_loader.h"

#define MAX_WORDS (1u << 20)

static struct image *image_of(int fd, enum image_kind kind)
{
	struct image *image = calloc(1, sizeof(*image));
	struct elf_summary elf;
	bool has_elf;

	image->n_references = 1;
	image->kind = kind;
	image->fd = fd;
	image->path = strdup("x");
	has_elf = fd >= 0 && elf_summary_read(fd, &elf) == ELF_SUMMARY_E_OK;
	assert_int_equal(image_set_headers(image, has_elf ? &elf : NULL), 0);
	return image;
}

static struct image *self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return image_of(fd, IMAGE_FILE);
}

static enum table_state state_of(struct image *image, size_t max_words)
{
	cleanup(table_result_freep) struct table_result *result = NULL;

	assert_int_equal(table_load(image, max_words, &result), 0);
	assert_ptr_equal(result->image, image);
	assert_int_equal(result->slot.state == TABLE_LOADED, result->words != NULL);
	return result->slot.state;
}

/* The rule at a function's first instruction: its return address is on top of the stack. */
static void test_this_program(void **state)
{
	cleanup(image_unrefp) struct image *image = self();
	cleanup(table_result_freep) struct table_result *result = NULL;
	uint64_t address = (uint64_t)(uintptr_t)&test_this_program, base, offset, word;
	const struct elf_summary *elf;

	(void)state;
	assert_int_equal(table_load(image, MAX_WORDS, &result), 0);
	assert_int_equal(result->slot.state, TABLE_LOADED);
	assert_true(result->counters.fdes > 10);
	/* From the program headers, as the kernel mapped them, to the file's offset. */
	base = getauxval(AT_PHDR) - sizeof(Elf64_Ehdr);
	elf = image_elf(image);
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

static void test_the_vdso(void **state)
{
	cleanup(image_unrefp) struct image *image = image_of(-1, IMAGE_VDSO);
	enum table_state got = state_of(image, MAX_WORDS);

	(void)state;
	/* Emulators and some containers have none. */
	assert_int_equal(got, getauxval(AT_SYSINFO_EHDR) ? TABLE_LOADED : TABLE_NO_CFI);
}

static void test_limits(void **state)
{
	cleanup(image_unrefp) struct image *image = self();

	(void)state;
	assert_int_equal(state_of(image, 16), TABLE_REFUSED);
	assert_int_equal(state_of(image, 0), TABLE_REFUSED);
}

static void test_no_file_no_elf(void **state)
{
	int fd = memfd_create("t", MFD_CLOEXEC);
	cleanup(image_unrefp) struct image *unopened = image_of(-1, IMAGE_FILE), *text = NULL,
					   *anonymous = image_of(-1, IMAGE_ANON);

	(void)state;
	assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
	text = image_of(fd, IMAGE_FILE);
	assert_int_equal(state_of(unopened, MAX_WORDS), TABLE_REFUSED);
	assert_int_equal(state_of(text, MAX_WORDS), TABLE_NO_CFI);
	assert_int_equal(state_of(anonymous, MAX_WORDS), TABLE_NO_CFI);
}

/* A file that was cut after its headers were read. */
static void test_a_cut_file(void **state)
{
	cleanup(image_unrefp) struct image *whole = self(), *cut = NULL;
	int fd = memfd_create("t", MFD_CLOEXEC);
	static uint8_t bytes[4096];

	(void)state;
	assert_int_equal(pread(whole->fd, bytes, sizeof(bytes), 0), sizeof(bytes));
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	cut = image_of(fd, IMAGE_FILE);
	assert_non_null(image_elf(cut));
	assert_int_equal(state_of(cut, MAX_WORDS), TABLE_REFUSED);
}

static void test_32_bit_programs(void **state)
{
	cleanup(image_unrefp) struct image *image = self();
	struct elf_summary elf = *image_elf(image);

	(void)state;
	elf.pointer_bytes = 4;
	free(atomic_exchange(&image->headers, NULL));
	assert_int_equal(image_set_headers(image, &elf), 0);
	assert_int_equal(state_of(image, MAX_WORDS), TABLE_NO_CFI);
}

/* The thread signals after it has put the result there, which may have been taken by then. */
static struct table_result *wait_result(struct table_loader *l)
{
	struct pollfd fd = {.fd = table_loader_fd(l), .events = POLLIN};
	struct table_result *result;

	do {
		assert_int_equal(poll(&fd, 1, 60000), 1);
		result = table_loader_take(l);
	} while (!result);
	return result;
}

static void test_the_thread(void **state)
{
	cleanup(table_loader_freep) struct table_loader *l = NULL;
	cleanup(image_unrefp) struct image *a = self(), *b = image_of(-1, IMAGE_FILE);
	struct pollfd fd = {.events = POLLIN};

	(void)state;
	assert_int_equal(table_loader_new(&l, MAX_WORDS), 0);
	assert_null(table_loader_take(l));
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(table_loader_request(l, a), 0);
		assert_int_equal(table_loader_request(l, b), 0);
	}
	for (unsigned i = 0; i < 6; i++) {
		cleanup(table_result_freep) struct table_result *result = wait_result(l);

		assert_non_null(result);
		assert_ptr_equal(result->image, i % 2 ? b : a);
		assert_int_equal(result->slot.state, i % 2 ? TABLE_REFUSED : TABLE_LOADED);
	}
	fd.fd = table_loader_fd(l);
	do {
		assert_null(table_loader_take(l));
	} while (poll(&fd, 1, 0) != 0);
	assert_int_equal(a->n_references, 1);
}

/* They overtake each other, the smaller ones the larger ones; each is answered once. */
static void test_images_of_many_sizes(void **state)
{
	cleanup(table_loader_freep) struct table_loader *l = NULL;
	struct image *images[20];
	unsigned times[ARRAY_SIZE(images)] = {0};

	(void)state;
	assert_int_equal(table_loader_new(&l, MAX_WORDS), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(images); i++) {
		images[i] = self();
		images[i]->id = i;
		images[i]->size = i * 7 % ARRAY_SIZE(images);
	}
	for (unsigned round = 1; round <= 5; round++) {
		for (unsigned i = 0; i < ARRAY_SIZE(images); i++)
			assert_int_equal(table_loader_request(l, images[i]), 0);
		for (unsigned i = 0; i < ARRAY_SIZE(images); i++) {
			cleanup(table_result_freep) struct table_result *result = wait_result(l);

			assert_int_equal(result->slot.state, TABLE_LOADED);
			times[result->image->id]++;
		}
		for (unsigned i = 0; i < ARRAY_SIZE(images); i++)
			assert_int_equal(times[i], round);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(images); i++)
		image_unref(images[i]);
}

/* What is asked for and never fetched goes with the loader. */
static void test_an_early_end(void **state)
{
	cleanup(image_unrefp) struct image *image = self();

	(void)state;
	for (unsigned n = 0; n < 6; n++) {
		struct table_loader *l;

		assert_int_equal(table_loader_new(&l, MAX_WORDS), 0);
		for (unsigned i = 0; i < n; i++)
			assert_int_equal(table_loader_request(l, image), 0);
		table_loader_free(l);
		assert_int_equal(image->n_references, 1);
	}
	table_loader_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_this_program), cmocka_unit_test(test_the_vdso),
		cmocka_unit_test(test_limits),       cmocka_unit_test(test_no_file_no_elf),
		cmocka_unit_test(test_a_cut_file),   cmocka_unit_test(test_32_bit_programs),
		cmocka_unit_test(test_the_thread),   cmocka_unit_test(test_images_of_many_sizes),
		cmocka_unit_test(test_an_early_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

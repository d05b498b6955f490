/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/unwind/eh_frame.h"

#define FILE_BYTES  0x2000
#define BASE        UINT64_C(0x400000)
#define TEXT_AT     0x1000u
#define HEADER_AT   0x400u
#define FRAME_AT    0x500u
#define FRAME_BYTES 0x80u
#define SECTIONS_AT 0x800u
#define NAMES_AT    0x700u

/* An image with both ways to its information; a test takes one away, or breaks it. */
struct file {
	union {
		uint8_t data[FILE_BYTES];
		Elf64_Ehdr h;
	};
};

static Elf64_Phdr *segment(struct file *f, unsigned i)
{
	return (Elf64_Phdr *)(void *)(f->data + sizeof(Elf64_Ehdr)) + i;
}

static Elf64_Shdr *section(struct file *f, unsigned i)
{
	return (Elf64_Shdr *)(void *)(f->data + SECTIONS_AT) + i;
}

static void file_init(struct file *f)
{
	static const char names[] = "\0.eh_frame\0.eh_frame_hdr\0.got.plt\0.shstrtab";
	static const uint8_t head[] = {1, 0x1b, 3, 0x3b, 0xfc, 0, 0, 0, 0, 0, 0, 0};

	memset(f, 0, sizeof(*f));
	memcpy(f->h.e_ident, ELFMAG, SELFMAG);
	f->h.e_ident[EI_CLASS] = ELFCLASS64;
	f->h.e_ident[EI_DATA] = ELFDATA2LSB;
	f->h.e_type = ET_DYN;
	f->h.e_machine = EM_X86_64;
	f->h.e_phoff = sizeof(Elf64_Ehdr);
	f->h.e_phentsize = sizeof(Elf64_Phdr);
	f->h.e_phnum = 3;
	f->h.e_shoff = SECTIONS_AT;
	f->h.e_shentsize = sizeof(Elf64_Shdr);
	f->h.e_shnum = 5;
	f->h.e_shstrndx = 4;
	*segment(f, 0) = (Elf64_Phdr){.p_type = PT_LOAD,
				      .p_flags = PF_R,
				      .p_vaddr = BASE,
				      .p_filesz = 0x1000,
				      .p_memsz = 0x1000};
	*segment(f, 1) = (Elf64_Phdr){.p_type = PT_LOAD,
				      .p_flags = PF_R | PF_X,
				      .p_offset = TEXT_AT,
				      .p_vaddr = BASE + 0x5000,
				      .p_filesz = 0x800,
				      .p_memsz = 0x900};
	*segment(f, 2) = (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME,
				      .p_flags = PF_R,
				      .p_offset = HEADER_AT,
				      .p_vaddr = BASE + HEADER_AT,
				      .p_filesz = sizeof(head),
				      .p_memsz = sizeof(head)};
	*section(f, 1) = (Elf64_Shdr){.sh_name = 1,
				      .sh_type = SHT_PROGBITS,
				      .sh_flags = SHF_ALLOC,
				      .sh_offset = FRAME_AT,
				      .sh_addr = BASE + FRAME_AT,
				      .sh_size = FRAME_BYTES};
	*section(f, 2) = (Elf64_Shdr){.sh_name = 11,
				      .sh_type = SHT_PROGBITS,
				      .sh_flags = SHF_ALLOC,
				      .sh_offset = HEADER_AT,
				      .sh_addr = BASE + HEADER_AT,
				      .sh_size = sizeof(head)};
	*section(f, 3) = (Elf64_Shdr){.sh_name = 25,
				      .sh_type = SHT_PROGBITS,
				      .sh_flags = SHF_ALLOC | SHF_WRITE,
				      .sh_addr = BASE + 0x9000,
				      .sh_size = 8};
	*section(f, 4) = (Elf64_Shdr){.sh_name = 34,
				      .sh_type = SHT_STRTAB,
				      .sh_offset = NAMES_AT,
				      .sh_size = sizeof(names)};
	memcpy(f->data + NAMES_AT, names, sizeof(names));
	memcpy(f->data + HEADER_AT, head, sizeof(head));
	for (unsigned i = 0; i < FRAME_BYTES; i++)
		f->data[FRAME_AT + i] = (uint8_t)(i + 1);
}

/* EH_FRAME_E_NONE also of an image without .eh_frame. */
static int parse(const struct file *f, struct eh_frame *ret)
{
	int r = eh_frame_parse(f->data, sizeof(f->data), ret);

	if (r || ret->input.frame.length)
		return r;
	eh_frame_deinit(ret);
	return EH_FRAME_E_NONE;
}

static void check(const struct eh_frame *frame, uint64_t length)
{
	const struct cfi_input *input = &frame->input;

	assert_int_equal(input->machine, EM_X86_64);
	assert_int_equal(input->frame.address, BASE + FRAME_AT);
	assert_int_equal(input->frame.length, length);
	assert_int_equal(input->frame.data[0], 1);
	assert_int_equal(input->frame.data[FRAME_BYTES - 1], FRAME_BYTES);
	assert_int_equal(input->n_segments, 1);
	assert_int_equal(input->segments[0].address, BASE + 0x5000);
	assert_int_equal(input->segments[0].offset, TEXT_AT);
	assert_int_equal(input->segments[0].length, 0x800);
}

static void test_sections(void **state)
{
	struct eh_frame frame, moved;
	struct file f;

	(void)state;
	file_init(&f);
	assert_int_equal(parse(&f, &frame), EH_FRAME_E_OK);
	moved = frame;
	memset(&frame, 0xff, sizeof(frame));
	check(&moved, FRAME_BYTES);
	assert_int_equal(moved.input.got_address, BASE + 0x9000);
	/* Copies: the image may change. */
	memset(&f, 0, sizeof(f));
	check(&moved, FRAME_BYTES);
	eh_frame_deinit(&moved);
	eh_frame_deinit(&moved);
}

static void test_file(void **state)
{
	cleanup(closep) int fd = memfd_create("image", MFD_CLOEXEC);
	struct eh_frame frame;
	struct file f;

	(void)state;
	file_init(&f);
	assert_int_equal(write(fd, &f, sizeof(f)), sizeof(f));
	assert_int_equal(lseek(fd, 7, SEEK_SET), 7);
	assert_int_equal(eh_frame_read(fd, &frame), EH_FRAME_E_OK);
	check(&frame, FRAME_BYTES);
	eh_frame_deinit(&frame);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 7);
	assert_int_equal(eh_frame_read(-1, &frame), EH_FRAME_E_UNREADABLE);
}

/* A stripped program: .eh_frame lasts as long as its segment, for all that is known. */
static void test_stripped(void **state)
{
	struct eh_frame frame;
	struct file f;

	(void)state;
	for (int i = 0; i < 3; i++) {
		file_init(&f);
		if (i == 0)
			f.h.e_shnum = 0;
		else if (i == 1)
			f.h.e_shoff = UINT64_MAX - 8;
		else
			section(&f, 4)->sh_offset = UINT64_MAX - 8;
		assert_int_equal(parse(&f, &frame), EH_FRAME_E_OK);
		check(&frame, 0x1000 - FRAME_AT);
		eh_frame_deinit(&frame);
	}
	/* A pointer that leads nowhere; another version; another encoding than linkers write. */
	f.data[HEADER_AT + 5] = 0x70;
	assert_int_equal(parse(&f, &frame), EH_FRAME_E_MALFORMED);
	f.data[HEADER_AT] = 2;
	assert_int_equal(parse(&f, &frame), EH_FRAME_E_NONE);
	f.data[HEADER_AT] = 1;
	f.data[HEADER_AT + 1] = 0xff;
	assert_int_equal(parse(&f, &frame), EH_FRAME_E_NONE);
	segment(&f, 2)->p_filesz = 4;
	assert_int_equal(parse(&f, &frame), EH_FRAME_E_NONE);
	segment(&f, 2)->p_type = PT_NULL;
	assert_int_equal(parse(&f, &frame), EH_FRAME_E_NONE);
}

/* .debug_frame comes behind it, or alone, unless it cannot be had. */
static void test_debug_frame(void **state)
{
	static const Elf64_Shdr good = {
		.sh_name = 44, .sh_type = SHT_PROGBITS, .sh_offset = 0x600, .sh_size = 0x40};
	struct eh_frame frame;
	Elf64_Shdr bad[4];
	struct file f;

	(void)state;
	file_init(&f);
	f.h.e_shnum = 6;
	section(&f, 4)->sh_size = 57;
	memcpy(f.data + NAMES_AT + 44, ".debug_frame", 13);
	f.data[0x600] = 0xaa;
	*section(&f, 5) = good;
	assert_int_equal(parse(&f, &frame), EH_FRAME_E_OK);
	check(&frame, FRAME_BYTES + 0x40);
	assert_int_equal(frame.input.debug_length, 0x40);
	assert_int_equal(frame.input.frame.data[FRAME_BYTES], 0xaa);
	eh_frame_deinit(&frame);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		bad[i] = good;
	bad[0].sh_flags = SHF_COMPRESSED;
	bad[1].sh_size = FILE_BYTES;
	bad[2].sh_size = EH_FRAME_BYTES_MAX;
	bad[3].sh_type = SHT_NOBITS;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		*section(&f, 5) = bad[i];
		assert_int_equal(parse(&f, &frame), EH_FRAME_E_OK);
		check(&frame, FRAME_BYTES);
		assert_int_equal(frame.input.debug_length, 0);
		eh_frame_deinit(&frame);
	}
	*section(&f, 5) = good;
	section(&f, 1)->sh_type = SHT_NOBITS;
	section(&f, 2)->sh_type = SHT_NOBITS;
	segment(&f, 2)->p_type = PT_NULL;
	assert_int_equal(parse(&f, &frame), EH_FRAME_E_OK);
	assert_int_equal(frame.input.debug_length, 0x40);
	assert_int_equal(frame.input.frame.length, 0x40);
	eh_frame_deinit(&frame);
}

/* The information without .eh_frame_hdr, and the debug file that has neither. */
static void test_parts(void **state)
{
	struct eh_frame frame;
	struct file f;

	(void)state;
	file_init(&f);
	segment(&f, 2)->p_type = PT_NULL;
	section(&f, 2)->sh_type = SHT_NOBITS;
	assert_int_equal(parse(&f, &frame), EH_FRAME_E_OK);
	assert_int_equal(frame.input.frame.length, FRAME_BYTES);
	eh_frame_deinit(&frame);
	section(&f, 1)->sh_type = SHT_NOBITS;
	assert_int_equal(parse(&f, &frame), EH_FRAME_E_NONE);
	/* A header past the end of the file is done without. */
	file_init(&f);
	segment(&f, 2)->p_offset = FILE_BYTES;
	assert_int_equal(parse(&f, &frame), EH_FRAME_E_OK);
	eh_frame_deinit(&frame);
}

static void test_others(void **state)
{
	struct eh_frame frame;
	struct file f;

	(void)state;
	file_init(&f);
	f.h.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(parse(&f, &frame), EH_FRAME_E_NONE);
	file_init(&f);
	f.h.e_ident[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(parse(&f, &frame), EH_FRAME_E_NONE);
	file_init(&f);
	f.h.e_type = ET_REL;
	assert_int_equal(parse(&f, &frame), EH_FRAME_E_NONE);
	assert_int_equal(eh_frame_parse((const uint8_t *)"#!/bin/sh\n", 10, &frame),
			 EH_FRAME_E_NONE);
	assert_int_equal(eh_frame_parse(NULL, 0, &frame), EH_FRAME_E_NONE);
}

static void test_lies(void **state)
{
	struct eh_frame frame;
	struct file f;

	(void)state;
	file_init(&f);
	section(&f, 1)->sh_size = FILE_BYTES;
	assert_int_equal(parse(&f, &frame), EH_FRAME_E_MALFORMED);
	section(&f, 1)->sh_size = (uint64_t)EH_FRAME_BYTES_MAX + 1;
	assert_int_equal(parse(&f, &frame), EH_FRAME_E_TOO_BIG);
	section(&f, 1)->sh_size = EH_FRAME_BYTES_MAX;
	assert_int_equal(parse(&f, &frame), EH_FRAME_E_MALFORMED);
	/* Sums that wrap: no section at all. */
	section(&f, 1)->sh_size = UINT64_MAX;
	assert_int_equal(parse(&f, &frame), EH_FRAME_E_OK);
	eh_frame_deinit(&frame);
	file_init(&f);
	segment(&f, 1)->p_offset = UINT64_MAX - 4;
	assert_int_equal(parse(&f, &frame), EH_FRAME_E_MALFORMED);
	file_init(&f);
	segment(&f, 1)->p_memsz = 1;
	assert_int_equal(parse(&f, &frame), EH_FRAME_E_MALFORMED);
	file_init(&f);
	f.h.e_phoff = FILE_BYTES - 8;
	assert_int_equal(parse(&f, &frame), EH_FRAME_E_MALFORMED);
	file_init(&f);
	f.h.e_phoff = UINT64_MAX - 8;
	assert_int_equal(parse(&f, &frame), EH_FRAME_E_MALFORMED);
	file_init(&f);
	f.h.e_phnum = PN_XNUM;
	assert_int_equal(parse(&f, &frame), EH_FRAME_E_MALFORMED);
}

static void test_every_prefix(void **state)
{
	struct file f;

	(void)state;
	file_init(&f);
	for (size_t n = 0; n < sizeof(f); n++) {
		uint8_t *copy = malloc(n ? n : 1);
		struct eh_frame frame;
		int r;

		assert_non_null(copy);
		memcpy(copy, &f, n);
		r = eh_frame_parse(copy, n, &frame);
		free(copy);
		assert_in_range(r, EH_FRAME_E_OK, EH_FRAME_E_MALFORMED);
		if (r == EH_FRAME_E_OK)
			eh_frame_deinit(&frame);
		else
			assert_true(n < SECTIONS_AT + 5 * sizeof(Elf64_Shdr));
	}
}

/* This program: what is read can be compiled. */
static void test_own_program(void **state)
{
	const struct cfi_limits limits = {.max_rows = SIZE_MAX, .max_rules = SIZE_MAX};
	cleanup(closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	cleanup(cfi_rows_freep) struct cfi_rows *rows = NULL;
	struct eh_frame frame;

	(void)state;
	assert_int_equal(eh_frame_read(fd, &frame), EH_FRAME_E_OK);
	assert_int_equal(cfi_compile(&rows, &frame.input, &limits), CFI_E_OK);
	assert_true(rows->n_rows > 60); /* its functions, which have a row each and more */
	assert_int_equal(rows->counters.malformed, 0);
	eh_frame_deinit(&frame);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sections),    cmocka_unit_test(test_file),
		cmocka_unit_test(test_stripped),    cmocka_unit_test(test_parts),
		cmocka_unit_test(test_debug_frame), cmocka_unit_test(test_others),
		cmocka_unit_test(test_lies),        cmocka_unit_test(test_every_prefix),
		cmocka_unit_test(test_own_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

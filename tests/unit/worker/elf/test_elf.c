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
#include "daemon/worker/elf/elf_image.h"

#define FILE_BYTES 1024
#define NOTES_AT   512

static const uint8_t build_id[20] = {0xde, 0xad, 0xbe, 0xef, 5,  6,  7,  8,  9,  10,
				     11,   12,   13,   14,   15, 16, 17, 18, 19, 20};

/* Writes @bytes of @value at @at in the chosen byte order. */
static void put(uint8_t *at, uint64_t value, unsigned bytes, bool big)
{
	for (unsigned i = 0; i < bytes; i++)
		at[big ? bytes - 1 - i : i] = (uint8_t)(value >> (8 * i));
}

static int elf_summary_parse(uint8_t *data, size_t length, struct elf_summary *ret)
{
	cleanup(elf_image_deinit) struct elf_image image;
	int r = elf_image_open_memory(&image, data, length, 0);

	if (!r)
		*ret = image.summary;
	return r;
}

struct file {
	uint8_t data[FILE_BYTES];
	bool is_64, big;
	unsigned n;
};

static void file_init(struct file *f, bool is_64, bool big)
{
	memset(f, 0, sizeof(*f));
	f->is_64 = is_64;
	f->big = big;
	memcpy(f->data, ELFMAG, SELFMAG);
	f->data[EI_CLASS] = is_64 ? ELFCLASS64 : ELFCLASS32;
	f->data[EI_DATA] = big ? ELFDATA2MSB : ELFDATA2LSB;
	f->data[EI_VERSION] = EV_CURRENT;
	put(f->data + 16, ET_DYN, 2, big);
	put(f->data + 18, is_64 ? EM_AARCH64 : EM_ARM, 2, big);
	if (is_64) {
		put(f->data + offsetof(Elf64_Ehdr, e_phoff), sizeof(Elf64_Ehdr), 8, big);
		put(f->data + offsetof(Elf64_Ehdr, e_phentsize), sizeof(Elf64_Phdr), 2, big);
	} else {
		put(f->data + offsetof(Elf32_Ehdr, e_phoff), sizeof(Elf32_Ehdr), 4, big);
		put(f->data + offsetof(Elf32_Ehdr, e_phentsize), sizeof(Elf32_Phdr), 2, big);
	}
}

static void file_set_n(struct file *f, unsigned n)
{
	put(f->data + (f->is_64 ? offsetof(Elf64_Ehdr, e_phnum) : offsetof(Elf32_Ehdr, e_phnum)), n,
	    2, f->big);
}

static void file_add(struct file *f, uint32_t type, uint32_t flags, uint64_t offset, uint64_t vaddr,
		     uint64_t file_size, uint64_t memory_size)
{
	uint8_t *p;

	if (f->is_64) {
		p = f->data + sizeof(Elf64_Ehdr) + f->n * sizeof(Elf64_Phdr);
		put(p + offsetof(Elf64_Phdr, p_type), type, 4, f->big);
		put(p + offsetof(Elf64_Phdr, p_flags), flags, 4, f->big);
		put(p + offsetof(Elf64_Phdr, p_offset), offset, 8, f->big);
		put(p + offsetof(Elf64_Phdr, p_vaddr), vaddr, 8, f->big);
		put(p + offsetof(Elf64_Phdr, p_filesz), file_size, 8, f->big);
		put(p + offsetof(Elf64_Phdr, p_memsz), memory_size, 8, f->big);
	} else {
		p = f->data + sizeof(Elf32_Ehdr) + f->n * sizeof(Elf32_Phdr);
		put(p + offsetof(Elf32_Phdr, p_type), type, 4, f->big);
		put(p + offsetof(Elf32_Phdr, p_flags), flags, 4, f->big);
		put(p + offsetof(Elf32_Phdr, p_offset), offset, 4, f->big);
		put(p + offsetof(Elf32_Phdr, p_vaddr), vaddr, 4, f->big);
		put(p + offsetof(Elf32_Phdr, p_filesz), file_size, 4, f->big);
		put(p + offsetof(Elf32_Phdr, p_memsz), memory_size, 4, f->big);
	}
	file_set_n(f, ++f->n);
}

static size_t put_note(uint8_t *at, uint32_t type, const char *name, const void *text,
		       uint32_t length, bool big)
{
	size_t name_length = strlen(name) + 1;

	put(at, name_length, 4, big);
	put(at + 4, length, 4, big);
	put(at + 8, type, 4, big);
	memcpy(at + 12, name, name_length);
	memcpy(at + 12 + ((name_length + 3) & ~3u), text, length);
	return 12 + ((name_length + 3) & ~3u) + ((length + 3) & ~3u);
}

static void file_fill(struct file *f)
{
	uint8_t *notes = f->data + NOTES_AT;
	size_t n;

	n = put_note(notes, NT_GNU_ABI_TAG, "GNU", "0123456789abcdef", 16, f->big);
	n += put_note(notes + n, NT_GNU_BUILD_ID, "Xen", "four", 4, f->big);
	n += put_note(notes + n, NT_GNU_BUILD_ID, "GNU", build_id, sizeof(build_id), f->big);
	file_add(f, PT_LOAD, PF_R, 0, 0x10000, 0x200, 0x200);
	file_add(f, PT_NOTE, PF_R, NOTES_AT, 0x10200, n, n);
	file_add(f, PT_LOAD, PF_R | PF_X, 0x200, 0x11200, 0x100, 0x180);
	file_add(f, PT_LOAD, PF_R | PF_X, 0x300, 0x13300, 0x10, 0x10);
	file_add(f, PT_LOAD, PF_R | PF_W, 0x2f0, 0x142f0, 0x80, 0x1000);
}

static void check_summary(const struct elf_summary *elf, const struct file *f)
{
	uint64_t a, b;

	assert_int_equal(elf->pointer_bytes, f->is_64 ? 8 : 4);
	assert_int_equal(elf->type, ET_DYN);
	assert_int_equal(elf->machine, f->is_64 ? EM_AARCH64 : EM_ARM);
	assert_int_equal(elf->n_segments, 4);
	assert_int_equal(elf->build_id_length, 20);
	assert_memory_equal(elf->build_id, build_id, 20);
	assert_true(elf_summary_text(elf, &a, &b));
	assert_int_equal(a, 0x11200);
	assert_int_equal(b, 0x13310);
	assert_true(elf_summary_vaddr(elf, 0, &a));
	assert_int_equal(a, 0x10000);
	assert_true(elf_summary_vaddr(elf, 0x1ff, &a));
	assert_int_equal(a, 0x101ff);
	assert_true(elf_summary_vaddr(elf, 0x200, &a));
	assert_int_equal(a, 0x11200);
	/* In the data segment too: the code counts. */
	assert_true(elf_summary_vaddr(elf, 0x2f8, &a));
	assert_int_equal(a, 0x112f8);
	assert_true(elf_summary_vaddr(elf, 0x310, &a));
	assert_int_equal(a, 0x14310);
	assert_false(elf_summary_vaddr(elf, 0x370, &a));
	assert_false(elf_summary_vaddr(elf, UINT64_MAX, &a));
}

static void test_classes_and_byte_orders(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct elf_summary elf, other;
		struct file f;
		int fd;

		file_init(&f, i & 1, i & 2);
		file_fill(&f);
		assert_int_equal(elf_summary_parse(f.data, sizeof(f.data), &elf), 0);
		check_summary(&elf, &f);

		fd = memfd_create("elf", MFD_CLOEXEC);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, f.data, sizeof(f.data)), sizeof(f.data));
		assert_int_equal(lseek(fd, 7, SEEK_SET), 7);
		memset(&other, 0, sizeof(other));
		assert_int_equal(elf_summary_read(fd, &other), 0);
		assert_memory_equal(&elf, &other, sizeof(elf));
		assert_int_equal(lseek(fd, 0, SEEK_CUR), 7);
		close(fd);
	}
}

/* Whatever is cut off at the end: refused, or (nothing needed is missing) the same result. */
static void test_every_prefix(void **state)
{
	struct file f;

	(void)state;
	file_init(&f, true, false);
	file_fill(&f);
	for (size_t n = 0; n < NOTES_AT + 76; n++) {
		uint8_t *copy = malloc(n ? n : 1);
		struct elf_summary elf;

		assert_non_null(copy);
		memcpy(copy, f.data, n);
		assert_int_equal(elf_summary_parse(copy, n, &elf),
				 n < EI_NIDENT ? WORKER_NOT_ELF : WORKER_MALFORMED);
		free(copy);
	}
}

static void test_layouts(void **state)
{
	struct elf_summary elf;
	uint64_t address;
	struct file f;

	(void)state;
	file_init(&f, true, false);
	f.data[EI_CLASS] = 3;
	assert_int_equal(elf_summary_parse(f.data, FILE_BYTES, &elf), WORKER_MALFORMED);
	file_init(&f, true, false);
	f.data[0] = 'x';
	assert_int_equal(elf_summary_parse(f.data, FILE_BYTES, &elf), WORKER_NOT_ELF);
	/* More program headers than bytes. */
	file_init(&f, true, false);
	file_set_n(&f, 60000);
	assert_int_equal(elf_summary_parse(f.data, FILE_BYTES, &elf), WORKER_MALFORMED);
	/* Sums that wrap. */
	file_init(&f, true, false);
	file_add(&f, PT_LOAD, PF_X, UINT64_MAX - 4, 0, 16, 16);
	assert_int_equal(elf_summary_parse(f.data, FILE_BYTES, &elf), WORKER_MALFORMED);
	file_init(&f, true, false);
	file_add(&f, PT_LOAD, PF_X, 0, UINT64_MAX - 4, 16, 16);
	assert_int_equal(elf_summary_parse(f.data, FILE_BYTES, &elf), WORKER_MALFORMED);
	file_init(&f, true, false);
	put(f.data + offsetof(Elf64_Ehdr, e_phoff), UINT64_MAX - 8, 8, false);
	file_set_n(&f, 2);
	assert_int_equal(elf_summary_parse(f.data, FILE_BYTES, &elf), WORKER_MALFORMED);
	/* Data before code in the table, both with the same bytes of the file: the code counts. */
	file_init(&f, true, false);
	file_add(&f, PT_LOAD, PF_R, 0, 0x1000, 16, 16);
	file_add(&f, PT_LOAD, PF_X, 0, 0x9000, 16, 16);
	assert_int_equal(elf_summary_parse(f.data, FILE_BYTES, &elf), WORKER_DONE);
	assert_true(elf_summary_vaddr(&elf, 3, &address));
	assert_int_equal(address, 0x9003);
	/* No segments at all is no fault: an object file. */
	file_init(&f, true, false);
	assert_int_equal(elf_summary_parse(f.data, FILE_BYTES, &elf), WORKER_DONE);
	assert_int_equal(elf.n_segments, 0);
	assert_false(elf_summary_text(&elf, &(uint64_t){0}, &(uint64_t){0}));
	assert_int_equal(elf_summary_read(-1, &elf), WORKER_UNREADABLE);
}

/* Offsets at which pread(2) fails instead of finding nothing: the file is at fault, not the disk.
 */
static void test_offsets_past_every_file(void **state)
{
	static const uint64_t offsets[] = {INT64_MAX - 15, INT64_MAX, (uint64_t)INT64_MAX + 1,
					   UINT64_MAX - 64};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(offsets) / sizeof(offsets[0]); i++) {
		uint64_t offset = offsets[i / 2];
		struct elf_summary elf;
		struct file f;
		int fd;

		file_init(&f, true, false);
		if (i & 1) {
			file_add(&f, PT_NOTE, PF_R, offset, 0, 32, 32);
		} else {
			put(f.data + offsetof(Elf64_Ehdr, e_phoff), offset, 8, false);
			file_set_n(&f, 1);
		}
		fd = memfd_create("elf", MFD_CLOEXEC);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, f.data, sizeof(f.data)), sizeof(f.data));
		assert_int_equal(elf_summary_parse(f.data, sizeof(f.data), &elf), WORKER_MALFORMED);
		assert_int_equal(elf_summary_read(fd, &elf), WORKER_MALFORMED);
		close(fd);
	}
}

static void test_notes(void **state)
{
	uint8_t ret[ELF_BUILD_ID_MAX], notes[256], long_id[32];
	size_t n;

	(void)state;
	memset(long_id, 7, sizeof(long_id));
	n = put_note(notes, NT_GNU_BUILD_ID, "GNU", build_id, 5, false);
	assert_int_equal(elf_notes_build_id(notes, n, false, ret), 5);
	/* Without the padding behind it. */
	assert_int_equal(elf_notes_build_id(notes, n - 3, false, ret), 5);
	assert_int_equal(elf_notes_build_id(notes, n - 4, false, ret), 0);
	assert_int_equal(elf_notes_build_id(notes, n, true, ret), 0);
	assert_int_equal(elf_notes_build_id(notes, 0, false, ret), 0);
	n = put_note(notes, NT_GNU_BUILD_ID, "GNU", long_id, sizeof(long_id), false);
	assert_int_equal(elf_notes_build_id(notes, n, false, ret), ELF_BUILD_ID_MAX);
	/* No name, and a text that looks like one. */
	n = put_note(notes, NT_GNU_BUILD_ID, "", "GNU\0twelvebytes", 16, false);
	memmove(notes + 12, notes + 16, 16);
	put(notes, 0, 4, false);
	assert_int_equal(elf_notes_build_id(notes, n - 4, false, ret), 0);
	n = put_note(notes, NT_GNU_BUILD_ID, "GNU", long_id, sizeof(long_id), false);
	/* Lengths near 2^32 must not wrap. */
	put(notes, UINT32_MAX, 4, false);
	assert_int_equal(elf_notes_build_id(notes, n, false, ret), 0);
	put(notes, 4, 4, false);
	put(notes + 4, UINT32_MAX - 1, 4, false);
	assert_int_equal(elf_notes_build_id(notes, n, false, ret), 0);
}

/* This program itself: the segment that holds this function is executable and found. */
/* @at of @f: the header of a section. */
static void put_section(struct file *f, size_t at, uint32_t type, uint64_t offset, uint64_t size)
{
	uint8_t *s = f->data + at;

	put(s + offsetof(Elf64_Shdr, sh_type), type, 4, f->big);
	if (f->is_64) {
		put(s + offsetof(Elf64_Shdr, sh_offset), offset, 8, f->big);
		put(s + offsetof(Elf64_Shdr, sh_size), size, 8, f->big);
	} else {
		put(s + offsetof(Elf32_Shdr, sh_offset), offset, 4, f->big);
		put(s + offsetof(Elf32_Shdr, sh_size), size, 4, f->big);
	}
}

/* A build id in a section that no note segment holds. */
static void test_note_section(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const size_t sections = 768;
		struct elf_summary elf;
		struct file f;
		size_t n, size, header;

		file_init(&f, i & 1, i & 2);
		size = f.is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
		header = f.is_64 ? offsetof(Elf64_Ehdr, e_shoff) : offsetof(Elf32_Ehdr, e_shoff);
		n = put_note(f.data + NOTES_AT, NT_GNU_ABI_TAG, "GNU", "0123456789abcdef", 16,
			     f.big);
		file_add(&f, PT_NOTE, PF_R, NOTES_AT, 0x10200, n, n);
		put_section(&f, sections + size, SHT_NOTE, NOTES_AT, n);
		put_section(&f, sections + 2 * size, SHT_NOTE, NOTES_AT + n,
			    put_note(f.data + NOTES_AT + n, NT_GNU_BUILD_ID, "GNU", build_id,
				     sizeof(build_id), f.big));
		put(f.data + header, sections, f.is_64 ? 8 : 4, f.big);
		header = f.is_64 ? offsetof(Elf64_Ehdr, e_shentsize)
				 : offsetof(Elf32_Ehdr, e_shentsize);
		put(f.data + header, size, 2, f.big);
		put(f.data + header + 2, 3, 2, f.big);
		assert_int_equal(elf_summary_parse(f.data, sizeof(f.data), &elf), 0);
		assert_int_equal(elf.build_id_length, sizeof(build_id));
		assert_memory_equal(elf.build_id, build_id, sizeof(build_id));
		/* Headers of sections may lie. */
		put_section(&f, sections + 2 * size, SHT_NOTE, UINT32_MAX, 64);
		assert_int_equal(elf_summary_parse(f.data, sizeof(f.data), &elf), 0);
		assert_int_equal(elf.build_id_length, 0);
	}
}

static void test_own_program(void **state)
{
	cleanup(closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_summary elf;
	uint64_t start, end;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(elf_summary_read(fd, &elf), WORKER_DONE);
	assert_int_equal(elf.pointer_bytes, sizeof(void *));
	assert_true(elf.n_segments >= 2);
	assert_true(elf_summary_text(&elf, &start, &end));
	assert_true(start < end);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes_and_byte_orders),
		cmocka_unit_test(test_every_prefix),
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_offsets_past_every_file),
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_note_section),
		cmocka_unit_test(test_own_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

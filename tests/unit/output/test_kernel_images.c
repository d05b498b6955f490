/* SPDX-License-Identifier: MIT */
#include "tests/unit/output/fixture.h"

#include "daemon/output/kernel_images.h"
#include "daemon/output/symbols.h"

static struct kernel_images *open_kernel(struct fixture *f)
{
	struct kernel_images *k = NULL;

	assert_int_equal(kernel_images_new(&k, f->proc_fd, f->sys_fd), 0);
	assert_int_equal(kernel_images_refresh(k), 0);
	return k;
}

static void test_find(void **state)
{
	struct fixture *f = *state;
	cleanup(kernel_images_freep) struct kernel_images *k = open_kernel(f);
	const struct kernel_image *image;

	image = kernel_images_find(k, STEXT);
	assert_non_null(image);
	assert_ptr_equal(image, kernel_images_main(k));
	assert_string_equal(image->name, "[kernel.kallsyms]");
	assert_string_equal(image->file, "vmlinux");
	assert_int_equal(image->build_id_length, 20);
	assert_int_equal(image->build_id[0], 0x77);
	assert_true(image->is_known);
	assert_ptr_equal(kernel_images_find(k, ETEXT - 1), image);
	assert_null(kernel_images_find(k, ETEXT));
	assert_null(kernel_images_find(k, STEXT - 1));

	image = kernel_images_find(k, EXT4 + 4095);
	assert_non_null(image);
	assert_string_equal(image->name, "[ext4]");
	assert_string_equal(image->file, "ext4.ko");
	assert_int_equal(image->build_id[0], 0x55);
	assert_null(kernel_images_find(k, EXT4 + 4096));
	image = kernel_images_find(k, EXT4 + 0x100000);
	assert_string_equal(image->name, "[jbd2]");
	assert_int_equal(image->build_id_length, 0);
	assert_null(kernel_images_find(k, 0));
}

/* Linux 6.4: a size that reaches over the next module. */
static void test_overlap(void **state)
{
	struct fixture *f = *state;
	cleanup(kernel_images_freep) struct kernel_images *k = NULL;

	write_text(f->proc_fd, "modules",
		   "big 65536 0 - Live 0xffffffffc0100000\n"
		   "small 4096 0 - Live 0xffffffffc0102000\n");
	k = open_kernel(f);
	assert_string_equal(kernel_images_find(k, EXT4 + 0x1fff)->name, "[big]");
	assert_string_equal(kernel_images_find(k, EXT4 + 0x2000)->name, "[small]");
	assert_int_equal(kernel_images_find(k, EXT4)->end, EXT4 + 0x2000);
	assert_null(kernel_images_find(k, EXT4 + 0x3000));
}

static void test_refresh(void **state)
{
	struct fixture *f = *state;
	cleanup(kernel_images_freep) struct kernel_images *k = open_kernel(f);
	uint64_t id = kernel_images_find(k, EXT4)->id;

	write_text(f->proc_fd, "modules",
		   "ext4 4096 1 - Live 0xffffffffc0100000\n"
		   "xfs 8192 1 - Live 0xffffffffc0200000\n");
	assert_int_equal(kernel_images_refresh(k), 0);
	assert_int_equal(kernel_images_find(k, EXT4)->id, id);
	assert_string_equal(kernel_images_find(k, EXT4 + 0x100000)->name, "[xfs]");
	/* The same module at another place has other symbols. */
	write_text(f->proc_fd, "modules", "ext4 4096 1 - Live 0xffffffffc0300000\n");
	assert_int_equal(kernel_images_refresh(k), 0);
	assert_int_not_equal(kernel_images_find(k, EXT4 + 0x200000)->id, id);
	/* A kernel without modules. */
	assert_int_equal(unlinkat(f->proc_fd, "modules", 0), 0);
	assert_int_equal(kernel_images_refresh(k), 0);
	assert_null(kernel_images_find(k, EXT4 + 0x200000));
}

static void test_parse_module(void **state)
{
	static const char *const bad[] = {
		"x",
		"x 1",
		"x 1 2 - Live",
		"x 1 2 - Live 0x",
		"x 1 2 - Live ffffffffc0300000",
		"x y 2 - Live 0xffffffffc0300000",
		"x 99999999999999999999999 2 - Live 0xffffffffc0300000",
		"x 1 2 - Live 0xffffffffc03000001",
	};
	struct kernel_module_line line;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const char *at = bad[i];

		assert_true(kernel_module_next(&at, bad[i] + strlen(bad[i]), &line));
		assert_int_equal(line.name_length, 0);
		assert_ptr_equal(at, bad[i] + strlen(bad[i]));
	}
	const char *text = "a_b 1 2 c,d, Live 0xffffffffc0300000 (OE)\nnext";
	const char *at = text;

	assert_true(kernel_module_next(&at, text + strlen(text), &line));
	assert_int_equal(line.name_length, 3);
	assert_int_equal(line.size, 1);
	assert_int_equal(line.start, 0xffffffffc0300000);
	assert_string_equal(at, "next");
}

/* Hidden addresses (no CAP_SYSLOG): everything above is the kernel, and known to be unknown. */
static void test_hidden(void **state)
{
	struct fixture *f = *state;
	cleanup(kernel_images_freep) struct kernel_images *k = NULL;

	write_text(f->proc_fd, "kallsyms", "0000000000000000 T _stext\n");
	write_text(f->proc_fd, "modules", "ext4 4096 1 - Live 0x0000000000000000\n");
	k = open_kernel(f);
	assert_ptr_equal(kernel_images_find(k, EXT4), kernel_images_main(k));
	assert_false(kernel_images_main(k)->is_known);
}

/* Kernel images need no worker, but for names that look mangled. */
static struct symbols *open_symbols(struct kernel_images *k, const char *worker)
{
	const struct symbols_options options = {.max_bytes = 1 << 20,
						.kernel = k,
						.worker_path = worker};
	struct symbols *s = NULL;

	assert_int_equal(symbols_new(&s, &options), 0);
	return s;
}

/* The frame at @address; NULL: it is known to have none. */
static const struct symbols_frame *frame_at(struct symbols *s, const struct kernel_image *image,
					    uint64_t address, const struct symbols_names **ret)
{
	const struct symbols_frame *frames = NULL;
	uint32_t n;

	assert_int_equal(symbols_prepare_kernel(s, image, &address, 1, ret), 0);
	assert_true(symbols_names_find(*ret, address, &frames, &n));
	return n ? frames : NULL;
}

static const char *name_at(struct symbols *s, const struct kernel_image *image, uint64_t address)
{
	const struct symbols_names *names;
	const struct symbols_frame *frame = frame_at(s, image, address, &names);

	return frame ? symbols_names_text(names, frame->name) : NULL;
}

static void test_symbols(void **state)
{
	struct fixture *f = *state;
	cleanup(kernel_images_freep) struct kernel_images *k = open_kernel(f);
	cleanup(symbols_freep) struct symbols *s = open_symbols(k, "/nonexistent");
	size_t both;

	assert_string_equal(name_at(s, kernel_images_main(k), STEXT + 0x1010), "do_work");
	assert_string_equal(name_at(s, kernel_images_find(k, EXT4), EXT4 + 0x10), "ext4_read");
	kernel_images_release(k);
	/* From the cache, although kallsyms has gone. */
	assert_int_equal(unlinkat(f->proc_fd, "kallsyms", 0), 0);
	assert_string_equal(name_at(s, kernel_images_main(k), STEXT + 0x1020), "do_work");
	assert_string_equal(name_at(s, kernel_images_main(k), STEXT + 0x2010), "idle");

	/* The bound: the least recently used goes, the one in use stays. */
	both = symbols_bytes(s);
	symbols_set_max(s, both - 1);
	assert_true(symbols_bytes(s) < both);
	assert_string_equal(name_at(s, kernel_images_main(k), STEXT + 0x2010), "idle");
	assert_null(name_at(s, kernel_images_find(k, EXT4), EXT4 + 0x10));
	symbols_set_max(s, 0);
	assert_int_equal(symbols_bytes(s), 0);
}

/* Rust in the kernel; and what only begins like it. */
static void test_mangled(void **state)
{
	struct fixture *f = *state;
	cleanup(kernel_images_freep) struct kernel_images *k = NULL;
	cleanup(symbols_freep) struct symbols *s = NULL;
	const struct symbols_names *names;
	const struct symbols_frame *frame;
	const uint64_t addresses[] = {STEXT + 0x10, STEXT + 0x1010, STEXT + 0x1020, STEXT + 0x2010};
	uint32_t n;

	write_text(f->proc_fd, "kallsyms",
		   "ffffffff81000000 T _stext\n"
		   "ffffffff81001000 t _RNvNtCs1234_7mycrate3foo3bar\n"
		   "ffffffff81002000 t _Return_home\n"
		   "ffffffff82000000 T _etext\n");
	k = open_kernel(f);
	s = open_symbols(k, NULL);
	assert_int_equal(symbols_prepare_kernel(s, kernel_images_main(k), addresses, 4, &names), 0);
	for (unsigned i = 1; i < 3; i++) {
		assert_true(symbols_names_find(names, addresses[i], &frame, &n));
		assert_int_equal(n, 1);
		assert_string_equal(symbols_names_text(names, frame->name), "mycrate::foo::bar");
		assert_string_equal(symbols_names_text(names, frame->system_name),
				    "_RNvNtCs1234_7mycrate3foo3bar");
	}
	frame = frame_at(s, kernel_images_main(k), addresses[3], &names);
	assert_string_equal(symbols_names_text(names, frame->name), "_Return_home");

	/* Nobody there to demangle it. */
	symbols_free(s);
	s = open_symbols(k, "/nonexistent");
	frame = frame_at(s, kernel_images_main(k), addresses[1], &names);
	assert_string_equal(symbols_names_text(names, frame->name),
			    "_RNvNtCs1234_7mycrate3foo3bar");
}

static void test_vdso(void **state)
{
	struct fixture *f = *state;
	cleanup(kernel_images_freep) struct kernel_images *k = open_kernel(f);
	cleanup(symbols_freep) struct symbols *s = open_symbols(k, NULL);
	const struct symbols_names *names;
	const struct elf_summary *elf;
	uint64_t start, end;
	unsigned n = 0;

	elf = symbols_vdso(s);
	assert_non_null(elf);
	assert_true(elf_summary_text(elf, &start, &end));
	for (uint64_t at = start; at < end; at += 16) {
		const struct symbols_frame *frames;
		uint32_t n_frames;

		assert_int_equal(symbols_prepare(s, f->vdso, &at, 1, false, &names), 0);
		assert_true(symbols_names_find(names, at, &frames, &n_frames));
		n += n_frames && strstr(symbols_names_text(names, frames->name), "clock_gettime");
	}
	assert_true(n > 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_find),   T(test_overlap), T(test_refresh), T(test_parse_module),
		T(test_hidden), T(test_symbols), T(test_mangled), T(test_vdso),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* What Go programs say of their build, in both forms, and what says something else or too much. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/worker/go/pclntab.h"
#include "tests/support/hostile_elf_builder.h"

#define MARK "0123456789abcdef"
#define LINES                                                            \
	"path\texample.org/a/cmd/b\n"                                    \
	"mod\texample.org/a\tv1.2.3\th1:sum=\n"                          \
	"dep\texample.org/c\tv9.9.9\th1:sum=\n"                          \
	"=>\t./c\t(devel)\t\n"                                           \
	"build\t-ldflags=\"-X main.mod=1\"\n"                            \
	"build\tvcs=git\n"                                               \
	"build\tvcs.revision=0123456789012345678901234567890123456789\n" \
	"build\tvcs.modified=true\n"

static const char modules[] = MARK LINES MARK;

/* The section, as it is made. */
struct section {
	uint8_t bytes[4096];
	size_t n;
};

static void begin(struct section *s, uint8_t pointer_size, uint8_t flags)
{
	memset(s, 0, sizeof(*s));
	memcpy(s->bytes, "\xff Go buildinf:", 14);
	s->bytes[14] = pointer_size;
	s->bytes[15] = flags;
	s->n = 32;
}

static void put(struct section *s, const void *data, size_t length)
{
	assert_true(length <= sizeof(s->bytes) - s->n);
	memcpy(s->bytes + s->n, data, length);
	s->n += length;
}

static void put_text(struct section *s, const char *text, size_t length)
{
	for (size_t left = length;; left >>= 7) {
		uint8_t byte = (uint8_t)((left & 0x7f) | (left > 0x7f ? 0x80 : 0));

		put(s, &byte, 1);
		if (left <= 0x7f)
			break;
	}
	put(s, text, length);
}

/* A file with that section, in the first segment, and what is read of it. */
static struct go_build read_named(const struct section *s, const char *name)
{
	cleanup(elf_image_deinit) struct elf_image image = {0};
	cleanup(builder_deinit) struct builder b;
	struct go_build go;
	unsigned i;

	builder_init(&b);
	i = builder_section(&b, name, &(Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC},
			    s->bytes, s->n);
	assert_int_equal(b.sections[i].sh_addr, BUILDER_FIRST);
	builder_segment(&b, PT_LOAD, PF_R, BUILDER_FIRST, s->n);
	builder_finish(&b);
	assert_int_equal(elf_image_open_memory(&image, b.data, b.n, 0), WORKER_DONE);
	memset(&go, 0x55, sizeof(go));
	go_build_read(&image, &go);
	return go;
}

static struct go_build read_section(const struct section *s)
{
	return read_named(s, ".go.buildinfo");
}

static void check_all(const struct go_build *go)
{
	assert_string_equal(go->go, "go1.26.8");
	assert_string_equal(go->module, "example.org/a");
	assert_string_equal(go->version, "v1.2.3");
	assert_string_equal(go->revision, "0123456789012345678901234567890123456789");
	assert_int_equal(go->is_modified, 1);
}

static void check_release_alone(const struct go_build *go)
{
	assert_string_equal(go->go, "go1.26.8");
	assert_string_equal(go->module, "");
	assert_string_equal(go->version, "");
	assert_string_equal(go->revision, "");
	assert_int_equal(go->is_modified, 0);
}

static void check_nothing(const struct go_build *go)
{
	static const struct go_build nothing;

	assert_memory_equal(go, &nothing, sizeof(nothing));
}

static struct section make_inline(const char *text, size_t length)
{
	struct section s;

	begin(&s, 0, 2);
	put_text(&s, "go1.26.8", 8);
	put_text(&s, text, length);
	return s;
}

static void test_inline(void **state)
{
	const struct section s = make_inline(modules, sizeof(modules) - 1);
	struct go_build go = read_section(&s);

	(void)state;
	check_all(&go);
	go = read_named(&s, ".data");
	check_nothing(&go);
}

/* Whatever it ends at, nothing behind the end is read, and the release needs no modules. */
static void test_cut(void **state)
{
	const struct section s = make_inline(modules, sizeof(modules) - 1);

	(void)state;
	for (size_t n = 1; n < s.n; n++) {
		struct section cut = s;
		struct go_build go;

		cut.n = n;
		go = read_section(&cut);
		if (n < 32 + 1 + 8)
			check_nothing(&go);
		else
			check_release_alone(&go);
	}
}

static void put_pointer(struct section *s, size_t at, unsigned size, bool big, uint64_t value)
{
	for (unsigned i = 0; i < size; i++)
		s->bytes[at + (big ? size - 1 - i : i)] = (uint8_t)(value >> (8 * i));
}

/* Behind the header two string headers, and behind these the texts. */
static struct section make_pointers(unsigned size, bool big)
{
	static const char release[] = "go1.26.8";
	struct section s;

	begin(&s, (uint8_t)size, big);
	for (unsigned i = 0; i < 2; i++) {
		const char *text = i ? modules : release;
		size_t length = i ? sizeof(modules) - 1 : sizeof(release) - 1;
		size_t at = 32 + 16 * i;

		put_pointer(&s, 16 + i * size, size, big, BUILDER_FIRST + at);
		s.n = i ? s.n : 32 + 32;
		put_pointer(&s, at, size, big, BUILDER_FIRST + s.n);
		put_pointer(&s, at + size, size, big, length);
		put(&s, text, length);
	}
	return s;
}

static void test_pointers(void **state)
{
	(void)state;
	for (unsigned size = 4; size <= 8; size += 4) {
		for (int big = 0; big < 2; big++) {
			struct section s = make_pointers(size, big);
			struct go_build go = read_section(&s);

			check_all(&go);
			/* No modules. */
			put_pointer(&s, 16 + size, size, big, 0);
			go = read_section(&s);
			check_release_alone(&go);
			/* More than there is, and more than anybody says. */
			s = make_pointers(size, big);
			put_pointer(&s, 32 + size, size, big, 4000);
			go = read_section(&s);
			check_nothing(&go);
			put_pointer(&s, 32 + size, size, big, size == 8 ? UINT64_MAX : UINT32_MAX);
			go = read_section(&s);
			check_nothing(&go);
			s.bytes[14] = 5;
			go = read_section(&s);
			check_nothing(&go);
		}
	}
}

static struct go_build read_lines(const char *lines)
{
	char text[2048];
	struct section s;
	int n = snprintf(text, sizeof(text), MARK "%s" MARK, lines);

	assert_true(n > 0 && (size_t)n < sizeof(text));
	s = make_inline(text, (size_t)n);
	return read_section(&s);
}

static void test_lines(void **state)
{
	char longest[1024];
	struct go_build go;

	(void)state;
	go = read_lines("mod\texample.org/a\t(devel)\n");
	assert_string_equal(go.module, "example.org/a");
	assert_string_equal(go.version, "(devel)");
	go = read_lines("mod\texample.org/a\n");
	assert_string_equal(go.module, "example.org/a");
	assert_string_equal(go.version, "");
	go = read_lines("mod\nmodx\ta\tb\nbuild\nbuild\tvcs.revision\nbuild\tvcs.modified=\n\n");
	check_release_alone(&go);
	/* The marks are missing. */
	go = read_lines("mod\ta\tb");
	check_release_alone(&go);
	/* What would lead a terminal or a reader of lines astray. */
	go = read_lines("mod\ta\x1b[1m\xff\tb\x7f\r\n");
	assert_string_equal(go.module, "a\xef\xbf\xbd[1m\xef\xbf\xbd");
	assert_string_equal(go.version, "b\xef\xbf\xbd\xef\xbf\xbd");
	memset(longest, 'a', sizeof(longest));
	memcpy(longest, "mod\t", 4);
	strcpy(longest + sizeof(longest) - 2, "\n");
	go = read_lines(longest);
	assert_int_equal(strlen(go.module), sizeof(go.module) - 1);
}

/* Another magic, and lengths that have no end. */
static void test_other(void **state)
{
	struct section s = make_inline(modules, sizeof(modules) - 1);
	struct go_build go;

	(void)state;
	s.bytes[1] = 'x';
	go = read_section(&s);
	check_nothing(&go);
	begin(&s, 0, 2);
	memset(s.bytes + 32, 0xff, 64);
	s.n = 96;
	go = read_section(&s);
	check_nothing(&go);
	s.n = 0;
	put(&s, "\x7f", 1);
	go = read_section(&s);
	check_nothing(&go);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inline),   cmocka_unit_test(test_cut),
		cmocka_unit_test(test_pointers), cmocka_unit_test(test_lines),
		cmocka_unit_test(test_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

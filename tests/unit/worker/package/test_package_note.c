/* SPDX-License-Identifier: MIT */
/* What programs' notes say of their release, and what says something else or too much. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/worker/package/package_note.h"
#include "tests/support/hostile_elf_builder.h"

#define FDO 0xcafe1a7eu
/* As Fedora's and as systemd's own. */
#define RPM                                                                  \
	"{\"type\":\"rpm\",\"name\":\"bash\",\"version\":\"5.2.26-3.fc40\"," \
	"\"architecture\":\"x86_64\",\"osCpe\":\"cpe:/o:fedoraproject:fedora:40\"}"
#define GO_ID "aaaaaaaaaaaaaaaaaaaa/bbbbbbbbbbbbbbbbbbbb/cccccccccccccccccccc/dEf-_6789012zzzzzzzz"

static const char *parse(const char *json)
{
	static char version[64];

	memset(version, 0x55, sizeof(version));
	package_note_parse((struct span){json, strlen(json)}, version, sizeof(version));
	return version;
}

static void test_metadata(void **state)
{
	(void)state;
	assert_string_equal(parse(RPM), "5.2.26-3.fc40");
	assert_string_equal(parse(" { \"a\" : {\"version\":\"no\"}, \"version\" : \"1:2~rc1\" } "),
			    "1:2~rc1");
	assert_string_equal(parse("{\"version\":\"caf\\u00e9\"}"), "caf\xc3\xa9");
}

static void test_other_things(void **state)
{
	static const char *const texts[] = {
		"",
		"{}",
		"[\"version\",\"1\"]",
		"\"version\"",
		"{\"version\":1}",
		"{\"version\":null}",
		"{\"version\":{\"version\":\"1\"}}",
		"{\"Version\":\"1\"}",
		"{\"version\":\"1\"",
		"{\"version\":\"1",
		"{\"version\"",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_string_equal(parse(texts[i]), "");
}

static void test_hostile_texts(void **state)
{
	char json[512], *at = stpcpy(json, "{\"version\":\"");
	const char *version;

	(void)state;
	assert_string_equal(parse("{\"version\":\"1\x1b[31m\\u0007\"}"),
			    "1\xef\xbf\xbd[31m\xef\xbf\xbd");
	assert_string_equal(parse("{\"version\":\"\xc3\"}"), "\xef\xbf\xbd");
	/* What is too long is cut between characters. */
	for (size_t i = 0; i < 100; i++)
		at = stpcpy(at, "\xc3\xa4");
	strcpy(at, "\"}");
	version = parse(json);
	assert_int_equal(strlen(version), 62);
}

/* Appends a note, with its padding. */
static size_t put_note(uint8_t *at, uint32_t type, const char *name, const void *text,
		       size_t length)
{
	const Elf64_Nhdr note = {(uint32_t)strlen(name) + 1, (uint32_t)length, type};
	size_t n = sizeof(note);

	memcpy(at, &note, sizeof(note));
	strcpy((char *)at + n, name);
	n += (note.n_namesz + 3u) & ~3u;
	memcpy(at + n, text, length);
	return n + ((length + 3) & ~(size_t)3);
}

/* A build id, the package, another package, Go's id. */
static size_t put_notes(uint8_t notes[2048])
{
	static const char second[] = "{\"version\":\"second\"}";
	size_t n = put_note(notes, NT_GNU_BUILD_ID, "GNU", "0123456789abcdefghij", 20);

	n += put_note(notes + n, FDO, "XYZ", second, sizeof(second));
	n += put_note(notes + n, FDO, "FDO", RPM "\0\0", sizeof(RPM) + 1);
	n += put_note(notes + n, FDO, "FDO", second, sizeof(second));
	n += put_note(notes + n, 4, "Go", GO_ID, sizeof(GO_ID) - 1);
	return n;
}

/* @in_segment: in a segment of a file without sections; else in a section alone. */
static struct elf_release read_notes(const uint8_t *notes, size_t n, bool in_segment)
{
	cleanup(elf_image_deinit) struct elf_image image = {0};
	cleanup(builder_deinit) struct builder b;
	struct elf_release release;
	unsigned i;

	builder_init(&b);
	i = builder_section(&b, ".note.x", &(Elf64_Shdr){.sh_type = SHT_NOTE}, notes, n);
	b.no_sections = in_segment;
	if (in_segment)
		builder_segment(&b, PT_NOTE, PF_R, b.sections[i].sh_offset, n);
	builder_finish(&b);
	assert_int_equal(elf_image_open_memory(&image, b.data, b.n, 0), WORKER_DONE);
	memset(&release, 0x55, sizeof(release));
	package_notes_read(&image, &release);
	return release;
}

static void test_files(void **state)
{
	uint8_t notes[2048] = {0};
	size_t n = put_notes(notes);

	(void)state;
	for (unsigned in_segment = 0; in_segment < 2; in_segment++) {
		struct elf_release release = read_notes(notes, n, in_segment);

		assert_string_equal(release.version, "5.2.26-3.fc40");
		assert_string_equal(release.go_id, GO_ID);
	}
}

/* The padding of the name is a part of it. */
static void test_as_go_writes_it(void **state)
{
	static const Elf64_Nhdr note = {4, sizeof(GO_ID) - 1, 4};
	uint8_t notes[256] = {0};

	(void)state;
	memcpy(notes, &note, sizeof(note));
	memcpy(notes + sizeof(note), "Go\0", 4);
	memcpy(notes + sizeof(note) + 4, GO_ID, note.n_descsz);
	for (unsigned in_segment = 0; in_segment < 2; in_segment++) {
		struct elf_release release = read_notes(
			notes, sizeof(note) + 4 + ((note.n_descsz + 3u) & ~3u), in_segment);

		assert_string_equal(release.go_id, GO_ID);
	}
}

/* Wherever they end, nothing behind the end is read. */
static void test_cut_files(void **state)
{
	uint8_t notes[2048] = {0};
	size_t n = put_notes(notes);

	(void)state;
	for (size_t cut = 1; cut < n; cut++) {
		struct elf_release release = read_notes(notes, cut, true);

		assert_true(!release.version[0] || !strcmp(release.version, "5.2.26-3.fc40"));
		assert_true(!release.go_id[0] || cut >= n - 1); /* its padding */
	}
}

static void test_go_ids(void **state)
{
	static const char *const ids[] = {"", "a/b/c/d", "a/b/c", "aaaaaaaaaaaaaaaaaaaaa",
					  "a/b/c/d/aaaaaaaaaaaaaaaaa"};
	uint8_t notes[256] = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		size_t n = put_note(notes, 4, "Go", ids[i], strlen(ids[i]));

		assert_string_equal(read_notes(notes, n, true).go_id, "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_metadata),        cmocka_unit_test(test_other_things),
		cmocka_unit_test(test_hostile_texts),   cmocka_unit_test(test_files),
		cmocka_unit_test(test_as_go_writes_it), cmocka_unit_test(test_cut_files),
		cmocka_unit_test(test_go_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
